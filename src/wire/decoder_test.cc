#include "heddle/wire/decoder.h"

#include <gtest/gtest.h>

namespace heddle::wire {
namespace {

using core::Errc;

std::string frame(FrameType type, std::uint32_t sequence, std::string_view payload) {
  return encode_header(type, static_cast<std::uint32_t>(payload.size()), sequence) + std::string(payload);
}

void expect_violation(Decoder& decoder, std::string_view what) {
  const auto first = decoder.next();
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().code, Errc::protocol);
  EXPECT_NE(first.error().context.find(what), std::string::npos) << first.error().context;
  // The first violation is final, whatever comes after it.
  decoder.feed(frame(FrameType::control, 0, "{}"));
  EXPECT_EQ(decoder.next().error().context, first.error().context);
}

// WIRE-1: the header is exactly this, big-endian.
TEST(Decoder, HeaderIsLengthTypeSequence) {
  EXPECT_EQ(encode_header(FrameType::data, 0x010203, 0x0A0B0C0D),
            std::string("\x00\x01\x02\x03\x02\x0A\x0B\x0C\x0D", 9));
}

// WIRE-1: a stream may be split and merged anywhere.
TEST(Decoder, ReadsFramesInAnyPortions) {
  const std::string stream =
      frame(FrameType::control, 0, "one") + frame(FrameType::data, 1, "two!") + frame(FrameType::control, 2, "");
  for (std::size_t portion = 1; portion <= stream.size(); ++portion) {
    Decoder decoder;
    decoder.grant(4);
    std::string seen;
    for (std::size_t at = 0; at < stream.size(); at += portion) {
      decoder.feed(std::string_view(stream).substr(at, portion));
      for (;;) {
        auto next = decoder.next();
        ASSERT_TRUE(next.ok());
        if (!next.value()) break;
        seen += next.value()->payload + (next.value()->type == FrameType::data ? "/d " : "/c ");
      }
    }
    EXPECT_EQ(seen, "one/c two!/d /c ");
    EXPECT_TRUE(decoder.at_boundary());
  }
}

// WIRE-1, WIRE-2: the cap is checked on the header alone, before any payload is there or allocated.
TEST(Decoder, RefusesAnOversizedFrameAtItsHeader) {
  for (const FrameType type : {FrameType::control, FrameType::data}) {
    const std::uint32_t cap = type == FrameType::control ? kMaxControlBytes : kMaxDataBytes;
    Decoder fits;
    fits.grant(UINT64_MAX);
    fits.feed(encode_header(type, cap, 0));
    EXPECT_TRUE(fits.next().ok());
    for (const std::uint32_t size : {cap + 1, UINT32_MAX}) {
      Decoder decoder;
      decoder.grant(UINT64_MAX);
      decoder.feed(encode_header(type, size, 0));
      expect_violation(decoder, "bytes where");
    }
  }
}

// WIRE-2
TEST(Decoder, RefusesUnknownTypesAndWrongNumbers) {
  for (const int type : {0, 3, 255}) {
    Decoder decoder;
    decoder.feed(encode_header(static_cast<FrameType>(type), 0, 0));
    expect_violation(decoder, "unknown frame type");
  }
  Decoder skipped;
  skipped.feed(frame(FrameType::control, 1, ""));
  expect_violation(skipped, "where 0 was due");
  Decoder repeated;
  repeated.feed(frame(FrameType::control, 0, "") + frame(FrameType::control, 0, ""));
  ASSERT_TRUE(repeated.next().ok());
  expect_violation(repeated, "where 1 was due");
}

// WIRE-1, JAIL-8: what a guest can make the host keep is what it was given credit for.
TEST(Decoder, HoldsDataToItsCredit) {
  Decoder none;
  none.feed(frame(FrameType::data, 0, "x"));
  expect_violation(none, "credit");

  Decoder spent;
  spent.grant(5);
  spent.feed(frame(FrameType::data, 0, "abc") + frame(FrameType::data, 1, "def"));
  ASSERT_TRUE(spent.next().ok());
  expect_violation(spent, "credit for 2");

  Decoder revoked;
  revoked.grant(5);
  revoked.revoke();
  revoked.feed(frame(FrameType::data, 0, "a"));
  expect_violation(revoked, "credit for 0");

  Decoder empty;
  empty.grant(5);
  empty.feed(frame(FrameType::data, 0, ""));
  expect_violation(empty, "empty");

  Decoder saturates;
  saturates.grant(UINT64_MAX);
  saturates.grant(UINT64_MAX);
  saturates.feed(frame(FrameType::data, 0, "abc"));
  EXPECT_EQ(saturates.next().value()->payload, "abc");
}

}  // namespace
}  // namespace heddle::wire
