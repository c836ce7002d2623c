#include "journal_vfs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace heddle::journal::testing {
namespace {

std::string unique_name() {
  static std::atomic<int> next{0};
  return "heddle-faulty-" + std::to_string(next++);
}

void change(std::string& file, const PendingChange& pending, std::size_t part) {
  const auto offset = static_cast<std::size_t>(pending.offset);
  if (pending.truncation) {
    file.resize(std::min(file.size(), offset));
    return;
  }
  file.resize(std::max(file.size(), offset + part));
  file.replace(offset, part, pending.bytes, 0, part);
}

// SQLite allocates szOsFile bytes for each file: this, and behind it the real VFS's own.
struct ShimFile {
  sqlite3_file base;
  FaultyVfs* vfs;
  std::string* path;  // null for files that are not modelled
  sqlite3_file* real;
};

ShimFile* shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return shim(file)->real; }

}  // namespace

std::map<std::string, std::string> after_power_cut(const Disk& disk, Survives survives, std::mt19937& random) {
  std::map<std::string, std::string> files;
  for (const auto& [path, file] : disk) {
    std::string bytes = file.synced;
    for (const PendingChange& pending : file.pending) {
      if (survives == Survives::only_what_was_synced || (survives == Survives::some && random() % 2 == 0)) continue;
      std::size_t part = pending.bytes.size();
      if (survives == Survives::some && random() % 4 == 0) part = random() % (part + 1) / 512 * 512;
      change(bytes, pending, part);
    }
    files[path] = std::move(bytes);
  }
  return files;
}

// The C side. Everything that is not about writing goes straight to the real VFS.
struct VfsCalls {
  static FaultyVfs* self(sqlite3_vfs* vfs) { return static_cast<FaultyVfs*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
    static const sqlite3_io_methods methods = make_methods();
    FaultyVfs* const faulty = self(vfs);
    auto* const mine = new (file) ShimFile{{nullptr}, faulty, nullptr, reinterpret_cast<sqlite3_file*>(shim(file) + 1)};
    const int code = faulty->real_->xOpen(faulty->real_, name, mine->real, flags, out_flags);
    if (code != SQLITE_OK) return code;
    mine->base.pMethods = &methods;
    if (name != nullptr) {
      mine->path = new std::string(name);
      const std::lock_guard lock(faulty->mutex_);
      faulty->disk_[*mine->path];
    }
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
    FaultyVfs* const faulty = self(vfs);
    const std::lock_guard lock(faulty->mutex_);
    const int code = faulty->real_->xDelete(faulty->real_, name, sync_folder);
    if (code == SQLITE_OK) faulty->disk_.erase(name);
    faulty->moment();
    return code;
  }

  static int last_error(sqlite3_vfs* vfs, int size, char* text) {
    FaultyVfs* const faulty = self(vfs);
    const std::lock_guard lock(faulty->mutex_);
    return faulty->failed_ ? faulty->sys_errno_ : faulty->real_->xGetLastError(faulty->real_, size, text);
  }

