#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "heddle/core/text.h"
#include "heddle/sandbox/conformance/plugin_file.h"
#include "heddle/sandbox/conformance/record.h"
#include "heddle/sandbox/spi/plugin.h"

namespace heddle::sandbox::conformance {
namespace {

constexpr int kResultFd = 3;
constexpr std::size_t kMaxResultBytes = std::size_t{1} << 20;
constexpr std::string_view kErrorMark = "error: ";

core::Error cannot_load(core::Errc code, const std::string& path, std::string_view why) {
  return core::make_error(code, "load a backend", path + ": " + core::bound_text(why));
}

// One line of text; a failure of the child's own begins with the mark.
int send(const std::string& text) {
  const core::Fd result(kResultFd);
  return core::write_all(result, text).ok() ? 0 : 1;
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) return "by signal " + std::to_string(WTERMSIG(status));
  return "with exit code " + std::to_string(WEXITSTATUS(status));
}

class Child {
 public:
  static core::Result<Child> start(const ChildCommand& command, const std::string& path) {
    HEDDLE_ASSIGN(core::FdPair pipe, core::pipe_pair());
    // dup2 onto the same number would leave close-on-exec on.
    HEDDLE_ASSIGN(const core::Fd write_end, pipe.second.duplicate(kResultFd + 1));
    pipe.second.reset();
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (::posix_spawn_file_actions_init(&actions) != 0 || ::posix_spawnattr_init(&attributes) != 0) {
      return core::make_error(core::Errc::exhausted, "start a child process");
    }
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), kResultFd);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<std::string> words{command.program};
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    words.push_back(path);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, command.program.c_str(), &actions, &attributes, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) return core::system_error(failed, "start a child process", command.program);
    return Child(pid, std::move(pipe.first));
  }

  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), result_(std::move(other.result_)) {}
  Child& operator=(Child&&) = delete;
  // The whole group: what a backend started goes with it.
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    reap();
  }

  // What the child wrote, whole, or why there is nothing.
  core::Result<std::string> result(core::Deadline deadline) {
    std::string text;
    // To the end of the line, not of the file: what the backend started may hold the pipe open.
    while (text.empty() || text.back() != '\n') {
      pollfd entry{result_.get(), POLLIN, 0};
      const int ready = ::poll(&entry, 1, deadline.poll_ms());
      if (ready == 0 && deadline.passed()) {
        return core::make_error(core::Errc::timed_out, "run a backend in a child process",
                                "it did not end in time and was killed");
      }
      if (ready <= 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(result_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return core::system_error("read from a child process");
      if (got == 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(got));
      if (text.size() > kMaxResultBytes) {
        return core::make_error(core::Errc::too_large, "read from a child process");
      }
    }
    if (text.empty() || text.back() != '\n') {
      ::kill(-pid_, SIGKILL);
      const int status = reap();
      return core::make_error(core::Errc::disconnected, "run a backend in a child process",
                              "the process with the backend ended " + ending(status) + " before it had a result");
    }
    text.pop_back();
    if (text.rfind(kErrorMark, 0) == 0) {
      return core::make_error(core::Errc::invalid_argument, core::bound_text(text.substr(kErrorMark.size())));
    }
    return text;
  }

 private:
  Child(pid_t pid, core::Fd result) : pid_(pid), result_(std::move(result)) {}

  int reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_;
  core::Fd result_;
};

}  // namespace

core::Result<BackendFactory> load_backend(const std::string& path) {
  // dlopen would search the library path for a name without a slash.
  const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return cannot_load(core::Errc::malformed, path, ::dlerror());
  const auto* entry = static_cast<const spi::BackendEntry*>(::dlsym(library, spi::kBackendEntrySymbol));
  if (entry == nullptr) {
    return cannot_load(core::Errc::malformed, path, "it exports no backend; use HEDDLE_SANDBOX_BACKEND(make)");
  }
  if (!spi::fits(entry->version)) {
    return cannot_load(core::Errc::unsupported, path,
                       "it was built for version " + std::to_string(entry->version.major) + "." +
                           std::to_string(entry->version.minor) + " of the interface; build it against this Heddle");
  }
  return BackendFactory([entry]() -> std::shared_ptr<spi::SandboxBackend> { return entry->make(); });
}

int serve_child(ChildTask task, const std::string& path, const Fixtures* fixtures, const Options& options) {
  const auto failed = [](const core::Error& error) {
    return send(std::string(kErrorMark) + core::printable_line(error.message()) + "\n");
  };
  if (::fcntl(kResultFd, F_SETFD, FD_CLOEXEC) != 0) return 1;
  const auto factory = load_backend(path);
  if (!factory.ok()) return failed(factory.error());
  if (task == ChildTask::declare) {
    try {
      const auto backend = factory.value()();
      if (backend == nullptr) return failed(cannot_load(core::Errc::malformed, path, "it gave no backend"));
      return send(declaration_json(backend->capabilities()) + "\n");
    } catch (...) {
      return failed(cannot_load(core::Errc::malformed, path, "it threw when it was asked for its declaration"));
    }
  }
  const auto report = run_sandbox_backend_conformance(factory.value(), fixtures, options);
  if (!report.ok()) return failed(report.error());
  return send(report_json(report.value()) + "\n");
}

core::Result<Report> run_kit_in_child(const ChildCommand& command, const std::string& path,
                                      std::chrono::milliseconds timeout) {
  HEDDLE_ASSIGN(Child child, Child::start(command, path));
  HEDDLE_ASSIGN(const std::string text, child.result(core::Deadline::after(timeout)));
  return parse_report(text);
}

core::Result<spi::Capabilities> declaration_in_child(const ChildCommand& command, const std::string& path,
                                                     std::chrono::milliseconds timeout) {
  HEDDLE_ASSIGN(Child child, Child::start(command, path));
  HEDDLE_ASSIGN(const std::string text, child.result(core::Deadline::after(timeout)));
  return parse_declaration(text);
}

}  // namespace heddle::sandbox::conformance
