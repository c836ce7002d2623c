// ScriptReader: where an evaluation finds the script that it names by content address. What a reader gives is not
// believed: the effect hashes it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"

namespace heddle::sandbox {

/// Thread-safe.
class ScriptReader {
 public:
  ScriptReader() = default;
  ScriptReader(const ScriptReader&) = delete;
  ScriptReader& operator=(const ScriptReader&) = delete;
  virtual ~ScriptReader();

  struct Wait {
    std::stop_token stop;
    core::Deadline deadline = core::Deadline::never();
  };
  /// The bytes with this address; Errc::not_found when there are none, Errc::too_large over `max_bytes`. A reader that
  /// can take long gives up with Errc::cancelled once the stop is requested, and with Errc::timed_out at the deadline.
  [[nodiscard]] virtual core::Result<std::string> read(const effect::ContentAddress& address, std::size_t max_bytes,
                                                       const Wait& wait) = 0;
};

/// Scripts in memory.
class MemoryScripts final : public ScriptReader {
 public:
  /// Keeps a copy and gives its address.
  effect::ContentAddress add(std::string_view script);  // NOLINT(modernize-use-nodiscard): it may be known already
  [[nodiscard]] core::Result<std::string> read(const effect::ContentAddress& address, std::size_t max_bytes,
                                               const Wait& wait) override;

 private:
  std::mutex mutex_;
  std::map<effect::ContentAddress, std::shared_ptr<const std::string>> scripts_;
};

/// Scripts in a folder, each in a regular file that is named with the 64 hexadecimal digits of its address. Opens
/// nothing else: no sub-folder, no symbolic link.
class FolderScripts final : public ScriptReader {
 public:
  explicit FolderScripts(std::string folder);

  /// Writes the script under its address, whole or not at all (rename(2)). A file that is there already is left alone.
  [[nodiscard]] core::Result<effect::ContentAddress> add(std::string_view script);
  [[nodiscard]] core::Result<std::string> read(const effect::ContentAddress& address, std::size_t max_bytes,
                                               const Wait& wait) override;

 private:
  const std::string folder_;
};

}  // namespace heddle::sandbox
