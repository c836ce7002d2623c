#include <charconv>
#include <cmath>
#include <string_view>

#include "heddle/core/text.h"
#include "schema_node.h"
#include "value_key.h"

namespace heddle::effect {
namespace {

using nlohmann::json;
using Child = SchemaNode::Child;

constexpr std::size_t kMaxPatterns = 64;       // distinct ones; each may keep Pattern::kMaxMemory
constexpr std::size_t kMaxPrograms = 100'000;  // instructions of all of them, which is what compiling them takes
constexpr int kMaxChain = 200;                 // schemas for the same part of a value, one within the other

core::Error refused(const std::string& why) {
  return core::make_error(core::Errc::malformed, "read a shape (JSON Schema, draft 7)", core::bound_text(why));
}

core::Error wrong(const std::string& place, std::string_view why) {
  return refused("at " + core::bound_text(place, 256) + ": " + std::string(why));
}

constexpr std::size_t kMaxPlace = 256;

// A place is kept for each schema that is still to be read: bounded, or one long name would be kept for each below it.
std::string below(const std::string& place, std::string_view name) {
  if (place.size() >= kMaxPlace) return place;
  return place + "/" + std::string(name.substr(0, kMaxPlace));
}

std::optional<std::uint64_t> size_of(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  constexpr double kTwo53 = 9007199254740992.0;
  if (!value.is_number_float()) return std::nullopt;
  const double real = value.get<double>();
  if (real < 0 || real > kTwo53 || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::uint64_t>(real);
}

std::uint32_t type_bit(const json& name) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 7> kTypes{{{"null", kNull},
                                                                              {"boolean", kBoolean},
                                                                              {"object", kObject},
                                                                              {"array", kArray},
                                                                              {"string", kString},
                                                                              {"number", kNumber},
                                                                              {"integer", kInteger}}};
  for (const auto& [known, bit] : kTypes) {
    if (name == known) return bit;
  }
  return 0;
}

// Of a URI's fragment: a JSON pointer, percent-encoded (RFC 6901, 6). Null when it leads nowhere.
const json* target(const json& root, std::string_view reference) {
  std::string pointer;
  for (std::size_t at = 1; at < reference.size(); ++at) {
    if (reference[at] != '%') {
      pointer += reference[at];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = reference.substr(at + 1, 2);
    const char* end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) return nullptr;
    pointer += static_cast<char>(byte);
    at += 2;
  }
  try {
    const json::json_pointer path(pointer);
    return root.contains(path) ? &root.at(path) : nullptr;
  } catch (const json::exception&) {
    return nullptr;
  }
}

class SchemaReader {
 public:
  explicit SchemaReader(const json& root) : root_(root) {}

  core::Result<CompiledSchema> read() {
    if (const auto draft = root_.find("$schema"); root_.is_object() && draft != root_.end()) {
      const std::string text = draft->is_string() ? draft->get<std::string>() : draft->dump();
      if (text.find("://json-schema.org/draft-07/schema") == std::string::npos) {
        return wrong("#/$schema", text + " is not draft 7 (http://json-schema.org/draft-07/schema#)");
      }
    }
    HEDDLE_ASSIGN(compiled_.root, schema(root_, "#"));
    for (std::size_t i = 0; i < unread_.size(); ++i) HEDDLE_TRY(fill(Unread(unread_[i])));
    for (const auto& node : compiled_.nodes) HEDDLE_TRY(look_for_circles(*node, 0));
    return std::move(compiled_);
  }

 private:
  enum class Mark { open, done };
  struct Unread {
    const json* from;
    std::string place;
    SchemaNode* node;
  };

  // A reference stands for its target; what else stands beside it is not looked at (draft 7, 8.3).
  core::Result<const json*> resolve(const json& at, std::string& place) const {
    const json* node = &at;
    for (int links = 0; node->is_object() && node->contains("$ref"); ++links) {
      if (links == kMaxChain) return wrong(place, "its references are chained too deeply, or in a circle");
      const json& reference = node->at("$ref");
      if (!reference.is_string()) return wrong(place + "/$ref", "it must be a string");
      const auto& text = reference.get_ref<const std::string&>();
      place = text.substr(0, kMaxPlace);
      if (place.empty() || place.front() != '#') return wrong(place, "the reference leaves the document");
      node = target(root_, text);
      if (node == nullptr) return wrong(place, "the reference leads nowhere");
    }
    return node;
  }

  // The node of a schema, which is filled in later: no recursion.
  core::Result<Child> schema(const json& at, std::string place) {
    HEDDLE_ASSIGN(const json* from, resolve(at, place));
    const auto [known, fresh] = known_.try_emplace(from, nullptr);
    if (!fresh) return known->second;
    if (!from->is_object() && !from->is_boolean()) return wrong(place, "a schema must be an object or a boolean");
    compiled_.nodes.push_back(std::make_unique<SchemaNode>());
    SchemaNode& node = *compiled_.nodes.back();
    known->second = &node;
    unread_.push_back({from, std::move(place), &node});
    return known->second;
  }

