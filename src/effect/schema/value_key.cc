#include "value_key.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "heddle/effect/schema/json_text.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

std::string number_key(const json& value) {
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  const double real = value.get<double>();
  // A whole number that an integer's type holds has that integer's key.
  constexpr double kTwo63 = 9223372036854775808.0;
  if (std::trunc(real) == real && real >= -kTwo63 && real < 2 * kTwo63) {
    return real < 0 ? std::to_string(static_cast<std::int64_t>(real))
                    : std::to_string(static_cast<std::uint64_t>(real));
  }
  return ecmascript_number(real);
}

}  // namespace

// Recursion is bounded by core::kMaxJsonDepth.
bool append_key(const json& value, std::string& out, std::size_t longest, Work& work) {  // NOLINT(misc-no-recursion)
  if (!work.step() || out.size() > longest) return false;
  if (value.is_object()) {
    out += '{';
    for (auto it = value.begin(); it != value.end(); ++it) {
      out += core::quote_json(it.key());
      if (!work.step(it.key().size() / 64) || !append_key(*it, out, longest, work)) return false;
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json& item : value) {
      if (!append_key(item, out, longest, work)) return false;
      out += ',';
    }
    out += ']';
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > longest || !work.step(text.size() / 64)) return false;
    out += core::quote_json(text);
  } else if (value.is_number()) {
    out += number_key(value);
  } else {
    out += value.is_null() ? "null" : value.get<bool>() ? "true" : "false";
  }
  return out.size() <= longest;
}

}  // namespace heddle::effect
