// Making a child that shares the caller's memory: what an ordinary spawn and a child made ahead have in common.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "child.h"
#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/jail/launch/spawn.h"

namespace heddle::jail {

inline SpawnResult failed(Step step, int error, int detail = 0) {
  SpawnResult result;
  result.failure = Failure{step, error, detail};
  return result;
}

class ChildStack {
 public:
  ChildStack();
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  ~ChildStack();
  [[nodiscard]] bool valid() const;
  [[nodiscard]] void* base() const { return base_; }
  [[nodiscard]] void* top() const;
  [[nodiscard]] static std::size_t size();

 private:
  void* base_;
};

// All 64 signals, those that the C library keeps to itself too: a handler that ran in the child would run in our
// memory.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();
  [[nodiscard]] int error() const { return error_; }

 private:
  std::uint64_t before_ = 0;
  int error_;
};

/// clone(2)'s CLONE_VFORK: the caller is stopped until the child is past execve or has ended.
enum class Parent : std::uint8_t { stopped, goes_on };

/// The child's pid, or -1 with errno, and the step in the orders' report. Born in the group, where one is given.
pid_t make_child(ChildOrders& orders, int (*child)(void*), Parent parent, const ChildStack& stack,
                 const core::Fd& group, int& pidfd);

/// Above what the child overwrites; the original is closed.
bool raise(core::Fd& fd);

/// Read end first. Nobody ever writes: it is there to end.
bool make_lifeline(core::FdPair& lifeline);

/// Waits for a child that is certain to end, and forgets it.
void collect(const core::Pidfd& child);

/// A guest never runs as root: root must give it another user, nobody else can.
bool right_identity(std::optional<std::uint32_t> identity);

/// Whether a plan is whole, and asks for what its caller may give.
bool sane(const SpawnPlan& plan);

/// What a plan says, as a child reads it: good for as long as plan and object live.
class PlanWords {
 public:
  explicit PlanWords(SpawnPlan& plan);
  /// All but the descriptors.
  void fill(ChildOrders& orders) const;

 private:
  const SpawnPlan& plan_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
};

/// The guest's first ruleset: the plan's, or else one that denies everything but execute and read on the program
/// itself, which the plan has from then on.
Failure take_ruleset(SpawnPlan& plan, int& abi);

/// The child's report once it is past execve or has ended: success, with the namespaces that it is in, or the failure,
/// with the child collected.
SpawnResult judge(const ChildOrders& orders, pid_t pid, core::Pidfd child);

}  // namespace heddle::jail
