#include "heddle/journal/core/facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

using Json = nlohmann::json;

constexpr EffectRef kRef{"flow", "key", "sandboxEval", 2};

TEST(Facts, HaveTheFieldsOfTheFormat) {
  const Draft denied = access_denied(kRef, "openat", "/etc/passwd", "landlock");
  EXPECT_EQ(denied.flow, "flow");
  EXPECT_EQ(denied.effect, "key");
  EXPECT_EQ(denied.kind, Kind::access_denied);
  EXPECT_EQ(denied.payload,
            R"({"effect":"sandboxEval","attempt":2,"syscall":"openat","object":"/etc/passwd","rule":"landlock"})");
  EXPECT_EQ(intent(kRef, Repeatable::yes, {{"script", "sha256:00"}}, "[1]").payload,
            R"({"effect":"sandboxEval","attempt":2,"repeatable":true,"annotations":{"script":"sha256:00"}})");
  EXPECT_EQ(outcome_error(kRef, "gone", Repeatable::no).payload,
            R"({"effect":"sandboxEval","attempt":2,"status":"error","message":"gone","retry":false})");
  EXPECT_EQ(flow_started("flow", "report", "null").payload, R"({"name":"report"})");
}

TEST(Facts, WordsReadBack) {
  for (const Ending ending : {Ending::success, Ending::failure, Ending::error, Ending::cancelled}) {
    EXPECT_EQ(ending_from(ending_name(ending)), ending);
  }
  for (const Resolution resolution : {Resolution::success, Resolution::failure, Resolution::run_again}) {
    EXPECT_EQ(resolution_from(resolution_name(resolution)), resolution);
  }
  EXPECT_FALSE(ending_from("done"));
}

// JRN-4: whatever bytes a guest sends as text, the fact is one that every store takes, and its text is bounded.
TEST(Facts, GuestTextIsAlwaysStorable) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same texts every time
  const std::string_view pieces[] = {
      std::string_view("\0", 1), "\xED\xA0\x80", "\xFF",         "\"",      "\\",      "\n",  "a",
      "\xF0\x9F\x98\x80",        "\xC3",         "\xE2\x82\xAC", "\\u0000", "\x1B[2J", "\x7F"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    const std::size_t length = round % 10 == 0 ? 5000 : random() % 40;
    while (text.size() < length) {
      text +=
          random() % 4 == 0 ? std::string(1, static_cast<char>(random() % 256)) : std::string(pieces[random() % 13]);
    }
    const EffectRef ref{"flow", "key", text, 1};
    for (const Draft& draft :
         {flow_started("flow", text, "{}"), flow_ended("flow", Ending::failure, text, text, {}),
          intent(ref, Repeatable::no, {{text, text}}, "{}"), outcome_failure(ref, text, text, "{}"),
          outcome_error(ref, text, Repeatable::yes), outcome_cancelled(ref, text), effect_denied(ref, text, text),
          egress_denied(ref, text, 443, text, text, text), access_denied(ref, text, text, text),
          jail_applied(ref, "{}"), resolved(ref, Resolution::failure, text, text, {})}) {
      const auto checked = check_draft(draft);
      ASSERT_TRUE(checked.ok()) << checked.error().message();
      const Json payload = Json::parse(draft.payload, nullptr, false);
      ASSERT_TRUE(payload.is_object());
      for (const auto& member : payload.items()) {
        if (!member.value().is_string()) continue;
        const auto stored = member.value().get<std::string>();
        EXPECT_LE(core::utf16_units(stored), core::kMaxGuestTextUnits);
        EXPECT_EQ(stored.find('\0'), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace heddle::journal
