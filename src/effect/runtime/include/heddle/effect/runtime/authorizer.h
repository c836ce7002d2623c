// The first ring: may this flow have this effect? Whatever is not allowed is denied.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/effect/core/effect.h"

namespace heddle::effect {

/// What is asked of a ring. The views hold during the call.
struct Request {
  std::string_view flow;  ///< the flow's id
  std::string_view key;   ///< of the effect in that flow
  std::string_view effect;
  std::string_view input_json;
  const Annotations& annotations;
};

class [[nodiscard]] Decision {
 public:
  [[nodiscard]] static Decision allow() { return Decision(); }
  /// `rule` is the policy's own name for what refused; both go into the facts, bounded.
  [[nodiscard]] static Decision deny(std::string rule, std::string reason) {
    Decision decision;
    decision.allowed_ = false;
    decision.rule_ = std::move(rule);
    decision.reason_ = std::move(reason);
    return decision;
  }

  [[nodiscard]] bool allowed() const noexcept { return allowed_; }
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  Decision() = default;
  bool allowed_ = true;
  std::string rule_;
  std::string reason_;
};

/// Thread-safe. What it throws is a denial.
class Authorizer {
 public:
  Authorizer() = default;
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;
  virtual ~Authorizer();

  [[nodiscard]] virtual Decision authorize(const Request& request) const = 0;
};

/// One of a list of rules. `effect` and `flow` are patterns: `*` stands for any text.
struct Rule {
  enum class Verdict : std::uint8_t { deny, allow };

  std::string name;
  std::string effect = "*";
  std::string flow = "*";
  std::vector<std::pair<std::string, std::string>> annotations;  ///< each must be there with a value of this pattern
  Verdict verdict = Verdict::deny;
  std::string reason;
};

[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text) noexcept;

/// The first rule that matches decides; where none does the effect is denied by the rule "default".
class RuleAuthorizer final : public Authorizer {
 public:
  explicit RuleAuthorizer(std::vector<Rule> rules) : rules_(std::move(rules)) {}
  [[nodiscard]] Decision authorize(const Request& request) const override;

 private:
  const std::vector<Rule> rules_;
};

/// Asks a function of the application's. One that is empty denies.
class CallbackAuthorizer final : public Authorizer {
 public:
  using Callback = std::function<Decision(const Request&)>;
  explicit CallbackAuthorizer(Callback callback) : callback_(std::move(callback)) {}
  [[nodiscard]] Decision authorize(const Request& request) const override;

 private:
  const Callback callback_;
};

/// Allows what each of them allows, asked in turn; the first denial stands. An empty list denies.
class EveryAuthorizer final : public Authorizer {
 public:
  explicit EveryAuthorizer(std::vector<std::shared_ptr<const Authorizer>> authorizers)
      : authorizers_(std::move(authorizers)) {}
  [[nodiscard]] Decision authorize(const Request& request) const override;

 private:
  const std::vector<std::shared_ptr<const Authorizer>> authorizers_;
};

}  // namespace heddle::effect
