// What wire promises about bytes of a hostile peer (WIRE-1, WIRE-2), for any bytes:
//
// - How a stream was cut into portions changes nothing of what is decoded, nor which violation is found.
// - No payload is over its type's cap, no data is beyond the credit, and a violation is final.
// - Nothing that the decoder allocates is larger than one header, one capped payload and the portion just fed need,
// with
//   room for a string to grow: no length is believed before it is checked.
// - Decoded frames, encoded again, are the bytes they came from; a message that parses, written again, parses to
// itself.
//
// The input: one byte of credit (in KiB), one byte that seeds the portions, the stream.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/check.h"
#include "heddle/core/text.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/decoder.h"
#include "heddle/wire/message.h"

namespace {

using heddle::wire::Decoder;
using heddle::wire::Frame;
using heddle::wire::FrameType;
using heddle::wire::Message;

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kAllocationBytes = 2 * (heddle::wire::kHeaderBytes + heddle::wire::kMaxDataBytes);
std::size_t largest_allocation = 0;

struct Decoded {
  std::vector<Frame> frames;
  std::string violation;
  bool at_boundary = false;
};

// `portion_at(offset)` is the size of the next portion, at least one byte.
template <class PortionAt>
Decoded decode(std::string_view stream, std::uint64_t credit, PortionAt portion_at) {
  Decoder decoder;
  decoder.grant(credit);
  Decoded decoded;
  for (std::size_t at = 0; at < stream.size() && decoded.violation.empty();) {
    const std::string_view portion = stream.substr(at, portion_at(at));
    largest_allocation = 0;
    decoder.feed(portion);
    at += portion.size();
    for (;;) {
      auto next = decoder.next();
      HEDDLE_CHECK(largest_allocation <= kAllocationBytes + 2 * portion.size());
      if (!next.ok()) {
        HEDDLE_CHECK(next.error().code == heddle::core::Errc::protocol);
        decoded.violation = next.error().context;
        HEDDLE_CHECK(!decoded.violation.empty());
        break;
      }
      if (!next.value()) break;
      decoded.frames.push_back(std::move(*next.value()));
      largest_allocation = 0;  // the list of frames is ours
    }
  }
  decoded.at_boundary = decoded.violation.empty() && decoder.at_boundary();
  if (!decoded.violation.empty()) {
    decoder.feed(heddle::wire::encode_header(FrameType::control, 0, 0));
    const auto after = decoder.next();
    HEDDLE_CHECK(!after.ok() && after.error().context == decoded.violation);
  }
  return decoded;
}

void check_message(const std::string& payload) {
  auto parsed = Message::parse(payload);
  if (!parsed.ok()) {
    HEDDLE_CHECK(parsed.error().code == heddle::core::Errc::protocol);
    HEDDLE_CHECK(heddle::core::valid_utf8(parsed.error().message()));
    return;
  }
  // Nothing before or after the object but white space: what the JSON library lets pass there, no other reader would.
  HEDDLE_CHECK(payload[payload.find_first_not_of(kSpace)] == '{' && payload[payload.find_last_not_of(kSpace)] == '}');
  HEDDLE_CHECK(payload.find('\0') == std::string::npos);
  const std::string text = parsed.value().text();
  HEDDLE_CHECK(heddle::core::valid_utf8(text));
  const auto again = Message::parse(text);
  HEDDLE_CHECK(again.ok());
  HEDDLE_CHECK(again.value().op() == parsed.value().op());
  HEDDLE_CHECK(again.value().text() == text);
}

void check_frames(const Decoded& decoded, std::string_view stream, std::uint64_t credit) {
  std::string encoded;
  std::uint64_t data = 0;
  for (std::size_t i = 0; i < decoded.frames.size(); ++i) {
    const Frame& frame = decoded.frames[i];
    const bool control = frame.type == FrameType::control;
    HEDDLE_CHECK(frame.payload.size() <= (control ? heddle::wire::kMaxControlBytes : heddle::wire::kMaxDataBytes));
    if (!control) data += frame.payload.size();
    encoded += heddle::wire::encode_header(frame.type, static_cast<std::uint32_t>(frame.payload.size()),
                                           static_cast<std::uint32_t>(i));
    encoded += frame.payload;
    if (control) check_message(frame.payload);
    HEDDLE_CHECK(heddle::wire::as_message(frame).ok() == (control && Message::parse(frame.payload).ok()));
  }
  HEDDLE_CHECK(data <= credit);
  HEDDLE_CHECK(encoded == stream.substr(0, encoded.size()));
  if (decoded.at_boundary) HEDDLE_CHECK(encoded.size() == stream.size());
}

bool same(const Decoded& a, const Decoded& b) {
  return a.violation == b.violation && a.at_boundary == b.at_boundary &&
         std::equal(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                    [](const Frame& x, const Frame& y) { return x.type == y.type && x.payload == y.payload; });
}

}  // namespace

void* operator new(std::size_t size) {
  largest_allocation = std::max(largest_allocation, size);
  void* memory = std::malloc(size);
  HEDDLE_CHECK(memory != nullptr);
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t credit = std::uint64_t{data[0]} << 10U;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);

  const Decoded whole = decode(stream, credit, [&](std::size_t) { return stream.size(); });
  check_frames(whole, stream, credit);
  HEDDLE_CHECK(same(whole, decode(stream, credit, [](std::size_t) { return std::size_t{1}; })));
  std::uint32_t state = data[1];
  HEDDLE_CHECK(same(whole, decode(stream, credit, [&](std::size_t) {
                      state = state * 1664525U + 1013904223U;
                      return std::size_t{1} + (state >> 24U) % 37U;
                    })));
  check_message(std::string(stream));
  return 0;
}
