#include "heddle/effect/schema/json_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace heddle::effect {
namespace {

std::string round_trip(std::string_view text) {
  const CompactJson result = compact_json(text);
  EXPECT_EQ(result.verdict, JsonVerdict::good) << text;
  return result.text;
}

// SBX-15
TEST(CompactJson, IsTheRoundTrip) {
  EXPECT_EQ(round_trip(" { \"b\" : [ 1 , 2.50 , -0 , 1E2 , [ ] , { } ] , \"a\" : null , \"t\" : true } "),
            R"({"b":[1,2.5,0,100,[],{}],"a":null,"t":true})");
  EXPECT_EQ(round_trip("[9007199254740993,-9223372036854775808,18446744073709551615]"),
            "[9007199254740993,-9223372036854775808,18446744073709551615]");
  EXPECT_EQ(round_trip("12345678901234567890123"), "1.2345678901234568e+22");
  EXPECT_EQ(round_trip("[-0.0,-0e9,18446744073709551616,-9223372036854775809]"),
            "[0,0,18446744073709552000,-9223372036854776000]");
  EXPECT_EQ(round_trip("\"\\u00e9\\/\\u0000\\t\\u001f\\ud83d\\ude00\""), "\"\u00e9/\\u0000\\t\\u001f\U0001F600\"");
}

// SBX-15: as JSON.parse, of members with one name the last value at the place of the first, however it is spelt.
TEST(CompactJson, KeepsTheLastOfRepeatedNames) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":{"x":1,"x":2},"\u0061":3,"c":4,"a":[5]})"), R"({"a":[5],"b":{"x":2},"c":4})");
  EXPECT_TRUE(compact_json(R"([{"a":1,"a":1}])").repeated_names);
  EXPECT_FALSE(compact_json(R"([{"a":1},{"a":1}])").repeated_names);
}

std::string random_json(std::mt19937& random, int depth) {
  const auto below = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most - 1)(random); };
  if (depth == 0 || below(4) == 0) return std::to_string(below(100));
  const bool object = below(3) != 0;
  std::string text(1, object ? '{' : '[');
  const unsigned count = below(6);
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    if (object) text += "\"" + std::string(1, static_cast<char>('a' + below(3))) + "\":";
    text += random_json(random, depth - 1);
  }
  return text + (object ? '}' : ']');
}

// SBX-15: repeated names within what stays, within what goes, and in values that are moved: as another parser that
// keeps the order has it.
TEST(CompactJson, KeepsTheLastOfRepeatedNamesAtAnyDepth) {
  std::mt19937 random(7);
  for (int i = 0; i < 5'000; ++i) {
    const std::string text = random_json(random, 5);
    EXPECT_EQ(round_trip(text), nlohmann::ordered_json::parse(text).dump()) << text;
  }
}

// SBX-23: what is moved is moved once, however many levels it lies under: 1000 times 16 MiB would take many seconds.
TEST(CompactJson, MovesWhatStaysOnce) {
  std::string text = "\"" + std::string(16 << 20, 'x') + "\"";
  std::string front;
  for (int i = 0; i < 999; ++i) front += R"({"a":1,"a":)";
  const std::string value = front + text + std::string(999, '}');
  std::string wanted;
  for (int i = 0; i < 999; ++i) wanted += R"({"a":)";
  wanted += text + std::string(999, '}');
  const CompactJson result = compact_json(value);
  EXPECT_TRUE(result.text == wanted);
  EXPECT_TRUE(result.repeated_names);
}

// SBX-15: what is too small for a double is 0, whatever way it is written; what is too large is no value.
TEST(CompactJson, TellsNumbersThatAreTooSmallFromThoseThatAreTooLarge) {
  const std::string zeros(400, '0');
  EXPECT_EQ(round_trip("[1e-400,-1e-400,0." + zeros + "1,0e400,5e-324,1e-99999999999999999999]"), "[0,0,0,0,5e-324,0]");
  EXPECT_EQ(round_trip("0." + zeros + "1e405"), "10000");
  EXPECT_EQ(round_trip("1" + zeros + "e-400"), "1");
  EXPECT_EQ(round_trip("0.0e99999999999999999999"), "0");
  for (const std::string& large : {"1" + zeros, std::string("1e309"), std::string("-1e99999999999999999999"),
                                   "0." + zeros + "1e800", "0.1" + zeros + "e400"}) {
    const CompactJson result = compact_json(large);
    EXPECT_EQ(result.verdict, JsonVerdict::malformed) << large;
    EXPECT_NE(result.why.find("more than a double holds"), std::string::npos) << result.why;
  }
}

// JRN-4, SBX-15: a lone surrogate is replaced, a pair is not, an escaped backslash before a u is no escape.
TEST(CompactJson, ReplacesLoneSurrogates) {
  EXPECT_EQ(round_trip(R"("a\ud800b")"), "\"a\uFFFDb\"");
  EXPECT_EQ(round_trip(R"("\udc00\ud83d\ude00\ud83d")"), "\"\uFFFD\U0001F600\uFFFD\"");
  EXPECT_EQ(round_trip(R"("\ud800\ud800\udc00")"), "\"\uFFFD\U00010000\"");
  EXPECT_EQ(round_trip(R"("\\ud800")"), R"("\\ud800")");
  EXPECT_EQ(round_trip(R"({"\ud800":1,"\ud801":2})"), "{\"\uFFFD\":2}");
}

