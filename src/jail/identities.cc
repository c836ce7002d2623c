#include "identities.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace heddle::jail {
namespace {

using core::Errc;
constexpr std::uint64_t kDefaultFirst = 0x70000000;
constexpr std::uint64_t kDefaultEnd = 0x7fff0000;

struct Block {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

bool inside(const Block& inner, const Block& outer) { return inner.first >= outer.first && inner.end() <= outer.end(); }

core::Error unusable(const std::string& what) {
  return core::make_error(Errc::unsupported, "choose user ids for guests", what);
}

}  // namespace

core::Result<IdentityRange> choose_identities(IdentityRange wanted, std::string_view uid_map, std::uint32_t random) {
  if (wanted.count == 0)
    return core::make_error(Errc::invalid_argument, "choose user ids for guests", "an empty range");
  std::istringstream lines{std::string(uid_map)};
  Block widest;
  bool wanted_is_mapped = false;
  bool default_is_mapped = false;
  Block mapped;
  std::uint64_t outside = 0;
  while (lines >> mapped.first >> outside >> mapped.count) {
    if (mapped.count > widest.count) widest = mapped;
    wanted_is_mapped = wanted_is_mapped || inside(Block{wanted.first, wanted.count}, mapped);
    default_is_mapped = default_is_mapped || inside(Block{kDefaultFirst, kDefaultEnd - kDefaultFirst}, mapped);
  }
  if (wanted.first != 0) {
    if (wanted_is_mapped && std::uint64_t{wanted.first} + wanted.count < UINT32_MAX) return wanted;
    return unusable("the configured ids " + std::to_string(wanted.first) +
                    " and up are not mapped in this user namespace");
  }
  Block space{kDefaultFirst, kDefaultEnd - kDefaultFirst};
  if (!default_is_mapped) {
    // The lower half is where real accounts are.
    space = Block{widest.first + widest.count / 2, widest.count - widest.count / 2};
    if (space.first == 0) ++space.first, --space.count;
    if (widest.count < 2 || space.count == 0) {
      return unusable("this user namespace maps root alone: run Heddle as an ordinary user, or map more ids");
    }
  }
  const std::uint64_t count = std::min<std::uint64_t>(wanted.count, space.count);
  const std::uint64_t blocks = space.count / count;
  return IdentityRange{static_cast<std::uint32_t>(space.first + random % blocks * count),
                       static_cast<std::uint32_t>(count)};
}

}  // namespace heddle::jail
