#include "wire.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace http_backend {
namespace {

using nlohmann::json;
using Kind = spi::Outcome::Kind;

constexpr std::array<std::string_view, 6> kKinds{"none", "ok", "limit", "threw", "input_too_large", "infrastructure"};
constexpr std::array<std::string_view, 4> kLimits{"", "cpu", "memory", "wall_clock"};

// Messages are made valid by the effect in the end; on the way a lone surrogate must not stop them.
std::string dump(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

template <std::size_t Size>
std::optional<std::uint8_t> index_of(const std::array<std::string_view, Size>& names, const std::string& name) {
  for (std::size_t i = 1; i < Size; ++i) {
    if (name == names[i]) return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string to_json(const spi::Request& request) {
  return dump({{"script", request.script},
               {"input", request.input_json},
               {"wallClockMs", request.limits.wall_clock.count()},
               {"memoryBytes", request.limits.memory_bytes}});
}

std::optional<spi::Request> request_from_json(const std::string& text) {
  try {
    const json object = json::parse(text);
    spi::Request request;
    request.script = object.at("script").get<std::string>();
    request.input_json = object.at("input").get<std::string>();
    request.limits.wall_clock = std::chrono::milliseconds(object.at("wallClockMs").get<std::uint32_t>());
    request.limits.memory_bytes = object.at("memoryBytes").get<std::uint64_t>();
    return request;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string to_json(const spi::Outcome& outcome) {
  json object = {{"kind", kKinds.at(static_cast<std::size_t>(outcome.kind))}, {"message", outcome.message}};
  if (outcome.value_json) object["value"] = *outcome.value_json;
  if (outcome.kind == Kind::limit) object["limit"] = kLimits.at(static_cast<std::size_t>(outcome.limit));
  if (outcome.name) object["name"] = *outcome.name;
  object["line"] = outcome.line;
  object["column"] = outcome.column;
  return dump(object);
}

std::optional<spi::Outcome> outcome_from_json(const std::string& text) {
  try {
    const json object = json::parse(text);
    spi::Outcome outcome;
    const auto kind = index_of(kKinds, object.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    outcome.kind = static_cast<Kind>(*kind);
    if (outcome.kind == Kind::limit) {
      const auto limit = index_of(kLimits, object.at("limit").get<std::string>());
      if (!limit) return std::nullopt;
      outcome.limit = static_cast<spi::LimitKind>(*limit);
    }
    if (object.contains("value")) outcome.value_json = object.at("value").get<std::string>();
    if (object.contains("name")) outcome.name = object.at("name").get<std::string>();
    outcome.message = object.at("message").get<std::string>();
    outcome.line = object.at("line").get<std::uint32_t>();
    outcome.column = object.at("column").get<std::uint32_t>();
    return outcome;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace http_backend