// SBX-5, SBX-12
TEST(CompactJson, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "NaN",
                                      "Infinity",
                                      "undefined",
                                      "{a:1}",
                                      "[1,]",
                                      "01",
                                      "+1",
                                      "1 2",
                                      "'a'",
                                      "\"a\nb\"",
                                      "[1",
                                      "\"",
                                      "1e400",
                                      "-1e400",
                                      "\"\\u12\"",
                                      "\"\\x\"",
                                      "\xEF\xBB\xBF{}",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xFF\"",
                                      "// c\n1",
                                      "nul"}) {
    const CompactJson result = compact_json(text);
    EXPECT_EQ(result.verdict, JsonVerdict::malformed) << text;
    EXPECT_NE(result.why, "") << text;
    EXPECT_EQ(result.text, "");
  }
}

// SBX-14: the ceiling is on the compact text, to the byte; only well-formed text is too large.
TEST(CompactJson, HoldsItsCeilingToTheByte) {
  EXPECT_EQ(compact_json(" [ 1 , 2 ] ", 5).verdict, JsonVerdict::good);
  EXPECT_EQ(compact_json("[1,23]", 5).verdict, JsonVerdict::too_large);
  const std::string big = "[\"" + std::string(10'000, 'x') + "\",1";
  EXPECT_EQ(compact_json(big + "]", 5).verdict, JsonVerdict::too_large);
  EXPECT_EQ(compact_json(big, 5).verdict, JsonVerdict::malformed);
}

// SBX-14: nothing that works on values recursively gets one to overflow on.
TEST(CompactJson, BoundsNesting) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(compact_json(nested(core::kMaxJsonDepth)).verdict, JsonVerdict::good);
  EXPECT_EQ(compact_json(nested(core::kMaxJsonDepth + 1)).verdict, JsonVerdict::too_deep);
  EXPECT_EQ(compact_json(nested(2'000'000)).verdict, JsonVerdict::too_deep);
  EXPECT_EQ(compact_json(std::string(2'000'000, '[')).verdict, JsonVerdict::malformed);
}

TEST(SplitObject, GivesMembersAsText) {
  const auto members = split_object(R"( {"a" : [1, 2], "b\n" : {"c" : "}"} } )").value();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[0].value, "[1,2]");
  EXPECT_EQ(members[1].name, "b\n");
  EXPECT_EQ(members[1].value, R"({"c":"}"})");
  EXPECT_TRUE(split_object("{}").value().empty());
  for (const std::string_view bad : {"[]", "1", R"({"a":1,"a":2})", "{", R"([{"a":1}])"}) {
    EXPECT_FALSE(split_object(bad).ok()) << bad;
  }
}

// SBX-14: appendix B of RFC 8785, and the borders between ECMAScript's notations.
TEST(EcmascriptNumber, IsRfc8785) {
  const auto of_bits = [](std::uint64_t bits) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return ecmascript_number(value);
  };
  EXPECT_EQ(of_bits(0x0000000000000000), "0");
  EXPECT_EQ(of_bits(0x8000000000000000), "0");
  EXPECT_EQ(of_bits(0x0000000000000001), "5e-324");
  EXPECT_EQ(of_bits(0x8000000000000001), "-5e-324");
  EXPECT_EQ(of_bits(0x7fefffffffffffff), "1.7976931348623157e+308");
  EXPECT_EQ(of_bits(0xffefffffffffffff), "-1.7976931348623157e+308");
  EXPECT_EQ(of_bits(0x4340000000000000), "9007199254740992");
  EXPECT_EQ(of_bits(0xc340000000000000), "-9007199254740992");
  EXPECT_EQ(of_bits(0x4430000000000000), "295147905179352830000");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af5), "9.999999999999997e+22");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af6), "1e+23");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af7), "1.0000000000000001e+23");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef4e), "999999999999999700000");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef4f), "999999999999999900000");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef50), "1e+21");
  EXPECT_EQ(of_bits(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7");
  EXPECT_EQ(of_bits(0x3eb0c6f7a0b5ed8d), "0.000001");
  EXPECT_EQ(of_bits(0x41b3de4355555553), "333333333.3333332");
  EXPECT_EQ(of_bits(0x41b3de4355555554), "333333333.33333325");
  EXPECT_EQ(of_bits(0x41b3de4355555555), "333333333.3333333");
  EXPECT_EQ(of_bits(0x41b3de4355555556), "333333333.3333334");
  EXPECT_EQ(of_bits(0x41b3de4355555557), "333333333.33333343");
  EXPECT_EQ(of_bits(0xbecbf647612f3696), "-0.0000033333333333333333");
  EXPECT_EQ(of_bits(0x43143ff3c1cb0959), "1424953923781206.2");
}

}  // namespace
}  // namespace heddle::effect
