// Report: what the command says of one run, as a JSON object or as a line for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heddle/cli/evaluator.h"

namespace heddle::cli {

enum class OutcomeKind {
  ok,
  script_error,
  limit_exceeded,
  input_too_large,
  input_not_serializable,
  shape_mismatch,
  cancelled,
  failed,
};

/// One row an outcome: its name in JSON, the exit code of a single run, and what the user can do.
struct OutcomeRow {
  OutcomeKind kind;
  std::string_view name;
  int exit_code;
  bool has_message;  ///< in the object; a line for people says it always
  std::string_view hint;
};
/// Each kind exactly once (SBX-21).
[[nodiscard]] std::span<const OutcomeRow> outcome_table();
[[nodiscard]] const OutcomeRow& row_of(OutcomeKind kind);

struct LimitRow {
  sandbox::Limit limit;
  std::string_view option;
};
[[nodiscard]] std::span<const LimitRow> limit_table();
[[nodiscard]] const LimitRow& row_of(sandbox::Limit limit);

/// Exit codes that no single outcome has.
inline constexpr int kExitSomeNotOk = 1;     ///< --each and --batch
inline constexpr int kExitUsage = 64;        ///< EX_USAGE of sysexits.h
inline constexpr int kExitOutput = 74;       ///< EX_IOERR: standard output could not be written
inline constexpr int kExitBrokenPipe = 141;  ///< as a shell reports a program that SIGPIPE ended

struct Report {
  OutcomeKind kind = OutcomeKind::failed;
  std::string value;  ///< one JSON value on one line, as it came
  sandbox::Limit limit = sandbox::Limit::wall_clock;
  std::optional<std::string> name;
  std::string message;
  std::uint32_t line = 0;  ///< in the script; 0 when unknown
  std::uint32_t column = 0;
  std::chrono::microseconds elapsed{0};
  std::optional<sandbox::quickjs::Explanation> explanation;
  sandbox::spi::Remarks remarks;

  /// Of what it keeps in memory.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = sizeof *this + value.size() + message.size() + remarks.hint.size() + remarks.note.size();
    for (const auto& written : remarks.console) total += sizeof written + written.text.size();
    if (!explanation) return total;
    for (const auto& fact : explanation->applied) total += sizeof(std::string) + fact.size();
    for (const auto& denied : explanation->denied) {
      total += sizeof denied + denied.syscall.size() + denied.line.size() + denied.rule.size() + denied.hint.size();
    }
    return total;
  }
};

[[nodiscard]] Report report_of(RunEnd end);
[[nodiscard]] Report failed_report(std::string message);
[[nodiscard]] Report report(OutcomeKind kind, std::string message = {});

/// One object on one line, without the line's end.
[[nodiscard]] std::string to_json(const Report& report);
/// Lines for people, each with its end: what confined the run, and what it was denied, with a hint.
[[nodiscard]] std::string explanation_text(const sandbox::quickjs::Explanation& explanation);
/// Lines for people, each with its end: what the script wrote to its console, and what there is to note of its result.
[[nodiscard]] std::string remarks_text(const Report& report);
/// One line for people, without the line's end: what happened, where, what to do next. Not for OutcomeKind::ok.
[[nodiscard]] std::string to_text(const Report& report, std::string_view script_name);

}  // namespace heddle::cli
