// The little that spawn_bench's payload, and confine_self() in it, need of a C library. A static program of glibc's
// runs dozens of CPUID instructions before main(), each of them an exit from a virtual machine: there, half of what a
// spawn takes would be the payload's. x86-64 only.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

namespace {

int last_error = 0;

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory", "cc");
  if (result >= 0 || result < -4095) return result;
  last_error = static_cast<int>(-result);
  return -1;
}

long address(const volatile void* of) { return reinterpret_cast<long>(of); }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): other people's names
extern "C" {

int* __errno_location() noexcept { return &last_error; }

long syscall(long number, ...) noexcept {
  long words[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  return call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int prctl(int option, ...) noexcept {
  long words[4];
  va_list arguments;
  va_start(arguments, option);
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  return static_cast<int>(call(SYS_prctl, option, words[0], words[1], words[2], words[3]));
}

// Of those that confine_self() asks for, none has a third argument.
int fcntl(int fd, int command, ...) { return static_cast<int>(call(SYS_fcntl, fd, command)); }
int fstat(int fd, struct stat* status) noexcept { return static_cast<int>(call(SYS_fstat, fd, address(status))); }
int close(int fd) { return static_cast<int>(call(SYS_close, fd)); }
ssize_t pread(int fd, void* to, std::size_t size, off_t from) {
  return call(SYS_pread64, fd, address(to), static_cast<long>(size), from);
}
ssize_t recv(int fd, void* to, std::size_t size, int flags) {
  return call(SYS_recvfrom, fd, address(to), static_cast<long>(size), flags);
}
ssize_t send(int fd, const void* from, std::size_t size, int flags) {
  return call(SYS_sendto, fd, address(from), static_cast<long>(size), flags);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) { return call(SYS_sendmsg, fd, address(message), flags); }

// volatile: or the compiler makes a call of memcpy() out of its own loop.
void* memcpy(void* to, const void* from, std::size_t size) noexcept {
  auto* const target = static_cast<volatile char*>(to);
  const auto* const source = static_cast<const char*>(from);
  for (std::size_t i = 0; i < size; ++i) target[i] = source[i];
  return to;
}
void* memset(void* to, int value, std::size_t size) noexcept {
  auto* const target = static_cast<volatile char*>(to);
  for (std::size_t i = 0; i < size; ++i) target[i] = static_cast<char>(value);
  return to;
}

// One thread, nothing thrown.
int __cxa_guard_acquire(char* guard) { return *guard == 0 ? 1 : 0; }
void __cxa_guard_release(char* guard) { *guard = 1; }
void __gxx_personality_v0() {}
[[noreturn]] void* __cxa_begin_catch(void* /*exception*/) noexcept { __builtin_trap(); }
[[noreturn]] void terminate() noexcept asm("_ZSt9terminatev");  // std::terminate()
void terminate() noexcept { __builtin_trap(); }

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

// The stack as the kernel leaves it: argc, then argv.
asm(".globl _start\n"
    "_start:\n\t"
    "xorl %ebp, %ebp\n\t"
    "movq (%rsp), %rdi\n\t"
    "leaq 8(%rsp), %rsi\n\t"
    "andq $-16, %rsp\n\t"
    "call main\n\t"
    "movl %eax, %edi\n\t"
    "movl $231, %eax\n\t"  // exit_group
    "syscall\n\t"
    "hlt\n");
