#include "heddle/sandbox/conformance/fixtures.h"

#include <gtest/gtest.h>

namespace heddle::sandbox::conformance {
namespace {

const std::string kGood =
    R"({"language":"python","echo":"a","throws":"b","thrown_message":"c","throws_given":"d","syntax_error":"e",)"
    R"("runaway":["f","g"],"allocate":"h","allocation_bomb":"i","rich_value":"j","rich_built":{"x":1},)"
    R"("probes":{"network":{"n":"k"},"escape":{"m":"l"}},"stateful":"m","throws_vast":"n"})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  return text;
}

// CNF-4
TEST(Fixtures, AreReadFromJson) {
  const Fixtures fixtures = parse_fixtures(kGood).value();
  EXPECT_EQ(fixtures.language, "python");
  EXPECT_EQ(fixtures.rich_built, R"({"x":1})");
  EXPECT_EQ(fixtures.runaways, (std::vector<std::string>{"f", "g"}));
  ASSERT_EQ(fixtures.escape_probes.size(), 1U);
  EXPECT_EQ(fixtures.escape_probes[0].script, "l");
  EXPECT_EQ(parse_fixtures(with(R"(["f","g"])", R"("f")")).value().runaways, std::vector<std::string>{"f"});
  for (const std::string member :
       {"language", "echo", "throws_given", "runaway", "allocate", "rich_built", "probes", "stateful"}) {
    EXPECT_FALSE(parse_fixtures(with("\"" + member + "\"", "\"other\"")).ok()) << member;
  }
  EXPECT_FALSE(parse_fixtures("[]").ok());
}

// CNF-3: a network probe goes with an escape probe; what is empty proves nothing.
TEST(Fixtures, WantBothKindsOfProbes) {
  for (const std::string& bad :
       {with(R"("escape":{"m":"l"})", R"("escape":{})"), with(R"(,"escape":{"m":"l"})", ""),
        with(R"("network":{"n":"k"},)", ""), with(R"("escape":{"m":"l"})", R"("escape":{"m":"l"},"third":{"o":"p"})"),
        with(R"(["f","g"])", "[]"), with(R"(["f","g"])", R"(["f",""])"), with(R"(["f","g"])", R"(["f",1])")}) {
    EXPECT_FALSE(parse_fixtures(bad).ok()) << bad;
  }
}

// CNF-10: one text each time, which is what a record names by its address.
TEST(Fixtures, HaveOneText) {
  for (const Fixtures& fixtures : {parse_fixtures(kGood).value(), javascript_fixtures()}) {
    const std::string text = fixtures_json(fixtures);
    EXPECT_EQ(fixtures_json(parse_fixtures(text).value()), text);
  }
}

}  // namespace
}  // namespace heddle::sandbox::conformance
