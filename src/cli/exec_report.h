// What a program was refused, for a person: each refusal once, the rule, and the line of the policy that would allow
// it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heddle/jail/guest.h"
#include "heddle/jail/policy_file/policy_file.h"
#include "heddle/jail/unsafe/grants.h"

namespace heddle::cli {

class ExecReport {
 public:
  /// `policy` outlives it. `file`: the policy's, for the reader; `granted`: what was opened for it.
  ExecReport(const jail::ProgramFile& policy, std::string file, const jail::ProgramGrants& granted)
      : policy_(policy), file_(std::move(file)), grants_(granted) {}

  /// Whom the program runs as.
  void set_user(std::uint32_t user, bool own_identity) {
    user_ = user;
    own_identity_ = own_identity;
  }
  void add(const jail::Denials& denials);
  /// Of what the control group counted; where there is none, of what may have happened to a program that failed.
  void add(const jail::AppliedCgroup& group, const jail::Death& death, int code);

  /// What to write so that a script's interpreter may be started.
  [[nodiscard]] std::string interpreter_line(const std::string& path) const;

  /// System calls that were refused by the filter.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// "denied: nothing", or three lines a refusal and one for each mode that is against it. Nothing of a guest's in them
  /// can be pasted into harm (core/quote.h).
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  // What is kept of a refusal. Its suggestion is made at the end, of what is there then.
  struct Row {
    std::string what;
    std::string rule;
    std::string change;  // where nothing is to be granted
    std::string grant;   // a path, or empty
    jail::Access access = jail::Access::read;
    std::vector<jail::ModeFault> faults;
    std::uint64_t count = 0;
  };
  void add_row(Row row);
  void add_refused(const jail::Denial& denial);
  void add_observed(const jail::Denial& denial);
  [[nodiscard]] static const char* withheld(const Row& row);
  [[nodiscard]] std::string change_of(const Row& row) const;
  void add_modes(const Row& row, std::vector<std::string>& lines) const;
  [[nodiscard]] std::string list_line(jail::Access access, const std::set<std::string>& more) const;
  [[nodiscard]] std::uint64_t not_kept() const { return not_told_ + not_kept_; }

  const jail::ProgramFile& policy_;
  const std::string file_;
  const jail::Grants grants_;
  std::uint32_t user_ = 0;
  bool own_identity_ = false;
  std::uint64_t refused_ = 0;
  std::uint64_t not_told_ = 0;  // by the supervisor, which had no room for them
  std::uint64_t not_kept_ = 0;  // for which there is no row
  std::string not_known_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace heddle::cli
