// A JSON Schema (draft 7) as it is checked: its subschemas, with references resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/result.h"
#include "pattern.h"

namespace heddle::effect {

enum class Format : std::uint8_t { none, date, time, date_time };

/// An absent keyword is empty or null. Nodes point to each other, and their owner keeps all of them.
struct SchemaNode {
  // long double holds every integer of 64 bits and every double.
  using Number = std::optional<long double>;
  using Size = std::optional<std::uint64_t>;
  using Child = const SchemaNode*;

  std::optional<bool> verdict;                     ///< of the schemas `true` and `false`
  std::uint32_t types = 0;                         ///< bits, see below; 0: any
  std::optional<std::set<std::string>> any_value;  ///< enum, by key
  std::optional<std::string> one_value;            ///< const, by key
  std::size_t longest_value = 0;                   ///< of the keys of both

  Number minimum, maximum, above, below;
  std::optional<nlohmann::json> multiple_of;

  Size min_length, max_length;
  std::optional<Pattern> pattern;
  Format format = Format::none;

  Size min_items, max_items;
  bool unique_items = false;
  std::vector<Child> items_in_order;  ///< items as an array
  Child items = nullptr;              ///< of all, or of those behind items_in_order
  Child contains = nullptr;

  Size min_properties, max_properties;
  std::vector<std::string> required;
  std::map<std::string, Child, std::less<>> properties;
  std::vector<std::pair<Pattern, Child>> pattern_properties;
  Child additional_properties = nullptr;
  Child property_names = nullptr;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_names;
  std::vector<std::pair<std::string, Child>> dependent_schemas;

  std::vector<Child> all_of, any_of, one_of;
  Child none_of = nullptr;  ///< not
  Child if_schema = nullptr, then_schema = nullptr, else_schema = nullptr;
};

// Bits of a set of types.
inline constexpr std::uint32_t kNull = 1;
inline constexpr std::uint32_t kBoolean = 2;
inline constexpr std::uint32_t kObject = 4;
inline constexpr std::uint32_t kArray = 8;
inline constexpr std::uint32_t kString = 16;
inline constexpr std::uint32_t kNumber = 32;
inline constexpr std::uint32_t kInteger = 64;

struct CompiledSchema {
  std::vector<std::unique_ptr<SchemaNode>> nodes;
  const SchemaNode* root = nullptr;
};

/// Errc::malformed with what is wrong and where, also for what a check would not come back from or answer otherwise
/// than draft 7 says: patterns that pattern.h refuses, references that leave the document or lead nowhere, schemas that
/// refer to themselves for the same part of a value, another draft.
[[nodiscard]] core::Result<CompiledSchema> read_schema(const nlohmann::json& document);

}  // namespace heddle::effect
