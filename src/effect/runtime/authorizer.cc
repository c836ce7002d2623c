#include "heddle/effect/runtime/authorizer.h"

#include <algorithm>
#include <exception>

namespace heddle::effect {
namespace {

bool has(const Annotations& annotations, std::string_view name, std::string_view pattern) {
  return std::any_of(annotations.begin(), annotations.end(), [&](const auto& annotation) {
    return annotation.first == name && matches_pattern(pattern, annotation.second);
  });
}

bool applies(const Rule& rule, const Request& request) {
  return matches_pattern(rule.effect, request.effect) && matches_pattern(rule.flow, request.flow) &&
         std::all_of(rule.annotations.begin(), rule.annotations.end(),
                     [&](const auto& wanted) { return has(request.annotations, wanted.first, wanted.second); });
}

}  // namespace

Authorizer::~Authorizer() = default;

bool matches_pattern(std::string_view pattern, std::string_view text) noexcept {
  if (pattern == "*") return true;
  // Greedy with one point to come back to: linear in practice, never exponential.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Decision RuleAuthorizer::authorize(const Request& request) const {
  for (const Rule& rule : rules_) {
    if (!applies(rule, request)) continue;
    if (rule.verdict == Rule::Verdict::allow) return Decision::allow();
    return Decision::deny(rule.name, rule.reason.empty() ? "the policy denies it" : rule.reason);
  }
  return Decision::deny("default", "no rule of the policy allows it");
}

Decision CallbackAuthorizer::authorize(const Request& request) const {
  if (!callback_) return Decision::deny("callback", "there is nobody to ask");
  return callback_(request);
}

Decision EveryAuthorizer::authorize(const Request& request) const {
  if (authorizers_.empty()) return Decision::deny("default", "there is nobody to ask");
  for (const auto& authorizer : authorizers_) {
    if (authorizer == nullptr) return Decision::deny("default", "there is nobody to ask");
    Decision decision = authorizer->authorize(request);
    if (!decision.allowed()) return decision;
  }
  return Decision::allow();
}

}  // namespace heddle::effect
