// docs/guide/syscalls.md says what the filters do, or the build is red.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "heddle/jail/unsafe/program_policy.h"
#include "heddle/jail/unsafe/threaded_policy.h"
#include "testing/syscalls_page.h"

namespace heddle::jail {
namespace {

const char* const kRewrite = "HEDDLE_REWRITE=1 build/tests/heddle_jail_unsafe_test --gtest_filter='SyscallsPage.*'";

std::vector<PageProfile> profiles() {
  static const SyscallTable kScript = syscall_table(Profile::script);
  static const SyscallTable kTool = tool_syscalls();
  static const SyscallTable kPlugin = plugin_syscalls();
  static const SyscallTable kTaken = plugin_taken_syscalls();
  static const SyscallTable kProgram = program_syscalls({});
  return {
      {"Profile `script`",
       "A static program of Heddle's own with one inherited stream socket: the worker that runs scripts.", kScript},
      {"Profile `tool`",
       "A program of Heddle's own that runs other people's code in threads, with one inherited stream socket: as "
       "`script`\nbut for:",
       kTool, nullptr, &kScript},
      {"Profile `plugin`", "Before it narrows itself, as long as none but Heddle's own code runs: as `tool` but for:",
       kPlugin, nullptr, &kTool},
      {"Profile `plugin`, narrowed", "With its second filter, when the plugin's code runs: as `tool` but for:", kPlugin,
       &kTaken, &kTool},
      {"Profile `program`", "A foreign program behind the exec stub ([policies](policy.md)).", kProgram},
      {"Profile `program` with `allow_exec`", "As above but for:", program_syscalls({Subprocesses::allowed}), nullptr,
       &kProgram},
      {"Profile `program` with `paths.write`",
       "As `program` but for:", program_syscalls({Subprocesses::none, Locks::allowed}), nullptr, &kProgram},
      {"Profile `program` that may be without a pid namespace",
       "As `program` but for:", program_syscalls({Subprocesses::none, Locks::none, Births::told}), nullptr, &kProgram},
  };
}

// Where they part, so that a failure shows a line and not a page.
std::string difference(const std::string& page, const std::string& want) {
  std::istringstream left(page);
  std::istringstream right(want);
  std::string is;
  std::string should;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(left, is));
    const bool wanted = static_cast<bool>(std::getline(right, should));
    if (!more && !wanted) return "its last newline";
    if (more == wanted && is == should) continue;
    return "line " + std::to_string(line) + "\n  the page:    " + (more ? is : "(its end)") +
           "\n  the filters: " + (wanted ? should : "(their end)");
  }
}

// JAIL-4, JAIL-5, JAIL-6
TEST(SyscallsPage, SaysWhatTheFiltersAnswer) {
#ifndef __x86_64__
  GTEST_SKIP() << "the page is for x86-64, and this is another architecture: its calls have other numbers";
#endif
  const SyscallsPage page = make_syscalls_page(profiles(), kRewrite);
  for (const std::string& fault : page.faults) ADD_FAILURE() << fault;
  ASSERT_FALSE(HasFailure());
  if (!page.nameless.empty()) {
    GTEST_SKIP() << "this machine's libseccomp has no name for system call " << page.nameless.front()
                 << ", which the policies name: the page is compared where it is known, as on Debian 12";
  }
  if (std::getenv("HEDDLE_REWRITE") != nullptr) {
    std::ofstream file(HEDDLE_SYSCALLS_GUIDE, std::ios::binary);
    file << page.text;
    file.close();
    ASSERT_TRUE(file.good()) << "cannot write " << HEDDLE_SYSCALLS_GUIDE;
    return;
  }
  std::ifstream file(HEDDLE_SYSCALLS_GUIDE, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  ASSERT_TRUE(file.good() && !text.str().empty()) << "cannot read " << HEDDLE_SYSCALLS_GUIDE;
  EXPECT_TRUE(text.str() == page.text) << "docs/guide/syscalls.md is not what the filters answer, from "
                                       << difference(text.str(), page.text) << "\nWrite it anew, and read what changed:"
                                       << "\n  " << kRewrite << "\n  git diff docs/guide/syscalls.md";
}

// What no probe reaches, and what is answered in two ways, is told and not printed.
TEST(SyscallsPage, HasNoWordsForWhatNoRowSays) {
  const auto faults = [](const std::vector<SyscallRule>& rules) {
    return make_syscalls_page({{"x", "", {rules.data(), rules.size(), Unheard::kill, Profile::script}}}, "").faults;
  };
  EXPECT_EQ(faults({{"mmap", Answer::allow, "", {{2, 4, 0}}}}), std::vector<std::string>{});
  EXPECT_EQ(faults({{"mmap", Answer::allow, "", {{2, 4, 8}}}}),
            std::vector<std::string>{"x: mmap: a row that nothing meets"});
  EXPECT_EQ(faults({{"mmap", Answer::allow, "", {{2, 4, 0}}}, {"mmap", Answer::allow, "", {{2, 6, 0}}}}),
            std::vector<std::string>{"x: mmap: a row that nothing meets"});
}

}  // namespace
}  // namespace heddle::jail
