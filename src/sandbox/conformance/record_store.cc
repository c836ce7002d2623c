#include "heddle/sandbox/conformance/record_store.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

constexpr const char* kStep = "use the records of conformance";
constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;
constexpr mode_t kMine = 0700;

core::Error untrusted(const std::string& path, std::string_view why) {
  return core::make_error(core::Errc::untrusted_program, kStep, core::printable_line(path) + " " + std::string(why));
}

core::Result<std::string> home() {
  if (const char* given = std::getenv("HOME"); given != nullptr && given[0] == '/') return std::string(given);
  std::vector<char> buffer(std::size_t{16} << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && found->pw_dir[0] == '/') {
    return std::string(found->pw_dir);
  }
  return core::make_error(core::Errc::not_found, kStep,
                          "this user has no home; set XDG_STATE_HOME to a folder of its own");
}

core::Result<std::string> state_folder() {
  if (const char* given = std::getenv("XDG_STATE_HOME"); given != nullptr && given[0] == '/') return std::string(given);
  HEDDLE_ASSIGN(const std::string base, home());
  return base + "/.local/state";
}

// As XDG wants what is missing: for the user alone.
core::Result<void> make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), kMine) != 0 && errno != EEXIST) return core::system_error(kStep, part);
    if (at == std::string::npos) return {};
  }
}

// A folder that only this user can have put things into.
core::Result<core::Fd> own_folder(int parent, const char* name, const std::string& path) {
  if (::mkdirat(parent, name, kMine) != 0 && errno != EEXIST) return core::system_error(kStep, path);
  core::Fd folder(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return core::system_error(kStep, path);
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return core::system_error(kStep, path);
  if (status.st_uid != ::geteuid())
    return untrusted(path, "belongs to another user; set XDG_STATE_HOME to a folder of yours");
  if ((status.st_mode & 0777U) != kMine) return untrusted(path, "is open to others; its mode must be 0700 (chmod 700)");
  return folder;
}

std::string name_of(const effect::ContentAddress& binary) { return binary.hex() + ".json"; }

}  // namespace

core::Result<RecordStore> RecordStore::open() {
  HEDDLE_ASSIGN(const std::string base, state_folder());
  HEDDLE_TRY(make_folders(base));
  const core::Fd parent(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return core::system_error(kStep, base);
  HEDDLE_ASSIGN(const core::Fd ours, own_folder(parent.get(), "heddle", base + "/heddle"));
  std::string path = base + "/heddle/conformance";
  HEDDLE_ASSIGN(core::Fd folder, own_folder(ours.get(), "conformance", path));
  return RecordStore(std::move(path), std::move(folder));
}

core::Result<void> RecordStore::keep(const Record& record) const {
  const std::string name = name_of(record.binary);
  const std::string draft = "." + name + "." + std::to_string(::getpid());
  ::unlinkat(folder_.get(), draft.c_str(), 0);  // of an earlier process with our number
  const core::Fd out(
      ::openat(folder_.get(), draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.valid()) return core::system_error(kStep, path_ + "/" + draft);
  auto kept = core::write_all(out, record_json(record));
  if (kept.ok() && ::fsync(out.get()) != 0) kept = core::system_error(kStep, path_ + "/" + draft);
  if (kept.ok() && ::renameat(folder_.get(), draft.c_str(), folder_.get(), name.c_str()) != 0) {
    kept = core::system_error(kStep, path_ + "/" + name);
  }
  if (!kept.ok()) ::unlinkat(folder_.get(), draft.c_str(), 0);
  return kept;
}

core::Result<Record> RecordStore::find(const effect::ContentAddress& binary) const {
  const std::string name = name_of(binary);
  const std::string path = path_ + "/" + name;
  const core::Fd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return core::make_error(core::Errc::not_found, kStep, path);
  if (!file.valid() && errno == ELOOP) return untrusted(path, "is a symbolic link");
  if (!file.valid()) return core::system_error(kStep, path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return core::system_error(kStep, path);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 0077U) != 0 ||
      status.st_nlink != 1) {
    return untrusted(path, "is not a file of this user's alone");
  }
  HEDDLE_ASSIGN(const std::string text, core::read_all(file, kMaxRecordBytes));
  HEDDLE_ASSIGN(Record record, parse_record(text));
  if (record.binary != binary) {
    return core::make_error(core::Errc::malformed, kStep, path + " is the record of another binary");
  }
  return record;
}

}  // namespace heddle::sandbox::conformance
