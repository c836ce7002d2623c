// The script engine: QuickJS inside WebAssembly inside native code, put back to its first state before every run.
//
// What a script sees is in docs/guide/javascript.md; why it is built this way in docs/adr/0005-engine.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/result.h"

namespace heddle::engine {

/// Ceilings of one run.
struct Limits {
  std::uint64_t memory_bytes;  ///< of the linear memory, the engine's own image (`Engine::image_bytes`) included
  std::uint64_t output_bytes;  ///< of the JSON text as the engine makes it
  std::uint64_t console_bytes = std::uint64_t{64} << 10;  ///< of what a ConsoleSink gets, kConsoleLineBytes a line more
};

/// What a line of the console costs beside its text, so that empty lines are bounded too; the line that is cut may be
/// without it.
inline constexpr std::uint64_t kConsoleLineBytes = 16;

enum class ConsoleLevel : std::uint8_t { log, info, warn, error, debug };

/// Takes what a script writes to its console, as it writes it, so that it is kept however the run ends. Called on the
/// engine's thread within `Engine::run`; must not call the engine.
class ConsoleSink {
 public:
  ConsoleSink() = default;
  ConsoleSink(const ConsoleSink&) = delete;
  ConsoleSink& operator=(const ConsoleSink&) = delete;
  virtual ~ConsoleSink() = default;
  /// `text`: well-formed UTF-8 without NUL. `cut`: some of it did not fit, and nothing comes after it.
  virtual void line(ConsoleLevel level, std::string_view text, bool cut) noexcept = 0;
};

/// How a run ended. Verdicts on limits rest on what the host saw and did, never on an error that a script can forge.
enum class Ending : std::uint8_t {
  ok,               ///< `value` is the result as JSON text
  threw,            ///< the script threw, did not compile, or gave something that JSON cannot carry
  memory,           ///< growth past `Limits::memory_bytes` was refused, at once and for good
  output,           ///< the result is longer than `Limits::output_bytes`
  input_too_large,  ///< the input did not fit the memory; the script did not run
  stopped,          ///< the run was stopped from outside
  fault,            ///< the engine itself broke (a trap in its code); not the script's doing as far as can be told
};

struct RunResult {
  Ending ending = Ending::fault;
  std::string value;         ///< ok: JSON text, valid UTF-8
  bool has_name = false;     ///< threw: whether the thrown value had a name
  std::string name;          ///< threw: at most core::kMaxGuestTextUnits UTF-16 units of valid UTF-8, no NUL
  std::string message;       ///< threw: the same bounds; fault: what the engine did
  std::uint32_t line = 0;    ///< threw: where in the script, from 1; 0 when unknown. Advisory: a script can forge it.
  std::uint32_t column = 0;  ///< threw: from 1; 0 when unknown
  std::string hint;          ///< not ok: what the script's author can do; empty when nothing is known
  std::string note;          ///< ok: what the author may not have meant; empty mostly
};

/// One engine. Linear memory is a reservation of 8 GiB of addresses with guard pages behind it.
///
/// Threads: `run` and `restore` belong to the thread that called `create`; only `request_stop` may come from elsewhere.
/// A process can hold several engines as long as `install_stop_signals` was called for at most one of them. Without
/// those handlers a run that leaves its memory or its stack ends the process.
class Engine {
 public:
  /// Builds the engine and the image of its memory that every run starts from.
  [[nodiscard]] static core::Result<std::unique_ptr<Engine>> create();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Restores, then evaluates `script` (UTF-8, sloppy global code) with the global `input` made from `input_json`.
  /// `run_id` is not 0 and not reused while stops for it may be on their way.
  /// `console` may be null: what the script writes to it is dropped then.
  [[nodiscard]] RunResult run(std::uint32_t run_id, std::string_view script, std::string_view input_json,
                              const Limits& limits, ConsoleSink* console = nullptr);

  /// The soft stop: the run ends as `stopped` when the engine next polls. Says nothing to any other run; a stop that
  /// comes just before its run starts is kept for it. Async-signal-safe, any thread.
  void request_stop(std::uint32_t run_id) noexcept;

  /// Ends the run `run_id` wherever it is, in a built-in too, from any thread and without a signal: as `stopped`, in
  /// the next round of the innermost loop. To be repeated until the run has ended, since growing memory can undo it.
  /// For an engine that makes no run after this one.
  void halt(std::uint32_t run_id) noexcept;

  /// Restore alone. `run` does it first, so only benchmarks need it.
  void restore();

  /// Bytes of linear memory before a script runs: what `Limits::memory_bytes` must exceed.
  [[nodiscard]] std::uint64_t image_bytes() const noexcept;

  /// Compares everything that a run can change with the image; for tests. True right after `restore`.
  [[nodiscard]] bool pristine() const noexcept;

 private:
  friend core::Result<void> install_stop_signals(Engine& engine, int soft_signal, int hard_signal);
  struct State;
  explicit Engine(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

/// Handlers for the whole process, on a signal stack for the calling thread, which must be the engine's:
///   soft_signal  `request_stop` for the run whose id is in the signal's value (sigqueue(3))
///   hard_signal  the same, and at once: jumps out of the engine's code, even out of a built-in that never polls.
///                A signal that arrives in host code takes effect when the engine goes on; one whose value is not the
///                current run's id does nothing.
///   SIGSEGV, SIGBUS  tell a fault of the engine's code (the run ends) from any other (the old action, so the process
///                ends), and drive the fast restore.
/// Call it after `create` and before a seccomp filter is loaded; for one engine at a time.
[[nodiscard]] core::Result<void> install_stop_signals(Engine& engine, int soft_signal, int hard_signal);

}  // namespace heddle::engine
