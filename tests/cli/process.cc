#include "process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "heddle/core/check.h"
#include "heddle/core/pidfd.h"

namespace heddle::test {
namespace {

using core::Deadline;
using core::Fd;

// Prepares one of the streams 0, 1, 2 in the child; gives the test's end of a pipe.
Fd prepare(posix_spawn_file_actions_t& actions, const Stream& stream, int number, std::vector<Fd>& keep) {
  switch (stream.kind) {
    case Stream::Kind::closed:
      HEDDLE_CHECK(::posix_spawn_file_actions_addclose(&actions, number) == 0);
      return {};
    case Stream::Kind::path:
      HEDDLE_CHECK(::posix_spawn_file_actions_addopen(&actions, number, stream.path.c_str(),
                                                      number == 0 ? O_RDONLY : O_WRONLY, 0) == 0);
      return {};
    case Stream::Kind::given:
      HEDDLE_CHECK(::posix_spawn_file_actions_adddup2(&actions, stream.fd, number) == 0);
      return {};
    case Stream::Kind::pipe:
      break;
  }
  auto pair = core::pipe_pair();
  HEDDLE_CHECK(pair.ok());
  Fd& theirs = number == 0 ? pair.value().first : pair.value().second;
  Fd& ours = number == 0 ? pair.value().second : pair.value().first;
  HEDDLE_CHECK(::posix_spawn_file_actions_adddup2(&actions, theirs.get(), number) == 0);
  keep.push_back(std::move(theirs));
  return std::move(ours);
}

// One read(2) into `to`; false at the end.
bool read_some(const Fd& fd, std::string& to) {
  std::array<char, 65536> chunk;
  const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
  if (got > 0) to.append(chunk.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

Terminal::Terminal() : ours_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  std::array<char, 64> name{};
  HEDDLE_CHECK(ours_.valid() && ::grantpt(ours_.get()) == 0 && ::unlockpt(ours_.get()) == 0 &&
               ::ptsname_r(ours_.get(), name.data(), name.size()) == 0);
  theirs_ = Fd(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  HEDDLE_CHECK(theirs_.valid());
}

void Terminal::type(std::string_view text) const { EXPECT_TRUE(core::write_all(ours_, text).ok()); }

std::string Terminal::shown() const {
  std::string text;
  for (pollfd wait{ours_.get(), POLLIN, 0}; ::poll(&wait, 1, 0) > 0;) {
    if (!read_some(ours_, text)) break;
  }
  return text;
}

Process::Process(const Launch& launch) {
  (void)::signal(SIGPIPE, SIG_IGN);  // a program that ends without reading its input must not end the tests
  posix_spawn_file_actions_t actions;
  HEDDLE_CHECK(::posix_spawn_file_actions_init(&actions) == 0);
  std::vector<Fd> theirs;
  in_ = prepare(actions, launch.in, 0, theirs);
  out_ = prepare(actions, launch.out, 1, theirs);
  err_ = prepare(actions, launch.err, 2, theirs);
  posix_spawnattr_t attributes;
  HEDDLE_CHECK(::posix_spawnattr_init(&attributes) == 0);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  HEDDLE_CHECK(::posix_spawnattr_setsigdefault(&attributes, &all) == 0);
  HEDDLE_CHECK(::posix_spawnattr_setsigmask(&attributes, &none) == 0);
  HEDDLE_CHECK(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) == 0);
  std::vector<std::string> words{launch.program};
  words.insert(words.end(), launch.args.begin(), launch.args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> settings = launch.environment;
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  environment.push_back(nullptr);
  const int error =
      ::posix_spawn(&pid_, launch.program.c_str(), &actions, &attributes, argv.data(), environment.data());
  (void)::posix_spawn_file_actions_destroy(&actions);
  (void)::posix_spawnattr_destroy(&attributes);
  if (error != 0) ADD_FAILURE() << launch.program << ": " << core::errno_text(error);
  HEDDLE_CHECK(error == 0);
  if (in_.valid()) HEDDLE_CHECK(core::set_nonblocking(in_).ok());
}

Process::~Process() {
  if (reaped_) return;
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

void Process::wait_for_signals() const {
  const auto deadline = Deadline::after(kPatience);
  while ((static_cast<unsigned long>(status("SigBlk", 16)) & (1UL << (SIGINT - 1))) == 0) {
    if (deadline.passed()) {
      ADD_FAILURE() << "the command does not take SIGINT";
      return;
    }
    ::usleep(1000);
  }
}

void Process::write(std::string_view text) {
  const auto deadline = Deadline::after(kPatience);
  while (!text.empty()) {
    const ssize_t wrote = ::write(in_.get(), text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (errno == EPIPE) return;  // it has ended, or closed its input: its outcome tells
    if (deadline.passed() || (errno != EAGAIN && errno != EINTR)) {
      ADD_FAILURE() << "the program does not read: " << core::errno_text(errno);
      return;
    }
    pollfd wait{in_.get(), POLLOUT, 0};
    (void)::poll(&wait, 1, deadline.poll_ms());
  }
}

std::optional<std::string> Process::line() {
  const auto deadline = Deadline::after(kPatience);
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd wait{out_.get(), POLLIN, 0};
    if (::poll(&wait, 1, deadline.poll_ms()) == 0) {
      ADD_FAILURE() << "no line came";
      return std::nullopt;
    }
    if (!read_some(out_, buffer_)) return std::nullopt;
  }
}

long Process::status(std::string_view field, int base) const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, field.size() + 1, std::string(field) + ":") == 0)
      return std::strtol(line.c_str() + field.size() + 1, nullptr, base);
  }
  return -1;
}

Ended Process::finish() {
  close_input();
  return wait();
}

Ended Process::wait() {
  const auto deadline = Deadline::after(kPatience);
  Ended ended;
  ended.out = std::exchange(buffer_, {});
  bool late = false;
  while (!late && (out_.valid() || err_.valid())) {
    std::array<pollfd, 2> fds{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    late = ::poll(fds.data(), fds.size(), deadline.poll_ms()) == 0;
    if (fds[0].revents != 0 && !read_some(out_, ended.out)) out_.reset();
    if (fds[1].revents != 0 && !read_some(err_, ended.err)) err_.reset();
  }
  const auto pidfd = core::Pidfd::open(pid_);
  if (late || !pidfd.ok() || !pidfd.value().wait_exit(deadline)) {
    ADD_FAILURE() << "the program does not end";
    (void)::kill(pid_, SIGKILL);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  reaped_ = true;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

Ended run(const Launch& launch, std::string_view input) {
  Process process(launch);
  if (!input.empty()) process.write(input);
  return process.finish();
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "heddle-cli-XXXXXX").string();
  HEDDLE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::path(std::string_view name) const { return path_ + "/" + std::string(name); }

std::string Folder::write(std::string_view name, std::string_view text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

}  // namespace heddle::test
