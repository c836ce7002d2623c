// What the kernel says of processes (proc(5)): who came below this one, and what they hold.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sandbox::conformance {

struct Process {
  pid_t pid = 0;
  std::uint64_t started = 0;  ///< in ticks since boot: with the pid, a name that is not used again
  pid_t parent = 0;
  bool zombie = false;
  std::string name;

  friend bool operator<(const Process& a, const Process& b) {
    return std::pair(a.pid, a.started) < std::pair(b.pid, b.started);
  }
};

/// All processes below `root`, which is not among them.
[[nodiscard]] std::vector<Process> descendants(pid_t root);

/// While it lives, orphans below this process become its children, so that none gets out of sight.
class Adoption {
 public:
  Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
  /// Reaps those that were adopted and have ended.
  ~Adoption();

  /// What came below this process since, but for the zombies.
  [[nodiscard]] std::vector<Process> living() const;
  /// The same with them: each is a process number that somebody holds.
  [[nodiscard]] std::vector<Process> all() const;
  /// Ends all that came, and reaps what is ours to reap by now. Only where no other part of this program has children.
  void sweep() const;

 private:
  int before_ = 0;  // whether it was a reaper of orphans already
  std::set<Process> known_;
};

/// What a process and all that came since hold together.
struct Footprint {
  std::size_t threads = 0;
  std::size_t descriptors = 0;
  std::size_t processes = 0;
  std::uint64_t memory = 0;  ///< bytes that are resident or swapped, and no file's

  [[nodiscard]] static Footprint of(pid_t process, const Adoption& adoption);
};

}  // namespace heddle::sandbox::conformance
