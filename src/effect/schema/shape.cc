#define VALIJSON_USE_EXCEPTIONS 1

#include "heddle/effect/schema/shape.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <regex>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "canonical_json.h"
#include "heddle/core/text.h"
#include "schema_check.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

core::Error not_a_shape(std::string_view why) {
  return core::make_error(core::Errc::malformed, "read a shape (JSON Schema, draft 7)", why);
}

// Recursion is bounded by core::kMaxJsonDepth.
std::optional<std::string> over_bounds(const json& value, const SchemaUse& use) {  // NOLINT(misc-no-recursion)
  const auto long_text = [&](const std::string& text) -> std::optional<std::string> {
    if (!use.matches_text || text.size() <= Shape::kMaxMatchedBytes) return std::nullopt;
    return "a string of " + std::to_string(text.size()) + " bytes under a shape that matches strings, which may have " +
           std::to_string(Shape::kMaxMatchedBytes);
  };
  if (value.is_string()) return long_text(value.get_ref<const std::string&>());
  if (value.is_array() && use.unique_items && value.size() > Shape::kMaxUniqueItems) {
    return "an array of " + std::to_string(value.size()) + " items under a shape with uniqueItems, which may have " +
           std::to_string(Shape::kMaxUniqueItems);
  }
  if (!value.is_structured()) return std::nullopt;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (value.is_object()) {
      if (auto problem = long_text(it.key())) return problem;
    }
    if (auto problem = over_bounds(*it, use)) return problem;
  }
  return std::nullopt;
}

}  // namespace

struct Shape::Compiled {
  explicit Compiled(const ContentAddress& address) : hash(address) {}
  ContentAddress hash;
  SchemaUse use;
  valijson::Schema schema;
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
  auto compiled = std::make_shared<Compiled>(hash.value());
  HEDDLE_ASSIGN(compiled->use, check_schema(document));
  try {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    parser.populateSchema(adapter, compiled->schema);
  } catch (const std::exception& error) {
    return not_a_shape(core::bound_text(error.what()));
  }
  return Shape(std::move(compiled));
}

const ContentAddress& Shape::hash() const noexcept { return compiled_->hash; }

std::optional<std::string> Shape::mismatch(std::string_view value_json) const {
  const json value = json::parse(value_json.begin(), value_json.end(), nullptr, false);
  if (value.is_discarded()) return "it is not JSON";
  if (auto problem = over_bounds(value, compiled_->use)) return problem;
  try {
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    const valijson::adapters::NlohmannJsonAdapter adapter(value);
    if (validator.validate(compiled_->schema, adapter, &results)) return std::nullopt;
    valijson::ValidationResults::Error error;
    std::string why = "it does not have the shape";
    if (results.popError(error)) {
      std::string place;
      for (const std::string& part : error.context) place += part == "<root>" ? "value" : part;
      why = place + ": " + error.description;
    }
    return core::bound_text(why);
  } catch (const std::exception& error) {
    return core::bound_text(std::string("it cannot be checked: ") + error.what());
  }
}

}  // namespace heddle::effect
