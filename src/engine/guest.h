// The generated code and the way into it and out of it.
//
// `enter` is the only door. Generated code holds no resources, so a jump out of it is sound; a jump out of host code is
// not. `inside_` is therefore set exactly while generated code runs: imports clear it first and set it last, and a stop
// that arrives in between is taken when the import ends. After a jump the instance is unusable until `restore`.
#pragma once

#include <pthread.h>

#include <csetjmp>
#include <csignal>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/engine/engine.h"
#include "linear_memory.h"
#include "quickjs_wasm.h"

namespace heddle::engine {
class Guest;
}

// wasm2c hands these to the imports.
struct Z_env_instance_t {
  heddle::engine::Guest* guest;
};
struct Z_wasi_snapshot_preview1_instance_t {
  heddle::engine::Guest* guest;
};

namespace heddle::engine {

/// The engine limits its own recursion by bytes of the shadow stack. Measured over 40 ways to recurse, one such byte
/// goes with at most 12 of the native stack, so the limit is a thirteenth of what the thread has, and at most this:
inline constexpr std::uint32_t kMostScriptStack = 512 * 1024;
inline constexpr std::uint32_t kNativePerScriptStack = 13;
inline constexpr std::uintptr_t kLeastNativeStack = std::uintptr_t{1} << 20;

/// Why generated code was left for good.
enum class Exit : std::uint8_t {
  none,
  stopped,
  memory,   ///< growth was refused
  stack,    ///< the shadow stack or the native stack ran out
  trap,     ///< a WebAssembly trap, or a fault in the guard pages
  corrupt,  ///< the engine gave back an address or a length that cannot be
};

/// A promise that was rejected while nobody listened. The values are held, so they stay what they are.
struct Rejection {
  std::uint64_t promise;
  std::uint64_t reason;
  std::uint32_t promise_box;
  std::uint32_t reason_box;
};

class Guest {
 public:
  Guest() = default;
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  /// Reserves the memory and instantiates the module for the calling thread.
  [[nodiscard]] core::Result<void> instantiate();
  /// Takes memory, globals and table as the first state. `seed_address` is where restore puts eight random bytes.
  [[nodiscard]] core::Result<void> freeze(std::uint32_t seed_address);
  void restore() noexcept;
  [[nodiscard]] bool pristine() const noexcept;

  /// A run begins and ends; between runs the id is 0.
  void begin_run(std::uint32_t run_id, const Limits& limits, ConsoleSink* console) noexcept;
  void end_run() noexcept;

  /// Runs `body`, which does nothing but call generated code and assign to trivial variables. False when it was left by
  /// a jump, now or earlier since the last restore; `exit` says why.
  template <class Body>
  [[nodiscard]] bool enter(Body&& body) {
    return enter_with([](void* context) { (*static_cast<Body*>(context))(); }, &body);
  }
  [[nodiscard]] Exit exit() const noexcept { return exit_; }
  [[nodiscard]] wasm_rt_trap_t trap() const noexcept { return trap_; }
  /// For the host's side of a run: nothing more is entered.
  void give_up(Exit why) noexcept {
    if (exit_ == Exit::none) exit_ = why;
  }

  /// Bytes of the linear memory, or an empty view and `Exit::corrupt` when they are not all there.
  [[nodiscard]] std::string_view view(std::uint32_t address, std::uint32_t length) noexcept;
  [[nodiscard]] bool write(std::uint32_t address, const void* bytes, std::size_t length) noexcept;
  [[nodiscard]] bool load(std::uint32_t address, std::uint32_t& value) noexcept;
  [[nodiscard]] bool load(std::uint32_t address, std::uint64_t& value) noexcept;

