// What sandbox/plugin promises about what a backend's process sends (CNF-10), for any bytes:
//
// - They are refused, or give a value; written again and read again that value is the same.
// - Nothing is longer than the bytes that it came from: no length is believed before it is there.
//
// The input: one byte that says what is read, and the bytes.
#include <cstdint>
#include <string_view>

#include "heddle/core/check.h"
#include "parcel.h"

namespace {

namespace plugin = heddle::sandbox::plugin;

template <class Unpack, class Pack>
void look(std::string_view bytes, Unpack unpack, Pack pack) {
  const auto read = unpack(bytes);
  if (!read.ok()) return;
  const std::string written = pack(read.value());
  HEDDLE_CHECK(written.size() <= bytes.size());
  const auto again = unpack(written);
  HEDDLE_CHECK(again.ok());
  HEDDLE_CHECK(pack(again.value()) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr int kKinds = 3;
  switch (data[0] % kKinds) {
    case 0:
      look(bytes, plugin::unpack_outcome, plugin::pack_outcome);
      break;
    case 1:
      look(bytes, plugin::unpack_request, plugin::pack_request);
      break;
    default:
      look(bytes, plugin::unpack_capabilities, plugin::pack_capabilities);
  }
  return 0;
}
