// What processes take, as the kernel counts it (proc(5)). Kilobytes are 1024 bytes, as there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace heddle::bench {

/// A process and all that descends from it, as they are now.
[[nodiscard]] std::vector<pid_t> tree_of(pid_t root);

/// The proportional set size, /proc/PID/smaps_rollup: of a page that several processes map each has its part. Nothing
/// when it may not be read: of a guest that is another user and not dumpable only root with CAP_SYS_PTRACE may.
[[nodiscard]] std::optional<double> pss_kilobytes(pid_t pid);

/// Of the whole machine, so whatever else runs shows in it.
struct MachineMemory {
  double available = 0;  ///< MemAvailable: falls by all that a process takes, pages and the kernel's side
  double kernel = 0;     ///< SUnreclaim, KernelStack, PageTables and Percpu: what the kernel cannot give back
};
[[nodiscard]] MachineMemory machine_memory();

}  // namespace heddle::bench
