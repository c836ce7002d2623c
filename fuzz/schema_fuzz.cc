// A schema, a NUL and a value: reading the one and checking the other must end, within its bounds, and say the same
// twice.
#include <cstdlib>
#include <string_view>

#include "heddle/effect/schema/json_text.h"
#include "heddle/effect/schema/shape.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const auto shape = heddle::effect::Shape::compile(input.substr(0, end));
  if (!shape.ok()) return 0;
  const auto value = heddle::effect::compact_json(end == std::string_view::npos ? "null" : input.substr(end + 1));
  if (value.verdict != heddle::effect::JsonVerdict::good) return 0;
  const auto first = shape.value().check(value.text, {}, heddle::core::Deadline::never());
  const auto second = shape.value().check(value.text, {}, heddle::core::Deadline::never());
  if (first.kind != second.kind || first.why != second.why) std::abort();
  if (first.kind == heddle::effect::Shape::Verdict::Kind::given_up || first.why.size() > 3 * 2048) std::abort();
  return 0;
}
