#include "schema_check.h"

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/text.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxPatternBytes = 1024;  // std::regex compiles recursively
constexpr int kMaxChain = 200;                  // as a validator follows them

core::Error refused(const std::string& why) {
  return core::make_error(core::Errc::malformed, "read a shape (JSON Schema, draft 7)", core::bound_text(why));
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  core::Result<SchemaUse> check() {
    HEDDLE_TRY(visit(root_));
    for (std::size_t i = 0; i < nodes_.size(); ++i) HEDDLE_TRY(follow(*nodes_[i], 0));  // follow() may find more
    return use_;
  }

 private:
  enum class Mark { open, done };

  // Every subschema that can be reached by its place; recursion is bounded by core::kMaxJsonDepth.
  core::Result<void> visit(const json& node) {  // NOLINT(misc-no-recursion)
    if (!node.is_object() || !seen_.insert(&node).second) return {};
    nodes_.push_back(&node);
    for (const auto& [name, value] : node.items()) {
      if (name == "pattern" && value.is_string()) HEDDLE_TRY(pattern(value.get<std::string>()));
      if (name == "format") use_.matches_text = true;
      if (name == "uniqueItems" && value == true) use_.unique_items = true;
      if (name == "patternProperties" && value.is_object()) {
        for (const auto& member : value.items()) HEDDLE_TRY(pattern(member.key()));
      }
      HEDDLE_TRY(visit_member(name, value));
    }
    return {};
  }

  core::Result<void> visit_member(std::string_view name, const json& value) {  // NOLINT(misc-no-recursion)
    if (is_one_of(name, {"properties", "patternProperties", "definitions", "dependencies"}) && value.is_object()) {
      for (const auto& member : value.items()) HEDDLE_TRY(visit(member.value()));
    } else if (is_one_of(name, {"allOf", "anyOf", "oneOf", "items"}) && value.is_array()) {
      for (const json& item : value) HEDDLE_TRY(visit(item));
    } else if (is_one_of(name, {"items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not",
                                "if", "then", "else"})) {
      HEDDLE_TRY(visit(value));
    }
    return {};
  }

  core::Result<void> pattern(const std::string& text) {
    use_.matches_text = true;
    if (text.size() > kMaxPatternBytes) {
      return refused("a regular expression is over " + std::to_string(kMaxPatternBytes) + " bytes");
    }
    try {
      const std::regex compiled(text);
    } catch (const std::regex_error& error) {
      return refused("the regular expression " + text + " does not compile: " + error.what());
    }
    return {};
  }

  core::Result<const json*> target(const json& node) {
    const json& reference = node.at("$ref");
    if (!reference.is_string()) return refused("a $ref is not a string");
    const auto& text = reference.get_ref<const std::string&>();
    if (text.empty() || text.front() != '#') return refused("the reference " + text + " leaves the document");
    try {
      const json::json_pointer pointer(text.substr(1));
      if (root_.contains(pointer)) return &root_.at(pointer);
    } catch (const json::exception&) {
      return refused("the reference " + text + " leads nowhere");
    }
    return refused("the reference " + text + " leads nowhere");
  }

  // From schema to schema that looks at the same part of the value; a way back to an open one has no end.
  core::Result<void> follow(const json& node, int depth) {  // NOLINT(misc-no-recursion)
    if (!node.is_object()) return {};
    if (depth > kMaxChain) return refused("its references and combinations are chained too deeply");
    const auto [found, fresh] = marks_.try_emplace(&node, Mark::open);
    if (!fresh) {
      if (found->second == Mark::done) return {};
      return refused("it refers to itself without going deeper into the value");
    }
    if (node.contains("$ref")) {
      HEDDLE_ASSIGN(const json* next, target(node));
      HEDDLE_TRY(visit(*next));
      HEDDLE_TRY(follow(*next, depth + 1));
    }
    for (const char* name : {"allOf", "anyOf", "oneOf"}) {
      const auto list = node.find(name);
      if (list == node.end() || !list->is_array()) continue;
      for (const json& item : *list) HEDDLE_TRY(follow(item, depth + 1));
    }
    for (const char* name : {"not", "if", "then", "else"}) {
      const auto one = node.find(name);
      if (one != node.end()) HEDDLE_TRY(follow(*one, depth + 1));
    }
    const auto dependencies = node.find("dependencies");
    if (dependencies != node.end() && dependencies->is_object()) {
      for (const auto& member : dependencies->items()) HEDDLE_TRY(follow(member.value(), depth + 1));
    }
    marks_[&node] = Mark::done;
    return {};
  }

  static bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    for (const std::string_view one : names) {
      if (one == name) return true;
    }
    return false;
  }

  const json& root_;
  SchemaUse use_;
  std::set<const json*> seen_;
  std::vector<const json*> nodes_;
  std::map<const json*, Mark> marks_;
};

}  // namespace

core::Result<SchemaUse> check_schema(const json& schema) { return Checker(schema).check(); }

}  // namespace heddle::effect
