#include "testing/syscalls_page.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "heddle/jail/launch/notify.h"
#include "seccomp_filter.h"
#include "testing/bpf.h"
#include "testing/condition_words.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kColumns = 116;

// The numbers of Linux 6.1, whatever the machine's libseccomp knows: what "every other call" counts.
constexpr bool is_call(int number) { return (number >= 0 && number <= 334) || (number >= 424 && number <= 450); }

// What a call gets: where the supervisor listens, where it observes too, where nobody can be told.
struct Answers {
  std::uint32_t heard = 0;
  std::uint32_t observing = 0;
  std::uint32_t unheard = 0;
  friend bool operator==(const Answers&, const Answers&) = default;
};

seccomp_data call(int number, std::uint64_t arguments) {
  seccomp_data data{};
  data.nr = number;
  data.arch = AUDIT_ARCH_X86_64;
  for (auto& argument : data.args) argument = arguments;
  return data;
}

bool meets(const SyscallRule& rule, const seccomp_data& data) {
  return std::all_of(std::begin(rule.conditions), std::end(rule.conditions), [&](const Condition& condition) {
    return (data.args[condition.argument] & condition.mask) == condition.value;
  });
}

seccomp_data meeting(const SyscallRule& rule, int number, std::uint64_t others) {
  seccomp_data data = call(number, others);
  for (const Condition& condition : rule.conditions) {
    auto& argument = data.args[condition.argument];
    argument = (argument & ~condition.mask) | condition.value;
  }
  return data;
}

std::string lines_of(const std::set<std::string>& names) {
  std::string text = "```\n";
  std::string line;
  for (const std::string& name : names) {
    if (!line.empty() && line.size() + 1 + name.size() > kColumns) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + name;
  }
  return text + line + "\n```\n";
}

struct Row {
  std::string call;
  std::string arguments;  // empty: whatever they are
  Answers answers;
  friend bool operator==(const Row&, const Row&) = default;
};

class Examined {
 public:
  Examined(const PageProfile& profile, const SyscallTable& table, SyscallsPage& page)
      : title_(profile.title), table_(table), page_(page) {
    for (const Hearing hearing : {Hearing::denials, Hearing::observes, Hearing::nobody}) {
      const auto built = build_filter(table_, hearing);
      if (!built.ok()) {
        fault(built.error().message());
        return;
      }
      programs_.emplace_back(built.value());
    }
    if (profile.taken != nullptr) {
      const auto second = build_second_filter(*profile.taken);
      if (second.ok()) second_.emplace_back(second.value());
      if (!second.ok()) fault(second.error().message());
    }
    for (const int number : observed_calls(table_)) observed_.insert(number);
    for (const SyscallRule& rule : table_) {
      const int number = ::seccomp_syscall_resolve_name(rule.name);
      if (number >= 0) rules_[number].push_back(&rule);
    }
    // What most numbers get, which the rows below are told apart from.
    otherwise_ = answers(call(kHighestNumber, 0));
    for (int number = 0; number <= kHighestNumber; ++number) look_at(number);
  }

  [[nodiscard]] bool whole() const { return programs_.size() == 3; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const Answers& otherwise() const { return otherwise_; }
  [[nodiscard]] int others() const { return others_; }
  [[nodiscard]] bool kills_foreign() const { return kills_foreign_; }

  // In the words of the page's first table.
  [[nodiscard]] std::string words(const Answers& answers, const std::string& name) {
    const auto is = [&](std::uint32_t heard, std::uint32_t observing, std::uint32_t unheard) {
      return answers == Answers{heard, observing, unheard};
    };
    constexpr std::uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS;
    constexpr std::uint32_t kNotSupported = SECCOMP_RET_ERRNO | EOPNOTSUPP;
    const bool observed = observed_.count(::seccomp_syscall_resolve_name(name.c_str())) != 0;
    if (is(kAllow, kAllow, kAllow) && !observed) return "let through";
    if (is(kAllow, kNotify, kAllow) && observed) return "let through, observed";
    if (is(kNotify, kNotify, kAllow) && is_birth(::seccomp_syscall_resolve_name(name.c_str()), 0)) {
      return "let through, told";
    }
    if (is(kNotify, kNotify, kAllow) && starts_one(table_)) return "once";
    if (is(kEperm, kEperm, kEperm)) return "`EPERM`";
    if (is(kEnosys, kEnosys, kEnosys)) return "`ENOSYS`";
    if (is(kNotSupported, kNotSupported, kNotSupported)) return "`EOPNOTSUPP`";
    if (is(kNotify, kNotify, kEperm)) return "refused";
    if (is(kNotify, kNotify, SECCOMP_RET_KILL_PROCESS)) return "refused, or killed";
    fault(name + ": the page has no word for its answer");
    return "?";
  }

 private:
  void fault(const std::string& what) { page_.faults.push_back(title_ + ": " + what); }

  [[nodiscard]] Answers answers(const seccomp_data& data) const {
    return {answer(programs_[0], data), answer(programs_[1], data), answer(programs_[2], data)};
  }
  // Of two filters the stricter answer counts; as signed numbers it is the lower one (seccomp(2)).
  [[nodiscard]] std::uint32_t answer(const BpfProgram& first, const seccomp_data& data) const {
    const std::uint32_t one = first.answer(data);
    if (second_.empty()) return one;
    const std::uint32_t other = second_[0].answer(data);
    const auto rank = [](std::uint32_t action) { return static_cast<std::int32_t>(action & SECCOMP_RET_ACTION_FULL); };
    return rank(other) < rank(one) ? other : one;
  }

  [[nodiscard]] std::string name_of(int number) {
    char* const name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number);
    if (name == nullptr) {
      page_.nameless.push_back(number);
      return "number " + std::to_string(number);
    }
    std::string text(name);
    std::free(name);  // NOLINT(cppcoreguidelines-no-malloc): libseccomp's contract
    return text;
  }

