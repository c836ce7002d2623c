#include "heddle/sandbox/quickjs/run.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "run_state.h"

namespace heddle::sandbox::quickjs {

Run::Run(std::unique_ptr<RunState> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

int Run::fd() const { return state_->fd(); }

std::optional<Outcome> Run::poll() { return state_->poll(); }

Outcome Run::wait(const std::stop_token& stop) {
  const core::Fd stopped(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped.valid()) {
    Outcome outcome = state_->cancel();
    outcome.kind = Outcome::Kind::infrastructure;
    outcome.error = core::system_error("wait for a run", "raise the limit on open files (ulimit -n)");
    return outcome;
  }
  const std::stop_callback on_stop(stop, [&stopped] {
    const std::uint64_t one = 1;
    HEDDLE_CHECK(::write(stopped.get(), &one, sizeof one) == sizeof one);
  });
  for (;;) {
    std::optional<Outcome> outcome = state_->poll();
    if (stop.stop_requested()) return state_->cancel();
    if (outcome) return std::move(*outcome);
    pollfd items[] = {{state_->fd(), POLLIN, 0}, {stopped.get(), POLLIN, 0}};
    HEDDLE_CHECK(::poll(items, 2, -1) >= 0 || errno == EINTR || errno == ENOMEM);
  }
}

}  // namespace heddle::sandbox::quickjs
