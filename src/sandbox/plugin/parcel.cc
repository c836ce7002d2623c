#include "parcel.h"

#include <algorithm>

namespace heddle::sandbox::plugin {
namespace {

constexpr std::size_t kNumberBytes = 8;
constexpr std::uint64_t kMostLines = 65'536;  // of Outcome::applied and denials
constexpr std::uint64_t kByte = 255;

core::Error not_a(std::string_view what) {
  return core::make_error(core::Errc::protocol, "read from a backend's process",
                          std::string("it sent no ") + std::string(what));
}

}  // namespace

Packer& Packer::number(std::uint64_t value) {
  for (std::size_t i = 0; i < kNumberBytes; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & kByte);
  return *this;
}

Packer& Packer::text(std::string_view value) {
  number(value.size());
  bytes_ += value;
  return *this;
}

std::uint64_t Unpacker::number(std::uint64_t most) {
  if (!ok_ || rest_.size() < kNumberBytes) {
    ok_ = false;
    return 0;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(kNumberBytes);
  if (value > most) ok_ = false;
  return ok_ ? value : 0;
}

std::string Unpacker::text() {
  const std::uint64_t size = number(rest_.size());
  if (!ok_ || size > rest_.size()) {
    ok_ = false;
    return {};
  }
  std::string value(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

std::string pack_capabilities(const spi::Capabilities& capabilities) {
  return Packer()
      .text(capabilities.language)
      .number(static_cast<std::uint64_t>(capabilities.network))
      .number(static_cast<std::uint64_t>(capabilities.wall_clock))
      .number(capabilities.memory ? 1 : 0)
      .number(capabilities.cpu ? 1 : 0)
      .number(capabilities.fresh_per_run ? 1 : 0)
      .take();
}

core::Result<spi::Capabilities> unpack_capabilities(std::string_view bytes) {
  Unpacker in(bytes);
  spi::Capabilities capabilities;
  capabilities.language = in.text();
  capabilities.network = static_cast<spi::Network>(in.number(kByte));
  capabilities.wall_clock = static_cast<spi::WallClock>(in.number(kByte));
  capabilities.memory = in.number(1) == 1;
  capabilities.cpu = in.number(1) == 1;
  capabilities.fresh_per_run = in.number(1) == 1;
  if (!in.finish()) return not_a("capabilities");
  return capabilities;
}

std::string pack_request(const spi::Request& request) {
  return Packer()
      .text(request.script)
      .text(request.input_json)
      .number(static_cast<std::uint64_t>(request.limits.wall_clock.count()))
      .number(request.limits.memory_bytes)
      .number(request.explain ? 1 : 0)
      .take();
}

core::Result<spi::Request> unpack_request(std::string_view bytes) {
  Unpacker in(bytes);
  spi::Request request;
  request.script = in.text();
  request.input_json = in.text();
  request.limits.wall_clock = std::chrono::milliseconds(in.number(INT64_MAX));
  request.limits.memory_bytes = in.number();
  request.explain = in.number(1) == 1;
  if (!in.finish()) return not_a("request");
  return request;
}

std::string pack_outcome(const spi::Outcome& outcome) {
  Packer out;
  out.number(static_cast<std::uint64_t>(outcome.kind)).number(static_cast<std::uint64_t>(outcome.limit));
  out.number(outcome.value_json ? 1 : 0).text(outcome.value_json.value_or(""));
  out.number(outcome.name ? 1 : 0).text(outcome.name.value_or("")).text(outcome.message);
  out.number(outcome.line).number(outcome.column).number(outcome.ended_by_denial ? 1 : 0);
  const std::size_t lines = std::min<std::size_t>(outcome.applied.size(), kMostLines);
  out.number(lines);
  for (std::size_t i = 0; i < lines; ++i) out.text(outcome.applied[i]);
  const std::size_t denials = std::min<std::size_t>(outcome.denials.size(), kMostLines);
  out.number(denials);
  for (std::size_t i = 0; i < denials; ++i) {
    out.text(outcome.denials[i].syscall).text(outcome.denials[i].object).text(outcome.denials[i].rule);
  }
  return out.take();
}

core::Result<spi::Outcome> unpack_outcome(std::string_view bytes) {
  Unpacker in(bytes);
  spi::Outcome outcome;
  outcome.kind = static_cast<spi::Outcome::Kind>(in.number(kByte));
  outcome.limit = static_cast<spi::LimitKind>(in.number(kByte));
  const bool value = in.number(1) == 1;
  std::string value_json = in.text();
  if (value) outcome.value_json = std::move(value_json);
  const bool named = in.number(1) == 1;
  std::string name = in.text();
  if (named) outcome.name = std::move(name);
  outcome.message = in.text();
  outcome.line = static_cast<std::uint32_t>(in.number(UINT32_MAX));
  outcome.column = static_cast<std::uint32_t>(in.number(UINT32_MAX));
  outcome.ended_by_denial = in.number(1) == 1;
  const std::uint64_t lines = in.number(kMostLines);
  for (std::uint64_t i = 0; i < lines && in.ok(); ++i) outcome.applied.push_back(in.text());
  const std::uint64_t denials = in.number(kMostLines);
  for (std::uint64_t i = 0; i < denials && in.ok(); ++i) {
    spi::Denial denial;
    denial.syscall = in.text();
    denial.object = in.text();
    denial.rule = in.text();
    outcome.denials.push_back(std::move(denial));
  }
  if (!in.finish()) return not_a("outcome");
  return outcome;
}

}  // namespace heddle::sandbox::plugin
