#include "parcel.h"

#include <gtest/gtest.h>

namespace heddle::sandbox::plugin {
namespace {

spi::Outcome full_outcome() {
  spi::Outcome outcome = spi::Outcome::threw("TypeError", std::string("\xED\xA0\x80\0x", 5));
  outcome.value_json = "[1]";
  outcome.line = 7;
  outcome.column = 9;
  outcome.applied = {"landlock", ""};
  outcome.denials = {{"openat", "/etc/passwd", "seccomp"}};
  outcome.ended_by_denial = true;
  return outcome;
}

// CNF-10: nothing of an outcome is lost on its way, bytes that are no text among it.
TEST(Parcel, CarriesAnOutcome) {
  const auto outcome = unpack_outcome(pack_outcome(full_outcome())).value();
  EXPECT_EQ(pack_outcome(outcome), pack_outcome(full_outcome()));
  EXPECT_EQ(outcome.kind, spi::Outcome::Kind::threw);
  EXPECT_EQ(outcome.message, std::string("\xED\xA0\x80\0x", 5));
  EXPECT_EQ(outcome.denials.at(0).rule, "seccomp");
  EXPECT_FALSE(unpack_outcome(pack_outcome(spi::Outcome::ok_without_value())).value().value_json.has_value());
  spi::Outcome nonsense;
  nonsense.kind = static_cast<spi::Outcome::Kind>(77);
  EXPECT_EQ(static_cast<int>(unpack_outcome(pack_outcome(nonsense)).value().kind), 77);
}

TEST(Parcel, CarriesRequestAndCapabilities) {
  spi::Request request{"script", "[1]", {std::chrono::hours(1), 123}, true, {}};
  EXPECT_EQ(pack_request(unpack_request(pack_request(request)).value()), pack_request(request));
  spi::Capabilities capabilities{"python", spi::Network::allowlist, spi::WallClock::hard, true, false, true};
  EXPECT_EQ(pack_capabilities(unpack_capabilities(pack_capabilities(capabilities)).value()),
            pack_capabilities(capabilities));
}

// CNF-10: a process that is not believed sends it cut off, with something behind it, and with each byte bent: an answer
// or an error, never a read past its end, never memory for a length that is not there.
TEST(Parcel, SurvivesBentBytes) {
  const std::string good = pack_outcome(full_outcome());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(unpack_outcome(good.substr(0, size)).ok()) << size;
  EXPECT_FALSE(unpack_outcome(good + "x").ok());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      std::string bent = good;
      bent[at] = static_cast<char>(value);
      const auto outcome = unpack_outcome(bent);
      if (outcome.ok()) {
        EXPECT_LE(outcome.value().message.size(), good.size());
      }
    }
  }
}

}  // namespace
}  // namespace heddle::sandbox::plugin
