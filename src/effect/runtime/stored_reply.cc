#include <nlohmann/json.hpp>

#include "heddle/effect/runtime/channels.h"
#include "heddle/journal/core/facts.h"
#include "history.h"
#include "runtime_impl.h"

namespace heddle::effect {
namespace {

using nlohmann::json;

std::string member(const json& payload, const char* name) {
  if (!payload.is_object()) return {};
  const auto found = payload.find(name);
  return found != payload.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string body_of(const journal::Fact& fact, const char* otherwise) {
  return fact.body ? fact.body->text : std::string(otherwise);
}

Reply<std::string> ending_of(const journal::Fact& fact, const json& payload) {
  const std::string message = member(payload, "message");
  const auto ending = journal::ending_from(member(payload, "status"));
  if (ending == journal::Ending::success) return body_of(fact, "null");
  if (ending == journal::Ending::failure) return TypedFailure{member(payload, "channel"), body_of(fact, "{}"), message};
  if (ending == journal::Ending::cancelled) return Cancelled{message};
  const auto retry = payload.is_object() ? payload.find("retry") : payload.end();
  return untyped(message, retry != payload.end() && *retry == true ? Retry::yes : Retry::no);
}

}  // namespace

Reply<std::string> reply_of(const journal::Fact& fact) {
  const json payload = json::parse(fact.payload, nullptr, false);
  switch (fact.kind) {
    case journal::Kind::effect_denied: {
      const std::string rule = member(payload, "rule");
      const std::string reason = member(payload, "reason");
      return denied_reply(rule, reason);
    }
    case journal::Kind::resolved: {
      if (member(payload, "resolution") == journal::resolution_name(journal::Resolution::success)) {
        return body_of(fact, "null");
      }
      const std::string by = member(payload, "by");
      const std::string reason = member(payload, "reason");
      return TypedFailure{std::string(kResolvedAsFailed), detail({{"by", by}, {"reason", reason}}), reason};
    }
    default:
      return ending_of(fact, payload);
  }
}

}  // namespace heddle::effect
