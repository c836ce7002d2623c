// BackendProcess: a backend in a process of its own, and a backend to whoever holds it. The host never loads its code.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/sandbox/plugin/backend_file.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::plugin {

/// How the program is started that calls serve_backend().
struct ServerCommand {
  std::string program;
  std::vector<std::string> arguments;
};

struct ProcessOptions {
  /// From the start of the process to its backend: loading it and making it.
  std::chrono::milliseconds start_timeout{60'000};
  /// A call that must return at once (every one of the interface's) and has not by then ends the process.
  std::chrono::milliseconds call_timeout{60'000};
};

class ProcessState;

/// Each call of the interface is made in the other process and waited for, so it takes as long as it takes there; what
/// it throws there is thrown here as a std::runtime_error with its text. A process that ended answers every call with
/// an exception that says how. Thread-safe.
class BackendProcess final : public spi::SandboxBackend {
 public:
  /// `file` null: the program makes a backend of its own. An Error where there is no backend in the end, with its
  /// reason.
  [[nodiscard]] static core::Result<std::shared_ptr<BackendProcess>> start(const ServerCommand& command,
                                                                           const BackendFile* file,
                                                                           ProcessOptions options = {});
  /// Kills the process and its group. Evaluations keep the process until the last of them is gone.
  ~BackendProcess() override;

  [[nodiscard]] spi::Capabilities capabilities() const override;
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override;
  void warm() override;
  void close() override;

  /// Destroys the backend over there, and then ends the process in order. An Error says what did not happen.
  [[nodiscard]] core::Result<void> finish();
  /// Kills it now.
  void end();

  [[nodiscard]] pid_t pid() const noexcept;

 private:
  explicit BackendProcess(std::shared_ptr<ProcessState> state);
  std::shared_ptr<ProcessState> state_;
};

}  // namespace heddle::sandbox::plugin
