// BackendFile: the shared object of a backend, read once into memory that nobody can change. What has been hashed is
// what is loaded, whatever happens to the file in between.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::plugin {

/// A new backend each time. May throw, or give null.
using BackendFactory = std::function<std::shared_ptr<spi::SandboxBackend>()>;

class BackendFile {
 public:
  /// A regular file of at most 256 MiB.
  [[nodiscard]] static core::Result<BackendFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }  ///< as it was given, for messages
  [[nodiscard]] const effect::ContentAddress& address() const noexcept { return address_; }
  [[nodiscard]] const core::Fd& memory() const noexcept { return memory_; }  ///< sealed (F_SEAL_*)
  [[nodiscard]] core::Result<std::string> bytes() const;

 private:
  BackendFile(std::string path, effect::ContentAddress address, core::Fd memory)
      : path_(std::move(path)), address_(address), memory_(std::move(memory)) {}

  std::string path_;
  effect::ContentAddress address_;
  core::Fd memory_;
};

/// Loads it into this process, for good: its code may still run on threads of its own. Errc::malformed when it is no
/// backend, Errc::unsupported for another version of the interface. It is loaded as /proc/self/fd/N, so a library that
/// it needs is found by an absolute path or by the system, never beside it ($ORIGIN).
[[nodiscard]] core::Result<BackendFactory> load_backend(const BackendFile& file);
[[nodiscard]] core::Result<BackendFactory> load_backend(const core::Fd& memory, const std::string& path);

}  // namespace heddle::sandbox::plugin
