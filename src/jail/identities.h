// Which user ids guests get, when the host is root.
#pragma once

#include <string_view>

#include "heddle/core/result.h"
#include "heddle/jail/supervisor.h"

namespace heddle::jail {

/// Chooses the block where `wanted.first` is 0: at random inside 0x70000000–0x7fff0000, so that two hosts rarely share
/// an id, or inside the upper half of the widest range that this user namespace maps. Never id 0, never past what is
/// mapped; Errc::unsupported when there is nothing to choose. `uid_map` is the text of /proc/self/uid_map.
[[nodiscard]] core::Result<IdentityRange> choose_identities(IdentityRange wanted, std::string_view uid_map,
                                                            std::uint32_t random);

}  // namespace heddle::jail
