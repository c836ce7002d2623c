#include "guest.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "heddle/core/text.h"
#include "signals.h"

namespace heddle::engine {
namespace {

// wasm-rt's calls for traps name no instance, and an instance is being made before it has a name; so the thread knows
// whose code it runs.
thread_local Guest* current = nullptr;

// Native stack that host code may use below an import.
constexpr std::uintptr_t kImportStack = std::uintptr_t{64} << 10;
// Faults this far around the low end of the native stack are its exhaustion.
constexpr std::uintptr_t kStackGap = std::uintptr_t{1} << 20;
// Of a main thread's stack without a limit this much is used.
constexpr std::uintptr_t kMainStack = std::uintptr_t{8} << 20;
// Arguments, environment and start-up frames of a main thread.
constexpr std::uintptr_t kAboveTheStack = std::uintptr_t{256} << 10;
constexpr std::size_t kMaxRejections = 1024;

std::uintptr_t stack_pointer() noexcept { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

// The C library reads a main thread's bounds from /proc, which a jail has taken away. There the kernel lets the stack
// grow to its limit below where it began; that is above this frame, by no more than arguments and environment.
core::Result<std::uintptr_t> lowest_stack_address() {
  pthread_attr_t attributes;
  const int failed = ::pthread_getattr_np(::pthread_self(), &attributes);
  if (failed == 0) {
    void* low = nullptr;
    std::size_t size = 0;
    ::pthread_attr_getstack(&attributes, &low, &size);
    ::pthread_attr_destroy(&attributes);
    return reinterpret_cast<std::uintptr_t>(low);
  }
  rlimit limit{};
  if (::gettid() != ::getpid() || ::getrlimit(RLIMIT_STACK, &limit) != 0) {
    return core::system_error(failed, "learn the bounds of the thread's stack");
  }
  const std::uintptr_t size = std::min<std::uintptr_t>(limit.rlim_cur, kMainStack);
  return stack_pointer() - size + kAboveTheStack;
}

// Keeps the compiler from moving work across a change of `inside_`, which signal handlers read.
void fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace

Guest* current_guest() noexcept { return current; }

Guest::~Guest() {
  forget_signals(*this);
  if (table_ != nullptr) ::munmap(table_, table_size_);
}

core::Result<void> Guest::instantiate() {
  thread_ = ::pthread_self();
  HEDDLE_ASSIGN(stack_low_, lowest_stack_address());
  const std::uintptr_t stack = stack_pointer() - stack_low_;
  if (stack < kLeastNativeStack) {
    return core::make_error(
        core::Errc::unsupported, "start the script engine",
        "the thread's stack is smaller than 1 MiB; raise it (ulimit -s, or the thread's attribute)");
  }
  script_stack_ = static_cast<std::uint32_t>(
      std::min<std::uintptr_t>((stack - 2 * kImportStack) / kNativePerScriptStack, kMostScriptStack));
  HEDDLE_TRY(memory_.reserve());
  memory_ceiling_ = 1ULL << 32;
  rejections_.reserve(kMaxRejections);
  current = this;
  // The module's types are the same for every instance and are registered once a process.
  static const bool registered = (Z_qjs_init_module(), true);
  HEDDLE_CHECK(registered);
  const bool done = enter([this] {
    Z_qjs_instantiate(&instance_, &env_, &wasi_);
    Z_qjsZ__initialize(&instance_);
  });
  if (!done || table_ == nullptr) {
    return core::make_error(core::Errc::exhausted, "instantiate the script engine",
                            "its memory could not be allocated");
  }
  instantiated_ = true;
  return {};
}

core::Result<void> Guest::freeze(std::uint32_t seed_address) {
  if (exit_ != Exit::none) return core::make_error(core::Errc::unsupported, "start the script engine", "it trapped");
  seed_address_ = seed_address;
  HEDDLE_TRY(memory_.freeze(instance_.w2c___stack_pointer));
  first_instance_ = instance_;
  // No instruction of the module changes the table; a bug of ours cannot either.
  if (::mprotect(table_, table_size_, PROT_READ) != 0) return core::system_error("protect the engine's function table");
  return {};
}

void Guest::restore() noexcept {
  memory_.restore();
  instance_ = first_instance_;
  exit_ = Exit::none;
  trap_ = WASM_RT_TRAP_NONE;
  rejections_.clear();
  rejections_lost_ = 0;
}

bool Guest::pristine() const noexcept {
  return memory_.pristine() && instance_.w2c___stack_pointer == first_instance_.w2c___stack_pointer &&
         instance_.w2c_memory.data == first_instance_.w2c_memory.data &&
         instance_.w2c_memory.size == first_instance_.w2c_memory.size &&
         instance_.w2c___indirect_function_table.data == table_ && exit_ == Exit::none && rejections_.empty();
}

void Guest::begin_run(std::uint32_t run_id, const Limits& limits, ConsoleSink* console) noexcept {
  memory_ceiling_ = limits.memory_bytes;
  console_ = console;
  console_left_ = limits.console_bytes;
  // The first thing that is not the same in two runs: Math.random's state. Never 0, which a xorshift cannot leave.
  std::uint64_t seed = 0;
  while (seed == 0) HEDDLE_CHECK(::getrandom(&seed, sizeof seed, 0) == sizeof seed);
  std::memcpy(memory_.data() + seed_address_, &seed, sizeof seed);
  run_id_.store(run_id);
}

void Guest::end_run() noexcept {
  run_id_.store(0);
  console_ = nullptr;
}

bool Guest::on_own_thread() const noexcept { return ::pthread_equal(::pthread_self(), thread_) != 0; }

// The frame that a jump comes back to. Nothing in it or below it needs a destructor.
__attribute__((noinline)) bool Guest::enter_with(Body body, void* context) noexcept {
  if (exit_ != Exit::none) return false;
  current = this;
  if (sigsetjmp(landing_, 0) != 0) {
    landed();
    return false;
  }
  resume();
  body(context);
  inside_ = 0;
  fence();
  return true;
}

void Guest::landed() noexcept {
  fence();
  inside_ = 0;
  exit_ = jump_reason_;
  if (jumped_from_signal_ != 0) {
    jumped_from_signal_ = 0;
    ::pthread_sigmask(SIG_UNBLOCK, &jump_signals_, nullptr);
  }
  const std::uint32_t run = run_id_.load();
  if (exit_ == Exit::trap && run != 0 && halt_for_.load() == run) exit_ = Exit::stopped;
  // A shadow stack that ran out shows as a fault at the far end of the address range.
  if (exit_ == Exit::trap && instance_.w2c___stack_pointer > first_instance_.w2c___stack_pointer) exit_ = Exit::stack;
}

void Guest::leave() noexcept {
  inside_ = 0;
  fence();
  if (stack_pointer() < stack_low_ + kImportStack) jump(Exit::stack);
}

void Guest::resume() noexcept {
  fence();
  inside_ = 1;
  fence();
  const std::uint32_t run = run_id_.load(std::memory_order_relaxed);
  if (run != 0 && halt_for_.load(std::memory_order_relaxed) == run) jump(Exit::stopped);
}

void Guest::jump(Exit why) noexcept {
  inside_ = 0;
  fence();
  jump_reason_ = why;
  siglongjmp(landing_, 1);
}

void Guest::jump_trap(wasm_rt_trap_t trap) noexcept {
  inside_ = 0;
  fence();
  trap_ = trap;
  jump(Exit::trap);
}

bool Guest::stop_requested() const noexcept {
  const std::uint32_t run = run_id_.load(std::memory_order_relaxed);
  return run != 0 && stop_for_.load(std::memory_order_relaxed) == run;
}

void Guest::request_stop(std::uint32_t run_id) noexcept {
  // Between runs a stop is kept: it is for the run that is about to start, or for one that has ended and whose id will
  // not come again. During a run only that run's own id counts.
  const std::uint32_t current_run = run_id_.load();
  if (run_id != 0 && (current_run == 0 || current_run == run_id)) stop_for_.store(run_id);
}

void Guest::stop_now(std::uint32_t run_id) noexcept {
  request_stop(run_id);
  const std::uint32_t current_run = run_id_.load();
  if (run_id == 0 || (current_run != 0 && current_run != run_id)) return;
  halt_for_.store(run_id);
  if (current_run == 0 || inside_ == 0 || !on_own_thread()) return;
  jumped_from_signal_ = 1;
  jump(Exit::stopped);
}

void Guest::halt(std::uint32_t run_id) noexcept {
  request_stop(run_id);
  if (run_id == 0 || run_id_.load() != run_id) return;
  halt_for_.store(run_id);
  // Every loop of the generated code looks at this (cmake/engine_edits.cmake); so do its bulk copies.
  __atomic_store_n(&instance_.w2c_memory.size, 0U, __ATOMIC_SEQ_CST);
}

bool Guest::fault(std::uintptr_t address) noexcept {
  if (!on_own_thread()) return false;
  if (memory_.resolve_fault(address)) return true;
  if (inside_ == 0) return false;
  if (memory_.covers(address)) {
    jumped_from_signal_ = 1;
    jump_trap(WASM_RT_TRAP_OOB);
  }
  if (address + kStackGap >= stack_low_ && address < stack_low_ + kStackGap) {
    jumped_from_signal_ = 1;
    jump(Exit::stack);
  }
  return false;
}

void Guest::allocate_memory(wasm_rt_memory_t* memory, std::uint32_t initial_pages) noexcept {
  if (!memory_.extend(std::uint64_t{initial_pages} * kWasmPage)) jump(Exit::memory);
  memory->data = memory_.data();
  memory->pages = initial_pages;
  memory->max_pages = 65535;  // `size` has 32 bits
  memory->size = static_cast<std::uint32_t>(memory_.size());
}

std::uint32_t Guest::grow_memory(wasm_rt_memory_t* memory, std::uint32_t pages) noexcept {
  const std::uint32_t before = memory->pages;
  const std::uint64_t bytes = std::uint64_t{pages} * kWasmPage;
  const std::uint64_t after = memory_.size() + bytes;
  // The verdict is here and now: a guest that is told "no" could catch the error and go on for ever.
  if (pages != 0 &&
      (after > memory_ceiling_ || after > std::uint64_t{memory->max_pages} * kWasmPage || !memory_.extend(bytes))) {
    jump(Exit::memory);
  }
  memory->pages = before + pages;
  __atomic_store_n(&memory->size, static_cast<std::uint32_t>(memory_.size()), __ATOMIC_SEQ_CST);  // see halt()
  return before;
}

void Guest::allocate_table(wasm_rt_funcref_table_t* table, std::uint32_t elements) noexcept {
  table_size_ = (elements * sizeof(wasm_rt_funcref_t) + 4095) / 4096 * 4096;
  void* pages = ::mmap(nullptr, table_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) jump(Exit::memory);
  table_ = pages;
  table->data = static_cast<wasm_rt_funcref_t*>(pages);
  table->size = elements;
  table->max_size = elements;
}

void Guest::free_box(std::uint32_t box) noexcept {
  resume();
  Z_qjsZ_qjs_free_value(&instance_, box);
  leave();
}

void Guest::rejected(std::uint32_t promise_box, std::uint32_t reason_box, bool handled) noexcept {
  std::uint64_t promise = 0;
  std::uint64_t reason = 0;
  if (!load(promise_box, promise) || !load(reason_box, reason)) jump(Exit::corrupt);
  if (!handled && rejections_.size() < kMaxRejections) {
    rejections_.push_back({promise, reason, promise_box, reason_box});
    return;
  }
  if (!handled) {
    ++rejections_lost_;
  } else {
    const auto match = [promise](const Rejection& rejection) { return rejection.promise == promise; };
    const auto found = std::find_if(rejections_.rbegin(), rejections_.rend(), match);
    if (found != rejections_.rend()) {
      const Rejection gone = *found;
      rejections_.erase(std::next(found).base());
      free_box(gone.promise_box);
      free_box(gone.reason_box);
    } else if (rejections_lost_ > 0) {
      --rejections_lost_;
    }
  }
  free_box(promise_box);
  free_box(reason_box);
}

std::uint32_t Guest::write_console(std::uint32_t address, std::uint32_t length, std::uint32_t level) noexcept {
  const std::string_view bytes = view(address, length);
  if (exit_ != Exit::none || level > static_cast<std::uint32_t>(ConsoleLevel::debug)) jump(Exit::corrupt);
  if (console_ == nullptr) return 0;
  const std::uint64_t room = console_left_ - std::min(console_left_, kConsoleLineBytes);
  std::string text = core::bound_text_bytes(bytes, room + 4);  // one character more than there is room for
  const bool cut = text.size() > room || console_left_ < kConsoleLineBytes;
  if (cut) text = core::bound_text_bytes(text, room);
  console_->line(static_cast<ConsoleLevel>(level), text, cut);
  if (cut) {
    console_ = nullptr;
    return 0;
  }
  console_left_ = room - text.size();
  // One more is asked for, so that a line without room is marked as cut.
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(console_left_, 1, INT32_MAX));
}

std::string_view Guest::view(std::uint32_t address, std::uint32_t length) noexcept {
  if (address > memory_.size() || length > memory_.size() - address) {
    give_up(Exit::corrupt);
    return {};
  }
  return {reinterpret_cast<const char*>(memory_.data()) + address, length};
}

bool Guest::write(std::uint32_t address, const void* bytes, std::size_t length) noexcept {
  if (address > memory_.size() || length > memory_.size() - address) {
    give_up(Exit::corrupt);
    return false;
  }
  std::memcpy(memory_.data() + address, bytes, length);
  return true;
}

bool Guest::load(std::uint32_t address, std::uint32_t& value) noexcept {
  const std::string_view bytes = view(address, sizeof value);
  if (bytes.empty()) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  return true;
}

bool Guest::load(std::uint32_t address, std::uint64_t& value) noexcept {
  const std::string_view bytes = view(address, sizeof value);
  if (bytes.empty()) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  return true;
}

}  // namespace heddle::engine
