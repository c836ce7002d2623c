#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "heddle/core/check.h"
#include "heddle/core/text.h"
#include "json.h"

namespace heddle::cli {
namespace {

using sandbox::quickjs::Explanation;
using sandbox::quickjs::LimitKind;
using sandbox::quickjs::Outcome;

constexpr std::array<OutcomeRow, 8> kOutcomes{{
    {OutcomeKind::ok, "ok", 0, false, ""},
    {OutcomeKind::script_error, "scriptError", 10, true, "correct the script"},
    {OutcomeKind::limit_exceeded, "limitExceeded", 11, false, "let the script do less, or raise"},
    {OutcomeKind::input_too_large, "inputTooLarge", 12, false, "give less input, or raise --max-input or --memory"},
    {OutcomeKind::input_not_serializable, "inputNotSerializable", 13, true, "give an input that JSON can carry"},
    {OutcomeKind::shape_mismatch, "shapeMismatch", 14, true, "let the script give what the shape asks for"},
    {OutcomeKind::failed, "failed", 15, true, ""},
    {OutcomeKind::cancelled, "cancelled", 130, false, "nothing is left running"},
}};

constexpr std::array<LimitRow, 4> kLimits{{
    {LimitKind::cpu, "cpu", "--cpu"},
    {LimitKind::memory, "memory", "--memory"},
    {LimitKind::wall_clock, "wallClock", "--wall-clock"},
    {LimitKind::output, "output", "--max-output"},
}};

std::string described(const Report& report, std::string_view script_name) {
  const std::string script = core::printable_line(script_name);
  switch (report.kind) {
    case OutcomeKind::script_error: {
      std::string text = script;
      if (report.line > 0) text += fmt::format(":{}", report.line);
      if (report.line > 0 && report.column > 0) text += fmt::format(":{}", report.column);
      if (report.name) text += ": " + core::printable_line(*report.name);
      return text + ": " + core::printable_line(report.message);
    }
    case OutcomeKind::limit_exceeded:
      return fmt::format("{}: limit exceeded: {}", script, row_of(report.limit).name);
    case OutcomeKind::cancelled:
      return fmt::format("{}: cancelled", script);
    default:
      break;
  }
  std::string text;
  if (report.kind == OutcomeKind::input_too_large) text = "the input is too large";
  if (report.kind == OutcomeKind::input_not_serializable) text = "the input cannot be JSON";
  if (report.kind == OutcomeKind::shape_mismatch) text = "the result has not the declared shape";
  if (!report.message.empty()) text += (text.empty() ? "" : ": ") + core::printable_line(report.message);
  return text;
}

std::string explanation_json(const Explanation& explanation) {
  std::string json = R"({"applied":[)";
  for (const std::string& fact : explanation.applied) json += (json.back() == '[' ? "" : ",") + quote_json(fact);
  json += R"(],"denied":[)";
  for (const Explanation::Denied& denied : explanation.denied) {
    json += fmt::format(R"({}{{"syscall":{},"what":{},"rule":{},"hint":{}}})", json.back() == '[' ? "" : ",",
                        quote_json(denied.syscall), quote_json(denied.line), quote_json(denied.rule),
                        quote_json(denied.hint));
  }
  return json + fmt::format(R"(],"dropped":{}}})", explanation.dropped);
}

}  // namespace

std::span<const OutcomeRow> outcome_table() { return kOutcomes; }

const OutcomeRow& row_of(OutcomeKind kind) {
  const auto* row = std::find_if(kOutcomes.begin(), kOutcomes.end(), [&](const auto& r) { return r.kind == kind; });
  HEDDLE_CHECK(row != kOutcomes.end());
  return *row;
}

std::span<const LimitRow> limit_table() { return kLimits; }

const LimitRow& row_of(LimitKind kind) {
  const auto* row = std::find_if(kLimits.begin(), kLimits.end(), [&](const auto& r) { return r.kind == kind; });
  HEDDLE_CHECK(row != kLimits.end());
  return *row;
}

Report report(OutcomeKind kind, std::string message) {
  Report result;
  result.kind = kind;
  result.message = std::move(message);
  return result;
}

Report failed_report(std::string message) { return report(OutcomeKind::failed, std::move(message)); }

Report report_of(Outcome outcome) {
  Report result;
  result.elapsed = outcome.elapsed;
  result.explanation = std::move(outcome.explanation);
  switch (outcome.kind) {
    case Outcome::Kind::ok:
      result.kind = OutcomeKind::ok;
      result.value = std::move(outcome.value);
      // Between tokens only, since inside a string they are escapes: the object stays on its one line.
      std::replace(result.value.begin(), result.value.end(), '\n', ' ');
      std::replace(result.value.begin(), result.value.end(), '\r', ' ');
      return result;
    case Outcome::Kind::threw:
      result.kind = OutcomeKind::script_error;
      if (outcome.name) result.name = core::bound_text(*outcome.name);
      result.message = core::bound_text(outcome.message);
      result.line = outcome.line;
      result.column = outcome.column;
      return result;
    case Outcome::Kind::limit:
      result.kind = OutcomeKind::limit_exceeded;
      result.limit = outcome.limit;
      return result;
    case Outcome::Kind::input_too_large:
      result.kind = OutcomeKind::input_too_large;
      result.message = "it does not fit into --memory";
      return result;
    case Outcome::Kind::cancelled:
      result.kind = OutcomeKind::cancelled;
      return result;
    case Outcome::Kind::infrastructure:
      result.message = outcome.error.message();
      return result;
  }
  result.message = "the worker gave an outcome of no known kind";
  return result;
}

std::string to_json(const Report& report) {
  std::string json = fmt::format(R"({{"outcome":"{}")", row_of(report.kind).name);
  if (report.kind == OutcomeKind::ok) json += ",\"value\":" + report.value;
  if (report.kind == OutcomeKind::limit_exceeded) json += fmt::format(R"(,"kind":"{}")", row_of(report.limit).name);
  if (report.kind == OutcomeKind::script_error)
    json += ",\"name\":" + (report.name ? quote_json(*report.name) : std::string("null"));
  if (row_of(report.kind).has_message) json += ",\"message\":" + quote_json(report.message);
  if (report.kind == OutcomeKind::script_error && report.line > 0) {
    json += fmt::format(R"(,"line":{})", report.line);
    if (report.column > 0) json += fmt::format(R"(,"column":{})", report.column);
  }
  const auto us = report.elapsed.count();
  json += fmt::format(R"(,"ms":{}.{:03})", us / 1000, us % 1000);
  if (report.explanation) json += ",\"explain\":" + explanation_json(*report.explanation);
  return json + "}";
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = "heddle: applied:\n";
  for (const std::string& fact : explanation.applied) text += "  " + core::printable_line(fact) + "\n";
  if (explanation.applied.empty()) text += "  unknown: the worker ended before it could be asked\n";
  text += explanation.denied.empty() ? "heddle: denied: nothing\n" : "heddle: denied:\n";
  for (const Explanation::Denied& denied : explanation.denied) {
    text += "  " + core::printable_line(denied.line) + "\n    (" + core::printable_line(denied.hint) + ")\n";
  }
  if (explanation.dropped > 0) text += fmt::format("  and {} more that were counted only\n", explanation.dropped);
  return text;
}

std::string to_text(const Report& report, std::string_view script_name) {
  std::string text = "heddle: " + described(report, script_name);
  const auto& row = row_of(report.kind);
  if (row.hint.empty()) return text;
  text += fmt::format(" ({}", row.hint);
  if (report.kind == OutcomeKind::limit_exceeded) text += fmt::format(" {}", row_of(report.limit).option);
  return text + ")";
}

}  // namespace heddle::cli
