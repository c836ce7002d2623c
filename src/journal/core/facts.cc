#include "heddle/journal/core/facts.h"

#include <array>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

// Names that programs give (channels, rules, hosts) are shorter than messages.
constexpr std::size_t kMaxWordUnits = 256;

constexpr std::array<std::string_view, 4> kEndings{"success", "failure", "error", "cancelled"};
constexpr std::array<std::string_view, 3> kResolutions{"success", "failure", "run_again"};

// Writes a payload member by member.
class Payload {
 public:
  Payload& word(std::string_view name, std::string_view value) { return text(name, value, kMaxWordUnits); }
  Payload& message(std::string_view name, std::string_view value) {
    return text(name, value, core::kMaxGuestTextUnits);
  }
  Payload& number(std::string_view name, std::uint64_t value) { return raw(name, std::to_string(value)); }
  Payload& flag(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  Payload& raw(std::string_view name, std::string_view json) {
    text_ += text_.size() > 1 ? ",\"" : "\"";
    text_ += name;
    text_ += "\":";
    text_ += json;
    return *this;
  }
  [[nodiscard]] std::string done() && { return std::move(text_) + '}'; }

 private:
  Payload& text(std::string_view name, std::string_view value, std::size_t units) {
    std::string quoted;
    core::append_json_string(quoted, core::bound_text(value, units));
    return raw(name, quoted);
  }

  std::string text_ = "{";
};

Draft draft(std::string_view flow, std::string_view key, Kind kind, Payload payload,
            std::optional<std::string> body = std::nullopt) {
  return Draft{std::string(flow), std::string(key), kind, std::move(payload).done(), std::move(body)};
}

Payload of(const EffectRef& ref) { return Payload().word("effect", ref.effect).number("attempt", ref.attempt); }

Payload outcome(const EffectRef& ref, Ending ending) { return of(ref).word("status", ending_name(ending)); }

Draft about(const EffectRef& ref, Kind kind, Payload payload, std::optional<std::string> body = std::nullopt) {
  return draft(ref.flow, ref.key, kind, std::move(payload), std::move(body));
}

}  // namespace

std::string_view ending_name(Ending ending) noexcept { return kEndings[static_cast<std::size_t>(ending)]; }

std::optional<Ending> ending_from(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kEndings.size(); ++i) {
    if (kEndings[i] == name) return static_cast<Ending>(i);
  }
  return std::nullopt;
}

std::string_view resolution_name(Resolution resolution) noexcept {
  return kResolutions[static_cast<std::size_t>(resolution)];
}

std::optional<Resolution> resolution_from(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kResolutions.size(); ++i) {
    if (kResolutions[i] == name) return static_cast<Resolution>(i);
  }
  return std::nullopt;
}

Draft flow_started(std::string_view flow, std::string_view name, std::string input_json) {
  return draft(flow, {}, Kind::flow_started, Payload().word("name", name), std::move(input_json));
}

Draft flow_ended(std::string_view flow, Ending ending, std::string_view channel, std::string_view message,
                 std::optional<std::string> result_json) {
  Payload payload;
  payload.word("status", ending_name(ending));
  if (ending == Ending::failure) payload.word("channel", channel);
  if (ending != Ending::success) payload.message("message", message);
  return draft(flow, {}, Kind::flow_ended, std::move(payload), std::move(result_json));
}

Draft intent(const EffectRef& ref, Repeatable repeatable, const TextPairs& annotations, std::string input_json) {
  Payload payload = of(ref);
  payload.flag("repeatable", repeatable == Repeatable::yes);
  if (!annotations.empty()) {
    std::string object = "{";
    for (const auto& [name, value] : annotations) {
      if (object.size() > 1) object += ',';
      core::append_json_string(object, core::bound_text(name, kMaxWordUnits));
      object += ':';
      core::append_json_string(object, core::bound_text(value, kMaxWordUnits));
    }
    payload.raw("annotations", object + '}');
  }
  return about(ref, Kind::intent, std::move(payload), std::move(input_json));
}

Draft outcome_success(const EffectRef& ref, std::string output_json) {
  return about(ref, Kind::outcome, outcome(ref, Ending::success), std::move(output_json));
}

Draft outcome_failure(const EffectRef& ref, std::string_view channel, std::string_view message,
                      std::string detail_json) {
  Payload payload = outcome(ref, Ending::failure);
  payload.word("channel", channel).message("message", message);
  return about(ref, Kind::outcome, std::move(payload), std::move(detail_json));
}

Draft outcome_error(const EffectRef& ref, std::string_view message, Repeatable retry) {
  Payload payload = outcome(ref, Ending::error);
  payload.message("message", message).flag("retry", retry == Repeatable::yes);
  return about(ref, Kind::outcome, std::move(payload));
}

Draft outcome_cancelled(const EffectRef& ref, std::string_view message) {
  Payload payload = outcome(ref, Ending::cancelled);
  payload.message("message", message);
  return about(ref, Kind::outcome, std::move(payload));
}

Draft effect_denied(const EffectRef& ref, std::string_view rule, std::string_view reason) {
  Payload payload = of(ref);
  payload.word("rule", rule).message("reason", reason);
  return about(ref, Kind::effect_denied, std::move(payload));
}

Draft egress_denied(const EffectRef& ref, std::string_view host, std::uint16_t port, std::string_view address,
                    std::string_view rule, std::string_view reason) {
  Payload payload = of(ref);
  payload.word("host", host).number("port", port).word("address", address).word("rule", rule).message("reason", reason);
  return about(ref, Kind::egress_denied, std::move(payload));
}

Draft access_denied(const EffectRef& ref, std::string_view syscall, std::string_view object, std::string_view rule) {
  Payload payload = of(ref);
  payload.word("syscall", syscall).message("object", object).word("rule", rule);
  return about(ref, Kind::access_denied, std::move(payload));
}

Draft jail_applied(const EffectRef& ref, std::string report_json) {
  return about(ref, Kind::jail_applied, of(ref), std::move(report_json));
}

Draft console(const EffectRef& ref, std::string lines_json, bool cut) {
  Payload payload = of(ref);
  payload.number("bytes", lines_json.size());
  if (cut) payload.flag("cut", true);
  return about(ref, Kind::console, std::move(payload), std::move(lines_json));
}

Draft resolved(const EffectRef& ref, Resolution resolution, std::string_view by, std::string_view reason,
               std::optional<std::string> output_json) {
  Payload payload = of(ref);
  payload.word("resolution", resolution_name(resolution)).word("by", by).message("reason", reason);
  return about(ref, Kind::resolved, std::move(payload), std::move(output_json));
}

Draft pruned(std::uint64_t facts, std::uint64_t flows, std::string_view by, std::string_view reason,
             std::string ranges_json) {
  Payload payload;
  payload.number("facts", facts).number("flows", flows).word("by", by).message("reason", reason);
  return draft({}, {}, Kind::pruned, std::move(payload), std::move(ranges_json));
}

}  // namespace heddle::journal
