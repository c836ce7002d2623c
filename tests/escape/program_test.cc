// The same hostile program as a foreign one: under the profile `program`, started by the stub. Its controls are those
// of script_test.cc, which run it free; what this profile allows is a control by itself.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "attacks.h"
#include "tests/jail/program_world.h"

namespace heddle::jail {
namespace {

const std::string kAttacker = kTestPrograms + "heddle-test-attacker";

std::string attack(Supervisor& supervisor, const std::string& name, const std::string& parameter,
                   const ProgramNeeds& needs, const std::function<void()>& after_policy = {}) {
  auto outcome = run_program(supervisor, {kAttacker, {"program", name, parameter}, needs, after_policy});
  EXPECT_TRUE(outcome.ok()) << outcome.error().message();
  if (!outcome.ok()) return outcome.error().message();
  if (!outcome.value().output.empty()) return outcome.value().output;
  wire::Message& last = outcome.value().first;
  if (last.op() != "ended" || !last.take_bool("signalled").value()) return "nothing";
  return "signal " + std::to_string(last.take_number("code").value());
}

std::string said(int error) { return "errno " + std::to_string(error) + "\n"; }

ProgramNeeds needs_of(const Host& host) {
  ProgramNeeds needs = plain_needs();
  needs.limits.data_bytes = std::uint64_t{256} << 20;
  needs.limits.file_bytes = std::uint64_t{1} << 30;
  needs.paths.push_back({host.path("granted"), Access::write});
  needs.paths.push_back({"/proc", Access::read});
  return needs;
}

struct ProgramRow {
  const char* name;
  const char* parameter;
  std::vector<int> errors;  // any of these; 0: it works here, and harms nobody
};

// JAIL-2, 5, 6, 8, 19, 20
const std::vector<ProgramRow>& rows() {
  static const std::vector<ProgramRow> kRows = {
      {"read_file", "/etc/passwd", {EACCES}},
      {"read_file", "./file", {EACCES}},
      {"read_legacy", "./file", {EACCES}},
      {"read_openat2", "./file", {ENOSYS}},
      {"create_file", "./created", {EACCES}},
      {"make_folder", "./made", {EACCES}},
      {"list_folder", "", {EACCES}},
      {"change_mode", "./file", {EPERM}},
      {"remove_file", "./file", {EACCES}},
      {"write_file", "./file", {EACCES}},
      {"write_file", "/proc/self/exe", {EACCES, ETXTBSY}},
      {"write_file", "/proc/sys/kernel/core_pattern", {EACCES}},
      {"write_file", "/dev/console", {EACCES, ENOENT}},
      {"truncate_by_reading", "./file", {EPERM}},
      // Of the host, with /proc granted: the guest is nobody who may look at it.
      {"read_file", "/proc/PID/environ", {EACCES, EPERM}},
      {"read_file", "/proc/PID/mem", {EACCES, EPERM}},
      {"read_file", "/proc/PID/maps", {EACCES, EPERM}},
      // The folder of them may be listed by whoever is the same user, as an ordinary host's guest is; no more.
      {"read_file", "/proc/PID/fd/0", {EACCES, EPERM}},
      {"read_file", "/proc/PID/root/etc/passwd", {EACCES, EPERM}},
      {"enter_descriptor", "", {ENOENT, ENOTDIR, EACCES}},
      {"leave_folder", "./granted", {EACCES}},
      {"follow_link", "./granted", {EACCES}},
      {"plant_link", "./granted", {EPERM}},
      {"link_in", "./granted", {EACCES, EXDEV, EPERM}},
      {"rename_in", "./granted", {EACCES, EXDEV}},
      {"rename_out", "./granted", {EACCES, EXDEV}},
      {"strange_name", "./granted/made", {0}},
      {"sparse_file", "./granted/made", {EFBIG}},
      {"open_files", "", {EMFILE}},
      {"push_terminal", "", {EPERM}},
      {"paste_terminal", "", {EPERM}},
      {"mount_tmpfs", "./mount", {EPERM}},
      {"new_mount", "", {EPERM}},
      {"change_root", "", {EPERM}},
      {"socket_upper_bits", "", {EPERM}},
      {"socketpair", "", {EPERM}},
      {"connect_unix", "./stream", {EPERM}},
      {"connect_unix", "ABSTRACT", {EPERM}},
      {"sendto_unix", "./datagrams", {EPERM}},
      {"bind_unix", "./granted/bound", {EPERM}},
      {"listen_inet", "", {EPERM}},
      {"sendto_inet", "", {EPERM}},
      {"io_uring", "", {ENOSYS}},
      {"shmget", "", {EPERM}},
      {"semget", "", {EPERM}},
      {"msgget", "", {EPERM}},
      {"mq_open", "", {EPERM}},
      {"shm_open", "", {EACCES}},
      {"execve", "", {EPERM}},
      {"execveat", "", {EPERM}},
      {"memfd_exec", "", {EPERM}},
      {"memfd_create", "", {EPERM}},
      {"clone3", "", {ENOSYS}},
      {"unshare", "", {EPERM}},
      {"clone_apart", "", {EPERM}},
      {"setns", "", {EPERM}},
      {"ptrace", "", {EPERM}},
      {"ptrace_attach", "", {EPERM}},
      {"ptrace_seize", "", {EPERM}},
      {"ptrace_unfiltered", "", {EPERM}},
      {"process_vm_readv", "", {EPERM}},
      {"process_vm_writev", "", {EPERM}},
      {"pidfd_getfd", "", {EPERM}},
      {"modify_ldt", "", {EPERM}},
      {"personality", "", {EPERM}},
      {"bpf", "", {EPERM}},
      {"keyctl", "", {EPERM}},
      {"add_key", "", {EPERM}},
      {"perf", "", {EPERM}},
      {"userfaultfd", "", {EPERM}},
      {"seccomp", "", {EPERM}},
      {"many_threads", "", {EAGAIN}},
      {"too_much_memory", "", {ENOMEM}},
      {"touch_memory", "", {ENOMEM}},
      // What Landlock does not decide about: as docs/guide/policy.md says.
      {"watch_folder", "./", {ENOSYS}},
      {"watch_folder", "./granted", {ENOSYS}},
      {"mark_folder", "./granted", {EPERM}},
      {"notify_folder", "./granted", {EPERM}},
      {"lease_file", "./granted/inside", {EPERM}},
      {"read_attribute", "./file", {EOPNOTSUPP}},
      {"list_attributes", "./file", {EOPNOTSUPP}},
      {"handle_of", "./file", {EPERM}},
      {"open_neither", "./file", {EPERM}},
      {"look_at_file", "./file", {0}},
      {"may_read", "./file", {0}},
      {"file_system_of", "./file", {0}},
      {"read_link", "./granted/link", {0}},
      {"read_link", "/proc/PID/exe", {EACCES, EPERM, ENOENT}},
      {"read_link", "/proc/PID/cwd", {EACCES, EPERM, ENOENT}},
      {"read_link", "/proc/PID/fd/0", {EACCES, EPERM, ENOENT}},
      {"set_owner", "", {EPERM}},
      {"set_owner_group", "PGID", {EPERM}},
      // What the kernel counts per user.
      {"grow_pipe", "", {EPERM}},
      {"make_timers", "200", {0}},
      {"make_timers", "300", {EAGAIN}},
      {"queue_signals", "200", {0}},
      {"queue_signals", "300", {EAGAIN}},
  };
  return kRows;
}

TEST(ProgramAttacks, AreRefusedUnderTheProgramPolicy) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const ProgramNeeds needs = needs_of(host);
  for (const ProgramRow& row : rows()) {
    const std::string got = attack(supervisor.value(), row.name, host.parameter(row.parameter), needs);
    EXPECT_TRUE(std::any_of(row.errors.begin(), row.errors.end(), [&](int error) { return got == said(error); }))
        << row.name << " " << row.parameter << ": " << got;
    EXPECT_TRUE(host.file_whole()) << row.name;
    EXPECT_TRUE(host.nothing_arrived()) << row.name;
  }
}

// JAIL-4
TEST(ProgramAttacks, ForeignCallsAndAFullStackEndIt) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  for (const char* name : {"x32", "int80"}) {
    EXPECT_EQ(attack(supervisor.value(), name, "", needs_of(host)), "signal " + std::to_string(SIGSYS)) << name;
  }
  EXPECT_EQ(attack(supervisor.value(), "overflow_stack", "", needs_of(host)), "signal " + std::to_string(SIGSEGV));
}

