#include "canonical_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "heddle/effect/schema/json_text.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

// RFC 8785, 3.2.3: names are ordered by their UTF-16 code units. Well-formed UTF-8 only.
std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]) & 0x3FU; };
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      units += static_cast<char16_t>(lead);
      at += 1;
    } else if (lead < 0xE0) {
      units += static_cast<char16_t>((lead & 0x1FU) << 6U | byte(1));
      at += 2;
    } else if (lead < 0xF0) {
      units += static_cast<char16_t>((lead & 0xFU) << 12U | byte(1) << 6U | byte(2));
      at += 3;
    } else {
      const unsigned point = ((lead & 7U) << 18U | byte(1) << 12U | byte(2) << 6U | byte(3)) - 0x10000U;
      units += static_cast<char16_t>(0xD800U + (point >> 10U));
      units += static_cast<char16_t>(0xDC00U + (point & 0x3FFU));
      at += 4;
    }
  }
  return units;
}

// Recursion is bounded by core::kMaxJsonDepth.
void write(const json& value, std::string& out) {  // NOLINT(misc-no-recursion)
  if (value.is_object()) {
    std::vector<std::pair<std::u16string, json::const_iterator>> members;
    for (auto it = value.begin(); it != value.end(); ++it) members.emplace_back(utf16(it.key()), it);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    for (const auto& [name, it] : members) {
      if (out.back() != '{') out += ',';
      out += core::quote_json(it.key());
      out += ':';
      write(*it, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ',';
      write(value[i], out);
    }
    out += ']';
  } else if (value.is_string()) {
    out += core::quote_json(value.get_ref<const std::string&>());
  } else if (value.is_number()) {
    out += ecmascript_number(value.get<double>());
  } else {
    out += value.is_null() ? "null" : value.get<bool>() ? "true" : "false";
  }
}

}  // namespace

core::Result<std::string> canonical_json(std::string_view text) {
  const auto malformed = [](std::string_view why) {
    return core::make_error(core::Errc::malformed, "make canonical JSON", why);
  };
  const CompactJson compact = compact_json(text);
  if (compact.verdict == JsonVerdict::too_deep) return malformed("it is nested too deeply");
  if (compact.verdict != JsonVerdict::good) return malformed(compact.why);
  if (compact.repeated_names) return malformed("a member is named twice");
  const json value = json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return malformed("it has a lone surrogate");
  std::string out;
  write(value, out);
  return out;
}

}  // namespace heddle::effect
