// A state as JSON: docs/formats/journal.md, "Snapshots". Written by hand, since the order of its members is part of the
// format; read by a parser.
#include <nlohmann/json.hpp>

#include "heddle/core/json.h"
#include "heddle/journal/core/fold.h"

namespace heddle::journal {
namespace {

using Json = nlohmann::json;

void put(std::string& out, const Denials& denials) {
  out += '[' + std::to_string(denials.effect) + ',' + std::to_string(denials.egress) + ',' +
         std::to_string(denials.access) + ',' + std::to_string(denials.last) + ']';
}

void put(std::string& out, const EffectState& effect) {
  out += '[';
  core::append_json_string(out, effect.effect);
  out += ',' + std::to_string(static_cast<int>(effect.phase)) + ',' + (effect.repeatable ? '1' : '0') + ',' +
         std::to_string(effect.attempts) + ',' + std::to_string(effect.intent) + ',' +
         std::to_string(effect.settled_by) + ',';
  put(out, effect.denials);
  out += ']';
}

void put(std::string& out, const FlowState& flow) {
  out += "{\"name\":";
  core::append_json_string(out, flow.name);
  out += ",\"started\":" + std::to_string(flow.started) + ",\"ended\":" + std::to_string(flow.ended);
  if (flow.ending) {
    out += ",\"ending\":";
    core::append_json_string(out, ending_name(*flow.ending));
  }
  out += ",\"denials\":";
  put(out, flow.denials);
  out += ",\"effects\":{";
  const char* separator = "";
  for (const auto& [key, effect] : flow.effects) {
    out += separator;
    separator = ",";
    core::append_json_string(out, key);
    out += ':';
    put(out, effect);
  }
  out += "}}";
}

// Reading notes the first thing that is not as it must be, and gives neutral values from then on.
class Taker {
 public:
  [[nodiscard]] bool fine() const { return fine_; }
  void expect(bool condition) { fine_ = fine_ && condition; }

  std::uint64_t number(const Json& value, std::uint64_t ceiling = ~std::uint64_t{0}) {
    expect(value.is_number_unsigned());
    if (!fine_) return 0;
    const auto found = value.get<std::uint64_t>();
    expect(found <= ceiling);
    return fine_ ? found : 0;
  }
  std::uint32_t count(const Json& value) { return static_cast<std::uint32_t>(number(value, 0xFFFFFFFFU)); }
  std::string text(const Json& value) {
    expect(value.is_string());
    return fine_ ? value.get<std::string>() : std::string();
  }
  const Json& member(const Json& object, const char* name) {
    static const Json none;
    const auto found = object.is_object() ? object.find(name) : object.end();
    expect(object.is_object() && found != object.end());
    return fine_ ? *found : none;
  }

  Denials denials(const Json& value) {
    expect(value.is_array() && value.size() == 4);
    if (!fine_) return {};
    return {count(value[0]), count(value[1]), count(value[2]), number(value[3])};
  }

  EffectState effect(const Json& value) {
    EffectState state;
    expect(value.is_array() && value.size() == 7);
    if (!fine_) return state;
    state.effect = text(value[0]);
    state.phase = static_cast<EffectPhase>(number(value[1], static_cast<std::uint64_t>(EffectPhase::denied)));
    state.repeatable = number(value[2], 1) == 1;
    state.attempts = count(value[3]);
    state.intent = number(value[4]);
    state.settled_by = number(value[5]);
    state.denials = denials(value[6]);
    return state;
  }

  FlowState flow(const Json& value) {
    FlowState state;
    state.name = text(member(value, "name"));
    state.started = number(member(value, "started"));
    state.ended = number(member(value, "ended"));
    state.denials = denials(member(value, "denials"));
    if (fine_ && value.contains("ending")) {
      state.ending = ending_from(text(value["ending"]));
      expect(state.ending.has_value());
    }
    const Json& effects = member(value, "effects");
    expect(effects.is_object());
    if (!fine_) return state;
    for (const auto& item : effects.items()) {
      state.effects.emplace_hint(state.effects.end(), item.key(), effect(item.value()));
    }
    return state;
  }

 private:
  bool fine_ = true;
};

}  // namespace

std::string state_json(const State& state) {
  std::string out = "{\"sequence\":" + std::to_string(state.sequence) + ",\"flows\":{";
  const char* separator = "";
  for (const auto& [id, flow] : state.flows) {
    out += separator;
    separator = ",";
    core::append_json_string(out, id);
    out += ':';
    put(out, flow);
  }
  return out + "}}";
}

core::Result<State> state_from_json(std::string_view json) {
  const Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  Taker take;
  State state;
  state.sequence = take.number(take.member(root, "sequence"));
  const Json& flows = take.member(root, "flows");
  take.expect(flows.is_object());
  if (take.fine()) {
    for (const auto& item : flows.items()) {
      state.flows.emplace_hint(state.flows.end(), item.key(), take.flow(item.value()));
    }
  }
  if (!take.fine()) {
    return core::make_error(core::Errc::malformed, "read a snapshot", "it is not a state of this fold");
  }
  return state;
}

}  // namespace heddle::journal
