// One run of a backend against the caller's stop and a deadline: exactly one of the three ends it.
#pragma once

#include <exception>
#include <stop_token>
#include <string>
#include <variant>

#include "heddle/core/clock.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox {

struct Stopped {};         ///< the caller's stop was requested before an outcome was taken
struct MissedDeadline {};  ///< no outcome by the deadline
struct Broken {            ///< the backend did not keep to the interface
  std::string what;
};
struct NoDescriptor {  ///< the host has none left to wait with
  int sys_errno;
};

using Settled = std::variant<spi::Outcome, Stopped, MissedDeadline, Broken, NoDescriptor, std::exception_ptr>;

/// Starts the run of `request`, whose stop is set here, and waits in one poll for its handle, the stop and the
/// deadline. When several have come by the time they are looked at, the stop wins over an outcome, and an outcome over
/// the deadline. The backend's stop token fires as soon as the caller's does, even while evaluate() has not returned,
/// and at the deadline. On return the handle is destroyed, and no descriptor, timer or callback is left. What the
/// backend throws is caught.
[[nodiscard]] Settled run_backend(spi::SandboxBackend& backend, spi::Request request, const std::stop_token& stop,
                                  core::Deadline deadline);

}  // namespace heddle::sandbox
