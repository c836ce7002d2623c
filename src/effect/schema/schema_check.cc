#include "schema_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "formats.h"
#include "value_key.h"

namespace heddle::effect {
namespace {

using nlohmann::json;
using Child = SchemaNode::Child;

// Schemas that are open at once: a value is at most 1000 levels deep, each of them may be looked at by several.
constexpr int kMaxOpen = 2000;
// A search costs at most its text times its program (pattern.h), and nobody can stop it.
constexpr std::size_t kMaxSearch = std::size_t{64} << 20;

std::uint32_t types_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return kNull;
    case json::value_t::boolean:
      return kBoolean;
    case json::value_t::object:
      return kObject;
    case json::value_t::array:
      return kArray;
    case json::value_t::string:
      return kString;
    case json::value_t::number_float: {
      const double real = value.get<double>();
      return std::trunc(real) == real ? kNumber | kInteger : kNumber;
    }
    default:
      return kNumber | kInteger;
  }
}

long double number(const json& value) {
  if (value.is_number_float()) return static_cast<long double>(value.get<double>());
  if (value.is_number_unsigned()) return static_cast<long double>(value.get<std::uint64_t>());
  return static_cast<long double>(value.get<std::int64_t>());
}

bool is_multiple(const json& value, const json& of) {
  const long double dividend = number(value);
  const long double divisor = number(of);
  const long double rest = std::fabs(std::remainder(dividend, divisor));
  if (rest == 0) return true;
  if (!value.is_number_float() && !of.is_number_float()) return false;
  // Decimal fractions are not exact in binary: 0.3 is a multiple of 0.1.
  const long double slack = std::fabs(dividend) * std::numeric_limits<double>::epsilon();
  return rest <= slack && slack < divisor / 4;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

class Checker {
 public:
  Checker(Work& work, std::string& why) : work_(work), why_(why) {}

  // Recursion is bounded by kMaxOpen.
  bool fits(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    if (!work_.step()) return false;
    if (schema.verdict) return *schema.verdict || differs("nothing may stand here");
    if (open_ == kMaxOpen) return differs("it is nested too deeply for its shape");
    ++open_;
    const bool good = is_of(schema, value) && combines(schema, value);
    --open_;
    return good;
  }

 private:
  // A step into the value, for the place in messages.
  struct Step {
    const std::string* name;  // null for an item
    std::size_t index;
  };

  bool is_of(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    const std::uint32_t types = types_of(value);
    if (schema.types != 0 && (schema.types & types) == 0) return differs("it is of another type");
    if ((schema.any_value || schema.one_value) && !is_one_of(schema, value)) return false;
    if (value.is_object()) return object(schema, value);
    if (value.is_array()) return array(schema, value);
    if (value.is_string()) return text(schema, value.get_ref<const std::string&>());
    return (types & kNumber) == 0 || in_bounds(schema, value);
  }

  bool is_one_of(const SchemaNode& schema, const json& value) {
    std::string key;
    const bool known = append_key(value, key, schema.longest_value, work_);
    if (schema.one_value && (!known || key != *schema.one_value)) return differs("it is not the value of const");
    if (schema.any_value && (!known || schema.any_value->count(key) == 0)) return differs("it is none of enum");
    return true;
  }

  bool in_bounds(const SchemaNode& schema, const json& value) {
    const long double n = number(value);
    if (schema.minimum && n < *schema.minimum) return differs("it is below the minimum");
    if (schema.maximum && n > *schema.maximum) return differs("it is above the maximum");
    if (schema.above && n <= *schema.above) return differs("it is not above exclusiveMinimum");
    if (schema.below && n >= *schema.below) return differs("it is not below exclusiveMaximum");
    if (schema.multiple_of && !is_multiple(value, *schema.multiple_of))
      return differs("it is no multiple of multipleOf");
    return true;
  }

  bool text(const SchemaNode& schema, const std::string& value) {
    if (!work_.step(value.size() / 64)) return false;
    if (schema.min_length || schema.max_length) {
      const std::size_t length = code_points(value);
      if (schema.min_length && length < *schema.min_length) return differs("it is shorter than minLength");
      if (schema.max_length && length > *schema.max_length) return differs("it is longer than maxLength");
    }
    if (schema.pattern) {
      if (!may_search(*schema.pattern, value)) return false;
      if (!schema.pattern->found_in(value)) return differs("it does not match the pattern");
    }
    return has_format(schema.format, value) || differs("it does not have the format");
  }

  bool may_search(const Pattern& pattern, const std::string& text) {
    const std::size_t program = std::max<std::size_t>(pattern.program_size(), 1);
    if (text.size() > kMaxSearch / program) {
      return differs("a text of " + std::to_string(text.size()) + " bytes is too long for the regular expression");
    }
    return work_.step(text.size() * program / 16);
  }

  bool array(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    if (schema.min_items && value.size() < *schema.min_items) return differs("it has fewer items than minItems");
    if (schema.max_items && value.size() > *schema.max_items) return differs("it has more items than maxItems");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Child child = i < schema.items_in_order.size() ? schema.items_in_order[i] : schema.items;
      if (child == nullptr) break;
      if (!within(*child, value[i], {nullptr, i})) return false;
    }
    if (schema.contains != nullptr && !contains(*schema.contains, value)) return false;
    return !schema.unique_items || is_unique(value);
  }

  bool contains(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    ++silent_;
    bool found = false;
    for (std::size_t i = 0; i < value.size() && !found; ++i) found = fits(schema, value[i]);
    --silent_;
    return found || differs("it has no item that contains asks for");
  }

  bool is_unique(const json& value) {
    std::set<std::string> keys;
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string key;
      if (!append_key(value[i], key, std::string::npos, work_)) return false;
      if (!work_.step(1 + key.size() / 16)) return false;
      if (!keys.insert(std::move(key)).second) return differs("its item " + std::to_string(i) + " stands there twice");
    }
    return true;
  }

  bool object(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    if (schema.min_properties && value.size() < *schema.min_properties) {
      return differs("it has fewer members than minProperties");
    }
    if (schema.max_properties && value.size() > *schema.max_properties) {
      return differs("it has more members than maxProperties");
    }
    if (!has_names(value, schema.required)) return false;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!member(schema, it.key(), *it)) return false;
    }
    for (const auto& [name, names] : schema.dependent_names) {
      if (!work_.step() || (value.contains(name) && !has_names(value, names))) return false;
    }
    return true;
  }

  bool has_names(const json& value, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (!work_.step()) return false;
      if (!value.contains(name)) return differs("its member '" + name + "' is missing");
    }
    return true;
  }

  bool member(const SchemaNode& schema, const std::string& name, const json& value) {  // NOLINT(misc-no-recursion)
    const Step step{&name, 0};
    if (!work_.step(1 + name.size() / 64)) return false;
    if (schema.property_names != nullptr && !within(*schema.property_names, json(name), step)) return false;
    bool met = false;
    if (const auto found = schema.properties.find(name); found != schema.properties.end()) {
      met = true;
      if (!within(*found->second, value, step)) return false;
    }
    for (const auto& [pattern, child] : schema.pattern_properties) {
      if (!may_search(pattern, name)) return false;
      if (!pattern.found_in(name)) continue;
      met = true;
      if (!within(*child, value, step)) return false;
    }
    return met || schema.additional_properties == nullptr || within(*schema.additional_properties, value, step);
  }

  bool within(const SchemaNode& schema, const json& value, Step step) {  // NOLINT(misc-no-recursion)
    place_.push_back(step);
    const bool good = fits(schema, value);
    place_.pop_back();
    return good;
  }

  bool combines(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    for (const Child child : schema.all_of) {
      if (!fits(*child, value)) return false;
    }
    if (!schema.any_of.empty() && count(schema.any_of, value, 1) == 0) return differs("it fits none of anyOf");
    if (!schema.one_of.empty()) {
      const int fitting = count(schema.one_of, value, 2);
      if (fitting != 1) return differs(fitting == 0 ? "it fits none of oneOf" : "it fits more than one of oneOf");
    }
    if (schema.none_of != nullptr && quietly_fits(*schema.none_of, value)) return differs("it fits what not excludes");
    if (schema.if_schema != nullptr) {
      const Child next = quietly_fits(*schema.if_schema, value) ? schema.then_schema : schema.else_schema;
      if (next != nullptr && !fits(*next, value)) return false;
    }
    if (!value.is_object()) return true;
    for (const auto& [name, child] : schema.dependent_schemas) {
      if (!work_.step() || (value.contains(name) && !fits(*child, value))) return false;
    }
    return true;
  }

  bool quietly_fits(const SchemaNode& schema, const json& value) {  // NOLINT(misc-no-recursion)
    ++silent_;
    const bool good = fits(schema, value);
    --silent_;
    return good;
  }

  // How many fit, up to `enough`.
  int count(const std::vector<Child>& schemas, const json& value, int enough) {  // NOLINT(misc-no-recursion)
    int fitting = 0;
    for (const Child child : schemas) {
      if (work_.over() || fitting == enough) break;
      fitting += quietly_fits(*child, value) ? 1 : 0;
    }
    return fitting;
  }

  // Always false. The first one that is not silent is told.
  bool differs(std::string_view what) {
    if (silent_ > 0 || !why_.empty()) return false;
    why_ = "value";
    for (const Step& step : place_)
      why_ += "[" + (step.name != nullptr ? *step.name : std::to_string(step.index)) + "]";
    why_ += ": ";
    why_ += what;
    return false;
  }

  Work& work_;
  std::string& why_;
  std::vector<Step> place_;
  int open_ = 0;
  int silent_ = 0;
};

}  // namespace

bool has_shape(const CompiledSchema& schema, const json& value, Work& work, std::string& why) {
  return Checker(work, why).fits(*schema.root, value) && !work.over();
}

}  // namespace heddle::effect
