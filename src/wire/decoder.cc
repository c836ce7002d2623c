#include "heddle/wire/decoder.h"

#include <limits>

namespace heddle::wire {
namespace {

std::uint32_t read_u32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xFFU);
}

}  // namespace

std::string encode_header(FrameType type, std::uint32_t size, std::uint32_t sequence) {
  std::string header;
  header.reserve(kHeaderBytes);
  append_u32(header, size);
  header += static_cast<char>(type);
  append_u32(header, sequence);
  return header;
}

void Decoder::grant(std::uint64_t bytes) noexcept {
  credit_ = bytes > std::numeric_limits<std::uint64_t>::max() - credit_ ? std::numeric_limits<std::uint64_t>::max()
                                                                        : credit_ + bytes;
}

void Decoder::feed(std::string_view bytes) {
  if (broken_) return;
  if (offset_ > 0) {
    pending_.erase(0, offset_);
    offset_ = 0;
  }
  pending_ += bytes;
}

core::Error Decoder::violation(std::string_view what) {
  broken_ = core::make_error(core::Errc::protocol, "read a frame", what);
  pending_.clear();
  offset_ = 0;
  return *broken_;
}

core::Result<std::optional<Frame>> Decoder::next() {
  if (broken_) return *broken_;
  const std::size_t available = pending_.size() - offset_;
  if (available < kHeaderBytes) return std::optional<Frame>();

  const char* header = pending_.data() + offset_;
  const std::uint32_t size = read_u32(header);
  const auto type = static_cast<unsigned char>(header[4]);
  const std::uint32_t sequence = read_u32(header + 5);
  if (type != static_cast<unsigned char>(FrameType::control) && type != static_cast<unsigned char>(FrameType::data)) {
    return violation("unknown frame type " + std::to_string(type));
  }
  const auto frame_type = static_cast<FrameType>(type);
  const std::uint32_t cap = frame_type == FrameType::control ? kMaxControlBytes : kMaxDataBytes;
  if (size > cap) {
    return violation("a frame of " + std::to_string(size) + " bytes where " + std::to_string(cap) + " are allowed");
  }
  if (sequence != sequence_) {
    return violation("frame number " + std::to_string(sequence) + " where " + std::to_string(sequence_) + " was due");
  }
  if (frame_type == FrameType::data && size > credit_) {
    return violation("data of " + std::to_string(size) + " bytes with credit for " + std::to_string(credit_));
  }
  if (frame_type == FrameType::data && size == 0) return violation("an empty data frame");
  if (available - kHeaderBytes < size) return std::optional<Frame>();

  Frame frame{frame_type, pending_.substr(offset_ + kHeaderBytes, size)};
  offset_ += kHeaderBytes + size;
  ++sequence_;
  if (frame_type == FrameType::data) credit_ -= size;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace heddle::wire
