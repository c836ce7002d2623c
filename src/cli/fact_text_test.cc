#include "fact_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "heddle/core/json.h"
#include "heddle/core/text.h"
#include "heddle/journal/core/facts.h"
#include "wrap.h"

namespace heddle::cli {
namespace {

using namespace journal;  // NOLINT(google-build-using-namespace): all of what is shown is from there

Fact fact_of(const Draft& draft, std::uint64_t sequence = 1) {
  Fact fact;
  fact.schema = kSchema;
  fact.sequence = sequence;
  fact.ordinal = sequence;
  fact.time = Time(std::chrono::microseconds(1'700'000'000'123'456));
  fact.flow = draft.flow;
  fact.effect = draft.effect;
  fact.kind = draft.kind;
  fact.kind_text = kind_name(draft.kind);
  fact.payload = draft.payload;
  if (draft.body) fact.body = Body{core::sha256(*draft.body), *draft.body};
  return fact;
}

std::vector<Draft> of_every_kind(std::string_view text) {
  const EffectRef ref{text.size() > 100 ? "flow" : text, "key", text, 2};
  return {flow_started(ref.flow, text, "{\"a\":1}"),
          flow_ended(ref.flow, Ending::failure, text, text, "[1]"),
          intent(ref, Repeatable::no, {{std::string(text), std::string(text)}}, "{}"),
          outcome_success(ref, "[\"\xE6\x97\xA5\"]"),
          outcome_failure(ref, text, text, "{}"),
          outcome_error(ref, text, Repeatable::yes),
          outcome_cancelled(ref, text),
          effect_denied(ref, text, text),
          egress_denied(ref, text, 443, text, text, text),
          access_denied(ref, text, text, text),
          jail_applied(ref, "{}"),
          resolved(ref, Resolution::failure, text, text, {}),
          {"", "", Kind::snapshot, R"({"fold":1,"upto":9})", "{}"}};
}

// JRN-7
TEST(FactText, SaysWhatHappened) {
  const EffectRef ref{"nightly", "clean/1", "sandboxEval", 2};
  EXPECT_EQ(fact_text(fact_of(outcome_failure(ref, "scriptError", "x is not defined", "{}"), 12), Colour::no),
            "    12  2023-11-14 22:13:20.123  OUTCOME        nightly  clean/1\n"
            "        sandboxEval attempt 2 failure scriptError: x is not defined detail {}\n");
  EXPECT_EQ(fact_text(fact_of(access_denied(ref, "openat", "/etc/passwd", "landlock")), Colour::no),
            "     1  2023-11-14 22:13:20.123  ACCESS_DENIED  nightly  clean/1\n"
            "        sandboxEval attempt 2 refused by the kernel: openat /etc/passwd, rule\n"
            "        landlock\n");
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string started = fact_text(fact_of(intent(ref, Repeatable::no, {{"script", digest}}, "1")), Colour::no);
  EXPECT_NE(started.find("script=sha256:aaaaaaaaaaaa…\n"), std::string::npos) << started;
  Fact newer = fact_of(flow_started("f", "n", "1"));
  newer.kind = Kind::unknown;
  newer.kind_text = "TELEPORTED";
  newer.schema = {1, 7, 0};
  EXPECT_NE(fact_text(newer, Colour::no).find("TELEPORTED"), std::string::npos);
  EXPECT_NE(fact_text(newer, Colour::no).find("schema 1.7.0"), std::string::npos);
  EXPECT_NE(fact_text(newer, Colour::yes).find("\x1B[33mTELEPORTED"), std::string::npos);
}

// JRN-4, JRN-7: whatever a guest said, no line is over 80 columns, none holds a control character, and JSON is JSON.
TEST(FactText, HoldsForAnyText) {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same texts every time
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (auto left = random() % 300; left > 0; --left) {
      text += random() % 3 == 0 ? static_cast<char>(random() % 256) : static_cast<char>(' ' + random() % 95);
    }
    if (round == 0)
      text =
          "\x1B]0;owned\x07\xE2\x80\xAE\xC2\x9B"
          "2J\xFF\xED\xA0\x80";
    State state;
    std::uint64_t sequence = 0;
    for (const Draft& draft : of_every_kind(core::bound_text(text, 500))) {
      const Fact fact = fact_of(draft, ++sequence);
      const std::string shown = fact_text(fact, Colour::no);
      for (std::size_t at = 0; at < shown.size();) {
        const std::size_t end = shown.find('\n', at);
        ASSERT_NE(end, std::string::npos);
        const std::string line = shown.substr(at, end - at);
        ASSERT_LE(columns_of(line), kTerminalColumns) << line;
        ASSERT_EQ(core::printable_line(line), line);
        at = end + 1;
      }
      ASSERT_TRUE(core::is_json_object(fact_json(fact))) << fact_json(fact);
      ASSERT_EQ(fact_json(fact).find('\n'), std::string::npos);
      apply(state, fact);
    }
    for (const auto& [id, flow] : state.flows) {
      ASSERT_TRUE(core::is_json_object(flow_json(id, flow, {{1, "[\n1]"}}))) << flow_json(id, flow, {});
      const std::string shown = flow_text(id, flow, Colour::no);
      ASSERT_EQ(shown.find('\x1B'), std::string::npos);
    }
  }
}

TEST(FactText, JsonHasAllOfAFact) {
  Fact fact = fact_of(intent({"f", "k", "e", 1}, Repeatable::yes, {}, "{\"b\" :\n1e400,\"b\":\"\\ud800\"}"), 3);
  const std::string json = fact_json(fact);
  EXPECT_EQ(json.substr(0, json.find(",\"bodyDigest")),
            R"({"sequence":3,"ordinal":3,"time":"2023-11-14T22:13:20.123456Z","schema":"1.1.0","flow":"f",)"
            R"("effect":"k","kind":"INTENT","payload":{"effect":"e","attempt":1,"repeatable":true})");
  EXPECT_NE(json.find(R"("body":{"b" : 1e400,"b":"\ud800"},"checksum":"0000)"), std::string::npos) << json;
}

TEST(FlowText, SaysWhereAFlowStands) {
  State state;
  std::uint64_t sequence = 0;
  const EffectRef one{"f", "one", "sandboxEval", 1};
  const EffectRef two{"f", "two", "sandboxEval", 1};
  for (const Draft& draft :
       {flow_started("f", "report", "1"), intent(one, Repeatable::no, {}, "2"), outcome_success(one, "3"),
        access_denied(one, "openat", "/", "landlock"), intent(two, Repeatable::no, {}, "4")}) {
    apply(state, fact_of(draft, ++sequence));
  }
  const FlowState& flow = state.flows.at("f");
  EXPECT_EQ(flow_text("f", flow, Colour::no),
            "flow      f\n"
            "name      report\n"
            "started   fact 1\n"
            "ended     not yet\n"
            "denials   0 by the host, 0 of a connection, 1 by the kernel; the newest is fact\n"
            "          4\n"
            "\n"
            "phase      attempts      fact  effect and key\n"
            "succeeded         1         3  sandboxEval one\n"
            "begun             1         5  sandboxEval two\n"
            "\n"
            "begun: it is running, or in doubt if nobody runs it.\n");
  const auto json = nlohmann::json::parse(flow_json("f", flow, {{1, "1"}, {2, "2"}, {3, "3"}, {5, "4"}}));
  EXPECT_EQ(json["input"], 1);
  EXPECT_EQ(json["effects"][0]["output"], 3);
  EXPECT_EQ(json["effects"][1]["phase"], "begun");
  EXPECT_FALSE(json["effects"][1].contains("output"));
}

// JRN-7: a run whose process died leaves effects begun; once another run has taken the flow up they are not running.
TEST(FlowText, SaysWhatATakenOverRunLeftBehind) {
  State state;
  std::uint64_t sequence = 0;
  const auto add = [&](const Draft& draft) { apply(state, fact_of(draft, ++sequence)); };
  const EffectRef again{"f", "1.1", "sandboxEval", 1};
  const EffectRef stray{"f", "1.2", "sandboxEval", 1};
  const EffectRef once{"f", "1.3", "mail", 1};
  add(flow_started("f", "report", "1"));
  add(intent(again, Repeatable::yes, {}, "2"));
  add(intent(stray, Repeatable::yes, {}, "3"));
  add(intent(once, Repeatable::no, {}, "4"));
  EXPECT_NE(flow_text("f", state.flows.at("f"), Colour::no).find("begun             1         3"), std::string::npos);
  add(flow_started("f", "report", "1"));
  add(intent(again, Repeatable::yes, {}, "2"));
  const std::string text = flow_text("f", state.flows.at("f"), Colour::no);
  EXPECT_EQ(text.substr(text.find("phase")),
            "phase      attempts      fact  effect and key\n"
            "begun             2         6  sandboxEval 1.1\n"
            "abandoned         1         3  sandboxEval 1.2\n"
            "in doubt          1         4  mail 1.3\n"
            "\n"
            "begun: it is running, or in doubt if nobody runs it.\n"
            "abandoned: begun by a run that the one of fact 5 has taken over, which has not\n"
            "           asked for it again.\n"
            "in doubt: begun by a run that the one of fact 5 has taken over; nobody knows\n"
            "          whether it was done, and it is not repeatable.\n");
  const auto json = nlohmann::json::parse(flow_json("f", state.flows.at("f"), {}));
  EXPECT_EQ(json["effects"][1]["phase"], "abandoned");
  EXPECT_EQ(json["effects"][2]["phase"], "in doubt");
}

}  // namespace
}  // namespace heddle::cli
