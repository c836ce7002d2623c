// What a hostile program tries in the jail of profile `script`, group by group. That each attack works without a jail
// is shown in the same breath. Which errno or signal each gets is tests/jail's to say.
#include "proofs.h"

namespace heddle::kernels {
namespace {

constexpr auto kRoot = Attack::Control::as_root;
constexpr auto kDepends = Attack::Control::depends;

}  // namespace

Finding no_file(const World& world) {
  return world.attacks_refused("confined", {{"read_file", "/etc/passwd"},
                                            {"read_file", "./file"},
                                            {"read_file", "/proc/self/environ"},
                                            {"read_legacy", "./file"},
                                            {"read_openat2", "./file"},
                                            {"create_file", "./created"},
                                            {"make_folder", "./made"},
                                            {"list_folder"},
                                            {"look_at_file", "./file"},
                                            {"change_mode", "./file"},
                                            {"remove_file", "./file"},
                                            {"push_terminal", "", kDepends}});
}

Finding no_mount(const World& world) {
  return world.attacks_refused("confined", {{"mount_tmpfs", "./mount", kRoot},
                                            {"new_mount", "", kRoot},
                                            {"change_root", "", kRoot},
                                            {"unshare", "", kDepends},
                                            {"setns"}});
}

// The families with which public escapes were made, and those that every kernel has: UNIX, INET, INET6, NETLINK,
// PACKET, CAN, ALG, VSOCK, XDP. tests/jail tries all.
Finding no_socket(const World& world) {
  return world.attacks_refused("confined", {{"socket_upper_bits"},
                                            {"socketpair"},
                                            {"listen_inet"},
                                            {"io_uring", "", kDepends},
                                            {"socket", "1"},
                                            {"socket", "2"},
                                            {"socket", "10", kDepends},
                                            {"socket", "16"},
                                            {"socket", "17", kDepends},
                                            {"socket", "29", kDepends},
                                            {"socket", "38", kDepends},
                                            {"socket", "40", kDepends},
                                            {"socket", "44", kDepends}});
}

Finding no_host_socket(const World& world) {
  return world.attacks_refused("confined", {{"connect_unix", "./stream"},
                                            {"connect_unix", "ABSTRACT"},
                                            {"sendto_unix", "./datagrams"},
                                            {"sendmsg_unix", "./datagrams"},
                                            {"bind_unix", "./bound"}});
}

Finding no_exec(const World& world) {
  return world.attacks_refused("confined", {{"execve"}, {"memfd_exec"}, {"memfd_create"}});
}

Finding no_process(const World& world) {
  return world.attacks_refused("confined", {{"fork"}, {"vfork"}, {"clone"}, {"clone3"}});
}

Finding no_other_process(const World& world) {
  return world.attacks_refused("confined", {{"ptrace"},
                                            {"process_vm_readv"},
                                            {"kill", "PID"},
                                            {"kill_all"},
                                            {"tgkill", "PID"},
                                            {"sigqueue", "PID"},
                                            {"pidfd_open", "PID"},
                                            {"set_owner"}});
}

Finding no_foreign_call(const World& world) {
  return world.attacks_refused("confined", {{"x32", "", kDepends}, {"int80", "", kDepends}, {"personality"}});
}

Finding no_kernel_surface(const World& world) {
  return world.attacks_refused("confined", {{"bpf", "", kDepends},
                                            {"keyctl", "", kDepends},
                                            {"perf", "", kDepends},
                                            {"userfaultfd", "", kDepends},
                                            {"prlimit"},
                                            {"seccomp"}});
}

Finding no_executable_memory(const World& world) {
  return world.attacks_refused(
      "confined", {{"mmap_exec"}, {"mmap_exec_upper"}, {"mprotect_exec"}, {"pkey_mprotect_exec"}, {"mmap_fd"}});
}

Finding limits_hold(const World& world) {
  return world.attacks_refused("confined", {{"too_much_memory"}, {"lock_memory", "", kDepends}});
}

// Before the guest has loaded its filter: Landlock, limits and the missing capabilities stand by themselves.
Finding layers_below_hold(const World& world) {
  return world.attacks_refused("launched", {{"read_file", "./file"},
                                            {"create_file", "./created"},
                                            {"list_folder"},
                                            {"remove_file", "./file"},
                                            {"make_folder", "./made"},
                                            {"fork"},
                                            {"too_much_memory"},
                                            {"mount_tmpfs", "./mount", kRoot},
                                            {"change_root", "", kRoot},
                                            {"memfd_exec"}});
}

Finding sealed_has_no_exec(const World& world) {
  return world.attacks_refused("sealed", {{"execve"}, {"read_file", "/proc/self/exe"}});
}

}  // namespace heddle::kernels