  static int close(sqlite3_file* file) {
    delete shim(file)->path;
    const int code = real(file)->pMethods->xClose(real(file));
    file->pMethods = nullptr;
    return code;
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultyVfs* const faulty = shim(file)->vfs;
    const std::lock_guard lock(faulty->mutex_);
    if (const int code = faulty->failure(false); code != SQLITE_OK) return code;
    const int code = real(file)->pMethods->xWrite(real(file), bytes, size, offset);
    if (code == SQLITE_OK && shim(file)->path != nullptr) {
      faulty->disk_[*shim(file)->path].pending.push_back(
          {offset, std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)), false});
    }
    faulty->moment();
    return code;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    FaultyVfs* const faulty = shim(file)->vfs;
    const std::lock_guard lock(faulty->mutex_);
    const int code = real(file)->pMethods->xTruncate(real(file), size);
    if (code == SQLITE_OK && shim(file)->path != nullptr) {
      faulty->disk_[*shim(file)->path].pending.push_back({size, {}, true});
    }
    faulty->moment();
    return code;
  }

  // The model is what is synced; the real disk need not be waited for.
  static int sync(sqlite3_file* file, int /*flags*/) {
    FaultyVfs* const faulty = shim(file)->vfs;
    const std::lock_guard lock(faulty->mutex_);
    if (const int code = faulty->failure(true); code != SQLITE_OK) return code;
    if (shim(file)->path != nullptr) {
      DiskFile& disk_file = faulty->disk_[*shim(file)->path];
      for (const PendingChange& pending : disk_file.pending) change(disk_file.synced, pending, pending.bytes.size());
      disk_file.pending.clear();
    }
    ++faulty->syncs_;
    faulty->moment();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), bytes, size, offset);
  }
  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
  }
  static int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
  static int unlock(sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
  static int reserved(sqlite3_file* file, int* out) {
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
  }
  static int control(sqlite3_file* file, int op, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), op, argument);
  }
  static int sector(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
  static int device(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
  static int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    // WAL_CKPT_LOCK of SQLite's wal.c.
    if (offset == 1 && count == 1 && (flags & SQLITE_SHM_LOCK) != 0) shim(file)->vfs->stop_at(Checkpoint::begins);
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
  static int shm_unmap(sqlite3_file* file, int remove_it) {
    return real(file)->pMethods->xShmUnmap(real(file), remove_it);
  }
  // No page is ever mapped; `unfetch` of none at all comes from a checkpoint that has read another end of the log than
  // it knew.
  static int fetch(sqlite3_file* /*file*/, sqlite3_int64 /*offset*/, int /*size*/, void** out) {
    *out = nullptr;
    return SQLITE_OK;
  }
  static int unfetch(sqlite3_file* file, sqlite3_int64 /*offset*/, void* page) {
    if (page == nullptr) shim(file)->vfs->stop_at(Checkpoint::has_read);
    return SQLITE_OK;
  }

  static sqlite3_io_methods make_methods() {
    sqlite3_io_methods methods{};
    methods.iVersion = 3;
    methods.xClose = &close;
    methods.xRead = &read;
    methods.xWrite = &write;
    methods.xTruncate = &truncate;
    methods.xSync = &sync;
    methods.xFileSize = &file_size;
    methods.xLock = &lock;
    methods.xUnlock = &unlock;
    methods.xCheckReservedLock = &reserved;
    methods.xFileControl = &control;
    methods.xSectorSize = &sector;
    methods.xDeviceCharacteristics = &device;
    methods.xShmMap = &shm_map;
    methods.xShmLock = &shm_lock;
    methods.xShmBarrier = &shm_barrier;
    methods.xShmUnmap = &shm_unmap;
    methods.xFetch = &fetch;
    methods.xUnfetch = &unfetch;
    return methods;
  }
};

FaultyVfs::FaultyVfs()
    : real_(::sqlite3_vfs_find(nullptr)), shim_(std::make_unique<sqlite3_vfs>(*real_)), name_(unique_name()) {
  shim_->szOsFile = static_cast<int>(sizeof(ShimFile)) + real_->szOsFile;
  shim_->zName = name_.c_str();
  shim_->pNext = nullptr;
  shim_->pAppData = this;
  shim_->xOpen = &VfsCalls::open;
  shim_->xDelete = &VfsCalls::remove;
  shim_->xGetLastError = &VfsCalls::last_error;
  ::sqlite3_vfs_register(shim_.get(), 0);
}

FaultyVfs::~FaultyVfs() { ::sqlite3_vfs_unregister(shim_.get()); }

void FaultyVfs::on_moment(std::function<void(const Disk&)> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

std::uint64_t FaultyVfs::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

void FaultyVfs::on_checkpoint(std::function<void(Checkpoint)> callback) {
  const std::lock_guard lock(mutex_);
  on_checkpoint_ = std::move(callback);
}

void FaultyVfs::fail_after(std::uint64_t after, int code, int sys_errno) {
  const std::lock_guard lock(mutex_);
  operations_left_ = after;
  failure_ = code;
  sys_errno_ = sys_errno;
  failed_ = false;
}

void FaultyVfs::heal() {
  const std::lock_guard lock(mutex_);
  failure_ = SQLITE_OK;
}

bool FaultyVfs::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void FaultyVfs::moment() {
  if (callback_) callback_(disk_);
}

void FaultyVfs::stop_at(Checkpoint place) const {
  const auto callback = [this] {
    const std::lock_guard lock(mutex_);
    return on_checkpoint_;
  }();
  if (callback) callback(place);
}

int FaultyVfs::failure(bool sync) {
  if (failure_ == SQLITE_OK || sync != (failure_ == SQLITE_IOERR_FSYNC)) return SQLITE_OK;
  if (operations_left_ > 0) {
    --operations_left_;
    return SQLITE_OK;
  }
  failed_ = true;
  return failure_;
}

}  // namespace heddle::journal::testing
