#include "heddle/sandbox/effect/script_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "heddle/core/fd.h"

namespace heddle::sandbox {
namespace {

constexpr const char* kReadStep = "read a script";
constexpr const char* kAddStep = "keep a script";

core::Error too_large(const effect::ContentAddress& address, std::size_t max_bytes) {
  return core::make_error(core::Errc::too_large, kReadStep,
                          address.text() + " is over " + std::to_string(max_bytes) + " bytes");
}

}  // namespace

ScriptReader::~ScriptReader() = default;

effect::ContentAddress MemoryScripts::add(std::string_view script) {
  const auto address = effect::ContentAddress::of(script);
  const std::lock_guard lock(mutex_);
  scripts_.try_emplace(address, std::make_shared<const std::string>(script));
  return address;
}

core::Result<std::string> MemoryScripts::read(const effect::ContentAddress& address, std::size_t max_bytes,
                                              const Wait& /*wait*/) {
  std::shared_ptr<const std::string> script;
  {
    const std::lock_guard lock(mutex_);
    const auto found = scripts_.find(address);
    if (found == scripts_.end()) return core::make_error(core::Errc::not_found, kReadStep, address.text());
    script = found->second;
  }
  if (script->size() > max_bytes) return too_large(address, max_bytes);
  return *script;
}

FolderScripts::FolderScripts(std::string folder) : folder_(std::move(folder)) {}

core::Result<std::string> FolderScripts::read(const effect::ContentAddress& address, std::size_t max_bytes,
                                              const Wait& /*wait*/) {
  const std::string path = folder_ + "/" + address.hex();
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) {
    if (errno == ENOENT) return core::make_error(core::Errc::not_found, kReadStep, path);
    return core::system_error(kReadStep, path);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return core::system_error(kReadStep, path);
  if (!S_ISREG(status.st_mode)) {
    return core::make_error(core::Errc::invalid_argument, kReadStep, path + " is not a regular file");
  }
  auto bytes = core::read_all(file, max_bytes);
  if (!bytes.ok() && bytes.error().code == core::Errc::too_large) return too_large(address, max_bytes);
  return bytes;
}

core::Result<effect::ContentAddress> FolderScripts::add(std::string_view script) {
  const auto address = effect::ContentAddress::of(script);
  const std::string path = folder_ + "/" + address.hex();
  if (::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return address;
  std::string draft = folder_ + "/.script-XXXXXX";
  const core::Fd file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file.valid()) return core::system_error(kAddStep, folder_);
  auto written = core::write_all(file, script);
  if (written.ok() && ::fchmod(file.get(), S_IRUSR | S_IRGRP | S_IROTH) != 0) {
    written = core::system_error(kAddStep, draft);
  }
  if (written.ok() && ::fsync(file.get()) != 0) written = core::system_error(kAddStep, draft);
  if (written.ok() && ::rename(draft.c_str(), path.c_str()) != 0) written = core::system_error(kAddStep, path);
  if (!written.ok()) {
    ::unlink(draft.c_str());
    return std::move(written).error();
  }
  return address;
}

}  // namespace heddle::sandbox
