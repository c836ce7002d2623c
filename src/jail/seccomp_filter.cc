#include "seccomp_filter.h"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <type_traits>

#include "heddle/core/fd.h"
#include "heddle/jail/confine/filters.h"

namespace heddle::jail {
namespace {

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};

core::Error failed(const char* what, int result, const char* call = "") {
  return core::system_error(-result, std::string("build the system call filter: ") + what, call);
}

// libseccomp refuses SCMP_ACT_NOTIFY where the running kernel has no notifications, and whether it has is for the guest
// to meet (Step::filter_load). So the program is made with an action that nothing else here uses, and rewritten.
constexpr std::uint32_t kStandIn = SCMP_ACT_TRAP;

std::uint32_t action(Answer answer, Hearing hearing) {
  switch (answer) {
    case Answer::allow:
      return SCMP_ACT_ALLOW;
    case Answer::denied:
      return hearing != Hearing::nobody ? kStandIn : SCMP_ACT_ERRNO(EPERM);
    case Answer::observe:
      return hearing == Hearing::observes ? kStandIn : SCMP_ACT_ALLOW;
    case Answer::birth:
    case Answer::first:
      return hearing != Hearing::nobody ? kStandIn : SCMP_ACT_ALLOW;
    case Answer::eperm:
      return SCMP_ACT_ERRNO(EPERM);
    case Answer::enosys:
      return SCMP_ACT_ERRNO(ENOSYS);
    case Answer::enotsup:
      return SCMP_ACT_ERRNO(EOPNOTSUPP);
  }
  return SCMP_ACT_KILL_PROCESS;
}

void notify_in_place_of_stand_in(std::string& program) {
  for (std::size_t at = 0; at + sizeof(sock_filter) <= program.size(); at += sizeof(sock_filter)) {
    sock_filter instruction{};
    std::memcpy(&instruction, program.data() + at, sizeof instruction);
    if (instruction.code != (BPF_RET | BPF_K) || instruction.k != SECCOMP_RET_TRAP) continue;
    instruction.k = SECCOMP_RET_USER_NOTIF;
    std::memcpy(program.data() + at, &instruction, sizeof instruction);
  }
}

core::Result<std::string> build(const SyscallTable& table, Hearing hearing, std::uint32_t otherwise) {
  const std::unique_ptr<void, Release> context(::seccomp_init(otherwise));
  if (!context) return failed("seccomp_init", -ENOMEM);
  // JAIL-4: another architecture's call ends the process; x32 counts as one.
  int result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (result == 0) result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree
  if (result != 0) return failed("seccomp_attr_set", result);

  for (const SyscallRule& rule : table) {
    const int number = ::seccomp_syscall_resolve_name(rule.name);
    if (number == __NR_SCMP_ERROR) return failed("unknown system call", -EINVAL, rule.name);
    if (number < 0) continue;                                 // not on this architecture
    if (action(rule.answer, hearing) == otherwise) continue;  // which libseccomp takes for a mistake
    scmp_arg_cmp conditions[2] = {};
    unsigned count = 0;
    for (const Condition& condition : rule.conditions) {
      if (condition.mask == 0) continue;
      conditions[count++] = scmp_arg_cmp{condition.argument, SCMP_CMP_MASKED_EQ, condition.mask, condition.value};
    }
    result = ::seccomp_rule_add_exact_array(context.get(), action(rule.answer, hearing), number, count, conditions);
    if (result != 0) return failed("seccomp_rule_add", result, rule.name);
  }

  // libseccomp writes to a descriptor only.
  const core::Fd memory(::memfd_create("heddle-filter", MFD_CLOEXEC));
  if (!memory.valid()) return core::system_error("build the system call filter: memfd_create");
  result = ::seccomp_export_bpf(context.get(), memory.get());
  if (result != 0) return failed("seccomp_export_bpf", result);
  if (::lseek(memory.get(), 0, SEEK_SET) != 0) return core::system_error("build the system call filter: lseek");
  HEDDLE_ASSIGN(std::string program, core::read_all(memory, sizeof(sock_filter) * BPF_MAXINSNS));
  if (hearing != Hearing::nobody) notify_in_place_of_stand_in(program);
  return program;
}

}  // namespace

core::Result<std::string> build_filter(const SyscallTable& table, Hearing hearing) {
  const bool kill = table.unheard == Unheard::kill && hearing == Hearing::nobody;
  return build(table, hearing, kill ? SCMP_ACT_KILL_PROCESS : action(Answer::denied, hearing));
}

core::Result<std::string> build_second_filter(const SyscallTable& taken) {
  return build(taken, Hearing::nobody, SCMP_ACT_ALLOW);
}

std::vector<int> observed_calls(const SyscallTable& table) {
  std::set<int> numbers;
  for (const SyscallRule& rule : table) {
    const int number = rule.answer == Answer::observe ? ::seccomp_syscall_resolve_name(rule.name) : -1;
    if (number >= 0) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

namespace {

bool has(const SyscallTable& table, Answer answer) {
  return std::any_of(table.begin(), table.end(), [&](const SyscallRule& rule) { return rule.answer == answer; });
}

}  // namespace

bool starts_one(const SyscallTable& table) { return has(table, Answer::first); }
bool tells_births(const SyscallTable& table) { return has(table, Answer::birth); }

std::string pack_filters(std::string_view notifying, std::string_view killing, std::string_view second) {
  const auto length = [](std::string_view program) {
    return static_cast<std::uint32_t>(program.size() / sizeof(sock_filter));
  };
  const FilterHeader header{length(notifying), length(killing), length(second)};
  std::string packed(sizeof header, '\0');
  std::memcpy(packed.data(), &header, sizeof header);
  packed += notifying;
  packed += killing;
  packed += second;
  return packed;
}

}  // namespace heddle::jail
