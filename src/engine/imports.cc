// What generated code calls: wasm-rt's functions (wasm-rt.h describes them) and the module's imports. Stock wasm-rt is
// not used: it reads no limit, unmaps too little and owns the process's signal handlers.
#include <cstdarg>
#include <cstring>
#include <ctime>

#include <sys/random.h>

#include "guest.h"

namespace heddle::engine {
Guest* current_guest() noexcept;

namespace {

constexpr u32 kWasiSuccess = 0;
constexpr u32 kWasiBadDescriptor = 8;
constexpr std::size_t kMaxFunctionTypes = 256;
constexpr std::size_t kMaxArity = 32;

struct FunctionType {
  std::uint32_t params;
  std::uint32_t results;
  std::uint8_t types[kMaxArity];
};

// Written while Guest::instantiate registers the module, which it does once a process.
FunctionType function_types[kMaxFunctionTypes];
std::size_t function_type_count = 0;

}  // namespace
}  // namespace heddle::engine

using heddle::engine::Exit;
using heddle::engine::Guest;
using heddle::engine::kWasiBadDescriptor;
using heddle::engine::kWasiSuccess;

extern "C" {

bool wasm_rt_is_initialized(void) { return true; }

void wasm_rt_trap(wasm_rt_trap_t code) {
  HEDDLE_CHECK(heddle::engine::current_guest() != nullptr);
  heddle::engine::current_guest()->jump_trap(code);
}

uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...) {
  using namespace heddle::engine;
  HEDDLE_CHECK(params + results <= kMaxArity);
  FunctionType type{params, results, {}};
  va_list list;
  va_start(list, results);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is a line above
  for (std::uint32_t i = 0; i < params + results; ++i) type.types[i] = static_cast<std::uint8_t>(va_arg(list, int));
  va_end(list);
  for (std::size_t i = 0; i < function_type_count; ++i) {
    if (std::memcmp(&function_types[i], &type, sizeof type) == 0) return static_cast<uint32_t>(i + 1);
  }
  HEDDLE_CHECK(function_type_count < kMaxFunctionTypes);
  function_types[function_type_count++] = type;
  return static_cast<uint32_t>(function_type_count);
}

void wasm_rt_allocate_memory(wasm_rt_memory_t* memory, uint32_t initial_pages, uint32_t /*max_pages*/) {
  Guest* guest = heddle::engine::current_guest();
  guest->leave();
  guest->allocate_memory(memory, initial_pages);
  guest->resume();
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t* memory, uint32_t pages) {
  Guest* guest = heddle::engine::current_guest();
  guest->leave();
  const uint32_t before = guest->grow_memory(memory, pages);
  guest->resume();
  return before;
}

void wasm_rt_free_memory(wasm_rt_memory_t* /*memory*/) {}

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t* table, uint32_t elements, uint32_t /*max_elements*/) {
  Guest* guest = heddle::engine::current_guest();
  guest->leave();
  guest->allocate_table(table, elements);
  guest->resume();
}

void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t* /*table*/) {}

// Every date is UTC: the machine's zone is none of a script's business and would make results differ between machines.
u32 Z_envZ_host_get_timezone_offset(Z_env_instance_t* /*env*/, u32 /*high*/, u32 /*low*/) { return 0; }

// The engine polls here. Leaving by a jump instead of an answer means that no script code runs after a stop.
u32 Z_envZ_host_interrupt(Z_env_instance_t* env) {
  Guest* guest = env->guest;
  guest->leave();
  if (guest->stop_requested()) guest->jump(Exit::stopped);
  guest->resume();
  return 0;
}

void Z_envZ_host_promise_rejection(Z_env_instance_t* env, u32 promise, u32 reason, u32 is_handled) {
  Guest* guest = env->guest;
  guest->leave();
  guest->rejected(promise, reason, is_handled != 0);
  guest->resume();
}

// The console's line, by the form that cmake/engine_edits.cmake gives to host functions; there is no other.
u32 Z_envZ_host_call(Z_env_instance_t* env, u32 address, u32 length, u32 level, u32 /*unused*/, u32 /*unused*/) {
  Guest* guest = env->guest;
  guest->leave();
  const u32 left = guest->write_console(address, length, level);
  guest->resume();
  return left;
}
// Never registered, so never called: modules.
u32 Z_envZ_host_module_normalize(Z_env_instance_t* env, u32, u32) { env->guest->jump_trap(WASM_RT_TRAP_UNREACHABLE); }
u32 Z_envZ_host_module_load(Z_env_instance_t* env, u32, u32) { env->guest->jump_trap(WASM_RT_TRAP_UNREACHABLE); }

// Live, in whole milliseconds: what Date shows, and no finer clock to measure neighbours with.
u32 Z_wasi_snapshot_preview1Z_clock_time_get(Z_wasi_snapshot_preview1_instance_t* wasi, u32 id, u64 /*precision*/,
                                             u32 address) {
  Guest* guest = wasi->guest;
  guest->leave();
  timespec now{};
  HEDDLE_CHECK(::clock_gettime(id == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now) == 0);
  const auto milliseconds = static_cast<u64>(now.tv_sec) * 1000 + static_cast<u64>(now.tv_nsec) / 1'000'000;
  const u64 nanoseconds = milliseconds * 1'000'000;
  if (!guest->write(address, &nanoseconds, sizeof nanoseconds)) guest->jump(Exit::corrupt);
  guest->resume();
  return kWasiSuccess;
}

u32 Z_wasi_snapshot_preview1Z_random_get(Z_wasi_snapshot_preview1_instance_t* wasi, u32 address, u32 length) {
  Guest* guest = wasi->guest;
  guest->leave();
  // By way of a buffer of ours: the kernel would refuse to write to a page that restore protects.
  char bytes[256];
  while (length > 0) {
    const u32 part = length < sizeof bytes ? length : sizeof bytes;
    HEDDLE_CHECK(::getrandom(bytes, part, 0) == static_cast<ssize_t>(part));
    if (!guest->write(address, bytes, part)) guest->jump(Exit::corrupt);
    address += part;
    length -= part;
  }
  guest->resume();
  return kWasiSuccess;
}

// There are no files.
u32 Z_wasi_snapshot_preview1Z_fd_close(Z_wasi_snapshot_preview1_instance_t*, u32) { return kWasiBadDescriptor; }
u32 Z_wasi_snapshot_preview1Z_fd_fdstat_get(Z_wasi_snapshot_preview1_instance_t*, u32, u32) {
  return kWasiBadDescriptor;
}
u32 Z_wasi_snapshot_preview1Z_fd_seek(Z_wasi_snapshot_preview1_instance_t*, u32, u64, u32, u32) {
  return kWasiBadDescriptor;
}
u32 Z_wasi_snapshot_preview1Z_fd_write(Z_wasi_snapshot_preview1_instance_t*, u32, u32, u32, u32) {
  return kWasiBadDescriptor;
}

}  // extern "C"
