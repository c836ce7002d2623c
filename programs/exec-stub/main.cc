// heddle-exec-stub: starts one foreign program behind a boundary that the program cannot set up itself.
//
// Started by heddle-supervisor, confined from outside, as process 1 of a pid namespace where there is one. It loads the
// filter, says that it is ready, and waits until the host has verified that (JAIL-16). Then it starts the program as
// its child, reaps what the program leaves, and says how the program ended; its own end takes everything down with it.
// It stays a process of its own because process 1 gets no signal that it does not handle, and a foreign program expects
// to.
//
//   3 channel  4 filter  5 the supervisor's, for the filter's listener
//   6 the program  7 its words (see Words)  8 working folder  9, 10, 11 its stdio
//
//   stub → host  ready | failed (heddle/wire/hello.h);  ended signalled, code
//   host → stub  go
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "heddle/jail/confine/confine.h"
#include "heddle/jail/confine/foreign.h"
#include "heddle/jail/confine/notify.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"

namespace heddle {
namespace {

constexpr int kProgram = jail::kNotifyFd + 1;
constexpr int kWords = kProgram + 1;
constexpr int kFolder = kWords + 1;
constexpr int kStdio = kFolder + 1;
constexpr int kAfterStdio = kStdio + 3;
constexpr std::size_t kMaxWords = 4U << 20;

// Exit codes are for a person with a debugger; the host learns all it needs from the channel.
enum class Exit { done = 0, no_channel = 10, not_confined = 11, bad_order = 12, not_started = 13 };

void say(wire::Channel& channel, const wire::Message& message) {
  channel.queue(message);
  // The host may be gone already; there is nobody else to tell.
  (void)channel.wait_flushed(core::Deadline::after(std::chrono::seconds(5)));
}

Exit fail(wire::Channel& channel, std::string_view step, int error, Exit exit) {
  say(channel, wire::failed_message(step, error, "the program was not started"));
  return exit;
}

struct Words {
  std::string text;
  const char* folder = nullptr;  // the name of kFolder
  std::vector<char*> arguments;
  std::vector<char*> environment;
};

// Words that end with NUL: the number of arguments, the name of the folder, the arguments, the environment.
bool read_words(Words& words) {
  const core::Fd memory(kWords);
  auto text = core::read_all(memory, kMaxWords);
  if (!text.ok() || text.value().empty() || text.value().back() != '\0') return false;
  words.text = std::move(text).value();
  std::size_t at = words.text.find('\0') + 1;
  const std::size_t count = static_cast<std::size_t>(std::strtoul(words.text.c_str(), nullptr, 10));
  if (at >= words.text.size()) return false;
  words.folder = words.text.data() + at;
  at = words.text.find('\0', at) + 1;
  while (at < words.text.size()) {
    auto& list = words.arguments.size() < count ? words.arguments : words.environment;
    list.push_back(words.text.data() + at);
    at = words.text.find('\0', at) + 1;
  }
  if (words.arguments.size() != count || count == 0) return false;
  words.arguments.push_back(nullptr);
  words.environment.push_back(nullptr);
  return true;
}

// The descriptor says which folder. It was opened in the host's mount namespace, where getcwd(2) finds no name for it
// from here; so the folder is entered by its name as well, which must lead to the same one. Where this user may not
// walk there, it is entered all the same, and has no name.
bool enter_folder(const char* name) {
  if (::fchdir(kFolder) != 0) return false;
  if (::chdir(name) != 0) return true;
  struct stat wanted {};
  struct stat entered {};
  if (::fstat(kFolder, &wanted) != 0 || ::stat(".", &entered) != 0) return false;
  errno = ESTALE;
  return wanted.st_dev == entered.st_dev && wanted.st_ino == entered.st_ino;
}

// Only returns by failing, with errno; the step is told through `step`.
void become(Words& words, const char*& step) {
  step = "end with the stub";
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return;
  step = "set up the program's stdio";
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(kStdio + fd, fd) < 0) return;
  }
  step = "enter the working folder";
  if (!enter_folder(words.folder)) return;
  // Close-on-exec, all but its stdio: the program gets no descriptor of ours.
  step = "close what is not the program's";
  for (int fd = jail::kChannelFd; fd < kAfterStdio; ++fd) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 && errno != EBADF) return;
  }
  // The one that the filter, or the supervisor that it asks, lets through.
  step = "execute the program";
  ::syscall(SYS_execveat, kProgram, "", words.arguments.data(), words.environment.data(), AT_EMPTY_PATH);
}

struct Refusal {
  const char* step;
  int error;
};

Exit watch(wire::Channel& channel, pid_t program) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return fail(channel, "wait for the program", errno, Exit::not_started);
    if (ended != program) continue;  // an orphan of the program's
    wire::Message message("ended");
    const bool signalled = WIFSIGNALED(status);
    message.set("signalled", signalled);
    message.set("code", static_cast<std::uint32_t>(signalled ? WTERMSIG(status) : WEXITSTATUS(status)));
    say(channel, message);
    return Exit::done;
  }
}

Exit start(wire::Channel& channel, Words& words) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(channel, "make a pipe", errno, Exit::not_started);
  const pid_t program = ::fork();
  if (program < 0) return fail(channel, "fork", errno, Exit::not_started);
  if (program == 0) {
    Refusal refusal{"", 0};
    become(words, refusal.step);
    refusal.error = errno;
    // `step` is a literal of this program, which the parent is too.
    [[maybe_unused]] const ssize_t put = ::write(report[1], &refusal, sizeof refusal);
    ::_exit(127);
  }
  ::close(report[1]);
  for (int fd = kProgram; fd < kAfterStdio; ++fd) ::close(fd);  // so that its readers see the end of its output
  Refusal refusal{};
  ssize_t got = 0;
  do got = ::read(report[0], &refusal, sizeof refusal);
  while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (got == static_cast<ssize_t>(sizeof refusal)) {
    return fail(channel, refusal.step, refusal.error, Exit::not_started);
  }
  return watch(channel, program);
}

Exit run() {
  auto adopted = wire::Channel::adopt(core::Fd(jail::kChannelFd));
  if (!adopted.ok()) return Exit::no_channel;
  wire::Channel& channel = adopted.value();
  Words words;
  if (!read_words(words)) return fail(channel, "read the program's arguments", EINVAL, Exit::bad_order);
  // Before the filter, which does not let it through. Until its own end the stub is the parent of what the program
  // leaves; then the supervisor is, and ends it.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail(channel, "keep the program's orphans", errno, Exit::not_confined);
  }
  const jail::Failure failure = jail::load_filter_only();
  if (failure.step != jail::Step::none) {
    return fail(channel, jail::step_name(failure.step), failure.error, Exit::not_confined);
  }
  say(channel, wire::ready_message());
  auto frame = channel.wait_frame(core::Deadline::never());
  if (!frame.ok()) return Exit::done;  // the host is gone
  auto order = wire::as_message(frame.value());
  if (!order.ok() || order.value().op() != "go") return fail(channel, "read the host's order", EINVAL, Exit::bad_order);
  return start(channel, words);
}

}  // namespace
}  // namespace heddle

int main() { return static_cast<int>(heddle::run()); }
