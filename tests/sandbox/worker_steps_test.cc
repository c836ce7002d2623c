// JAIL-11, SBX-19: each step that the real worker takes by itself is made to fail in turn, by the kernel. No script
// runs, and the outcome names the step. Steps before its execve are proven in tests/jail, where there is no worker yet.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <optional>

#include "heddle/sandbox/quickjs/pool.h"
#include "tests/jail/world.h"
#include "tests/support/processes.h"

namespace heddle::sandbox::quickjs {
namespace {

using jail::InjectedSupervisor;
using jail::Injection;

constexpr unsigned kAll = ~0U;
constexpr unsigned kSetMdwe = 65;

struct Row {
  const char* step;
  Injection injection;
  std::optional<int> reported = {};  // errno, where it is not the injected one
};

const Row kRows[] = {
    {"create the engine", {SYS_mmap, ENOMEM, {{3, kAll, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}}}},
    // The engine asks by a call that has no way to say why not.
    {"create the engine", {SYS_mprotect, ENOMEM, {{2, kAll, PROT_READ | PROT_WRITE}}}, 0},
    {"install signals", {SYS_sigaltstack, ENOMEM, {}}},
    {"seal_restrict", {SYS_landlock_restrict_self, E2BIG, {{0, ~15U, 0}}}},
    {"no_exec_gain", {SYS_prctl, EPERM, {{0, kAll, kSetMdwe}}}},
    {"not_dumpable", {SYS_prctl, EPERM, {{0, kAll, PR_SET_DUMPABLE}}}},
    {"filter_check", {SYS_fcntl, EINVAL, {{1, kAll, F_GET_SEALS}}}},
    {"filter_read", {SYS_pread64, EIO, {}}},
    {"filter_close", {SYS_close, EIO, {{0, kAll, 4}}}},
    {"notify_order", {SYS_recvfrom, EIO, {{0, kAll, 5}}}},
    {"filter_load", {SYS_seccomp, EACCES, {{0, kAll, 1}}}},
    {"notify_pass", {SYS_sendmsg, EIO, {{0, kAll, 5}}}},
    {"notify_close", {SYS_close, EIO, {{0, kAll, 5}}}},
};

Outcome evaluate_under(const std::vector<Injection>& injections) {
  const InjectedSupervisor injected(injections);
  PoolOptions options;
  options.supervisor_path = injected.path();
  options.worker_path = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker";
  const auto pool = Pool::create(options);
  EXPECT_TRUE(pool.ok()) << pool.error().message();
  Run run = std::move(pool.value()->start({"6*7", "null", {}})).value();
  return run.wait();
}

TEST(WorkerSteps, WhatFailsIsNamedAndNoScriptRuns) {
  for (const Row& row : kRows) {
    const Outcome outcome = evaluate_under({row.injection});
    EXPECT_EQ(outcome.kind, Outcome::Kind::infrastructure) << row.step;
    EXPECT_EQ(outcome.error.step, row.step) << outcome.error.message();
    EXPECT_EQ(outcome.error.sys_errno, row.reported.value_or(row.injection.error)) << outcome.error.message();
    EXPECT_EQ(outcome.elapsed.count(), 0) << "nothing was sent to it";
    EXPECT_TRUE(test::descendants_named("heddle-sandbox-").empty()) << row.step;
  }
}

TEST(WorkerSteps, ControlWithoutInjection) { EXPECT_EQ(evaluate_under({{SYS_reboot, EPERM, {}}}).value, "42"); }

}  // namespace
}  // namespace heddle::sandbox::quickjs