// JAIL-7: in a pid namespace the host and its groups have no number.
TEST(ProgramAttacks, TheHostCannotBeSignalled) {
  (void)::setpgid(0, 0);  // in a container the group's number may be one that the guest's namespace has too
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds needs = needs_of(host);
  needs.namespaces.need = Need::required;
  auto probe = run_program(supervisor.value(), {kAttacker, {"program", "fork"}, needs, {}});
  if (!probe.ok() && probe.error().message().find("namespaces") != std::string::npos) {
    GTEST_SKIP() << probe.error().message();
  }
  for (const char* name : {"kill", "tgkill", "pidfd_open", "sigqueue"}) {
    const std::string got = attack(supervisor.value(), name, host.parameter("PID"), needs);
    EXPECT_TRUE(got == said(ESRCH) || got == said(EPERM) || got == said(EINVAL)) << name << ": " << got;
  }
}

// JAIL-20: a program that is granted nothing to write locks nothing; one that is locks its own. Controls:
// script_test.cc's, where both work free.
TEST(ProgramAttacks, LocksNeedAGrantOfWrite) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  ProgramNeeds reads = plain_needs();
  reads.paths.push_back({host.path("file"), Access::read});
  reads.paths.push_back({"/dev/full", Access::write});
  EXPECT_EQ(attack(supervisor.value(), "read_file", host.path("file"), reads), said(0));
  ProgramNeeds writes = reads;
  writes.paths.push_back({host.path("granted"), Access::write});
  for (const char* name : {"lock_file", "lock_record"}) {
    EXPECT_EQ(attack(supervisor.value(), name, host.path("file"), reads), said(EPERM)) << name;
    EXPECT_EQ(attack(supervisor.value(), name, host.path("granted/inside"), writes), said(0)) << name;
  }
  ProgramNeeds one = reads;
  one.paths.push_back({host.path("granted/inside"), Access::write});
  EXPECT_EQ(attack(supervisor.value(), "lock_file", host.path("granted/inside"), one), said(0));
}

