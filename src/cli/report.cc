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

using sandbox::Channel;
using sandbox::Limit;
using sandbox::quickjs::Explanation;

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
    {Limit::cpu, "--cpu"},
    {Limit::memory, "--memory"},
    {Limit::wall_clock, "--wall-clock"},
    {Limit::output, "--max-output"},
}};

OutcomeKind kind_of(Channel channel) {
  switch (channel) {
    case Channel::script_error:
      return OutcomeKind::script_error;
    case Channel::limit_exceeded:
      return OutcomeKind::limit_exceeded;
    case Channel::input_too_large:
      return OutcomeKind::input_too_large;
    case Channel::input_not_serializable:
      return OutcomeKind::input_not_serializable;
    case Channel::shape_mismatch:
      return OutcomeKind::shape_mismatch;
  }
  return OutcomeKind::failed;
}

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
      return fmt::format("{}: limit exceeded: {}", script, sandbox::limit_name(report.limit));
    case OutcomeKind::cancelled:
      return fmt::format("{}: cancelled{}{}", script, report.message.empty() ? "" : ": ",
                         core::printable_line(report.message));
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

std::string remarks_json(const sandbox::spi::Remarks& remarks) {
  std::string json;
  if (!remarks.hint.empty()) json += ",\"hint\":" + quote_json(remarks.hint);
  if (!remarks.note.empty()) json += ",\"note\":" + quote_json(remarks.note);
  if (remarks.console.empty()) return json;
  json += ",\"console\":" + sandbox::console_json(remarks);
  if (remarks.console_cut) json += ",\"consoleCut\":true";
  return json;
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

const LimitRow& row_of(Limit limit) {
  const auto* row = std::find_if(kLimits.begin(), kLimits.end(), [&](const auto& r) { return r.limit == limit; });
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

Report report_of(RunEnd end) {
  Report result;
  result.remarks = std::move(end.remarks);
  if (end.reply.ok()) {
    result.kind = OutcomeKind::ok;
    result.value = std::move(std::move(end.reply).value().value_json);
  } else if (end.reply.is_typed()) {
    sandbox::SandboxFailure failure = std::move(end.reply).typed();
    result.kind = kind_of(failure.channel);
    // The ceiling of the output is the effect's, but the engine had it too and so never made more than it.
    if (failure.limit) result.limit = *failure.limit;
    if (failure.limit == Limit::memory && end.facts.output_exceeded) result.limit = Limit::output;
    result.name = std::move(failure.name);
    result.message = std::move(failure.message);
    if (!failure.hint.empty()) result.remarks.hint = std::move(failure.hint);
    result.line = failure.line;
    result.column = failure.column;
  } else if (end.reply.is_cancelled()) {
    result.kind = OutcomeKind::cancelled;
  } else {
    result.message = std::move(std::move(end.reply).untyped().message);
  }
  result.elapsed = end.facts.elapsed;
  result.explanation = std::move(end.facts.explanation);
  return result;
}

std::string to_json(const Report& report) {
  std::string json = fmt::format(R"({{"outcome":"{}")", row_of(report.kind).name);
  if (report.kind == OutcomeKind::ok) json += ",\"value\":" + report.value;
  if (report.kind == OutcomeKind::limit_exceeded)
    json += fmt::format(R"(,"kind":"{}")", sandbox::limit_name(report.limit));
  if (report.kind == OutcomeKind::script_error)
    json += ",\"name\":" + (report.name ? quote_json(*report.name) : std::string("null"));
  if (row_of(report.kind).has_message) json += ",\"message\":" + quote_json(report.message);
  if (report.kind == OutcomeKind::script_error && report.line > 0) {
    json += fmt::format(R"(,"line":{})", report.line);
    if (report.column > 0) json += fmt::format(R"(,"column":{})", report.column);
  }
  const auto us = report.elapsed.count();
  json += fmt::format(R"(,"ms":{}.{:03})", us / 1000, us % 1000);
  json += remarks_json(report.remarks);
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

std::string remarks_text(const Report& report) {
  const sandbox::spi::Remarks& remarks = report.remarks;
  std::string text;
  for (const auto& line : remarks.console) {
    const std::string label = fmt::format("console.{}: ", sandbox::level_name(line.level));
    for (std::size_t at = 0; at <= line.text.size();) {
      const std::size_t end = std::min(line.text.find('\n', at), line.text.size());
      text += (at == 0 ? label : std::string("  ")) + core::printable_line(line.text.substr(at, end - at)) + "\n";
      at = end + 1;
    }
  }
  if (remarks.console_cut) text += "heddle: the console is cut here; no more of it is kept\n";
  if (!remarks.note.empty()) text += "heddle: note: " + core::printable_line(remarks.note) + "\n";
  return text;
}

std::string to_text(const Report& report, std::string_view script_name) {
  std::string text = "heddle: " + described(report, script_name);
  const auto& row = row_of(report.kind);
  if (!report.remarks.hint.empty()) return text + " (" + core::printable_line(report.remarks.hint) + ")";
  if (row.hint.empty()) return text;
  text += fmt::format(" ({}", row.hint);
  if (report.kind == OutcomeKind::limit_exceeded) text += fmt::format(" {}", row_of(report.limit).option);
  return text + ")";
}

}  // namespace heddle::cli
