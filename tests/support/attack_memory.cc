#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "attacker.h"

namespace heddle::attacker {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kUpper = std::uint64_t{1} << 32;

long map(std::uint64_t protection, std::uint64_t flags, int fd = -1) {
  return ::syscall(SYS_mmap, nullptr, kPage, protection, flags, fd, 0UL);
}

int map_executable(const std::string&) { return outcome(map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS)); }
int map_executable_upper(const std::string&) {
  return outcome(map(kUpper | PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS));
}
int make_executable(const std::string&) {
  const long page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (page < 0) return errno;
  return outcome(::syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_EXEC));
}
int make_executable_key(const std::string&) {
  const long page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (page < 0) return errno;
  return outcome(::syscall(SYS_pkey_mprotect, page, kPage, PROT_READ | PROT_EXEC, -1));
}
int map_descriptor(const std::string&) {
  const int null_or_zero = 0;  // /dev/null maps as anonymous memory; the filter must not let it
  const long result = map(PROT_READ, MAP_PRIVATE, null_or_zero);
  return result < 0 && errno == ENODEV ? 0 : outcome(result);
}
int catch_faults(const std::string&) {
  const long fd = ::syscall(SYS_userfaultfd, 1);  // UFFD_USER_MODE_ONLY
  return outcome(fd);
}
// Over the data limit of any guest, under that of the control.
int take_memory(const std::string&) {
  return outcome(::syscall(SYS_mmap, nullptr, std::size_t{2} << 30, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}
// With every page written, up to 512 MiB: what was promised is asked for.
int touch_memory(const std::string&) {
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  for (int block = 0; block < 128; ++block) {
    const long at = ::syscall(SYS_mmap, nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0UL);
    if (at < 0) return errno;
    auto* const bytes = reinterpret_cast<volatile char*>(at);  // NOLINT(performance-no-int-to-ptr): the kernel's answer
    for (std::size_t page = 0; page < kBlock; page += kPage) bytes[page] = 1;
  }
  return 0;
}
// The last of its frames is never left.
int overflow_stack(const std::string& depth) {
  if (depth == "none") return 0;
  volatile char frame[4096] = {};
  frame[0] = 1;
  return overflow_stack(depth) + frame[0];
}
int lock_memory(const std::string&) {
  return outcome(
      ::syscall(SYS_mmap, nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0UL));
}

}  // namespace

const Attack kMemoryAttacks[] = {
    {"mmap_exec", "map executable memory", map_executable},
    {"mmap_exec_upper", "map executable memory, upper argument bits set", map_executable_upper},
    {"mprotect_exec", "make memory executable", make_executable},
    {"pkey_mprotect_exec", "make memory executable by pkey_mprotect", make_executable_key},
    {"mmap_fd", "map a descriptor", map_descriptor},
    {"userfaultfd", "handle page faults", catch_faults},
    {"too_much_memory", "take 2 GiB", take_memory},
    {"touch_memory", "write to 512 MiB", touch_memory},
    {"overflow_stack", "recurse without end", overflow_stack},
    {"lock_memory", "lock memory", lock_memory},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker
