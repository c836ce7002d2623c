#include "pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::effect {
namespace {

bool found(std::string_view pattern, std::string_view text) { return Pattern::compile(pattern).value().found_in(text); }

std::string refusal(std::string_view pattern) {
  const auto compiled = Pattern::compile(pattern);
  return compiled.ok() ? "" : compiled.error().context;
}

struct Row {
  std::string pattern;
  std::vector<std::string> yes;
  std::vector<std::string> no;
};

// SBX-23: ECMAScript's answers (checked against a browser's engine with the flag u where it takes the pattern).
TEST(Pattern, AnswersAsEcmaScriptDoes) {
  const std::vector<Row> rows{
      {"", {"", "a"}, {}},
      {"^a$", {"a"}, {"a\n", "ba", "a\nb", "b\na"}},
      {"b", {"abc"}, {"ac"}},
      {"^.$", {"x", "\u00e9", "\U0001F600", "\t"}, {"\n", "\r", "\u2028", "\u2029", "", "xy"}},
      {R"(^\d+$)", {"123"}, {"\u0967", "1a", ""}},
      {R"(^\D$)", {"a", "\u0967"}, {"1"}},
      {R"(^\w+$)", {"aZ_9"}, {"\u00e9", "-"}},
      {R"(^\W$)", {"-", "\u00e9", "\u017f"}, {"_"}},
      {R"(^\s$)", {" ", "\t", "\v", "\u00a0", "\u3000", "\ufeff", "\u2028"}, {"\u200b", "x"}},
      {R"(^\S$)", {"x", "\u200b"}, {" ", "\u00a0"}},
      {R"(^[^\S\n]$)", {" ", "\u00a0"}, {"\n", "x"}},
      {R"(^[\s\S]$)", {" ", "x", "\n"}, {""}},
      {R"(^[\d\-_.]+$)", {"1-2_3."}, {"a"}},
      {R"(^[\w-.]+$)", {"a-b.c"}, {"a b"}},
      {R"(^[a-c\]]$)", {"b", "]"}, {"d", "\\"}},
      {R"(^[^a-c]$)", {"d", "\n", "\U0001F600"}, {"b"}},
      {R"(^[-a]$)", {"-", "a"}, {"b"}},
      {R"(^[a-]$)", {"-", "a"}, {"b"}},
      {R"(^[\b]$)", {"\b"}, {"b"}},
      {R"([])", {}, {"", "a", "]"}},
      {R"(^[^]$)", {"a", "\n"}, {"", "ab"}},
      {R"(^[(|)*+?{}$^.]+$)", {"(|)*+?{}$^."}, {"a"}},
      {R"(\bcat\b)", {"a cat", "cat", "\u00e9cat"}, {"concat", "cats"}},
      {R"(\Bcat)", {"concat"}, {"cat", "a cat"}},
      {R"(^\t\n\v\f\r\0$)", {std::string("\t\n\v\f\r\0", 6)}, {"tnvfr0"}},
      {R"(^\cA\cz$)", {"\x01\x1a"}, {"cAcz"}},
      {R"(^\x41\u0042\u{1F600}\ud83d\ude00$)", {"AB\U0001F600\U0001F600"}, {"AB"}},
      {R"(^\/\.\-\$\"\ $)", {"/.-$\" "}, {"x"}},
      {"^\u00e9+$", {"\u00e9\u00e9"}, {"\u00e9e"}},
      {"^[\u00e0-\u00ff]$", {"\u00e9"}, {"a"}},
      {"^[\U0001F600-\U0001F64F]$", {"\U0001F601"}, {"a"}},
      {R"(^\p{Lu}\p{L}+$)", {"\u00c9t\u00e9"}, {"\u00e9t", "A1"}},
      {R"(^[\p{Nd}\P{L}]$)", {"1", "-"}, {"a"}},
      {"^(a|b)*$", {"", "abba"}, {"abc"}},
      {"^(?:a|)$", {"", "a"}, {"b"}},
      {"^a|b$", {"ax", "xb"}, {"xa"}},
      {"^(?<year>\\d{4})$", {"2024"}, {"24"}},
      {"^a{2}$", {"aa"}, {"a", "aaa"}},
      {"^a{2,}$", {"aa", "aaaa"}, {"a"}},
      {"^a{1,3}?$", {"a", "aaa"}, {"aaaa"}},
      {"^a+?b*?c??$", {"aabbc"}, {"bc"}},
      {"^{a}$", {"{a}"}, {"a"}},
      {"^x{,3}$", {"x{,3}"}, {"xx"}},
      {"^x{a$", {"x{a"}, {"x"}},
      {"a]", {"a]"}, {"a"}},
      {"^(a+)+$", {"aaa"}, {"aaab"}},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(refusal(row.pattern), "") << row.pattern;
    for (const std::string& text : row.yes) EXPECT_TRUE(found(row.pattern, text)) << row.pattern << " in " << text;
    for (const std::string& text : row.no) EXPECT_FALSE(found(row.pattern, text)) << row.pattern << " in " << text;
  }
}

// SBX-23: what would need to backtrack, or be understood otherwise, is refused with the place.
TEST(Pattern, RefusesTheRestByName) {
  for (const std::string_view bad : {"a(?=b)",
                                     "a(?!b)",
                                     "(?<=a)b",
                                     "(?<!a)b",
                                     R"((a)\1)",
                                     R"((?<n>a)\k<n>)",
                                     R"(\01)",
                                     R"(a\)",
                                     R"(\a)",
                                     R"(\e)",
                                     R"(\A)",
                                     R"(\z)",
                                     R"(\Z)",
                                     R"(\Q)",
                                     R"(\C)",
                                     R"(\h)",
                                     R"(\R)",
                                     R"(\u12)",
                                     R"(\u{110000})",
                                     R"(\u{})",
                                     R"(\ud800)",
                                     R"(\ude00\ud83d)",
                                     R"(\x1)",
                                     R"(\c1)",
                                     R"([\c])",
                                     R"(\p{Greek})",
                                     R"(\p{Script=Greek})",
                                     R"(\pL)",
                                     R"(\p{C})",
                                     R"(\p{})",
                                     "(?i)a",
                                     "(?i:a)",
                                     "(?P<n>a)",
                                     "(?>a)",
                                     "(?<1>a)",
                                     "(?<n",
                                     "(?",
                                     "[[:alpha:]]",
                                     "[[.a.]]",
                                     "[[=a=]]",
                                     "[b-a]",
                                     "[a",
                                     "[a-",
                                     "[",
                                     "(",
                                     "(a",
                                     ")",
                                     "a)",
                                     "*",
                                     "+a",
                                     "?",
                                     "a**",
                                     "a+*",
                                     "a{1}{2}",
                                     "a{1}*",
                                     "^*",
                                     "$+",
                                     R"(\b+)",
                                     "(*)",
                                     "|*",
                                     "{1}",
                                     "a{2,1}",
                                     "a{1001}",
                                     "a{99999}",
                                     "(a{100}){100}",
                                     "\xff",
                                     "\xc3"}) {
    const std::string why = refusal(bad);
    EXPECT_NE(why, "") << bad;
    EXPECT_NE(why.find("the regular expression "), std::string::npos) << bad << ": " << why;
  }
  EXPECT_NE(refusal("ab(?=c)").find("ab(?=c) looks ahead or behind"), std::string::npos) << refusal("ab(?=c)");
  EXPECT_NE(refusal("ab(?=c)").find("at byte 3"), std::string::npos) << refusal("ab(?=c)");
}

// SBX-23: neither a pattern's length nor what it becomes costs more than its bound.
TEST(Pattern, BoundsWhatAPatternCosts) {
  EXPECT_EQ(refusal(std::string(Pattern::kMaxBytes, 'a')), "");
  EXPECT_NE(refusal(std::string(Pattern::kMaxBytes + 1, 'a')), "");
  EXPECT_EQ(refusal("^.{0,255}$"), "");
  EXPECT_NE(refusal(R"(^[\p{L}\p{N}\p{P}]{1000}[\p{L}\p{N}\p{P}]{1000}$)").find("too large"), std::string::npos);
}

}  // namespace
}  // namespace heddle::effect
