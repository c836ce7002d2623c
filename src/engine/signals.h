#pragma once

#include "guest.h"

namespace heddle::engine {

/// See engine.h. The guest is forgotten when it is destroyed; another one can take its place then.
[[nodiscard]] core::Result<void> install_signals(Guest& guest, int soft_signal, int hard_signal);
void forget_signals(const Guest& guest) noexcept;

}  // namespace heddle::engine
