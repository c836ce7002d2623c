// A backend whose calls may block for ever, made into one whose calls return (SBX-24).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include "heddle/sandbox/spi/backend.h"
#include "heddle/sandbox/spi/blocking.h"

namespace heddle::sandbox {

/// The backend did not keep to the interface; the same request may do no better.
class BackendBroke final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Every call of the backend and of its handles, the destructors and the callbacks on a request's stop included, is
/// made on a thread of a bounded, counted set and never on the caller's. A call that does not come back keeps its
/// thread; when all are kept, further runs are refused at once. What is thrown arrives with its type.
class GuardedBackend final : public spi::SandboxBackend {
 public:
  /// `threads`: runs at once; further ones wait for a thread. `call_wait`: capabilities() and close() have failed then.
  GuardedBackend(std::shared_ptr<spi::SandboxBackend> backend, std::size_t threads,
                 std::chrono::milliseconds call_wait);
  /// Does not wait for the backend's destructor for longer than a moment.
  ~GuardedBackend() override;

  /// Throws what the backend throws, and BackendBroke when it does not return.
  [[nodiscard]] spi::Capabilities capabilities() const override;
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override;
  void warm() override;
  /// As capabilities().
  void close() override;

 private:
  const std::chrono::milliseconds call_wait_;
  const std::shared_ptr<spi::BlockingBackend> runs_;
  const std::shared_ptr<spi::BlockingBackend> calls_;   // those that belong to no run, and stops
  const std::shared_ptr<spi::SandboxBackend> backend_;  // its last reference goes on a thread of `calls_`
};

}  // namespace heddle::sandbox
