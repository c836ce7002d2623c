// glibc has no wrapper for clone3, and a child on another stack cannot return through one: so the call is made here by
// hand, and the child never comes back.
#include "clone.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>

namespace heddle::jail {
namespace {

// The kernel's struct clone_args up to Linux 5.7, in case the header is older.
struct CloneArguments {
  alignas(8) std::uint64_t flags;
  std::uint64_t pidfd;
  std::uint64_t child_tid;
  std::uint64_t parent_tid;
  std::uint64_t exit_signal;
  std::uint64_t stack;
  std::uint64_t stack_size;
  std::uint64_t tls;
  std::uint64_t set_tid;
  std::uint64_t set_tid_size;
  std::uint64_t cgroup;
};
constexpr std::uint64_t kIntoGroup = 0x200000000;  // CLONE_INTO_CGROUP

#if defined(__x86_64__)

// Registers survive into the child, all but the result and the stack's; function and argument travel in two that the
// system call leaves alone.
long raw_clone3(CloneArguments& arguments, int (*child)(void*), void* argument) noexcept {
  long result = SYS_clone3;
  register int (*function)(void*) asm("r12") = child;
  register void* data asm("r13") = argument;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r13, %%rdi\n\t"
      "callq *%%r12\n\t"
      "movl %%eax, %%edi\n\t"
      "movl %[exit], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), "r"(function), "r"(data), [exit] "i"(SYS_exit_group)
      : "rcx", "r11", "memory", "cc");
  return result;
}

long raw_call(long number, long first, long second, long third) noexcept {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory", "cc");
  return result;
}

#elif defined(__aarch64__)

long raw_clone3(CloneArguments& arguments, int (*child)(void*), void* argument) noexcept {
  register long result asm("x0") = reinterpret_cast<long>(&arguments);
  register std::size_t size asm("x1") = sizeof arguments;
  register long number asm("x8") = SYS_clone3;
  register int (*function)(void*) asm("x19") = child;
  register void* data asm("x20") = argument;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "mov x8, %[exit]\n\t"
      "svc #0\n\t"
      "brk #0\n"
      "1:"
      : "+r"(result)
      : "r"(size), "r"(number), "r"(function), "r"(data), [exit] "i"(SYS_exit_group)
      : "memory", "cc");
  return result;
}

long raw_call(long number, long first, long second, long third) noexcept {
  register long result asm("x0") = first;
  register long x1 asm("x1") = second;
  register long x2 asm("x2") = third;
  register long x8 asm("x8") = number;
  asm volatile("svc #0" : "+r"(result) : "r"(x1), "r"(x2), "r"(x8) : "memory", "cc");
  return result;
}

#else

long raw_clone3(CloneArguments&, int (*)(void*), void*) noexcept { return -ENOSYS; }
long raw_call(long, long, long, long) noexcept { return -ENOSYS; }

#endif

}  // namespace

pid_t clone_into_group(const CloneOrders& orders, int& pidfd) noexcept {
  CloneArguments arguments{};
  arguments.flags = orders.flags | kIntoGroup;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(orders.stack);
  arguments.stack_size = orders.stack_bytes;
  arguments.cgroup = static_cast<std::uint64_t>(static_cast<unsigned>(orders.group));
  return static_cast<pid_t>(raw_clone3(arguments, orders.child, orders.argument));
}

long quiet_receive(int socket, msghdr* header, int flags) noexcept {
  return raw_call(SYS_recvmsg, socket, reinterpret_cast<long>(header), flags);
}

}  // namespace heddle::jail
