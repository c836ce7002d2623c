#include "heddle/jail/unsafe/threaded_policy.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "conditions.h"

namespace heddle::jail {
namespace {

// A thread as pthread_create(3) makes one, and nothing else that clone(2) can make.
constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
constexpr std::uint64_t kThreadMay =
    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
constexpr Condition is_thread(unsigned argument) { return {argument, kLow32 & ~kThreadMay, kThread}; }
constexpr Condition is_stream(unsigned argument) {
  return {argument, kLow32 & ~std::uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK}, SOCK_STREAM};
}

constexpr const char* kOwnThreads = "threads of its own; no process";
constexpr const char* kSleep = "sleeps";
constexpr const char* kNoFile = "it has no files";
constexpr const char* kNoNetwork = "it makes no socket: the network is its host's";
constexpr const char* kConnects = "connects to its editor and gateway, before it narrows itself";
constexpr const char* kTaken = "taken away before the plugin's code";

// These in place of a script's rows of the same name.
constexpr SyscallRule kTool[] = {
    {"clone", Answer::allow, kOwnThreads, {is_thread(0)}},
    {"set_robust_list", Answer::allow, kOwnThreads, {}},
    {"rseq", Answer::allow, kOwnThreads, {}},
    {"sched_yield", Answer::allow, kOwnThreads, {}},
    {"nanosleep", Answer::allow, kSleep, {}},
    {"clock_nanosleep", Answer::allow, kSleep, {}},
    {"open", Answer::denied, kNoFile, {}},
    {"openat", Answer::denied, kNoFile, {}},
    {"socket", Answer::denied, kNoNetwork, {}},
    {"socketpair", Answer::denied, kNoNetwork, {}},
};

// And these in place of a tool's.
constexpr SyscallRule kPlugin[] = {
    {"socket", Answer::allow, kConnects, {is(0, AF_UNIX), is_stream(1)}},
    {"connect", Answer::allow, kConnects, {}},
    {"seccomp",
     Answer::allow,
     "its second filter, for all of its threads",
     {is(0, SECCOMP_SET_MODE_FILTER), is(1, SECCOMP_FILTER_FLAG_TSYNC)}},
};

template <std::size_t Count>
std::vector<SyscallRule> replaced(const SyscallTable& base, const SyscallRule (&rows)[Count]) {
  std::vector<SyscallRule> rules(std::begin(rows), std::end(rows));
  for (const SyscallRule& rule : base) {
    const bool kept = std::none_of(std::begin(rows), std::end(rows),
                                   [&](const SyscallRule& row) { return std::string_view(row.name) == rule.name; });
    if (kept) rules.push_back(rule);
  }
  return rules;
}

}  // namespace

SyscallTable tool_syscalls() {
  static const std::vector<SyscallRule> kRules = replaced(syscall_table(Profile::script), kTool);
  return {kRules.data(), kRules.size(), Unheard::kill, Profile::tool};
}

SyscallTable plugin_syscalls() {
  static const std::vector<SyscallRule> kRules = replaced(tool_syscalls(), kPlugin);
  return {kRules.data(), kRules.size(), Unheard::kill, Profile::plugin};
}

// With their conditions, so that what the first filter refuses by itself is still told.
SyscallTable plugin_taken_syscalls() {
  static const std::vector<SyscallRule> kRules = [] {
    std::vector<SyscallRule> rules(std::begin(kPlugin), std::end(kPlugin));
    for (SyscallRule& rule : rules) {
      rule.answer = Answer::eperm;
      rule.why = kTaken;
    }
    return rules;
  }();
  return {kRules.data(), kRules.size(), Unheard::kill, Profile::plugin};
}

core::Result<Policy> ThreadedPolicy::tool(const ToolNeeds& needs) {
  Policy::State state;
  state.table = tool_syscalls();
  state.limits = needs.limits;
  state.denials = needs.denials;
  state.namespaces = needs.namespaces;
  return Policy::make(std::move(state));
}

core::Result<Policy> ThreadedPolicy::plugin(const PluginNeeds& needs) {
  Policy::State state;
  state.table = plugin_syscalls();
  state.taken = plugin_taken_syscalls();
  state.limits = needs.limits;
  state.denials = needs.denials;
  state.namespaces = needs.namespaces;
  return Policy::make(std::move(state));
}

}  // namespace heddle::jail
