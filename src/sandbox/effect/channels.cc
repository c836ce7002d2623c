#include "heddle/sandbox/effect/channels.h"

#include <algorithm>
#include <array>

#include "heddle/effect/schema/json_text.h"

namespace heddle::sandbox {
namespace {

using core::quote_json;
using Kind = spi::Outcome::Kind;

constexpr std::array<std::string_view, 5> kChannelNames{"scriptError", "limitExceeded", "inputTooLarge",
                                                        "inputNotSerializable", "shapeMismatch"};
constexpr std::array<std::string_view, 5> kLevels{"log", "info", "warn", "error", "debug"};
constexpr std::array<std::string_view, 4> kLimitNames{"cpu", "memory", "wallClock", "output"};

constexpr std::array<OutcomeRow, 7> kTable{{
    {Kind::ok, std::nullopt, Meaning::value, std::nullopt, std::nullopt},
    {Kind::limit, spi::LimitKind::cpu, Meaning::channel, Channel::limit_exceeded, Limit::cpu},
    {Kind::limit, spi::LimitKind::memory, Meaning::channel, Channel::limit_exceeded, Limit::memory},
    {Kind::limit, spi::LimitKind::wall_clock, Meaning::channel, Channel::limit_exceeded, Limit::wall_clock},
    {Kind::threw, std::nullopt, Meaning::channel, Channel::script_error, std::nullopt},
    {Kind::input_too_large, std::nullopt, Meaning::channel, Channel::input_too_large, std::nullopt},
    {Kind::infrastructure, std::nullopt, Meaning::retryable, std::nullopt, std::nullopt},
}};

}  // namespace

std::string_view channel_name(Channel channel) noexcept { return kChannelNames.at(static_cast<std::size_t>(channel)); }
std::string_view limit_name(Limit limit) noexcept { return kLimitNames.at(static_cast<std::size_t>(limit)); }
std::span<const std::string_view> channel_names() noexcept { return kChannelNames; }
std::span<const OutcomeRow> outcome_table() noexcept { return kTable; }

const OutcomeRow* row_of(const spi::Outcome& outcome) noexcept {
  for (const OutcomeRow& row : kTable) {
    if (row.kind == outcome.kind && (!row.limit || row.limit == outcome.limit)) return &row;
  }
  return nullptr;
}

std::string_view level_name(spi::ConsoleLevel level) noexcept { return kLevels.at(static_cast<std::size_t>(level)); }

std::string console_json(const spi::Remarks& remarks) {
  std::string json = "[";
  for (const spi::ConsoleLine& line : remarks.console) {
    if (json.size() > 1) json += ',';
    json += "{\"level\":" + quote_json(level_name(line.level)) + ",\"text\":" + quote_json(line.text) + "}";
  }
  return json + "]";
}

effect::TypedFailure to_typed(const SandboxFailure& failure) {
  std::string detail = "{";
  if (failure.limit) {
    detail += "\"kind\":" + quote_json(limit_name(*failure.limit));
  } else {
    if (failure.name) detail += "\"name\":" + quote_json(*failure.name) + ",";
    detail += "\"message\":" + quote_json(failure.message);
  }
  detail += "}";
  return {std::string(channel_name(failure.channel)), std::move(detail), failure.message};
}

std::optional<SandboxFailure> from_typed(const effect::TypedFailure& failure) {
  const auto channel = std::find(kChannelNames.begin(), kChannelNames.end(), failure.channel);
  const bool readable = core::is_json_object(failure.detail_json);
  if (channel == kChannelNames.end() || !readable) return std::nullopt;
  SandboxFailure found;
  found.channel = static_cast<Channel>(channel - kChannelNames.begin());
  found.message = failure.message;
  if (const auto name = core::json_member(failure.detail_json, "name")) found.name = core::unquote_json(*name);
  if (found.channel == Channel::limit_exceeded) {
    const auto kind = core::json_word(failure.detail_json, "kind");
    const auto limit = std::find(kLimitNames.begin(), kLimitNames.end(), kind.value_or(""));
    if (limit == kLimitNames.end()) return std::nullopt;
    found.limit = static_cast<Limit>(limit - kLimitNames.begin());
  }
  return found;
}

}  // namespace heddle::sandbox
