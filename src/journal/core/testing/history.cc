#include "testing/history.h"

#include <random>

#include "heddle/journal/core/facts.h"

namespace heddle::journal::testing {

std::vector<Draft> history(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<Draft> drafts;
  drafts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string flow = "flow \xC3\xA9 " + std::to_string(random() % 4);
    const std::string key = "step/" + std::to_string(random() % 9) + "\n\"";
    const EffectRef ref{flow, key, random() % 2 == 0 ? "sandboxEval" : "fetch", 1 + static_cast<unsigned>(i % 3)};
    const std::string value = random() % 8 == 0 ? '"' + std::string(9000, 'v') + '"' : "[" + std::to_string(i) + "]";
    switch (random() % 14) {
      case 0:
        drafts.push_back(flow_started(flow, "nightly", value));
        break;
      case 1:
        drafts.push_back(flow_ended(flow, static_cast<Ending>(random() % 4), "channel", "message", value));
        break;
      case 2:
      case 3:
      case 4:
        drafts.push_back(intent(ref, static_cast<Repeatable>(random() % 2), {{"a", "b"}}, value));
        break;
      case 5:
      case 6:
        drafts.push_back(outcome_success(ref, value));
        break;
      case 7:
        drafts.push_back(outcome_failure(ref, "scriptError", "it threw", "{}"));
        break;
      case 8:
        drafts.push_back(random() % 2 == 0 ? outcome_error(ref, "gone", Repeatable::yes)
                                           : outcome_cancelled(ref, "stopped"));
        break;
      case 9:
        drafts.push_back(effect_denied(ref, "deny-all", "not allowed"));
        break;
      case 10:
        drafts.push_back(egress_denied(ref, "evil.test", 443, "", "allow-list", "not listed"));
        break;
      case 11:
        drafts.push_back(access_denied(ref, "openat", "/etc/passwd", "landlock"));
        break;
      case 12:
        drafts.push_back(jail_applied(ref, R"({"landlock":6})"));
        break;
      default:
        drafts.push_back(resolved(ref, static_cast<Resolution>(random() % 3), "operator", "looked", value));
        break;
    }
  }
  return drafts;
}

std::vector<Fact> facts_of(const std::vector<Draft>& drafts) {
  std::vector<Fact> facts;
  facts.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    Fact fact;
    fact.schema = kSchema;
    fact.sequence = facts.size() + 1;
    fact.flow = draft.flow;
    fact.effect = draft.effect;
    fact.kind = draft.kind;
    fact.kind_text = kind_name(draft.kind);
    fact.payload = draft.payload;
    if (draft.body) fact.body = Body{core::sha256(*draft.body), *draft.body};
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace heddle::journal::testing