  // All calls that are worth trying: every row's conditions met, and each bit of them missed.
  [[nodiscard]] std::vector<seccomp_data> probes(int number) const {
    std::vector<seccomp_data> all = {call(number, 0), call(number, ~std::uint64_t{0})};
    const auto found = rules_.find(number);
    if (found == rules_.end()) return all;
    for (const SyscallRule* rule : found->second) {
      for (const std::uint64_t others : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        const seccomp_data met = meeting(*rule, number, others);
        all.push_back(met);
        for (const Condition& condition : rule->conditions) {
          for (unsigned bit = 0; bit < 64; ++bit) {
            seccomp_data missed = met;
            missed.args[condition.argument] ^= std::uint64_t{1} << bit;
            if ((condition.mask >> bit & 1U) != 0) all.push_back(missed);
          }
        }
      }
    }
    return all;
  }

  void look_at(int number) {
    const auto found = rules_.find(number);
    const std::vector<const SyscallRule*> rules =
        found == rules_.end() ? std::vector<const SyscallRule*>{} : found->second;
    // By the row that a probe meets; last, what meets none.
    std::vector<std::set<std::array<std::uint32_t, 3>>> seen(rules.size() + 1);
    for (const seccomp_data& probe : probes(number)) {
      const auto rule =
          std::find_if(rules.begin(), rules.end(), [&](const SyscallRule* one) { return meets(*one, probe); });
      const Answers got = answers(probe);
      seen[static_cast<std::size_t>(rule - rules.begin())].insert({got.heard, got.observing, got.unheard});
      look_foreign(probe);
    }
    const std::string name = seen.size() == 1 && only(seen[0]) == otherwise_ ? "" : name_of(number);
    for (std::size_t at = 0; at < seen.size(); ++at) {
      const bool last = at == rules.size();
      if (seen[at].empty() && last) continue;  // every argument meets a row
      if (seen[at].empty()) return fault(name_of(number) + ": a row that nothing meets");
      if (seen[at].size() > 1) return fault(name_of(number) + ": answered in ways that the table does not say");
      const Answers got = only(seen[at]);
      if (last && got == otherwise_) {
        if (rules.empty() && is_call(number)) ++others_;
        continue;
      }
      add({name, last ? (rules.empty() ? "" : "any other") : arguments_of(*rules[at]), got});
    }
  }

  static Answers only(const std::set<std::array<std::uint32_t, 3>>& seen) {
    if (seen.empty()) return {};
    return {(*seen.begin())[0], (*seen.begin())[1], (*seen.begin())[2]};
  }

  static std::string arguments_of(const SyscallRule& rule) {
    std::string text;
    for (const Condition& condition : rule.conditions) {
      if (condition.mask != 0) text += (text.empty() ? "" : ", and ") + condition_words(rule.name, condition);
    }
    return text;
  }

  // Alternatives with the same answer are one row.
  void add(Row row) {
    for (Row& other : rows_) {
      if (other.call != row.call || !(other.answers == row.answers)) continue;
      // "`request` TCGETS, TIOCGWINSZ": the argument is named once.
      const std::string argument = row.arguments.substr(0, row.arguments.find(' ') + 1);
      const bool same = other.arguments.compare(0, argument.size(), argument) == 0;
      const bool values = same && row.arguments.find(" with") == std::string::npos;
      other.arguments += (values ? ", " : "; or ") + row.arguments.substr(same ? argument.size() : 0);
      return;
    }
    rows_.push_back(std::move(row));
  }

  void look_foreign(seccomp_data probe) {
    const auto killed = [&] {
      return answers(probe) == Answers{SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_PROCESS};
    };
    probe.nr |= kX32;
    if (!killed()) kills_foreign_ = false;
    probe.nr &= ~kX32;
    for (const std::uint32_t architecture : kForeign) {
      probe.arch = architecture;
      if (!killed()) kills_foreign_ = false;
    }
  }

