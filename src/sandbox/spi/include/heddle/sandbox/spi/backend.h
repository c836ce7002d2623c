// SandboxBackend and Evaluation: the two classes that make an isolation boundary of yours usable by Heddle.
//
// An evaluation is a handle: a descriptor to poll(2), an outcome to take, a destructor that gives up. Whoever runs one
// waits for its outcome, for a stop and for a deadline in one poll, so that no race needs a thread. Make handles with
// pending() or ready() (pending.h), or with BlockingBackend (blocking.h) where the engine can only block.
//
// Calls must return promptly. A host that was not told to trust that makes each of them on a thread of its own, so that
// one which blocks costs a run and a thread, not the host; destructors and callbacks on a stop too. They must not
// throw.
#pragma once

#include <memory>
#include <optional>

#include "heddle/sandbox/spi/capabilities.h"
#include "heddle/sandbox/spi/outcome.h"
#include "heddle/sandbox/spi/request.h"
#include "heddle/sandbox/spi/version.h"

namespace heddle::sandbox::spi {

/// One run that has been started. Used by one thread at a time.
class HEDDLE_SPI_EXPORT Evaluation {
 public:
  Evaluation() = default;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Gives up: the run is ended, and all that belongs to it is released. Must return promptly, without waiting for a
  /// script, and must not throw.
  virtual ~Evaluation();

  /// Readable (POLLIN) when take() has something to do. Owned by the handle, the same for its whole life.
  [[nodiscard]] virtual int ready_fd() const noexcept = 0;

  /// Does what is due without blocking, and gives the outcome once there is one. May be called at any time; what comes
  /// after the first outcome is not looked at. May throw: the exception is then how the run ended.
  [[nodiscard]] virtual std::optional<Outcome> take() = 0;
};

/// A boundary that can run scripts. Thread-safe: evaluate() is called from several threads at once.
class HEDDLE_SPI_EXPORT SandboxBackend {
 public:
  SandboxBackend() = default;
  SandboxBackend(const SandboxBackend&) = delete;
  SandboxBackend& operator=(const SandboxBackend&) = delete;

  /// Handles that are still alive must not depend on the backend: each keeps what it needs alive by itself.
  virtual ~SandboxBackend();

  /// Read once by each user, who keeps the copy.
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Starts a run and returns without waiting for it. Never null. A run that cannot be started is an outcome of kind
  /// `infrastructure`; one that never can be, whatever is done again (a limit that the boundary does not have), throws
  /// std::invalid_argument, here or out of take(). May throw else; never let a guess about the script travel in an
  /// exception.
  [[nodiscard]] virtual std::unique_ptr<Evaluation> evaluate(Request request) = 0;

  /// Advice that runs are about to come: start what takes time. Does not wait. May do nothing.
  virtual void warm();

  /// Releases pools, connections, instances. Runs that come later end as `infrastructure`. Called at most once by an
  /// owner; must not wait for scripts.
  virtual void close();
};

}  // namespace heddle::sandbox::spi
