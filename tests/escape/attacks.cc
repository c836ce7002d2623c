#include "attacks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "heddle/jail/launch/spawn.h"

namespace heddle::jail {
namespace {

int read_outcome(wire::Channel& channel) {
  wire::Message message = next_message(channel);
  EXPECT_EQ(message.op(), "armed");
  message = next_message(channel);
  if (message.op() == "executed") return kExecuted;
  if (message.op() != "attack") return INT32_MIN;
  return static_cast<int>(message.take_number("errno").value());
}

}  // namespace

int attack_jailed(Supervisor& supervisor, const Policy& policy, const char* stage, const std::string& name,
                  const std::string& parameter) {
  auto started = start_guest(supervisor, "heddle-test-attacker", {stage, name, parameter}, policy);
  EXPECT_TRUE(started.ok()) << started.error().message();
  if (!started.ok()) return INT32_MIN;
  const int outcome = read_outcome(started.value().channel);
  const Death death = wait_death(started.value().guest);
  if (outcome == INT32_MIN && death.kind == Death::Kind::signalled) return -death.code;
  return outcome;
}

int attack_jailed(Supervisor& supervisor, const char* stage, const std::string& name, const std::string& parameter,
                  Need namespaces) {
  return attack_jailed(supervisor, Policy::script({}, {}, NamespaceOrder{namespaces}).value(), stage, name, parameter);
}

int attack_free(const std::string& name, const std::string& parameter) {
  core::FdPair pair = core::stream_pair().value();
  SpawnPlan plan;
  plan.confinement = Confinement::helper;
  plan.program = open_program(kTestPrograms + "heddle-test-attacker").value().fd().duplicate().value();
  plan.arguments = {"attacker", "free", name, parameter};
  plan.descriptors.push_back(std::move(pair.second));
  const SpawnResult child = spawn(std::move(plan));
  EXPECT_EQ(child.failure.step, Step::none);
  auto channel = wire::Channel::adopt(std::move(pair.first)).value();
  const int outcome = read_outcome(channel);
  EXPECT_TRUE(child.child.wait_exit(core::Deadline::after(std::chrono::seconds(20))));
  (void)reap(child.child);
  return outcome;
}

// JAIL-2, 4, 5, 6, 8, 19, 20
const std::vector<AttackRow>& attack_rows() {
  static const std::vector<AttackRow> kRows = {
      {"read_file", "/etc/passwd", EPERM, Control::works},
      {"read_file", "./file", EPERM, Control::works},
      {"read_file", "/proc/self/environ", EPERM, Control::works},
      {"read_legacy", "/etc/passwd", EPERM, Control::works},
      {"read_openat2", "/etc/passwd", kDenied, Control::works},
      {"create_file", "./created", EPERM, Control::works},
      {"make_folder", "./made", kDenied, Control::works},
      {"list_folder", "", EPERM, Control::works},
      {"look_at_file", "/etc/passwd", EPERM, Control::works},
      {"change_mode", "./file", kDenied, Control::works},
      {"remove_file", "./file", kDenied, Control::works},
      {"push_terminal", "", EPERM, Control::depends},
      {"terminal_size", "", EPERM, Control::depends},
      {"read_file", "/proc/PID/environ", EPERM, Control::works},
      {"read_file", "/proc/PID/mem", EPERM, Control::works},
      {"read_file", "/proc/PID/maps", EPERM, Control::works},
      {"read_file", "/proc/PID/fd", EPERM, Control::works},
      {"read_file", "/proc/PID/root/etc/passwd", EPERM, Control::works},
      {"read_file", "/proc/self/cgroup", EPERM, Control::works},
      {"read_file", "/sys/kernel/notes", EPERM, Control::depends},
      {"write_file", "/proc/self/exe", EPERM, Control::depends},
      {"write_file", "/proc/PID/exe", EPERM, Control::depends},
      {"write_file", "./file", EPERM, Control::works},
      {"write_file", "/proc/sys/kernel/core_pattern", EPERM, Control::works_for_root},
      {"write_file", "/sys/fs/cgroup/release_agent", EPERM, Control::depends},
      {"write_file", "/dev/console", EPERM, Control::depends},
      {"truncate_by_reading", "./file", EPERM, Control::works},
      {"enter_descriptor", "", kDenied, Control::works},
      {"leave_folder", "./granted", EPERM, Control::works},
      {"follow_link", "./granted", EPERM, Control::works},
      {"plant_link", "./granted", kDenied, Control::works},
      {"link_in", "./granted", kDenied, Control::depends},
      {"rename_in", "./granted", kDenied, Control::works},
      {"rename_out", "./granted", kDenied, Control::works},
      {"read_beside_moved", "./granted", EPERM, Control::depends},
      {"sparse_file", "./created", EPERM, Control::works},
      {"strange_name", "./created", EPERM, Control::works},
      {"many_files", "./created", EPERM, Control::works},
      {"open_files", "", kDenied, Control::works},
      {"paste_terminal", "", EPERM, Control::depends},
      {"mount_tmpfs", "./mount", kDenied, Control::works_for_root},
      {"new_mount", "", kDenied, Control::works_for_root},
      {"change_root", "", kDenied, Control::works_for_root},

      {"socket_upper_bits", "", EPERM, Control::works},
      {"socketpair", "", EPERM, Control::works},
      {"connect_unix", "./stream", kDenied, Control::works},
      {"connect_unix", "ABSTRACT", kDenied, Control::works},
      {"sendto_unix", "./datagrams", kDenied, Control::works},
      {"sendmsg_unix", "./datagrams", EISCONN, Control::works},
      {"bind_unix", "./bound", kDenied, Control::works},
      {"listen_inet", "", kDenied, Control::works},
      {"out_of_band", "", kDenied, Control::depends},
      {"out_of_band_upper_bits", "", kDenied, Control::depends},
      {"io_uring", "", kDenied, Control::depends},
      {"sendto_inet", "", kDenied, Control::works},
      {"shmget", "", kDenied, Control::works},
      {"semget", "", kDenied, Control::works},
      {"msgget", "", kDenied, Control::works},
      {"mq_open", "", kDenied, Control::depends},
      {"shm_open", "", EPERM, Control::works},

      {"execve", "", kDenied, Control::works},
      {"execveat", "", kDenied, Control::works},
      {"memfd_exec", "", kDenied, Control::works},
      {"memfd_create", "", kDenied, Control::works},
      {"fork", "", kDenied, Control::works},
      {"vfork", "", kDenied, Control::works},
      {"clone", "", kDenied, Control::works},
      {"clone3", "", ENOSYS, Control::works},
      {"unshare", "", kDenied, Control::depends},
      {"setns", "", kDenied, Control::works},
      {"ptrace", "", kDenied, Control::works},
      {"process_vm_readv", "", kDenied, Control::works},
      {"process_vm_writev", "", kDenied, Control::works},
      {"ptrace_attach", "", kDenied, Control::works},
      {"ptrace_seize", "", kDenied, Control::works},
      {"ptrace_unfiltered", "", kDenied, Control::depends},
      {"pidfd_getfd", "", kDenied, Control::works},
      {"set_owner_group", "PGID", EPERM, Control::works},
      {"clone_apart", "", kDenied, Control::depends},
      {"many_threads", "", kDenied, Control::works},
      {"modify_ldt", "", kDenied, Control::depends},
      {"add_key", "", kDenied, Control::depends},
      {"kill", "PID", kDenied, Control::works},
      {"kill_all", "", kDenied, Control::works},
      {"tgkill", "PID", EPERM, Control::works},
      {"sigqueue", "PID", kDenied, Control::works},
      {"pidfd_open", "PID", kDenied, Control::works},
      {"set_owner", "", EPERM, Control::works},
      {"x32", "", kKilled, Control::depends},
      {"int80", "", kKilled, Control::depends},
      {"personality", "", kDenied, Control::works},
      {"bpf", "", kDenied, Control::depends},
      {"keyctl", "", kDenied, Control::depends},
      {"perf", "", kDenied, Control::depends},
      {"prlimit", "", EPERM, Control::works},
      {"seccomp", "", kDenied, Control::works},

      {"mmap_exec", "", kDenied, Control::works},
      {"mmap_exec_upper", "", kDenied, Control::works},
      {"mprotect_exec", "", kDenied, Control::works},
      {"pkey_mprotect_exec", "", kDenied, Control::works},
      {"mmap_fd", "", kDenied, Control::works},
      {"userfaultfd", "", kDenied, Control::depends},
      {"too_much_memory", "", ENOMEM, Control::works},
      {"touch_memory", "", ENOMEM, Control::works},
      {"overflow_stack", "", -SIGSEGV, Control::depends},
      {"lock_memory", "", EPERM, Control::depends},

      // What Landlock does not decide about, and what the kernel counts per user.
      {"watch_folder", "./granted", kDenied, Control::works},
      {"mark_folder", "./granted", kDenied, Control::depends},
      {"notify_folder", "./granted", EPERM, Control::depends},
      {"lease_file", "./file", EPERM, Control::works},
      {"lock_record", "./file", EPERM, Control::works},
      {"lock_file", "./file", EPERM, Control::works},
      {"read_attribute", "./file", kDenied, Control::depends},
      {"list_attributes", "./file", kDenied, Control::works},
      {"handle_of", "./file", kDenied, Control::depends},
      {"open_neither", "./file", EPERM, Control::works},
      {"read_link", "./granted/link", EPERM, Control::works},
      {"may_read", "./file", EPERM, Control::works},
      {"file_system_of", "./file", kDenied, Control::works},
      {"enter_folder", "./granted", kDenied, Control::works},
      {"grow_pipe", "", kDenied, Control::works},
      {"make_timers", "1000", kDenied, Control::works},
      {"queue_signals", "1000", kDenied, Control::works},
  };
  return kRows;
}

std::string outcome_words(int outcome) {
  if (outcome == kExecuted) return "executed";
  if (outcome == INT32_MIN) return "no answer";
  if (outcome < 0) return "ended by signal " + std::to_string(-outcome);
  return outcome == 0 ? "worked" : core::errno_text(outcome);
}

void expect_outcome(int outcome, int expected, const AttackRow& row) {
  EXPECT_EQ(outcome, expected) << row.name << " " << row.parameter << ": " << outcome_words(outcome) << ", expected "
                               << outcome_words(expected);
}

}  // namespace heddle::jail