// JAIL-20: while a program holds all that it can get of what is counted per user, the host's user has what it needs.
TEST(ProgramAttacks, WhatIsCountedPerUserIsLeftToTheHost) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const std::string ready = host.path("granted/ready");
  std::thread looker([&] {
    for (int tries = 0; tries < 6000 && ::access(ready.c_str(), F_OK) != 0; ++tries) ::usleep(5000);
    EXPECT_EQ(::access(ready.c_str(), F_OK), 0);
    EXPECT_EQ(attack_free("make_timers", "1000"), 0);
    EXPECT_EQ(attack_free("queue_signals", "1000"), 0);
    EXPECT_EQ(attack_free("watch_folder", host.path("granted")), 0);
    auto pipe = core::pipe_pair();
    EXPECT_TRUE(pipe.ok() && core::write_all(pipe.value().second, std::string(4096, 'x')).ok());
    EXPECT_EQ(std::system("timeout 60 true"), 0);
    ::unlink(ready.c_str());
  });
  EXPECT_EQ(attack(supervisor.value(), "hold_all", host.path("granted"), needs_of(host)), said(0));
  looker.join();
}

// JAIL-2: a policy holds the folder, not its name. Control: a policy made after the swap grants the new one, as whoever
// writes it must know.
TEST(ProgramAttacks, AGrantedFolderThatIsSwappedForALink) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  std::filesystem::create_directory(host.path("swapped"));
  std::filesystem::create_directory(host.path("secret"));
  std::ofstream(host.path("secret/file")) << "secret";
  for (const char* name : {"swapped", "secret"}) ASSERT_EQ(::chmod(host.path(name).c_str(), 0777), 0);
  ASSERT_EQ(::chmod(host.path("secret/file").c_str(), 0666), 0);
  ProgramNeeds needs = plain_needs();
  needs.paths.push_back({host.path("swapped"), Access::read});
  const auto swap = [&] {
    std::filesystem::remove(host.path("swapped"));
    std::filesystem::create_directory_symlink(host.path("secret"), host.path("swapped"));
  };
  EXPECT_EQ(attack(supervisor.value(), "read_file", host.path("swapped/file"), needs, swap), said(EACCES));
  EXPECT_EQ(attack(supervisor.value(), "read_file", host.path("swapped/file"), needs), said(0));
}

// JAIL-2: a descriptor on a folder does not take the grant along.
TEST(ProgramAttacks, AFolderThatIsMovedOutOfTheGrantedTree) {
  const Host host;
  auto supervisor = start_supervisor();
  ASSERT_TRUE(supervisor.ok()) << supervisor.error().message();
  const std::string inner = host.path("granted/inner");
  std::filesystem::create_directory(inner);
  ASSERT_EQ(::chmod(inner.c_str(), 0777), 0);
  const auto mover = [&] {
    return std::thread([&] {
      for (int tries = 0; tries < 4000 && ::access((inner + "/ready").c_str(), F_OK) != 0; ++tries) ::usleep(5000);
      std::error_code ignored;
      std::filesystem::rename(inner, host.path("moved"), ignored);
    });
  };
  std::thread jailed = mover();
  EXPECT_EQ(attack(supervisor.value(), "read_beside_moved", inner, needs_of(host)), said(EACCES));
  jailed.join();
  // Control: where the file beside it is granted too.
  std::filesystem::remove(host.path("moved/ready"));
  std::filesystem::rename(host.path("moved"), inner);
  ProgramNeeds both = needs_of(host);
  both.paths.push_back({host.path("file"), Access::read});
  std::thread control = mover();
  EXPECT_EQ(attack(supervisor.value(), "read_beside_moved", inner, both), said(0));
  control.join();
}

}  // namespace
}  // namespace heddle::jail
