// JAIL-13: each layer that is missing says why and what to do. Machines are made up here; machine_test.cc asks a real
// one.
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "heddle/jail/doctor/doctor.h"

namespace heddle::jail {
namespace {

using Need = Layer::Need;
using State = Layer::State;

// Everything there is, for an ordinary user.
Machine good_machine() {
  Machine machine;
  machine.release = "6.12.0";
  machine.architecture = "x86_64";
  machine.landlock_abi = 7;
  for (Attempt Machine::*attempt :
       {&Machine::no_new_privs, &Machine::landlock_files, &Machine::landlock_network, &Machine::landlock_scopes,
        &Machine::filter, &Machine::foreign_calls, &Machine::notifications, &Machine::mdwe, &Machine::pidfd,
        &Machine::close_range, &Machine::user_namespace, &Machine::mount_namespace, &Machine::pid_namespace,
        &Machine::network_namespace, &Machine::ipc_namespace, &Machine::uts_namespace}) {
    machine.*attempt = 0;
  }
  machine.cgroup = {CgroupFacts::Hierarchy::version2, "/sys/fs/cgroup/a", "cpu io memory pids", 0, false, true};
  return machine;
}

Machine good_root() {
  Machine machine = good_machine();
  machine.root = true;
  machine.identity = 0;
  return machine;
}

Layer layer_of(const Diagnosis& diagnosis, std::string_view id) {
  for (const Layer& layer : diagnosis.layers) {
    if (id == layer.id) return layer;
  }
  ADD_FAILURE() << "no layer " << id;
  return {};
}

Layer layer_of(const Machine& machine, std::string_view id) { return layer_of(diagnose(machine), id); }

void expect_missing(const Machine& machine, const char* id, const char* reason, const char* advice) {
  const Layer layer = layer_of(machine, id);
  EXPECT_EQ(layer.state, State::missing) << id;
  EXPECT_NE(layer.reason.find(reason), std::string::npos) << id << ": " << layer.reason;
  EXPECT_NE(layer.advice.find(advice), std::string::npos) << id << ": " << layer.advice;
}

// JAIL-13
TEST(Diagnose, AGoodMachineEnforcesAllThatScriptsNeed) {
  for (const Machine& machine : {good_machine(), good_root()}) {
    const Diagnosis diagnosis = diagnose(machine);
    EXPECT_TRUE(diagnosis.script_worker);
    std::set<std::string_view> ids;
    for (const Layer& layer : diagnosis.layers) {
      EXPECT_TRUE(ids.insert(layer.id).second) << layer.id;
      EXPECT_TRUE(layer.need == Need::further || layer.state == State::enforced) << layer.id;
      EXPECT_EQ(layer.state == State::enforced, layer.reason.empty()) << layer.id;
    }
  }
  EXPECT_EQ(layer_of(good_root(), "identity").need, Need::required);
}

// JAIL-13: what the jail does not apply is never called enforced.
TEST(Diagnose, WhatIsNotAppliedIsAvailable) {
  const char* const ids[] = {"seccomp_notify",    "namespace_user", "namespace_pid",
                             "namespace_network", "cgroup",         "cgroup_kill"};
  for (const char* id : ids) {
    const Layer layer = layer_of(diagnose(good_machine(), Applied{}), id);
    EXPECT_EQ(layer.state, State::available) << id;
    EXPECT_NE(layer.reason.find("not applied yet"), std::string::npos) << id;
  }
  Applied all;
  all.namespaces = all.notifications = all.cgroups = true;
  const Diagnosis diagnosis = diagnose(good_machine(), all);
  for (const char* id : ids) {
    const State expected = std::string_view(id) == "namespace_network" ? State::available : State::enforced;
    EXPECT_EQ(layer_of(diagnosis, id).state, expected) << id;
  }
}

// JAIL-2: each required layer by itself keeps scripts from being called confined.
TEST(Diagnose, EachRequiredLayerCounts) {
  for (Attempt Machine::*attempt : {&Machine::no_new_privs, &Machine::landlock_files, &Machine::filter,
                                    &Machine::foreign_calls, &Machine::pidfd, &Machine::close_range}) {
    for (const Attempt failure : {EPERM, ENOSYS, EPROTO, -SIGSYS, kNotTried}) {
      Machine machine = good_machine();
      machine.*attempt = failure;
      const Diagnosis diagnosis = diagnose(machine);
      EXPECT_FALSE(diagnosis.script_worker);
      unsigned missing = 0;
      for (const Layer& layer : diagnosis.layers) {
        if (layer.need != Need::required || layer.state == State::enforced) continue;
        ++missing;
        EXPECT_FALSE(layer.reason.empty()) << layer.id;
        EXPECT_FALSE(layer.advice.empty()) << layer.id;
      }
      EXPECT_EQ(missing, 1U);
    }
  }
  Machine machine = good_machine();
  machine.worker_problem = "close_others: Function not implemented";
  EXPECT_FALSE(diagnose(machine).script_worker);
  expect_missing(machine, "worker", "close_others", "mend");
}

// JAIL-2, 13
TEST(Diagnose, LandlockSaysWhyItIsMissing) {
  Machine machine = good_machine();
  machine.landlock_abi = -ENOSYS;
  machine.landlock_files = ENOSYS;
  expect_missing(machine, "landlock_files", "no Landlock", "5.13");
  machine.landlock_abi = -EOPNOTSUPP;
  machine.landlock_files = EOPNOTSUPP;
  machine.lsms = "lockdown,yama,apparmor";
  expect_missing(machine, "landlock_files", "switched off", "lsm=landlock,lockdown,yama,apparmor");
  machine.landlock_abi = -ENOSYS;
  machine.landlock_files = ENOSYS;
  machine.outer_filters = 1;
  expect_missing(machine, "landlock_files", "outer sandbox", "seccomp profile");
}

// JAIL-2: a kernel that is newer than this Heddle is used as what Heddle knows, and said so.
TEST(Diagnose, ANewerLandlockIsUsedAsAKnownOne) {
  Machine machine = good_machine();
  machine.landlock_abi = 10;
  EXPECT_EQ(layer_of(machine, "landlock_files").version, "ABI 10, used as 7");
  EXPECT_TRUE(diagnose(machine).script_worker);
}

// JAIL-3: on 5.13 to 6.6 network denial is the filter's, and reported so.
TEST(Diagnose, OldLandlockNamesWhatStandsInItsPlace) {
  Machine machine = good_machine();
  machine.landlock_abi = 2;
  machine.landlock_network = machine.landlock_scopes = kNotTried;
  expect_missing(machine, "landlock_network", "ABI 2; ABI 4 has it; the filter alone refuses sockets", "6.7");
  expect_missing(machine, "landlock_scopes", "ABI 6 has it; the filter alone", "6.12");
  EXPECT_TRUE(diagnose(machine).script_worker);
  machine.mdwe = EINVAL;
  expect_missing(machine, "mdwe", "the filter alone", "6.3");
}

TEST(Diagnose, ALayerThatTheKernelTakesAndDoesNotEnforceIsMissing) {
  Machine machine = good_machine();
  machine.landlock_network = EPROTO;
  expect_missing(machine, "landlock_network", "does not act on it", "");
}

// JAIL-14
TEST(Diagnose, BusyNotificationsAreExplained) {
  Machine machine = good_machine();
  machine.notifications = EBUSY;
  expect_missing(machine, "seccomp_notify", "listens already", "outside");
  machine.notifications = EINVAL;
  expect_missing(machine, "seccomp_notify", "Invalid argument", "Linux 5");
  EXPECT_TRUE(diagnose(machine).script_worker);
}

// JAIL-7
TEST(Diagnose, UserNamespacesSayWhoTurnedThemOff) {
  Machine machine = good_machine();
  machine.user_namespace = machine.pid_namespace = EPERM;
  expect_missing(machine, "namespace_user", "not permitted", "max_user_namespaces");
  machine.switches.apparmor_restricts_user_spaces = 1;
  expect_missing(machine, "namespace_user", "AppArmor", "userns");
  expect_missing(machine, "namespace_pid", "AppArmor", "userns");
  machine.switches.unprivileged_userns_clone = 0;
  expect_missing(machine, "namespace_user", "unprivileged_userns_clone is 0", "unprivileged_userns_clone=1");
  machine.switches.max_user_namespaces = 0;
  expect_missing(machine, "namespace_user", "limit", "user.max_user_namespaces");
  machine.switches = {};
  machine.container = "docker";
  expect_missing(machine, "namespace_user", "not permitted", "container");
  machine.container = "";
  machine.user_namespace = EINVAL;
  expect_missing(machine, "namespace_user", "built without", "CONFIG_USER_NS");
  machine.user_namespace = ENOSPC;
  expect_missing(machine, "namespace_user", "limit", "user.max_user_namespaces");
}

TEST(Diagnose, OneMissingNamespaceIsNotTheUserNamespacesFault) {
  Machine machine = good_machine();
  machine.ipc_namespace = EINVAL;
  expect_missing(machine, "namespace_ipc", "Invalid argument", "built with it");
  EXPECT_EQ(layer_of(machine, "namespace_user").state, State::enforced);
}

// JAIL-9
TEST(Diagnose, GroupsSayWhatIsMissing) {
  using Hierarchy = CgroupFacts::Hierarchy;
  Machine machine = good_machine();
  machine.cgroup.writable = EACCES;
  expect_missing(machine, "cgroup", "not delegated", "systemd-run");
  expect_missing(machine, "cgroup_kill", "no group", "above");
  machine.cgroup.writable = EROFS;
  expect_missing(machine, "cgroup", "read-only", "writable");
  machine.cgroup.writable = 0;
  machine.cgroup.controllers = "cpu";
  expect_missing(machine, "cgroup", "memory, pids", "systemd-run");
  machine.cgroup.version1_too = true;
  expect_missing(machine, "cgroup", "bound to version 1", "unified");
  machine.cgroup.folder = "";
  expect_missing(machine, "cgroup", "cannot be seen", "namespace");
  machine.cgroup.hierarchy = Hierarchy::version1;
  expect_missing(machine, "cgroup", "version 1", "unified");
  machine.cgroup.hierarchy = Hierarchy::none;
  expect_missing(machine, "cgroup", "no cgroup", "mount");
  machine = good_machine();
  machine.cgroup.kill = false;
  expect_missing(machine, "cgroup_kill", "5.14", "by itself");
  EXPECT_TRUE(diagnose(machine).script_worker);
}

// JAIL-2: guests never run as root, so a root that cannot become another is refused.
TEST(Diagnose, ARootWithoutRightsIsExplained) {
  Machine machine = good_root();
  machine.identity = EPERM;
  machine.worker_problem = "bounding_set: Operation not permitted";
  EXPECT_FALSE(diagnose(machine).script_worker);
  expect_missing(machine, "identity", "not become", "SETUID");
  // In a user namespace the probe's id may not be mapped while the worker's is.
  machine.identity = EINVAL;
  machine.worker_problem = "";
  EXPECT_TRUE(diagnose(machine).script_worker);
}

}  // namespace
}  // namespace heddle::jail
