// The journal in this process's memory: gone when the store is. For tests and for flows that need not outlive it.
#pragma once

#include <memory>

#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// An empty journal. Checksums are made when facts are read, not when they are appended.
[[nodiscard]] std::unique_ptr<Store> open_memory();

}  // namespace heddle::journal
