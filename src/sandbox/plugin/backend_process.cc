#include "heddle/sandbox/plugin/backend_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "heddle/core/pidfd.h"
#include "heddle/core/text.h"
#include "parcel.h"
#include "post.h"
#include "spawn.h"

namespace heddle::sandbox::plugin {
namespace {

core::Error failed(core::Errc code, std::string_view why) {
  return core::make_error(code, "use a backend in a process of its own", core::bound_text(why));
}

[[noreturn]] void raise(const core::Error& error) { throw std::runtime_error(error.message()); }

std::string ending(int status) {
  if (WIFSIGNALED(status)) return "by signal " + std::to_string(WTERMSIG(status));
  return "with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

class ProcessState {
 public:
  ProcessState(pid_t pid, core::Pidfd pidfd, core::Fd calls, ProcessOptions options)
      : pid_(pid), pidfd_(std::move(pidfd)), calls_(std::move(calls)), options_(options) {}
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;
  ~ProcessState() {
    end();
    const std::lock_guard lock(mutex_);
    reap();
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int ended_fd() const noexcept { return pidfd_.fd().get(); }
  [[nodiscard]] const ProcessOptions& options() const noexcept { return options_; }

  // A connection for one call.
  core::Result<Post> call(std::uint64_t id) {
    HEDDLE_ASSIGN(core::FdPair pair, core::stream_pair());
    {
      const std::lock_guard lock(mutex_);
      if (!calls_.valid()) return ended_error();
      if (const auto sent = send_knock(calls_, {Knock::Kind::call, id}, &pair.second); !sent.ok()) return ended_error();
    }
    return Post::adopt(std::move(pair.first));
  }
  [[nodiscard]] std::uint64_t next_id() { return ++last_id_; }

  void stop(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex_);
    if (!calls_.valid()) return;
    [[maybe_unused]] const auto sent = send_knock(calls_, {Knock::Kind::stop, id}, nullptr);
  }

  // The answer to a letter. What is late or broken ends the process: nothing more is known of it.
  core::Result<Letter> ask(Post& post, std::string_view word, std::string_view body,
                           std::chrono::milliseconds timeout) {
    const auto deadline = core::Deadline::after(timeout);
    if (const auto sent = post.send(word, body, deadline, ended_fd()); !sent.ok())
      return broken(sent.error(), word, timeout);
    auto answer = post.receive(deadline, ended_fd());
    if (!answer.ok()) return broken(answer.error(), word, timeout);
    return answer;
  }

  // One call with an answer of its own.
  core::Result<Letter> ask(std::string_view word, std::chrono::milliseconds timeout) {
    HEDDLE_ASSIGN(Post post, call(next_id()));
    return ask(post, word, {}, timeout);
  }

  core::Error broken(const core::Error& error, std::string_view call, std::chrono::milliseconds timeout) {
    if (error.code == core::Errc::timed_out) {
      end();
      return failed(core::Errc::timed_out, "the backend did not return from " + std::string(call) + " within " +
                                               std::to_string(timeout.count()) + " ms; its process was ended");
    }
    if (error.code == core::Errc::disconnected) return ended_error();
    end();
    return error;
  }

  // Why there is no answer. A connection may break a moment before its process is gone.
  core::Error ended_error() {
    constexpr std::chrono::seconds kLastBreath{2};
    if (!pidfd_.wait_exit(core::Deadline::after(kLastBreath))) {
      return failed(core::Errc::disconnected, "the process of the backend broke off the call");
    }
    siginfo_t info{};
    // Only looked at: the process is reaped by its owner.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) {
      return failed(core::Errc::disconnected, "the process of the backend has ended");
    }
    const std::string how = info.si_code == CLD_EXITED ? "with exit code " + std::to_string(info.si_status)
                                                       : "by signal " + std::to_string(info.si_status);
    return failed(core::Errc::disconnected, "the process of the backend ended " + how);
  }

  void end() noexcept {
    const std::lock_guard lock(mutex_);
    siginfo_t info{};
    // Somebody who reaps what is not his leaves us with a number that may be another's by now.
    const bool ours = !reaped_ && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (ours) ::kill(-pid_, SIGKILL);
  }

  // Hangs up, and waits for the process to leave.
  core::Result<void> finish(core::Deadline deadline) {
    {
      const std::lock_guard lock(mutex_);
      calls_.reset();
    }
    if (!pidfd_.wait_exit(deadline)) {
      return failed(core::Errc::timed_out, "the process of the backend does not leave when it is asked to");
    }
    const std::lock_guard lock(mutex_);
    const int status = reap();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return failed(core::Errc::disconnected, "the process of the backend ended " + ending(status));
  }

 private:
  int reap() {
    if (reaped_) return status_;
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status_;
  }

  const pid_t pid_;
  const core::Pidfd pidfd_;
  std::mutex mutex_;
  core::Fd calls_;
  bool reaped_ = false;
  int status_ = 0;
  const ProcessOptions options_;
  std::atomic<std::uint64_t> last_id_{0};
};

namespace {

// An answer that is what was expected, or the exception that it means.
std::string body_of(core::Result<Letter> answer, std::string_view wanted) {
  if (!answer.ok()) raise(answer.error());
  Letter& letter = answer.value();
  if (letter.word == "threw") throw std::runtime_error(letter.body);
  if (letter.word != wanted) raise(failed(core::Errc::protocol, "the process of the backend answered something else"));
  return std::move(letter.body);
}

class RemoteEvaluation final : public spi::Evaluation {
 public:
  RemoteEvaluation(std::shared_ptr<ProcessState> state, Post post, std::uint64_t id, bool pollable,
                   std::stop_token stop)
      : state_(std::move(state)),
        post_(std::move(post)),
        pollable_(pollable),
        on_stop_(std::move(stop), Stopper{state_.get(), id}) {}
  ~RemoteEvaluation() override { [[maybe_unused]] const auto dropped = exchange("the destructor of an evaluation"); }

