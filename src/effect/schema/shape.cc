#include "heddle/effect/schema/shape.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "canonical_json.h"
#include "heddle/core/text.h"
#include "schema_check.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

core::Error not_a_shape(std::string_view why) {
  return core::make_error(core::Errc::malformed, "read a shape (JSON Schema, draft 7)", why);
}

}  // namespace

struct Shape::Compiled {
  ContentAddress hash;
  CompiledSchema schema;
};

core::Result<ContentAddress> shape_hash(std::string_view schema_json) {
  HEDDLE_ASSIGN(const std::string canonical, canonical_json(schema_json));
  return ContentAddress::of(canonical);
}

Shape::Shape(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

core::Result<Shape> Shape::compile(std::string_view schema_json) {
  if (schema_json.size() > kMaxSchemaBytes) {
    return not_a_shape("it is over " + std::to_string(kMaxSchemaBytes) + " bytes");
  }
  const auto hash = shape_hash(schema_json);
  if (!hash.ok()) return not_a_shape(hash.error().context);
  const json document = json::parse(schema_json.begin(), schema_json.end(), nullptr, false);
  if (!document.is_object() && !document.is_boolean()) return not_a_shape("it must be an object or a boolean");
  HEDDLE_ASSIGN(CompiledSchema schema, read_schema(document));
  return Shape(std::make_shared<const Compiled>(Compiled{hash.value(), std::move(schema)}));
}

const ContentAddress& Shape::hash() const noexcept { return compiled_->hash; }

Shape::Verdict Shape::check(std::string_view value_json, const std::stop_token& stop, core::Deadline deadline) const {
  using Kind = Verdict::Kind;
  Work work(stop, deadline);
  if (!work.step()) return {};
  const json value = json::parse(value_json.begin(), value_json.end(), nullptr, false);
  if (value.is_discarded()) return {Kind::differs, "it is not JSON"};
  std::string why;
  if (has_shape(compiled_->schema, value, work, why)) return {Kind::fits, ""};
  if (work.given_up()) return {};
  if (work.over()) why = "it cannot be checked in " + std::to_string(Work::kMaxSteps) + " steps";
  return {Kind::differs, core::bound_text(why)};
}

}  // namespace heddle::effect
