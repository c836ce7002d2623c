// A SQLite VFS for tests: files of the real one, and beside them a model of a disk that keeps only what was synced. It
// can stop at every operation and say what a power cut there could leave, it can fail operations, and it stops where a
// checkpoint begins.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace heddle::journal::testing {

/// A write or a truncation that no sync has covered yet.
struct PendingChange {
  std::int64_t offset = 0;
  std::string bytes;
  bool truncation = false;  ///< to `offset`
};

struct DiskFile {
  std::string synced;
  std::vector<PendingChange> pending;
};

/// By path. The shared memory of WAL is no file of the disk's.
using Disk = std::map<std::string, DiskFile>;

/// What a disk may hold after a power cut: of the changes that were not synced some, in part, in any order.
enum class Survives : std::uint8_t { only_what_was_synced, everything, some };
[[nodiscard]] std::map<std::string, std::string> after_power_cut(const Disk& disk, Survives survives,
                                                                 std::mt19937& random);

/// Where a checkpoint is when it stops, in the order in which it comes there.
enum class Checkpoint : std::uint8_t {
  begins,    ///< it is about to take the lock of checkpoints
  has_read,  ///< it has that lock and has read where the log ends, which was news to it
};

/// Registered with SQLite under `name()` while it lives. Thread-safe.
class FaultyVfs {
 public:
  FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs();

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Called under the VFS's lock at each write, truncation and sync, before and after it.
  void on_moment(std::function<void(const Disk&)> callback);
  [[nodiscard]] std::uint64_t syncs() const;

  /// Called without any lock of the VFS's, by the thread that checkpoints, which stops meanwhile.
  void on_checkpoint(std::function<void(Checkpoint)> callback);

  /// From the operation that comes `after` others on, each write or sync gives `code` (SQLITE_FULL,
  /// SQLITE_IOERR_FSYNC…) and changes nothing; until `heal`. `sys_errno` is what SQLite hears when it asks why.
  void fail_after(std::uint64_t after, int code, int sys_errno = 0);
  void heal();
  [[nodiscard]] bool has_failed() const;

 private:
  friend struct VfsCalls;

  void moment();
  void stop_at(Checkpoint place) const;
  // SQLITE_OK, or what the operation is to give. `sync`: IOERR_FSYNC concerns syncs alone, other codes writes alone.
  int failure(bool sync);

  sqlite3_vfs* real_;
  std::unique_ptr<sqlite3_vfs> shim_;
  std::string name_;
  mutable std::mutex mutex_;
  Disk disk_;
  std::function<void(const Disk&)> callback_;
  std::function<void(Checkpoint)> on_checkpoint_;
  std::uint64_t syncs_ = 0;
  std::uint64_t operations_left_ = 0;
  int failure_ = SQLITE_OK;
  int sys_errno_ = 0;
  bool failed_ = false;
};

}  // namespace heddle::journal::testing
