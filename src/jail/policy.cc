#include "heddle/jail/policy.h"

#include "heddle/jail/syscalls.h"
#include "seccomp_filter.h"

namespace heddle::jail {
namespace {

constexpr std::uint64_t kLeastData = 1U << 20;
constexpr std::uint64_t kLeastStack = 128U << 10;
constexpr std::uint64_t kMostCpuPercent = 100'000;  // of one processor: a thousand of them
constexpr std::uint64_t kLeastFiles = 6;            // those that it is born with

core::Error senseless(const std::string& what) {
  return core::make_error(core::Errc::invalid_argument, "make a policy", what);
}

core::Result<void> check(const Limits& limits) {
  if (limits.data_bytes < kLeastData) return senseless("data_bytes: at least 1 MiB, or no program starts");
  if (limits.stack_bytes < kLeastStack) return senseless("stack_bytes: at least 128 KiB, or no program starts");
  if (limits.cpu.count() < 1) return senseless("cpu: at least one second");
  if (limits.open_files < kLeastFiles) return senseless("open_files: at least 6");
  if (limits.processes < 1) return senseless("processes: at least 1");
  const GroupLimits& group = limits.group;
  for (const std::optional<GroupLimit>& limit :
       {group.memory_bytes, group.swap_bytes, group.processes, group.cpu_percent}) {
    if (limit && limit->need == Need::off) return senseless("a group limit with Need::off: leave it out");
  }
  if (group.memory_bytes && group.memory_bytes->value < kLeastData)
    return senseless("group.memory_bytes: at least 1 MiB, or no program starts");
  if (group.processes && group.processes->value < 1) return senseless("group.processes: at least 1");
  if (group.cpu_percent && (group.cpu_percent->value < 1 || group.cpu_percent->value > kMostCpuPercent))
    return senseless("group.cpu_percent: 1 to 100000");
  return {};
}

core::Result<void> check(const NamespaceOrder& order) {
  if (order.need != Need::off && !order.set.has(Namespace::user)) {
    return senseless("namespaces: the user namespace must be among them");
  }
  return {};
}

}  // namespace

core::Result<Policy> Policy::script(const Limits& limits, const DenialOptions& denials,
                                    const NamespaceOrder& namespaces) {
  State state;
  state.table = syscall_table(Profile::script);
  state.limits = limits;
  state.denials = denials;
  state.namespaces = namespaces;
  return make(std::move(state));
}

core::Result<Policy> Policy::make(State state) {
  const SyscallTable& table = state.table;
  HEDDLE_TRY(check(state.limits));
  HEDDLE_TRY(check(state.namespaces));
  if (state.denials.quota == 0) return senseless("quota of denials: at least 1");
  if (state.denials.notifications != Notifications::off) {
    HEDDLE_ASSIGN(state.filter, build_filter(table, state.denials.observe ? Hearing::observes : Hearing::denials));
    if (state.denials.observe) state.observed = observed_calls(table);
    state.one_program = starts_one(table);
    state.births = tells_births(table);
  }
  HEDDLE_ASSIGN(state.killing_filter, build_filter(table, Hearing::nobody));
  if (state.taken.count != 0) {
    HEDDLE_ASSIGN(state.second_filter, build_second_filter(state.taken));
  }
  HEDDLE_ASSIGN(
      state.sealed_filter,
      core::sealed_memory("heddle-filter", pack_filters(state.filter, state.killing_filter, state.second_filter)));
  return Policy(std::make_shared<const State>(std::move(state)));
}

}  // namespace heddle::jail
