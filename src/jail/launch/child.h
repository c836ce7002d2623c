// The far side of clone: everything between it and execve. Shares the parent's memory while the parent is stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "heddle/jail/launch/spawn.h"
#include "namespaces.h"

namespace heddle::jail {

// Numbers in the child. The parent hands over descriptors at kSourceFloor and above, so that no dup3 hits one that is
// still needed; program and ruleset end up between the guest's and everything else, which is then closed in two ranges.
inline constexpr int kFirstGuestFd = 3;
inline constexpr int kProgramFd = 60;
inline constexpr int kRulesetFd = 61;
inline constexpr int kLifelineFd = 62;
inline constexpr int kHandoverFd = 63;  // of a prepared child
inline constexpr int kSourceFloor = 64;

// Prepared by the parent; the child only reads it, but for `report`.
struct ChildOrders {
  Confinement confinement = Confinement::guest;
  int null_device = -1;
  int program = -1;
  int ruleset = -1;
  int members = -1;   // cgroup.procs of the group that the child has yet to enter
  int lifeline = -1;  // end of file here: the parent has ended
  int handover = -1;  // prepared child only: its end of the socket over which its descriptors come
  int descriptors[kMaxGuestDescriptors] = {};
  unsigned descriptor_count = 0;
  const ResourceLimit* limits = nullptr;
  unsigned limit_count = 0;
  std::uint32_t identity = 0;  // 0: keep
  std::uint32_t user = 0;      // who the guest is in the end, for the maps
  std::uint32_t group = 0;
  NamespaceOrder namespaces;
  Creator creator = Creator::user;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;

  // Written by the child: the step under way, then why it failed. `done` is never set: success is an execve.
  struct Report {
    volatile Step step;
    volatile int error;
    volatile int detail;
  };
  Report report = {Step::none, 0, 0};
};

// For clone(2): argument is a ChildOrders. Returns only by failing, with the exit status to use.
int run_child(void* argument) noexcept;

// The same in two halves. The first does what no plan changes, says so with a byte, and waits; the second begins when
// the descriptors come: the guest's, program, ruleset. Everything else of the plan is in the orders by then. The
// parent is stopped while either half runs, or in the middle of the call that lets it run. An end of file instead:
// nobody wants the child, and it ends.
int run_prepared_child(void* argument) noexcept;

}  // namespace heddle::jail
