// A child made ahead of the plan that it will run. What takes longest in a spawn depends on no plan: making the child
// with its namespaces, its empty root and its control group, as the user that the guest will be, closing descriptors,
// resetting signals. A prepared child has all of that behind it and waits on a socket, with the caller's memory
// (CLONE_VM), as a child of spawn() has until execve. What makes it the guest comes after the plan, in the same order
// and with the same failures as in spawn(): limits, Landlock, capabilities, execve (JAIL-11).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "heddle/core/fd.h"
#include "heddle/jail/launch/spawn.h"

namespace heddle::jail {

/// Not thread-safe, and for a single-threaded process, as spawn() is. The child ends with the object, and with the
/// process (PR_SET_PDEATHSIG and the end of its socket).
class Prepared {
 public:
  struct Made;

  /// Blocks until the child waits, or names the step that failed; then there is none. `identity`: as in a plan.
  /// `group`: the folder of a control group to be born in, or not valid.
  [[nodiscard]] static Made make(const NamespaceOrder& order, std::optional<std::uint32_t> identity,
                                 const core::Fd& group);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared();

  /// Whether its namespaces and its user are those of the plan. The group is the caller's to compare.
  [[nodiscard]] bool fits(const SpawnPlan& plan) const noexcept;

  /// As long as it waits, or has been started, and was not reaped.
  [[nodiscard]] pid_t pid() const noexcept;

  /// As spawn(), for a plan that fits and names no group. Nothing, and a plan that is as good as before, when that is
  /// left to spawn(): the child had been ended by somebody else or never got its orders. To be called once.
  [[nodiscard]] std::optional<SpawnResult> run(SpawnPlan& plan) noexcept;

 private:
  struct State;
  explicit Prepared(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Prepared::Made {
  std::unique_ptr<Prepared> child;
  Failure failure;
};

}  // namespace heddle::jail
