#include "heddle/wire/message.h"

#include <gtest/gtest.h>

namespace heddle::wire {
namespace {

using core::Errc;

TEST(Message, RoundTrips) {
  const std::string text =
      Message("run").set("id", 7U).set("name", "h\xC3\xA9 \"\n").set("last", true).set("big", UINT64_MAX).text();
  Message message = Message::parse(text).value();
  EXPECT_EQ(message.op(), "run");
  EXPECT_EQ(message.take_number("id").value(), 7U);
  EXPECT_EQ(message.take_string("name").value(), "h\xC3\xA9 \"\n");
  EXPECT_EQ(message.take_bool("last").value(), true);
  EXPECT_EQ(message.take_number("big").value(), UINT64_MAX);
  EXPECT_TRUE(message.finish().ok());
}

// WIRE-1, WIRE-2: strict JSON; each of these ends the guest that sent it.
TEST(Message, RefusesWhatIsNotOneFlatObject) {
  const char* bad[] = {"",
                       "{",
                       "null",
                       "7",
                       "\"op\"",
                       "[]",
                       "{}",
                       R"({"op":7})",
                       R"({"op":"a"} x)",
                       R"({"op":"a"}{"op":"b"})",
                       R"({"op":"a","n":-1})",
                       R"({"op":"a","n":1.5})",
                       R"({"op":"a","n":1e400})",
                       R"({"op":"a","n":18446744073709551616})",
                       R"({"op":"a","n":null})",
                       R"({"op":"a","n":[]})",
                       R"({"op":"a","n":{"op":"b"}})",
                       R"({"op":"a","op":"b"})",
                       R"({"op":"a","n":1,"n":1})",
                       R"({"op":"a",})",
                       R"({"op":"a","s":"\ud800"})",
                       R"({op:"a"})",
                       "{\"op\":\"\xFF\"}",
                       "{\"op\":\"a\xC0\xAF\"}",
                       "{\"op\":\"a\nb\"}"};
  for (const char* text : bad) {
    const auto result = Message::parse(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, Errc::protocol) << text;
  }
  EXPECT_FALSE(Message::parse(std::string_view("{\"op\":\"a\"}\0{}", 13)).ok());
  EXPECT_FALSE(Message::parse(std::string_view("{\"op\":\"a\"}\0", 11)).ok());
  EXPECT_FALSE(Message::parse("\xEF\xBB\xBF{\"op\":\"a\"}").ok());
  std::string many = R"({"op":"a")";
  for (int i = 0; i < 100; ++i) many += ",\"f" + std::to_string(i) + "\":1";
  EXPECT_FALSE(Message::parse(many + "}").ok());
  EXPECT_FALSE(Message::parse(std::string(60000, '[')).ok());
}

// WIRE-2
TEST(Message, RefusesUnknownMissingAndMistypedFields) {
  Message message = Message::parse(R"({"op":"a","n":300,"s":"x"})").value();
  EXPECT_NE(message.take_number("m").error().context.find("\"m\""), std::string::npos);
  EXPECT_FALSE(message.take_string("n").ok());
  EXPECT_FALSE(message.take_bool("s").ok());
  EXPECT_NE(message.take_number("n", 255).error().context.find("over 255"), std::string::npos);
  EXPECT_TRUE(message.take_string("s").ok());
  EXPECT_NE(message.finish().error().context.find("\"n\""), std::string::npos);
}

using MessageDeathTest = ::testing::Test;

TEST(MessageDeathTest, SendersBoundTheirTextFirst) { EXPECT_DEATH(Message("a").set("s", "\xFF"), "internal error"); }

}  // namespace
}  // namespace heddle::wire
