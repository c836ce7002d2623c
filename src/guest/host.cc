#include "heddle/guest/host.h"

namespace heddle::guest {

using core::Errc;

Host::Host(jail::SupervisorOptions options) : options_(std::move(options)) {}

core::Result<void> Host::start() {
  HEDDLE_TRY(living());
  return {};
}

core::Result<Spawned> Host::spawn(const jail::Policy& policy, const jail::Program& program,
                                  const std::vector<core::Fd>& more) {
  for (bool again = true;; again = false) {
    HEDDLE_ASSIGN(const std::shared_ptr<jail::Supervisor> supervisor, living());
    HEDDLE_ASSIGN(core::FdPair ends, core::stream_pair());
    HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(ends.first)));
    core::Result<jail::Guest> guest = supervisor->spawn(policy, program, {}, std::move(ends.second), more);
    if (guest.ok()) {
      succeeded(supervisor);
      return Spawned{std::move(guest).value(), std::move(channel)};
    }
    // What a living supervisor could not do, or would not, is the caller's to know.
    if (guest.error().code != Errc::disconnected) return std::move(guest).error();
    lost(supervisor, guest.error());
    if (!again) return std::move(guest).error();
  }
}

std::uint64_t Host::started() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

// Whoever needs a supervisor waits here while one is started: without it there is nothing to do for any of them.
core::Result<std::shared_ptr<jail::Supervisor>> Host::living() {
  const std::lock_guard lock(mutex_);
  if (supervisor_ != nullptr) return supervisor_;
  if (auto refusal = backoff_.refusal()) return *std::move(refusal);
  core::Result<jail::Supervisor> started = start_locked();
  if (!started.ok()) {
    backoff_.failed(started.error());
    return std::move(started).error();
  }
  ++started_;
  supervisor_ = std::make_shared<jail::Supervisor>(std::move(started).value());
  return supervisor_;
}

core::Result<jail::Supervisor> Host::start_locked() {
  if (program_) return jail::Supervisor::start(*program_, options_);
  HEDDLE_ASSIGN(jail::Program program, jail::open_supervisor(options_));
  HEDDLE_ASSIGN(jail::Supervisor supervisor, jail::Supervisor::start(program, options_));
  program_.emplace(std::move(program));  // one that could not be started may be mended at its path
  return supervisor;
}

void Host::succeeded(const std::shared_ptr<jail::Supervisor>& with) {
  const std::lock_guard lock(mutex_);
  if (with == supervisor_) backoff_.succeeded();
}

// Several may find the same one dead.
void Host::lost(const std::shared_ptr<jail::Supervisor>& dead, const core::Error& error) {
  const std::lock_guard lock(mutex_);
  if (dead != supervisor_) return;
  supervisor_.reset();
  backoff_.failed(error);
}

}  // namespace heddle::guest
