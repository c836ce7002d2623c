#include "heddle/sandbox/plugin/backend_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heddle/core/text.h"
#include "heddle/sandbox/spi/plugin.h"

namespace heddle::sandbox::plugin {
namespace {

constexpr const char* kStep = "load a backend";
constexpr std::size_t kMaxBinaryBytes = std::size_t{256} << 20;

core::Error cannot_load(core::Errc code, const std::string& path, std::string_view why) {
  return core::make_error(code, kStep, path + ": " + core::bound_text(why));
}

}  // namespace

core::Result<BackendFile> BackendFile::open(const std::string& path) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return core::system_error(kStep, path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return core::system_error(kStep, path);
  if (!S_ISREG(status.st_mode)) return cannot_load(core::Errc::invalid_argument, path, "it is not a regular file");
  HEDDLE_ASSIGN(const std::string bytes, core::read_all(file, kMaxBinaryBytes));
  HEDDLE_ASSIGN(core::Fd memory, core::sealed_memory("heddle-backend", bytes));
  return BackendFile(path, effect::ContentAddress::of(bytes), std::move(memory));
}

core::Result<std::string> BackendFile::bytes() const {
  struct stat status {};
  if (::fstat(memory_.get(), &status) != 0) return core::system_error(kStep, path_);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::pread(memory_.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return core::system_error(kStep, path_);
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

core::Result<BackendFactory> load_backend(const core::Fd& memory, const std::string& path) {
  // The loader knows an object again by the name it was loaded with, so the number must never come to mean another
  // file.
  HEDDLE_ASSIGN(core::Fd kept, memory.duplicate());
  const std::string name = "/proc/self/fd/" + std::to_string(kept.release());
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return cannot_load(core::Errc::malformed, path, why == nullptr ? "the loader does not say why" : why);
  }
  const auto* entry = static_cast<const spi::BackendEntry*>(::dlsym(library, spi::kBackendEntrySymbol));
  if (entry == nullptr) {
    return cannot_load(core::Errc::malformed, path, "it exports no backend; use HEDDLE_SANDBOX_BACKEND(make)");
  }
  if (!spi::fits(entry->version)) {
    return cannot_load(core::Errc::unsupported, path,
                       "it was built for version " + std::to_string(entry->version.major) + "." +
                           std::to_string(entry->version.minor) + " of the interface; build it against this Heddle");
  }
  return BackendFactory([entry]() -> std::shared_ptr<spi::SandboxBackend> { return entry->make(); });
}

core::Result<BackendFactory> load_backend(const BackendFile& file) { return load_backend(file.memory(), file.path()); }

}  // namespace heddle::sandbox::plugin