  [[nodiscard]] Z_qjs_instance_t* instance() noexcept { return &instance_; }
  [[nodiscard]] LinearMemory& memory() noexcept { return memory_; }
  [[nodiscard]] const LinearMemory& memory() const noexcept { return memory_; }
  [[nodiscard]] const std::vector<Rejection>& rejections() const noexcept { return rejections_; }
  [[nodiscard]] bool rejections_overflowed() const noexcept { return rejections_lost_ > 0; }
  [[nodiscard]] bool on_own_thread() const noexcept;
  /// For the engine's own limit; what passes it by all the same ends at the native stack's guard, as `Exit::stack`.
  [[nodiscard]] std::uint32_t script_stack() const noexcept { return script_stack_; }

  // Stops; async-signal-safe.
  void request_stop(std::uint32_t run_id) noexcept;
  void halt(std::uint32_t run_id) noexcept;      ///< on any thread; see Engine::halt
  void stop_now(std::uint32_t run_id) noexcept;  ///< in a signal handler on any thread; may not return
  /// In the handler of SIGSEGV and SIGBUS: true when the access can be tried again; may not return; false when the
  /// fault is none of ours.
  [[nodiscard]] bool fault(std::uintptr_t address) noexcept;
  /// Signals whose handlers may jump; unblocked after a jump.
  void set_jump_signals(const sigset_t& signals) noexcept { jump_signals_ = signals; }

  // For the imports.
  /// First thing an import does. Ends the run when little of the native stack is left for host code.
  void leave() noexcept;
  /// Last thing it does; does not return when a stop arrived meanwhile.
  void resume() noexcept;
  [[noreturn]] void jump(Exit why) noexcept;
  [[noreturn]] void jump_trap(wasm_rt_trap_t trap) noexcept;
  [[nodiscard]] bool stop_requested() const noexcept;
  void allocate_memory(wasm_rt_memory_t* memory, std::uint32_t initial_pages) noexcept;
  [[nodiscard]] std::uint32_t grow_memory(wasm_rt_memory_t* memory, std::uint32_t pages) noexcept;
  void allocate_table(wasm_rt_funcref_table_t* table, std::uint32_t elements) noexcept;
  void rejected(std::uint32_t promise_box, std::uint32_t reason_box, bool handled) noexcept;
  /// A line of the console; gives back how many bytes it still takes.
  [[nodiscard]] std::uint32_t write_console(std::uint32_t address, std::uint32_t length, std::uint32_t level) noexcept;

 private:
  using Body = void (*)(void*);
  bool enter_with(Body body, void* context) noexcept;
  void landed() noexcept;
  void free_box(std::uint32_t box) noexcept;

  LinearMemory memory_;
  Z_env_instance_t env_{this};
  Z_wasi_snapshot_preview1_instance_t wasi_{this};
  Z_qjs_instance_t instance_{};
  Z_qjs_instance_t first_instance_{};
  void* table_ = nullptr;  // read-only pages once instantiated
  std::size_t table_size_ = 0;
  bool instantiated_ = false;
  std::uint32_t seed_address_ = 0;
  std::uint64_t memory_ceiling_ = 0;

  sigjmp_buf landing_{};
  volatile std::sig_atomic_t inside_ = 0;
  volatile std::sig_atomic_t jumped_from_signal_ = 0;
  Exit exit_ = Exit::none;
  Exit jump_reason_ = Exit::none;
  wasm_rt_trap_t trap_ = WASM_RT_TRAP_NONE;
  sigset_t jump_signals_{};

  std::atomic<std::uint32_t> run_id_{0};
  std::atomic<std::uint32_t> stop_for_{0};  // the run that shall stop at the next poll
  std::atomic<std::uint32_t> halt_for_{0};  // the run that shall stop when the import ends

  pthread_t thread_{};
  std::uintptr_t stack_low_ = 0;
  std::uint32_t script_stack_ = 0;

  ConsoleSink* console_ = nullptr;
  std::uint64_t console_left_ = 0;

  std::vector<Rejection> rejections_;
  std::uint64_t rejections_lost_ = 0;  // more than are kept
};

}  // namespace heddle::engine
