#include "exec_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using jail::Denial;

class ExecReportTest : public ::testing::Test {
 protected:
  jail::ProgramFile policy_;
  jail::ProgramGrants granted_ =
      jail::ProgramGrants::open({core::Fd(::open("/bin/true", O_RDONLY | O_CLOEXEC)), "/bin/true", "/bin/true"}, {})
          .value();
  ExecReport report_{policy_, "job.toml", granted_};
};

// JAIL-18: whatever a program is refused, and however often; what was not kept is counted.
TEST_F(ExecReportTest, KeepsABoundedNumber) {
  constexpr std::uint64_t kCalls = 20'000;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    jail::Denials denials;
    Denial denial;
    denial.syscall = "chmod";
    denial.object = Denial::Object::path;
    denial.bytes = "/" + std::string(400, 'x') + std::to_string(i);
    denial.count = 2;
    denials.denials.push_back(denial);
    denials.total = i + 1;
    denials.dropped = 5;
    denials.observed_dropped = 6;
    denials.left = 7;
    report_.add(denials);
  }
  std::size_t bytes = 0;
  const std::vector<std::string> lines = report_.lines();
  for (const std::string& line : lines) bytes += line.size();
  EXPECT_LT(lines.size(), 2'000U);
  EXPECT_LT(bytes, 1U << 20);
  bool told = false;
  for (const std::string& line : lines) {
    told = told || line.find(std::to_string(2 * (kCalls - 500) + 5 + 6 + 7) + " calls more") != std::string::npos;
  }
  EXPECT_TRUE(told) << lines[lines.size() - 2];
}

// One row for one refusal, however its calls came.
TEST_F(ExecReportTest, TellsEachOnce) {
  for (int i = 0; i < 3; ++i) {
    jail::Denials denials;
    Denial denial;
    denial.syscall = "socket";
    denial.arguments[0] = 2;
    denial.rule = "seccomp: none";
    denials.denials = {denial, denial};
    report_.add(denials);
  }
  const std::vector<std::string> lines = report_.lines();
  EXPECT_EQ(lines.at(0), "denied: socket(AF_INET), 6 times");
  EXPECT_EQ(lines.at(1), "  by seccomp: none");
  EXPECT_EQ(lines.at(2), "  to allow it: no line of a policy allows it");
}

}  // namespace
}  // namespace heddle::cli