  core::Result<void> fill(const Unread& unread) {
    const json& from = *unread.from;
    SchemaNode& node = *unread.node;
    if (from.is_boolean()) {
      node.verdict = from.get<bool>();
      return {};
    }
    const auto id = from.find("$id");
    if (id != from.end() && &from != &root_ && (!id->is_string() || id->get<std::string>().substr(0, 1) != "#")) {
      return wrong(unread.place + "/$id", "within the document it would move the base of references; remove it");
    }
    for (const auto& [name, value] : from.items()) {
      HEDDLE_TRY(keyword(name, value, below(unread.place, name), node));
    }
    return items(from, unread.place, node);
  }

  core::Result<void> keyword(const std::string& name, const json& value, const std::string& place, SchemaNode& node) {
    if (auto* number = number_of(name, node)) {
      if (!value.is_number()) return wrong(place, "it must be a number");
      *number = value.is_number_float()      ? static_cast<long double>(value.get<double>())
                : value.is_number_unsigned() ? static_cast<long double>(value.get<std::uint64_t>())
                                             : static_cast<long double>(value.get<std::int64_t>());
      return {};
    }
    if (auto* size = size_member(name, node)) {
      *size = size_of(value);
      if (!*size) return wrong(place, "it must be a whole number, zero or more");
      return {};
    }
    if (auto* child = child_of(name, node)) {
      HEDDLE_ASSIGN(*child, schema(value, place));
      return {};
    }
    if (auto* children = children_of(name, node)) {
      if (!value.is_array() || value.empty()) return wrong(place, "it must be a list of schemas");
      return list(value, place, *children);
    }
    if (name == "type") return types(value, place, node);
    if (name == "enum" || name == "const") return values(name, value, place, node);
    if (name == "multipleOf") {
      if (!value.is_number() || value <= 0) return wrong(place, "it must be a number above zero");
      node.multiple_of = value;
    } else if (name == "uniqueItems") {
      if (!value.is_boolean()) return wrong(place, "it must be true or false");
      node.unique_items = value.get<bool>();
    } else if (name == "pattern") {
      if (!value.is_string()) return wrong(place, "it must be a string");
      HEDDLE_ASSIGN(node.pattern, pattern(value.get<std::string>(), place));
    } else if (name == "format") {
      if (!value.is_string()) return wrong(place, "it must be a string");
      node.format = value == "date"        ? Format::date
                    : value == "time"      ? Format::time
                    : value == "date-time" ? Format::date_time
                                           : Format::none;
    } else if (name == "required") {
      HEDDLE_ASSIGN(node.required, names(value, place));
    } else {
      return members(name, value, place, node);
    }
    return {};
  }

  // Keywords whose value is an object with a member each.
  core::Result<void> members(const std::string& name, const json& value, const std::string& place, SchemaNode& node) {
    if (name != "properties" && name != "patternProperties" && name != "dependencies" && name != "definitions") {
      return {};  // an annotation, or none of draft 7's
    }
    if (!value.is_object()) return wrong(place, "it must be an object");
    for (const auto& [key, one] : value.items()) {
      const std::string at = below(place, key);
      if (name == "dependencies" && one.is_array()) {
        HEDDLE_ASSIGN(auto others, names(one, at));
        node.dependent_names.emplace_back(key, std::move(others));
        continue;
      }
      HEDDLE_ASSIGN(const Child child, schema(one, at));
      if (name == "properties") {
        node.properties.emplace(key, child);
      } else if (name == "patternProperties") {
        HEDDLE_ASSIGN(Pattern expression, pattern(key, at));
        node.pattern_properties.emplace_back(std::move(expression), child);
      } else if (name == "dependencies") {
        node.dependent_schemas.emplace_back(key, child);
      }
    }
    return {};
  }

  core::Result<void> items(const json& from, const std::string& place, SchemaNode& node) {
    const auto items = from.find("items");
    const auto others = from.find("additionalItems");
    Child rest = nullptr;
    if (others != from.end()) {
      HEDDLE_ASSIGN(rest, schema(*others, below(place, "additionalItems")));
    }
    if (items == from.end()) return {};
    if (!items->is_array()) {
      HEDDLE_ASSIGN(node.items, schema(*items, below(place, "items")));
      return {};
    }
    node.items = rest;
    return list(*items, below(place, "items"), node.items_in_order);
  }

  core::Result<void> list(const json& value, const std::string& place, std::vector<Child>& children) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      HEDDLE_ASSIGN(const Child child, schema(value[i], below(place, std::to_string(i))));
      children.push_back(child);
    }
    return {};
  }

