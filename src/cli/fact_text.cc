#include "fact_text.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "heddle/core/text.h"
#include "json.h"
#include "wrap.h"

namespace heddle::cli {
namespace {

using journal::EffectPhase;
using journal::Fact;
using journal::Kind;
using Json = nlohmann::json;

constexpr std::size_t kIndent = 8;
constexpr std::size_t kPreviewUnits = 320;

struct CivilTime {
  tm date = {};
  long micros = 0;
};

CivilTime civil(journal::Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  CivilTime result;
  result.micros = static_cast<long>((time - seconds).count());
  const time_t since_1970 = seconds.time_since_epoch().count();
  (void)::gmtime_r(&since_1970, &result.date);
  return result;
}

std::string stamp(journal::Time time, char between) {
  const CivilTime t = civil(time);
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}.{:06}", t.date.tm_year + 1900L, t.date.tm_mon + 1,
                     t.date.tm_mday, between, t.date.tm_hour, t.date.tm_min, t.date.tm_sec, t.micros);
}

// ---- for people --------------------------------------------------------------------------------------------------
enum class Tone : std::uint8_t { dim, plain, good, bad, notable };

std::string painted(std::string_view text, Tone tone, Colour colour) {
  if (colour == Colour::no || tone == Tone::plain) return std::string(text);
  const char* code = "2";
  if (tone == Tone::good) code = "32";
  if (tone == Tone::bad) code = "31";
  if (tone == Tone::notable) code = "33";
  return fmt::format("\x1B[{}m{}\x1B[0m", code, text);
}

// Digests in full are for programs: "sha256:" and 64 digits become "sha256:" and 12.
std::string short_digests(std::string text) {
  constexpr std::string_view prefix = "sha256:";
  constexpr std::size_t kept = 12;
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
    at += prefix.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789abcdef", at), text.size());
    if (end - at == 64) text.replace(at + kept, end - at - kept, "…");
  }
  return text;
}

// A payload's members, read with the patience that a newer MINOR asks for.
class Members {
 public:
  explicit Members(const std::string& payload) : object_(Json::parse(payload, nullptr, false)) {}

