// The version of this interface, and what makes a class or function visible outside its shared object.
#pragma once

#include <cstdint>

#define HEDDLE_SPI_EXPORT __attribute__((visibility("default")))

namespace heddle::sandbox::spi {

/// Semantic version of the interface. A backend fits when its MAJOR is equal and its MINOR is not newer than Heddle's.
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t patch;
};

inline constexpr Version kSandboxBackendSpiVersion{1, 0, 0};

[[nodiscard]] constexpr bool fits(Version backend, Version heddle = kSandboxBackendSpiVersion) noexcept {
  return backend.major == heddle.major && backend.minor <= heddle.minor;
}

}  // namespace heddle::sandbox::spi
