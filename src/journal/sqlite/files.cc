#include "files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "heddle/core/fd.h"

namespace heddle::journal {
namespace {

// A log without a frame has its header at most (https://www.sqlite.org/fileformat2.html#walformat).
constexpr std::int64_t kLogHeaderBytes = 32;
// SQLite takes a file of one byte for an empty one.
constexpr std::int64_t kEmptyBytes = 1;
// Of a rollback journal whose transaction spans several files. Before it stands the super-journal's name.
constexpr std::array<unsigned char, 8> kSuperJournalMark{0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};

core::Error refused(core::Errc code, const std::string& what) {
  return core::make_error(code, "open the journal", what);
}

// SQLite follows a link, and looks for the other files beside what it leads to.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> found(::realpath(path.c_str(), nullptr), &::free);
  return found == nullptr ? path : std::string(found.get());
}

// The size of a file that need not be there.
core::Result<std::optional<std::int64_t>> size_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<std::int64_t>();
    return core::system_error("open the journal", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return refused(core::Errc::invalid_argument, path + " is no regular file, and SQLite would use it; move it away");
  }
  return std::optional<std::int64_t>(status.st_size);
}

core::Result<bool> names_super_journal(const std::string& path, std::int64_t size) {
  std::array<unsigned char, kSuperJournalMark.size()> end{};
  const auto wanted = static_cast<std::int64_t>(end.size());
  if (size < wanted) return false;
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return core::system_error("open the journal", path);
  const ssize_t got = ::pread(file.get(), end.data(), end.size(), size - wanted);
  if (got < 0) return core::system_error("open the journal", path);
  return got == wanted && end == kSuperJournalMark;
}

}  // namespace

core::Result<void> check_files(const std::string& path) {
  const std::string real = real_path(path);
  const std::string log = real + "-wal";
  // The log first: whoever makes a journal now writes to the file before it writes to the log.
  HEDDLE_ASSIGN(const auto log_bytes, size_of(log));
  HEDDLE_ASSIGN(const auto bytes, size_of(real));
  if (bytes.value_or(0) <= kEmptyBytes && log_bytes.value_or(0) > kLogHeaderBytes) {
    return refused(core::Errc::damaged, path + (bytes ? " is empty" : " is not there") + ", but its log " + log +
                                            " holds facts, which SQLite would delete; bring the file back beside its "
                                            "log, or move the log away to begin a new journal");
  }
  const std::string rollback = real + "-journal";
  HEDDLE_ASSIGN(const auto rollback_bytes, size_of(rollback));
  HEDDLE_ASSIGN(const bool super, names_super_journal(rollback, rollback_bytes.value_or(0)));
  if (super) {
    return refused(core::Errc::damaged,
                   rollback +
                       " would make SQLite delete another file, and no journal of Heddle's has such a file; move "
                       "it away, or restore the journal from a copy");
  }
  HEDDLE_ASSIGN(const auto shared, size_of(real + "-shm"));
  (void)shared;
  return {};
}

std::string file_in_the_way(std::string_view path, Use use) {
  const std::string real = real_path(std::string(path));
  const auto may = [](const std::string& file, int how) {
    return ::faccessat(AT_FDCWD, file.c_str(), how, AT_EACCESS) == 0;
  };
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    const std::string file = real + suffix;
    if (!may(file, F_OK)) continue;
    if (!may(file, R_OK)) return file + " may not be read";
    if (use == Use::write && !may(file, W_OK)) return file + " may not be written";
  }
  const bool all_there = may(real + "-wal", F_OK) && may(real + "-shm", F_OK);
  if (!all_there && !may(folder_of(real), W_OK)) {
    return folder_of(real) +
           " may not be written, where SQLite keeps files beside a journal; use it as its owner, or copy it to a "
           "folder "
           "of yours";
  }
  return {};
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

}  // namespace heddle::journal