  [[nodiscard]] std::string text(const char* name) const {
    const Json* const member = find(name);
    if (member == nullptr) return {};
    if (member->is_string()) return core::printable_line(core::bound_text(member->get_ref<const std::string&>()));
    return core::printable_line(core::bound_text(member->dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
  [[nodiscard]] std::uint64_t number(const char* name) const {
    const Json* const member = find(name);
    return member != nullptr && member->is_number_unsigned() ? member->get<std::uint64_t>() : 0;
  }
  [[nodiscard]] std::string pairs(const char* name) const {
    const Json* const member = find(name);
    std::string text;
    if (member == nullptr || !member->is_object()) return text;
    for (const auto& item : member->items()) {
      const std::string value = item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
      text += ' ' + core::printable_line(core::bound_text(item.key())) + '=' +
              core::printable_line(core::bound_text(value));
    }
    return text;
  }

 private:
  [[nodiscard]] const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  Json object_;
};

std::string preview(std::string_view label, const Fact& fact) {
  if (!fact.body) return {};
  const std::string& text = fact.body->text;
  std::string shown = core::printable_line(core::bound_text(text, kPreviewUnits));
  if (core::utf16_units(text) > kPreviewUnits) shown += fmt::format(" … ({} bytes)", text.size());
  return fmt::format(" {} {}", label, shown);
}

std::string refusal(const Members& members) {
  std::string text;
  if (const std::string rule = members.text("rule"); !rule.empty()) text += ", rule " + rule;
  if (const std::string reason = members.text("reason"); !reason.empty()) text += ": " + reason;
  return text;
}

std::string ending(const Members& members) {
  std::string text = members.text("status");
  if (const std::string channel = members.text("channel"); !channel.empty()) text += ' ' + channel;
  if (const std::string message = members.text("message"); !message.empty()) text += ": " + message;
  return text;
}

std::string details(const Fact& fact) {
  if (fact.pruned) return "pruned: what it said is gone";
  const Members members(fact.payload);
  std::string what = members.text("effect");
  if (const std::uint64_t attempt = members.number("attempt"); attempt > 1) what += fmt::format(" attempt {}", attempt);
  if (!what.empty()) what += ' ';
  switch (fact.kind) {
    case Kind::flow_started:
      return members.text("name") + preview("input", fact);
    case Kind::flow_ended:
      return ending(members) + preview("result", fact);
    case Kind::intent:
      return what + preview("input", fact) + members.pairs("annotations");
    case Kind::outcome:
      return what + ending(members) + preview(members.text("status") == "success" ? "output" : "detail", fact);
    case Kind::effect_denied:
      return what + "refused by the host" + refusal(members);
    case Kind::egress_denied: {
      std::string where = members.text("host") + ':' + members.text("port");
      if (const std::string address = members.text("address"); !address.empty()) where += " (" + address + ')';
      return what + "no connection to " + where + refusal(members);
    }
    case Kind::access_denied:
      return what + "refused by the kernel: " + members.text("syscall") + ' ' + members.text("object") +
             refusal(members);
    case Kind::jail_applied:
      return what + preview("enforced", fact);
    case Kind::console:
      return what + "console" + (members.text("cut") == "true" ? " (cut)" : "") + preview("lines", fact);
    case Kind::resolved:
      return what + members.text("resolution") + " by " + members.text("by") + ": " + members.text("reason") +
             preview("output", fact);
    case Kind::snapshot:
      return fmt::format("the state up to fact {}, fold {}", members.number("upto"), members.number("fold"));
    case Kind::pruned:
      return fmt::format("{} facts of {} flows pruned by {}: {}", members.number("facts"), members.number("flows"),
                         members.text("by"), members.text("reason"));
    case Kind::unknown:
      break;
  }
  return core::printable_line(core::bound_text(fact.payload, kPreviewUnits)) + preview("body", fact) +
         fmt::format(" (a kind of schema {}, which this program does not know)", fact.schema.text());
}

Tone tone_of(const Fact& fact) {
  switch (fact.kind) {
    case Kind::effect_denied:
    case Kind::egress_denied:
    case Kind::access_denied:
      return Tone::bad;
    case Kind::outcome:
    case Kind::flow_ended:
      return Members(fact.payload).text("status") == "success" ? Tone::good : Tone::notable;
    case Kind::resolved:
    case Kind::pruned:
    case Kind::unknown:
      return Tone::notable;
    case Kind::flow_started:
    case Kind::intent:
    case Kind::jail_applied:
    case Kind::snapshot:
    case Kind::console:
      break;
  }
  return Tone::plain;
}

// Begun by a run that is over: a later FLOW_STARTED took its flow up, and no later INTENT the effect.
bool left_behind(const journal::FlowState& flow, const journal::EffectState& effect) {
  return effect.phase == EffectPhase::begun && effect.intent < flow.started;
}

// Phases of an effect, and two words more for what became of one that a run has left behind: the next run asks for it
// again, or nobody does; one that is not repeatable waits for an operator.
std::string_view phase_name(const journal::FlowState& flow, const journal::EffectState& effect) {
  if (left_behind(flow, effect)) return effect.repeatable ? "abandoned" : "in doubt";
  const EffectPhase phase = effect.phase;
  switch (phase) {
    case EffectPhase::none:
      return "none";
    case EffectPhase::begun:
      return "begun";
    case EffectPhase::succeeded:
      return "succeeded";
    case EffectPhase::failed:
      return "failed";
    case EffectPhase::errored:
      return "errored";
    case EffectPhase::cancelled:
      return "cancelled";
    case EffectPhase::denied:
      return "denied";
  }
  return "unknown";
}

Tone tone_of(EffectPhase phase) {
  if (phase == EffectPhase::succeeded) return Tone::good;
  return phase == EffectPhase::denied ? Tone::bad : Tone::notable;
}

// ---- as JSON -----------------------------------------------------------------------------------------------------
std::string denials_json(const journal::Denials& denials) {
  return fmt::format(R"({{"effect":{},"egress":{},"access":{},"newest":{}}})", denials.effect, denials.egress,
                     denials.access, denials.last);
}

std::string body_json(std::string_view name, std::uint64_t sequence, const Bodies& bodies) {
  const auto found = bodies.find(sequence);
  if (found == bodies.end()) return {};
  return fmt::format(R"(,"{}":{})", name, embedded_json(found->second));
}

}  // namespace

std::string shown_time(journal::Time time) {
  std::string text = stamp(time, ' ');
  text.resize(text.size() - 3);  // milliseconds
  return text;
}

std::string fact_text(const Fact& fact, Colour colour) {
  const std::string number = fmt::format("{:>6}", fact.sequence);
  const std::string time = shown_time(fact.time);
  const std::string kind = fmt::format("{:<13}", core::printable_line(core::bound_text(fact.kind_text, 40)));
  std::string subject = core::printable_line(fact.flow);
  if (!fact.effect.empty()) subject += "  " + core::printable_line(fact.effect);

  const std::size_t used = columns_of(number) + columns_of(time) + columns_of(kind) + 6;
  const bool beside = used + columns_of(subject) <= kTerminalColumns;
  std::string out = painted(number + "  " + time, Tone::dim, colour) + "  " + painted(kind, tone_of(fact), colour);
  if (beside && !subject.empty()) out += "  " + subject;
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
  const std::string indent(kIndent, ' ');
  if (!beside) add_wrapped(out, indent, kIndent, subject);
  if (const std::string text = short_digests(details(fact)); !text.empty()) add_wrapped(out, indent, kIndent, text);
  return out;
}

std::string fact_json(const Fact& fact) {
  std::string json = fmt::format(
      R"({{"sequence":{},"ordinal":{},"time":"{}Z","schema":"{}","flow":{},"effect":{},"kind":{},"payload":{})",
      fact.sequence, fact.ordinal, stamp(fact.time, 'T'), fact.schema.text(), quote_json(fact.flow),
      quote_json(fact.effect), quote_json(fact.kind_text), embedded_json(fact.payload));
  if (fact.body) {
    json += fmt::format(R"(,"bodyDigest":"{}","body":)", fact.body->digest.hex()) + embedded_json(fact.body->text);
  }
  if (fact.pruned) json += R"(,"pruned":true)";
  return json + fmt::format(R"(,"checksum":"{}"}})", fact.checksum.hex());
}

std::string flow_text(const std::string& id, const journal::FlowState& flow, Colour colour) {
  std::string out;
  const auto row = [&](std::string_view label, std::string_view text) {
    add_wrapped(out, fmt::format("{:<10}", label), 10, text);
  };
  row("flow", core::printable_line(id));
  row("name", core::printable_line(flow.name));
  row("started", flow.started == 0 ? "no fact says so" : fmt::format("fact {}", flow.started));
  if (flow.ended == 0) {
    row("ended", "not yet");
  } else {
    row("ended", fmt::format("{}, fact {}",
                             flow.ending ? journal::ending_name(*flow.ending) : "in a way not known here", flow.ended));
  }
  const journal::Denials& d = flow.denials;
  row("denials", d.last == 0
                     ? std::string("none")
                     : fmt::format("{} by the host, {} of a connection, {} by the kernel; the newest is fact {}",
                                   d.effect, d.egress, d.access, d.last));
  if (flow.effects.empty()) {
    row("effects", "none");
    return out;
  }
  out += "\nphase      attempts      fact  effect and key\n";
  bool begun = false;
  bool abandoned = false;
  bool in_doubt = false;
  for (const auto& [key, effect] : flow.effects) {
    const bool behind = left_behind(flow, effect);
    begun = begun || (effect.phase == EffectPhase::begun && !behind);
    abandoned = abandoned || (behind && effect.repeatable);
    in_doubt = in_doubt || (behind && !effect.repeatable);
    const std::string phase = fmt::format("{:<9}", phase_name(flow, effect));
    std::string lines;
    add_wrapped(lines,
                fmt::format("{}  {:>8}  {:>8}  ", phase, effect.attempts,
                            effect.settled_by != 0 ? effect.settled_by : effect.intent),
                31, core::printable_line(effect.effect) + "  " + core::printable_line(key));
    out += painted(phase, tone_of(effect.phase), colour) + lines.substr(phase.size());
  }
  if (begun || abandoned || in_doubt) out += '\n';
  if (begun) out += "begun: it is running, or in doubt if nobody runs it.\n";
  const auto note = [&](std::string_view label, std::string_view rest) {
    add_wrapped(out, fmt::format("{}: ", label), label.size() + 2,
                fmt::format("begun by a run that the one of fact {} has taken over{}", flow.started, rest));
  };
  if (abandoned) note("abandoned", ", which has not asked for it again.");
  if (in_doubt) note("in doubt", "; nobody knows whether it was done, and it is not repeatable.");
  return out;
}

std::string flow_json(const std::string& id, const journal::FlowState& flow, const Bodies& bodies) {
  std::string json = fmt::format(R"({{"flow":{},"name":{},"started":{},"ended":{})", quote_json(id),
                                 quote_json(flow.name), flow.started, flow.ended);
  if (flow.ending) json += fmt::format(R"(,"ending":"{}")", journal::ending_name(*flow.ending));
  json += body_json("input", flow.started, bodies) + body_json("result", flow.ended, bodies);
  json += ",\"denials\":" + denials_json(flow.denials) + ",\"effects\":[";
  const char* separator = "";
  for (const auto& [key, effect] : flow.effects) {
    json +=
        separator + fmt::format(R"({{"key":{},"effect":{},"phase":"{}","repeatable":{},"attempts":{},"intent":{},)"
                                R"("settledBy":{},"denials":{})",
                                quote_json(key), quote_json(effect.effect), phase_name(flow, effect), effect.repeatable,
                                effect.attempts, effect.intent, effect.settled_by, denials_json(effect.denials));
    json += body_json("input", effect.intent, bodies) + body_json("output", effect.settled_by, bodies) + '}';
    separator = ",";
  }
  return json + "]}";
}

std::string flow_summary_text(const journal::FlowSummary& flow, Colour colour) {
  const bool open = flow.ended == 0;
  const bool doubt = !flow.in_doubt.empty();
  const bool well = flow.ending == journal::Ending::success;
  const std::string_view state = doubt         ? "in doubt"
                                 : open        ? "open"
                                 : flow.ending ? journal::ending_name(*flow.ending)
                                               : "ended";
  std::string out = painted(shown_time(flow.began), Tone::dim, colour) + "  " +
                    painted(fmt::format("{:<9}", state), well ? Tone::good : Tone::notable, colour) + "  ";
  const std::string id = core::printable_line(flow.id);
  const std::string indent(kIndent, ' ');
  if (columns_of(shown_time(flow.began)) + 13 + columns_of(id) <= kTerminalColumns) {
    out += id + '\n';
  } else {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    add_wrapped(out, indent, kIndent, id);
  }
  add_wrapped(out, indent, kIndent,
              fmt::format("{}{} effect{}", flow.name.empty() ? "" : core::printable_line(flow.name) + ", ",
                          flow.effects, flow.effects == 1 ? "" : "s"));
  for (const journal::OpenEffect& effect : flow.in_doubt) {
    add_wrapped(out, indent, kIndent,
                fmt::format("in doubt, unless it is running: {} {}, fact {}", core::printable_line(effect.effect),
                            core::printable_line(effect.key), effect.intent));
  }
  return out;
}

std::string flow_summary_json(const journal::FlowSummary& flow) {
  std::string json =
      fmt::format(R"({{"flow":{},"name":{},"began":"{}Z","started":{},"ended":{},)", core::quote_json(flow.id),
                  core::quote_json(flow.name), stamp(flow.began, 'T'), flow.started, flow.ended);
  if (flow.ending) json += fmt::format(R"("ending":"{}",)", journal::ending_name(*flow.ending));
  json += fmt::format(R"("effects":{},"inDoubt":[)", flow.effects);
  const char* separator = "";
  for (const journal::OpenEffect& effect : flow.in_doubt) {
    json += separator + fmt::format(R"({{"key":{},"effect":{},"intent":{}}})", core::quote_json(effect.key),
                                    core::quote_json(effect.effect), effect.intent);
    separator = ",";
  }
  return json + "]}";
}

std::string verified_text(const std::string& name, const journal::Verified& verified) {
  std::string out;
  add_wrapped(out, "", 10, core::printable_line(name) + ": whole");
  out += fmt::format("facts     {}, chained without a gap\n", verified.facts);
  out += fmt::format("bodies    {}, each as its digest says\n", verified.bodies);
  if (verified.skipped > 0) {
    out += fmt::format("unknown   {} facts of kinds that are newer than this program\n", verified.skipped);
  }
  if (verified.pruned > 0) out += fmt::format("pruned    {} of them, as facts of kind PRUNED say\n", verified.pruned);
  out += "checksum  " + verified.head.checksum.hex() + "\n\n";
  out += "Keep the checksum elsewhere: who can write to the journal cannot change a fact of\n";
  out += "today without changing it.\n";
  return out;
}

std::string verified_json(const journal::Verified& verified) {
  return fmt::format(R"({{"facts":{},"bodies":{},"unknownKinds":{},"pruned":{},"sequence":{},"checksum":"{}"}})",
                     verified.facts, verified.bodies, verified.skipped, verified.pruned, verified.head.sequence,
                     verified.head.checksum.hex());
}

}  // namespace heddle::cli
