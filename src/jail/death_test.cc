#include <gtest/gtest.h>
#include <signal.h>

#include "heddle/jail/cgroup.h"
#include "heddle/jail/guest.h"

namespace heddle::jail {
namespace {

using Kind = Death::Kind;

bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// JAIL-9, JAIL-14: the words name the cause and what to do; the numbers never change.
TEST(Death, IsDescribed) {
  Death death;
  death.kind = Kind::exited;
  death.code = 3;
  EXPECT_EQ(describe(death), "exited with status 3");
  death.by_signal = true;
  death.kind = Kind::signalled;
  death.code = SIGSYS;
  EXPECT_TRUE(says(describe(death), "filter")) << describe(death);
  death.code = SIGKILL;
  death.kind = Kind::out_of_memory;
  death.group = CgroupUsage{};
  death.group->peak_bytes = 64U << 20;
  EXPECT_TRUE(says(describe(death), "out of memory")) << describe(death);
  EXPECT_TRUE(says(describe(death), "64 MiB")) << describe(death);
  death.group->peak_bytes.reset();
  EXPECT_FALSE(says(describe(death), "MiB")) << describe(death);
  death.kind = Kind::process_limit;
  death.group->processes_refused = 7;
  EXPECT_TRUE(says(describe(death), "refused 7")) << describe(death);
  death.kind = Kind::timed_out;
  EXPECT_TRUE(says(describe(death), "out of time")) << describe(death);

  EXPECT_EQ(static_cast<int>(Kind::exited), 0);
  EXPECT_EQ(static_cast<int>(Kind::signalled), 1);
  EXPECT_EQ(static_cast<int>(Kind::killed), 2);
  EXPECT_EQ(static_cast<int>(Kind::with_supervisor), 3);
  EXPECT_EQ(static_cast<int>(Kind::out_of_memory), 4);
  EXPECT_EQ(static_cast<int>(Kind::process_limit), 5);
  EXPECT_EQ(static_cast<int>(Kind::timed_out), 6);
}

// JAIL-13
TEST(AppliedCgroup, IsDescribed) {
  AppliedCgroup applied;
  EXPECT_EQ(describe(applied), "");
  applied.path = "/g/heddle/1-2/1";
  applied.part(GroupPart::memory).asked = true;
  applied.part(GroupPart::memory).applied = 4096;
  applied.part(GroupPart::processes).asked = true;
  applied.part(GroupPart::processes).problem = GroupProblem::no_controller;
  const std::string text = describe(applied);
  EXPECT_TRUE(says(text, "/g/heddle/1-2/1")) << text;
  EXPECT_TRUE(says(text, "memory.max: 4096, ending one process")) << text;
  EXPECT_TRUE(says(text, "pids.max: not applied: the controller")) << text;
  EXPECT_FALSE(says(text, "cpu.max")) << text;
  for (unsigned problem = 1; problem < kGroupProblemCount; ++problem) {
    EXPECT_FALSE(says(group_problem_text(static_cast<GroupProblem>(problem)), "unknown")) << problem;
  }
  EXPECT_STREQ(group_problem_text(static_cast<GroupProblem>(kGroupProblemCount)), "unknown");
}

}  // namespace
}  // namespace heddle::jail
