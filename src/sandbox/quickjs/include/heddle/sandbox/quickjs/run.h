// One evaluation of one script in a worker process: what is asked, what came out, and the handle in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "heddle/core/error.h"
#include "heddle/sandbox/spi/remarks.h"

namespace heddle::sandbox::quickjs {

/// What one run may use. Zero is not a limit but a mistake (Pool::start refuses it), except for `cpu`.
struct RunLimits {
  std::chrono::milliseconds wall_clock{2000};
  std::chrono::milliseconds cpu{0};                       ///< CPU time of the run; 0: bounded by the wall clock alone
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;   ///< the engine's linear memory, its own 1.3 MiB included
  std::uint64_t output_bytes = std::uint64_t{1} << 20;    ///< of the result's JSON text
  std::uint64_t console_bytes = std::uint64_t{64} << 10;  ///< of what is kept of its console, 16 a line more
};

struct RunRequest {
  std::string script;               ///< well-formed UTF-8
  std::string input_json = "null";  ///< one JSON value
  RunLimits limits;
  bool explain = false;  ///< costs two questions to the supervisor; fills Outcome::explanation
};

/// What confined the worker of a run, and what it was refused meanwhile, in words.
struct Explanation {
  struct Denied {
    std::string syscall;  ///< "openat"; "unknown" where the filter ended the worker and nobody was told
    std::string object;   ///< "/etc/passwd", as observed; empty where there is none
    std::string line;     ///< "openat /etc/passwd (observed): seccomp: a script has no files"
    std::string rule;     ///< "seccomp: a script has no files"
    std::string hint;     ///< what would have to change
  };
  std::vector<std::string> applied;  ///< a fact each; empty when the worker ended before it could be asked
  std::vector<Denied> denied;        ///< in order
  bool ended_by_denial = false;      ///< the last of them ended the worker
  std::uint64_t dropped = 0;         ///< denials of this worker's that found no room with the supervisor
};

enum class LimitKind { cpu, memory, wall_clock, output };

struct Outcome {
  enum class Kind {
    ok,               ///< `value`
    threw,            ///< the script's own failure: `name`, `message`, `line`, `column`
    limit,            ///< `limit` says which
    input_too_large,  ///< the input overflowed the memory limit while it was parsed; the script did not run
    infrastructure,   ///< `error`: nothing is known of the script; the same run may be tried again
    cancelled,        ///< the caller's stop was requested
  };
  Kind kind = Kind::infrastructure;
  std::string value;  ///< JSON text, well-formed UTF-8, within output_bytes
  LimitKind limit = LimitKind::wall_clock;
  std::optional<std::string> name;  ///< bounded and storable (core::bound_text), as is `message`
  std::string message;
  std::uint32_t line = 0;  ///< in the script, from 1; 0 when unknown
  std::uint32_t column = 0;
  core::Error error;                       ///< Errc::start_up or Errc::confinement: no worker could be had
  std::chrono::microseconds elapsed{0};    ///< from the moment the worker was sent the script
  std::chrono::microseconds cpu{0};        ///< CPU time of the worker over the run, by the kernel's count
  std::optional<Explanation> explanation;  ///< of a run that had a worker, when RunRequest::explain
  spi::Remarks remarks;                    ///< of any kind; bounded and storable
};

class RunState;

/// A run that has been started. Driven by its owner: poll(2) fd() for POLLIN and call poll() each time it is readable;
/// both deadlines, the worker's death and its answer all make fd() readable. Destroying it before the outcome ends the
/// worker. Movable; one thread at a time.
class Run {
 public:
  explicit Run(std::unique_ptr<RunState> state);
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Stays the same for the life of the run; owned by it.
  [[nodiscard]] int fd() const;
  /// Does what is due without blocking; the outcome once there is one (exactly once).
  [[nodiscard]] std::optional<Outcome> poll();
  /// Blocks until the outcome. A requested stop ends the worker and gives Kind::cancelled, whatever else came (SBX-8).
  [[nodiscard]] Outcome wait(const std::stop_token& stop = {});

 private:
  std::unique_ptr<RunState> state_;
};

}  // namespace heddle::sandbox::quickjs
