// The frame: what crosses every boundary between a host and a guest (docs/formats/wire.md, docs/adr/0004).
//
//   u32 length of the payload, big-endian | u8 type | u32 sequence, big-endian, from 0 in each direction | payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::wire {

enum class FrameType : std::uint8_t {
  control = 1,  ///< one strict JSON object: see message.h
  data = 2,     ///< raw bytes that a control frame has announced; bounded by credit
};

inline constexpr std::size_t kHeaderBytes = 9;
inline constexpr std::uint32_t kMaxControlBytes = 64U << 10;
inline constexpr std::uint32_t kMaxDataBytes = 256U << 10;

struct Frame {
  FrameType type = FrameType::control;
  std::string payload;
};

}  // namespace heddle::wire