  static core::Result<std::vector<std::string>> names(const json& value, const std::string& place) {
    std::vector<std::string> found;
    bool good = value.is_array();
    for (std::size_t i = 0; good && i < value.size(); ++i) {
      good = value[i].is_string();
      if (good) found.push_back(value[i].get<std::string>());
    }
    if (!good) return wrong(place, "it must be a list of strings");
    return found;
  }

  static core::Result<void> types(const json& value, const std::string& place, SchemaNode& node) {
    const json all = value.is_array() ? value : json::array({value});
    bool good = !all.empty();
    for (const json& one : all) {
      const std::uint32_t bit = type_bit(one);
      good = good && bit != 0;
      node.types |= bit;
    }
    if (!good) return wrong(place, "it must be of null, boolean, object, array, string, number, integer");
    return {};
  }

  static core::Result<void> values(const std::string& name, const json& value, const std::string& place,
                                   SchemaNode& node) {
    const auto key_of = [&node](const json& one) {
      Work work({}, core::Deadline::never());
      std::string key;
      append_key(one, key, std::string::npos, work);
      node.longest_value = std::max(node.longest_value, key.size());
      return key;
    };
    if (name == "const") {
      node.one_value = key_of(value);
      return {};
    }
    if (!value.is_array()) return wrong(place, "it must be a list of values");
    node.any_value.emplace();
    for (const json& one : value) node.any_value->insert(key_of(one));
    return {};
  }

  core::Result<Pattern> pattern(const std::string& text, const std::string& place) {
    if (const auto known = patterns_.find(text); known != patterns_.end()) return known->second;
    if (patterns_.size() == kMaxPatterns) {
      return wrong(place, "it has more than " + std::to_string(kMaxPatterns) + " regular expressions");
    }
    auto compiled = Pattern::compile(text);
    if (!compiled.ok()) return wrong(place, compiled.error().context);
    programs_ += compiled.value().program_size();
    if (programs_ > kMaxPrograms) return wrong(place, "its regular expressions are too large together; shorten them");
    patterns_.emplace(text, compiled.value());
    return compiled;
  }

  static SchemaNode::Number* number_of(std::string_view name, SchemaNode& node) {
    if (name == "minimum") return &node.minimum;
    if (name == "maximum") return &node.maximum;
    if (name == "exclusiveMinimum") return &node.above;
    return name == "exclusiveMaximum" ? &node.below : nullptr;
  }
  static SchemaNode::Size* size_member(std::string_view name, SchemaNode& node) {
    if (name == "minLength") return &node.min_length;
    if (name == "maxLength") return &node.max_length;
    if (name == "minItems") return &node.min_items;
    if (name == "maxItems") return &node.max_items;
    if (name == "minProperties") return &node.min_properties;
    return name == "maxProperties" ? &node.max_properties : nullptr;
  }
  static Child* child_of(std::string_view name, SchemaNode& node) {
    if (name == "contains") return &node.contains;
    if (name == "additionalProperties") return &node.additional_properties;
    if (name == "propertyNames") return &node.property_names;
    if (name == "not") return &node.none_of;
    if (name == "if") return &node.if_schema;
    if (name == "then") return &node.then_schema;
    return name == "else" ? &node.else_schema : nullptr;
  }
  static std::vector<Child>* children_of(std::string_view name, SchemaNode& node) {
    if (name == "allOf") return &node.all_of;
    if (name == "anyOf") return &node.any_of;
    return name == "oneOf" ? &node.one_of : nullptr;
  }

  // From schema to schema that looks at the same part of the value; a way back to an open one has no end.
  core::Result<void> look_for_circles(const SchemaNode& node, int depth) {
    if (depth > kMaxChain) return refused("its references and combinations are chained too deeply");
    const auto [found, fresh] = marks_.try_emplace(&node, Mark::open);
    if (!fresh) {
      if (found->second == Mark::done) return {};
      return refused("it refers to itself without going deeper into the value");
    }
    std::vector<Child> same{node.none_of, node.if_schema, node.then_schema, node.else_schema};
    for (const auto* list : {&node.all_of, &node.any_of, &node.one_of})
      same.insert(same.end(), list->begin(), list->end());
    for (const auto& [name, child] : node.dependent_schemas) same.push_back(child);
    for (const Child child : same) {
      if (child != nullptr) HEDDLE_TRY(look_for_circles(*child, depth + 1));
    }
    marks_[&node] = Mark::done;
    return {};
  }

  const json& root_;
  CompiledSchema compiled_;
  std::vector<Unread> unread_;
  std::map<const json*, Child> known_;
  std::map<std::string, Pattern> patterns_;
  std::size_t programs_ = 0;
  std::map<const SchemaNode*, Mark> marks_;
};

}  // namespace

core::Result<CompiledSchema> read_schema(const json& document) { return SchemaReader(document).read(); }

}  // namespace heddle::effect
