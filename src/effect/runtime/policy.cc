#include "heddle/effect/runtime/policy.h"

#include <fcntl.h>

#include <limits>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "heddle/core/fd.h"
#include "heddle/core/text.h"
#include "heddle/core/toml_shape.h"

namespace heddle::effect {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  core::Result<Policy> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key == "rule") {
        HEDDLE_TRY(read_rules(node));
      } else if (key == "schedule") {
        HEDDLE_TRY(read_schedule(node));
      } else if (key == "budget") {
        HEDDLE_TRY(read_budget(node));
      } else if (key == "price") {
        HEDDLE_TRY(read_prices(node));
      } else {
        return unknown(key, "rule, schedule, budget and price are");
      }
    }
    return std::move(policy_);
  }

  [[nodiscard]] core::Error fault(const toml::source_region& where, const std::string& what) const {
    return fault(where.begin.line, what);
  }
  [[nodiscard]] core::Error fault(std::size_t line, const std::string& what) const {
    return core::make_error(core::Errc::malformed, "read a policy",
                            std::string(name_) + ":" + std::to_string(line) + ": " + core::bound_text(what, 300));
  }

 private:
  [[nodiscard]] core::Error unknown(const toml::key& key, const std::string& known) const {
    return fault(key.source(), "there is nothing named " + std::string(key.str()) + " here; " + known);
  }

  core::Result<const toml::table*> table(const toml::node& node, const char* what) const {
    if (const auto* found = node.as_table()) return found;
    return fault(node.source(), std::string(what) + " must be a table");
  }

  core::Result<std::string> text(const toml::key& key, const toml::node& node) const {
    const auto* found = node.as_string();
    if (found == nullptr) return fault(node.source(), std::string(key.str()) + " must be a text");
    return found->get();
  }

  core::Result<std::uint64_t> number(const toml::key& key, const toml::node& node) const {
    const auto* found = node.as_integer();
    if (found == nullptr || found->get() < 0) {
      return fault(node.source(), std::string(key.str()) + " must be a whole number, zero or more");
    }
    return static_cast<std::uint64_t>(found->get());
  }

  core::Result<std::size_t> limit(const toml::key& key, const toml::node& node) const {
    HEDDLE_ASSIGN(const std::uint64_t value, number(key, node));
    if (value == 0) {
      return fault(node.source(), std::string(key.str()) + " must be above zero; a rule denies an effect altogether");
    }
    return static_cast<std::size_t>(value);
  }

  core::Result<void> read_rules(const toml::node& node) {
    const auto* list = node.as_array();
    if (list == nullptr) return fault(node.source(), "rules are written [[rule]]");
    for (const toml::node& item : *list) {
      HEDDLE_ASSIGN(const toml::table* one, table(item, "a rule"));
      HEDDLE_TRY(read_rule(*one));
    }
    return {};
  }

  core::Result<void> read_rule(const toml::table& from) {
    Rule rule;
    bool decided = false;
    for (const auto& [key, node] : from) {
      if (key == "name") {
        HEDDLE_ASSIGN(rule.name, text(key, node));
      } else if (key == "effect") {
        HEDDLE_ASSIGN(rule.effect, text(key, node));
      } else if (key == "flow") {
        HEDDLE_ASSIGN(rule.flow, text(key, node));
      } else if (key == "reason") {
        HEDDLE_ASSIGN(rule.reason, text(key, node));
      } else if (key == "verdict") {
        HEDDLE_ASSIGN(const std::string verdict, text(key, node));
        if (verdict != "allow" && verdict != "deny") return fault(node.source(), "verdict is \"allow\" or \"deny\"");
        rule.verdict = verdict == "allow" ? Rule::Verdict::allow : Rule::Verdict::deny;
        decided = true;
      } else if (key == "annotations") {
        HEDDLE_ASSIGN(const toml::table* wanted, table(node, "annotations"));
        for (const auto& [name, value] : *wanted) {
          HEDDLE_ASSIGN(std::string pattern, text(name, value));
          rule.annotations.emplace_back(std::string(name.str()), std::move(pattern));
        }
      } else {
        return unknown(key, "a rule has name, effect, flow, annotations, verdict and reason");
      }
    }
    if (rule.name.empty()) return fault(from.source(), "a rule needs a name: it stands in the facts");
    if (!decided) return fault(from.source(), "a rule needs a verdict: \"allow\" or \"deny\"");
    policy_.rules.push_back(std::move(rule));
    return {};
  }

  core::Result<void> read_schedule(const toml::node& node) {
    HEDDLE_ASSIGN(const toml::table* from, table(node, "schedule"));
    for (const auto& [key, value] : *from) {
      if (key == "total") {
        HEDDLE_ASSIGN(policy_.schedule.total, limit(key, value));
      } else if (key == "each") {
        HEDDLE_ASSIGN(policy_.schedule.each, limit(key, value));
      } else if (key == "effects") {
        HEDDLE_ASSIGN(const toml::table* effects, table(value, "effects"));
        for (const auto& [effect, most] : *effects) {
          HEDDLE_ASSIGN(policy_.schedule.effects[std::string(effect.str())], limit(effect, most));
        }
      } else {
        return unknown(key, "a schedule has total, each and effects");
      }
    }
    return {};
  }

  core::Result<void> read_budget(const toml::node& node) {
    HEDDLE_ASSIGN(const toml::table* from, table(node, "budget"));
    for (const auto& [key, value] : *from) {
      HEDDLE_ASSIGN(const std::uint64_t amount, number(key, value));
      if (key == "calls") {
        policy_.budget.calls = amount;
      } else if (key == "time_ms") {
        constexpr std::uint64_t kMostTime = std::numeric_limits<std::int64_t>::max() / 1000;
        if (amount > kMostTime) return fault(value.source(), "time_ms is too large; leave it out for no limit");
        policy_.budget.time = std::chrono::milliseconds(amount);
      } else if (key == "bytes") {
        policy_.budget.bytes = amount;
      } else if (key == "cost") {
        policy_.budget.cost = amount;
      } else {
        return unknown(key, "a budget has calls, time_ms, bytes and cost");
      }
    }
    return {};
  }

  core::Result<void> read_prices(const toml::node& node) {
    HEDDLE_ASSIGN(const toml::table* from, table(node, "price"));
    for (const auto& [effect, entry] : *from) {
      HEDDLE_ASSIGN(const toml::table* fields, table(entry, "a price"));
      Price price;
      for (const auto& [key, value] : *fields) {
        HEDDLE_ASSIGN(const std::uint64_t amount, number(key, value));
        if (key == "per_call") {
          price.per_call = amount;
        } else if (key == "per_second") {
          price.per_second = amount;
        } else if (key == "per_kib") {
          price.per_kib = amount;
        } else {
          return unknown(key, "a price has per_call, per_second and per_kib");
        }
      }
      policy_.prices[std::string(effect.str())] = price;
    }
    return {};
  }

  const std::string_view name_;
  Policy policy_;
};

}  // namespace

core::Result<Policy> parse_policy(std::string_view toml_text, std::string_view name) {
  Reader reader(name);
  if (!core::valid_utf8(toml_text)) {
    return core::make_error(core::Errc::malformed, "read a policy", std::string(name) + ": it is not UTF-8");
  }
  if (const auto deep = core::too_deep_toml(toml_text)) {
    return reader.fault(core::position_of(toml_text, deep->offset).line, deep->message);
  }
  const toml::parse_result parsed = toml::parse(toml_text, name);
  if (!parsed) return reader.fault(parsed.error().source(), std::string(parsed.error().description()));
  return reader.read(parsed.table());
}

core::Result<Policy> load_policy(const std::string& path) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open a policy", path);
  HEDDLE_ASSIGN(const std::string text, core::read_all(file, kMaxPolicyBytes));
  return parse_policy(text, path);
}

}  // namespace heddle::effect
