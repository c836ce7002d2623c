#include "seccomp_filter.h"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <type_traits>

#include "heddle/core/fd.h"

namespace heddle::jail {
namespace {

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};

core::Error failed(const char* what, int result, const char* call = "") {
  return core::system_error(-result, std::string("build the system call filter: ") + what, call);
}

std::uint32_t action(Answer answer) {
  switch (answer) {
    case Answer::allow:
      return SCMP_ACT_ALLOW;
    case Answer::eperm:
      return SCMP_ACT_ERRNO(EPERM);
    case Answer::enosys:
      return SCMP_ACT_ERRNO(ENOSYS);
  }
  return SCMP_ACT_KILL_PROCESS;
}

}  // namespace

core::Result<std::string> build_filter(const SyscallTable& table) {
  const std::unique_ptr<void, Release> context(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!context) return failed("seccomp_init", -ENOMEM);
  // JAIL-4: another architecture's call ends the process; x32 counts as one.
  int result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (result == 0) result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree
  if (result != 0) return failed("seccomp_attr_set", result);

  for (const SyscallRule& rule : table) {
    const int number = ::seccomp_syscall_resolve_name(rule.name);
    if (number == __NR_SCMP_ERROR) return failed("unknown system call", -EINVAL, rule.name);
    if (number < 0) continue;  // not on this architecture
    scmp_arg_cmp conditions[2] = {};
    unsigned count = 0;
    for (const Condition& condition : rule.conditions) {
      if (condition.mask == 0) continue;
      conditions[count++] = scmp_arg_cmp{condition.argument, SCMP_CMP_MASKED_EQ, condition.mask, condition.value};
    }
    result = ::seccomp_rule_add_exact_array(context.get(), action(rule.answer), number, count, conditions);
    if (result != 0) return failed("seccomp_rule_add", result, rule.name);
  }

  // libseccomp writes to a descriptor only.
  const core::Fd memory(::memfd_create("heddle-filter", MFD_CLOEXEC));
  if (!memory.valid()) return core::system_error("build the system call filter: memfd_create");
  result = ::seccomp_export_bpf(context.get(), memory.get());
  if (result != 0) return failed("seccomp_export_bpf", result);
  if (::lseek(memory.get(), 0, SEEK_SET) != 0) return core::system_error("build the system call filter: lseek");
  return core::read_all(memory, sizeof(sock_filter) * BPF_MAXINSNS);
}

}  // namespace heddle::jail