  std::string title_;
  SyscallTable table_;
  SyscallsPage& page_;
  std::vector<BpfProgram> programs_;
  std::vector<BpfProgram> second_;  // or none
  std::set<int> observed_;
  std::map<int, std::vector<const SyscallRule*>> rules_;
  std::vector<Row> rows_;
  Answers otherwise_;
  int others_ = 0;
  bool kills_foreign_ = true;
};

// Calls without a word about arguments, by answer; then those with, as a table.
std::string print(Examined& profile, const std::vector<Row>& rows) {
  std::map<std::string, std::set<std::string>> plain;
  std::string conditions;
  for (const Row& row : rows) {
    const std::string answer = profile.words(row.answers, row.call);
    if (row.arguments.empty()) {
      plain[answer].insert(row.call);
    } else {
      conditions += "| `" + row.call + "` | " + row.arguments + " | " + answer + " |\n";
    }
  }
  std::string text;
  for (const char* answer : {"let through", "let through, observed", "let through, told", "once", "`EPERM`", "`ENOSYS`",
                             "`EOPNOTSUPP`", "refused", "refused, or killed"}) {
    const auto group = plain.find(answer);
    if (group == plain.end()) continue;
    text += "\n**" + group->first + "**, whatever the arguments (" + std::to_string(group->second.size()) + "):\n\n" +
            lines_of(group->second);
  }
  if (!conditions.empty()) text += "\n| call | arguments | answer |\n|---|---|---|\n" + conditions;
  return text;
}

std::string print_whole(Examined& profile) {
  std::string text = print(profile, profile.rows());
  return text + "\nOther arguments, and every other call (" + std::to_string(profile.others()) +
         " of Linux 6.1's, and all later numbers): **" + profile.words(profile.otherwise(), "an unlisted call") +
         "**.\n";
}

std::string print_difference(Examined& profile, const Examined& from) {
  std::vector<Row> rows;
  std::set<std::string> gone;
  for (const Row& row : profile.rows()) {
    if (std::find(from.rows().begin(), from.rows().end(), row) == from.rows().end()) rows.push_back(row);
  }
  const auto has = [&](const std::string& name) {
    return std::any_of(profile.rows().begin(), profile.rows().end(), [&](const Row& row) { return row.call == name; });
  };
  for (const Row& row : from.rows()) {
    if (!has(row.call)) gone.insert(row.call);
  }
  std::string text = print(profile, rows);
  if (!gone.empty()) text += "\nNo longer answered in a way of its own:\n\n" + lines_of(gone);
  return text;
}

const char* const kBeginning = R"(# The system calls of each profile

What the seccomp filter of each profile answers on x86-64. Nobody writes this page: a test puts every number to the
filters, with the arguments that matter, and fails when the page says anything else. To write it anew:

```
)";

const char* const kAnswers = R"(```

| answer | where the supervisor listens | where nobody can be told ([why](denials.md#where-nobody-can-be-told)) |
|---|---|---|
| let through | the kernel does it; which files, Landlock decides | the same |
| let through, observed | the same; a policy that observes is told | the same, and nobody is told |
| let through, told | the supervisor lets it go on while the guest lives, and keeps no record; then it fails with ENOSYS | let through |
| once | the supervisor lets one through, the exec stub's | let through; Landlock decides which program |
| `EPERM`, `ENOSYS`, `EOPNOTSUPP` | this error, and nobody is told: libraries try it and go on | the same |
| refused | `EPERM`, and a [denial](denials.md) that counts against the quota | `EPERM` |
| refused, or killed | the same | SIGSYS ends the process |

)";

}  // namespace

SyscallsPage make_syscalls_page(const std::vector<PageProfile>& profiles, const std::string& rewrite) {
  SyscallsPage page;
  std::string sections;
  bool kills_foreign = true;
  for (const PageProfile& one : profiles) {
    Examined profile(one, one.table, page);
    if (!profile.whole()) return page;
    kills_foreign = kills_foreign && profile.kills_foreign();
    sections += "\n## " + one.title + "\n\n" + one.introduction + "\n";
    if (one.differs_from == nullptr) {
      sections += print_whole(profile);
    } else {
      PageProfile other = one;
      other.taken = nullptr;
      sections += print_difference(profile, Examined(other, *one.differs_from, page));
    }
  }
  if (!kills_foreign) page.faults.emplace_back("a call of x32 or of a foreign architecture does not end the process");
  page.text = kBeginning + rewrite + "\n" + kAnswers +
              "A call of x32 or of any foreign architecture (32-bit x86 among them) ends the process by SIGSYS, under "
              "every\nprofile, whatever its number and arguments.\n" +
              sections;
  return page;
}

}  // namespace heddle::jail
