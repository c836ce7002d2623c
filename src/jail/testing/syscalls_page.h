// The page docs/guide/syscalls.md as the filters give it: every number is put to the evaluator of bpf.h, and what it
// answers is put into words. The table of calls is only asked which arguments to try and how to name them.
#pragma once

#include <string>
#include <vector>

#include "heddle/jail/syscalls.h"

namespace heddle::jail {

struct PageProfile {
  std::string title;         ///< "`script`"
  std::string introduction;  ///< a sentence or two, in Markdown
  SyscallTable table;
  const SyscallTable* taken = nullptr;         ///< a second filter is on top, and takes these away
  const SyscallTable* differs_from = nullptr;  ///< only the calls that are answered differently are printed
};

struct SyscallsPage {
  std::string text;
  /// What cannot be put into words, since the filter answers otherwise than any row of the table says. Empty: the page
  /// is whole.
  std::vector<std::string> faults;
  /// Numbers that are answered in a way of their own and that libseccomp has no name for here.
  std::vector<int> nameless;
};

/// `rewrite`: the command that writes the page anew.
[[nodiscard]] SyscallsPage make_syscalls_page(const std::vector<PageProfile>& profiles, const std::string& rewrite);

}  // namespace heddle::jail
