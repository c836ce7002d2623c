// The table: what is claimed, by which requirement, and what is expected on each kernel. A verdict other than the
// expected one is a FAIL, in both directions: a kernel that does more than this says needs a new row or a new word
// here.
#include "proofs.h"

namespace heddle::kernels {
namespace {

constexpr Verdict kYes = Verdict::yes;
constexpr Verdict kNot = Verdict::not_enforced;
constexpr Verdict kRefused = Verdict::refused;

// In the order of kKernels: 5.10 without Landlock, 6.1 with its ABI 2, 6.12 with its ABI 6, 7 with ABI 10 or later.
constexpr Expected kEverywhere{{kYes, kYes, kYes, kYes}};
constexpr Expected kNowhere{{kNot, kNot, kNot, kNot}};
constexpr Expected kFrom61{{kNot, kYes, kYes, kYes}};
constexpr Expected kFrom612{{kNot, kNot, kYes, kYes}};
// What is said of a guest: where none starts, it is refused.
constexpr Expected kWithGuests{{kRefused, kYes, kYes, kYes}};
constexpr Expected kGuestsFrom612{{kRefused, kNot, kYes, kYes}};

constexpr Claim kClaims[] = {
    {"landlock", "JAIL-2", "Landlock's ABI is the one that this kernel is known for", kFrom61, landlock_version},
    {"landlock-files", "JAIL-2", "Landlock refuses files", kFrom61, landlock_files},
    {"landlock-truncate", "JAIL-2", "Landlock refuses truncation", kFrom612, landlock_truncate},
    {"landlock-devices", "JAIL-2", "Landlock refuses what a device is asked", kFrom612, landlock_devices},
    {"landlock-tcp", "JAIL-3", "Landlock refuses TCP", kFrom612, landlock_tcp},
    {"landlock-udp", "JAIL-3", "Landlock refuses UDP", kNowhere, landlock_udp},
    {"landlock-abstract", "JAIL-2, 5", "Landlock refuses abstract UNIX sockets", kFrom612, landlock_abstract_sockets},
    {"landlock-socket-file", "JAIL-2, 5", "Landlock refuses UNIX sockets by path", kNowhere, landlock_socket_files},
    {"landlock-signal", "JAIL-2", "Landlock refuses signals to the host", kFrom612, landlock_signals},
    {"landlock-memory", "JAIL-2, 6", "Landlock refuses execution from memory", kNowhere, landlock_memory_files},

    {"start", "JAIL-2, 11", "A guest starts confined, or the refusal names the step", kWithGuests, starts_or_refuses},
    {"steps", "JAIL-11, 16", "Each set-up step that fails is named, and nothing runs", kWithGuests, failed_steps},
    {"verify", "JAIL-16", "The host sees in /proc who is confined and who is not", kWithGuests, verifies},
    {"mdwe", "JAIL-6", "The memory manager refuses executable memory too", kGuestsFrom612, memory_stays_plain},
    {"descriptors", "JAIL-10, 15", "A helper has no descriptor but those passed to it", kEverywhere,
     passes_no_descriptor},

    {"no-file", "JAIL-2, 6", "No file is read, made, changed or looked at", kWithGuests, no_file},
    {"no-mount", "JAIL-6", "No mount, no chroot, no namespace", kWithGuests, no_mount},
    {"no-socket", "JAIL-3, 5", "No socket of any family, no io_uring", kWithGuests, no_socket},
    {"no-host-socket", "JAIL-5", "No UNIX socket of the host by path or abstract name", kWithGuests, no_host_socket},
    {"no-exec", "JAIL-2, 6", "Nothing is executed, from files or from memory", kWithGuests, no_exec},
    {"no-process", "JAIL-6", "No process is made", kWithGuests, no_process},
    {"no-other-process", "JAIL-6", "No other process is signalled, traced or read", kWithGuests, no_other_process},
    {"no-foreign-call", "JAIL-4", "No system call of x32 or i386", kWithGuests, no_foreign_call},
    {"no-kernel-surface", "JAIL-6", "No bpf, perf, keyring, userfaultfd, further filter", kWithGuests,
     no_kernel_surface},
    {"no-executable-memory", "JAIL-6", "No memory becomes executable", kWithGuests, no_executable_memory},
    {"limits", "JAIL-8", "Memory limits hold", kWithGuests, limits_hold},
    {"layers-below", "JAIL-2, 8", "Landlock and limits hold without the filter", kWithGuests, layers_below_hold},
    {"sealed", "JAIL-2", "After start-up nothing has Landlock's execute", kWithGuests, sealed_has_no_exec},

    {"deaths", "JAIL-12", "Exit, signal and our kill are told apart", kWithGuests, tells_deaths_apart},
    {"host-killed", "JAIL-12, 15", "Nothing outlives a host that is killed", kWithGuests, dies_with_the_host},
    {"supervisor-killed", "JAIL-12, 15", "No guest outlives its supervisor", kWithGuests, dies_with_the_supervisor},

    {"group", "JAIL-9, 13, 16", "A guest is in its own cgroup, with the limits asked for", kWithGuests,
     group_is_what_was_asked},
    {"group-memory", "JAIL-9", "Out of memory is told from every other death", kWithGuests, group_memory},
    {"group-processes", "JAIL-9, 12", "The limit of processes holds, and is told", kWithGuests, group_processes},
    {"group-deaths", "JAIL-9, 12", "Exit, signal, our kill and time-out are told apart", kWithGuests, group_deaths},
    {"group-peak", "JAIL-9", "The group's peak memory is reported", kWithGuests, group_peak},
    {"group-cpu", "JAIL-9", "The CPU limit holds a guest back, and is counted", kWithGuests, group_cpu},
    {"group-ended", "JAIL-9, 12", "A group is ended with cgroup.kill and without", kEverywhere, group_is_ended},

    {"doctor", "JAIL-13", "The doctor says what the jail then does", kWithGuests, doctor_agrees},
    {"doctor-applied", "JAIL-13", "The doctor claims no layer that is not applied", kWithGuests,
     doctor_knows_what_is_applied},
    {"doctor-cgroup", "JAIL-9, 13", "The doctor sees the delegated cgroup", kEverywhere, doctor_sees_the_group},
    {"doctor-kill", "JAIL-9, 13", "The doctor sees cgroup.kill", kFrom61, doctor_sees_group_kill},
    {"doctor-namespaces", "JAIL-7, 13", "The doctor can make user namespaces", kEverywhere, doctor_sees_namespaces},
};

}  // namespace

Claims claims() noexcept { return {kClaims, sizeof kClaims / sizeof kClaims[0]}; }

}  // namespace heddle::kernels
