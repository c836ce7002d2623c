// A backend in a shared object of its own, as `heddle conformance --backend PATH.so` and `heddle plugin check` take it.
#pragma once

#include <memory>

#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::spi {

/// The one symbol that such a shared object exports. The version stands first, so that it can be read from the file
/// before any code of it is loaded.
struct BackendEntry {
  Version version;
  std::unique_ptr<SandboxBackend> (*make)();  ///< a new backend, or null when it cannot be had
};

inline constexpr const char* kBackendEntrySymbol = "heddle_sandbox_backend";

}  // namespace heddle::sandbox::spi

/// At namespace scope in one source file: HEDDLE_SANDBOX_BACKEND(make), with a function
/// `std::unique_ptr<heddle::sandbox::spi::SandboxBackend> make()`.
#define HEDDLE_SANDBOX_BACKEND(make_function)                                                     \
  extern "C" HEDDLE_SPI_EXPORT const ::heddle::sandbox::spi::BackendEntry heddle_sandbox_backend; \
  const ::heddle::sandbox::spi::BackendEntry heddle_sandbox_backend {                             \
    ::heddle::sandbox::spi::kSandboxBackendSpiVersion, make_function                              \
  }