  [[nodiscard]] int ready_fd() const noexcept override { return pollable_ ? post_.fd() : -1; }

  [[nodiscard]] std::optional<spi::Outcome> take() override {
    constexpr int kMostLooks = 1'000;
    for (int i = 0; i < kMostLooks; ++i) {
      auto answer = exchange("take()");
      if (!answer.ok() || answer.value().word != "pending") {
        auto outcome = unpack_outcome(body_of(std::move(answer), "outcome"));
        if (!outcome.ok()) raise(outcome.error());
        return std::move(outcome).value();
      }
      // An announcement that came together with the answer is read already, so the socket does not tell of it.
      const auto more = post_.try_receive();
      if (!more.ok()) raise(state_->broken(more.error(), "take()", state_->options().call_timeout));
      if (!more.value()) return std::nullopt;
    }
    raise(failed(core::Errc::protocol, "the process of the backend announces outcomes that it has not"));
  }

 private:
  struct Stopper {
    ProcessState* state;
    std::uint64_t id;
    void operator()() const noexcept { state->stop(id); }
  };

  // Its announcements may come before the answer.
  core::Result<Letter> exchange(std::string_view word) {
    constexpr int kMostAnnouncements = 1'000;
    const auto timeout = state_->options().call_timeout;
    auto answer = state_->ask(post_, word, {}, timeout);
    for (int i = 0; i < kMostAnnouncements && answer.ok() && answer.value().word == "ready"; ++i) {
      answer = post_.receive(core::Deadline::after(timeout), state_->ended_fd());
      if (!answer.ok()) return state_->broken(answer.error(), word, timeout);
    }
    return answer;
  }

  std::shared_ptr<ProcessState> state_;
  Post post_;
  const bool pollable_;
  std::stop_callback<Stopper> on_stop_;  // gone before what it uses
};

}  // namespace

BackendProcess::BackendProcess(std::shared_ptr<ProcessState> state) : state_(std::move(state)) {}
BackendProcess::~BackendProcess() { state_->end(); }

core::Result<std::shared_ptr<BackendProcess>> BackendProcess::start(const ServerCommand& command,
                                                                    const BackendFile* file, ProcessOptions options) {
  int ends[2] = {-1, -1};  // NOLINT(modernize-avoid-c-arrays): socketpair(2) takes one
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return core::system_error("socketpair");
  core::Fd ours(ends[0]);
  core::Fd theirs(ends[1]);
  HEDDLE_ASSIGN(const pid_t pid, spawn_server(command, theirs, file != nullptr ? &file->memory() : nullptr));
  theirs.reset();
  auto pidfd = core::Pidfd::open(pid);
  if (!pidfd.ok()) {
    ::kill(-pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return std::move(pidfd).error();
  }
  auto state = std::make_shared<ProcessState>(pid, std::move(pidfd).value(), std::move(ours), options);
  HEDDLE_ASSIGN(const Letter answer, state->ask("make", options.start_timeout));
  if (answer.word != "returned") {
    const std::string name = file != nullptr ? file->path() : command.program;
    return failed(core::Errc::invalid_argument, name + ": " + answer.body);
  }
  return std::shared_ptr<BackendProcess>(new BackendProcess(std::move(state)));
}

spi::Capabilities BackendProcess::capabilities() const {
  const auto read =
      unpack_capabilities(body_of(state_->ask("capabilities()", state_->options().call_timeout), "capabilities"));
  if (!read.ok()) raise(read.error());
  return read.value();
}

std::unique_ptr<spi::Evaluation> BackendProcess::evaluate(spi::Request request) {
  const std::uint64_t id = state_->next_id();
  auto post = state_->call(id);
  if (!post.ok()) raise(post.error());
  // A stop while evaluate() has not returned arrives as well: over there it is another thread that fires it.
  const auto stopper = [this, id] { state_->stop(id); };
  const std::stop_callback early(request.stop, stopper);
  auto answer = state_->ask(post.value(), "evaluate()", pack_request(request), state_->options().call_timeout);
  if (answer.ok() && answer.value().word == "null") return nullptr;
  const bool pollable = body_of(std::move(answer), "started") == "pollable";
  return std::make_unique<RemoteEvaluation>(state_, std::move(post).value(), id, pollable, std::move(request.stop));
}

void BackendProcess::warm() { body_of(state_->ask("warm()", state_->options().call_timeout), "returned"); }
void BackendProcess::close() { body_of(state_->ask("close()", state_->options().call_timeout), "returned"); }

core::Result<void> BackendProcess::finish() {
  HEDDLE_ASSIGN(const Letter answer, state_->ask("its destructor", state_->options().call_timeout));
  if (answer.word != "returned")
    return failed(core::Errc::protocol, "the process of the backend answered something else");
  return state_->finish(core::Deadline::after(state_->options().call_timeout));
}

void BackendProcess::end() { state_->end(); }
pid_t BackendProcess::pid() const noexcept { return state_->pid(); }

}  // namespace heddle::sandbox::plugin
