#include "heddle/jail/unsafe/program_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "heddle/jail/confine/landlock.h"
#include "heddle/jail/syscalls.h"
#include "heddle/jail/unsafe/program_grants.h"

namespace heddle::jail {
namespace {

using core::Errc;

// LANDLOCK_ACCESS_FS_*; landlock.h has those that the script profile needs.
constexpr std::uint64_t kWriteFile = 1U << 1;
constexpr std::uint64_t kReadFolder = 1U << 3;
constexpr std::uint64_t kRemoveFolder = 1U << 4;
constexpr std::uint64_t kRemoveFile = 1U << 5;
constexpr std::uint64_t kMakeFolder = 1U << 7;
constexpr std::uint64_t kMakeFile = 1U << 8;
constexpr std::uint64_t kRefer = 1U << 13;
constexpr std::uint64_t kTruncate = 1U << 14;
constexpr std::uint64_t kOfFiles = kLandlockExecute | kWriteFile | kLandlockReadFile | kTruncate;

std::uint64_t rights_of(Access access) {
  std::uint64_t rights = kLandlockReadFile | kReadFolder;
  if (access == Access::execute) rights |= kLandlockExecute;
  if (access == Access::write) {
    rights |= kWriteFile | kTruncate | kRemoveFile | kRemoveFolder | kMakeFile | kMakeFolder | kRefer;
  }
  return rights;
}

core::Error landlock_error(int error, const std::string& path) {
  return core::system_error(error, "grant a path with Landlock", path);
}

// A file gets rights of files alone, whatever its name led to before and leads to later.
core::Result<void> grant(int ruleset, int abi, const core::Fd& object, std::uint64_t rights, const std::string& path) {
  struct stat info {};
  if (::fstat(object.get(), &info) != 0) return core::system_error("fstat", path);
  rights &= landlock_rights(abi).files;
  if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
  const int allowed = landlock_allow(ruleset, object.get(), rights);
  if (allowed < 0) return landlock_error(-allowed, path);
  return {};
}

// A device that may be written, as /dev/null is by every policy with runtime files, is nothing to lock.
Locks locks_of(const ProgramGrants& grants) {
  for (const ProgramGrants::Path& one : grants.paths()) {
    const mode_t mode = one.object.info().st_mode;
    if (one.access == Access::write && (S_ISDIR(mode) || S_ISREG(mode))) return Locks::allowed;
  }
  return Locks::none;
}

Births births_of(const NamespaceOrder& order) {
  return order.need == Need::required && order.set.has(Namespace::pid) ? Births::free : Births::told;
}

}  // namespace

std::vector<PathGrant> runtime_files() {
  constexpr std::array<const char*, 15> kRead = {
      "/lib",       "/lib32",     "/lib64",           "/usr/lib",       "/usr/lib32",
      "/usr/lib64", "/usr/share", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf",
      "/dev/zero",  "/dev/full",  "/dev/random",      "/dev/urandom",   "/usr/libexec"};
  std::vector<PathGrant> grants;
  for (const char* path : kRead) {
    if (::access(path, F_OK) == 0) grants.push_back({path, Access::read});
  }
  grants.push_back({"/dev/null", Access::write});
  return grants;
}

core::Result<Policy> UnsafePolicy::program(const Program& stub, const ProgramGrants& grants,
                                           const ProgramNeeds& needs) {
  const int abi = landlock_abi();
  if (abi < 0) {
    return core::make_error(Errc::unsupported, "make a policy",
                            "this kernel has no Landlock, or it is switched off (lsm=), and it is what decides about "
                            "files: Linux 5.13 or later is needed");
  }
  if (grants.ungranted()) {
    return core::make_error(Errc::invalid_argument, "make a policy",
                            "the interpreter of a script is not granted execute: " + grants.ungranted()->path());
  }
  Policy::State state;
  if (needs.denials.notifications == Notifications::off) {
    return core::make_error(Errc::invalid_argument, "make a policy",
                            "a program's refused calls are always told where they can be: notifications if_available "
                            "or required");
  }
  state.table = program_syscalls({needs.subprocesses, locks_of(grants), births_of(needs.namespaces)});
  state.limits = needs.limits;
  state.namespaces = needs.namespaces;
  state.denials = needs.denials;
  state.ruleset = core::Fd(landlock_deny_all(abi));
  if (!state.ruleset.valid()) return core::system_error("make a Landlock ruleset");
  const int ruleset = state.ruleset.get();
  const std::uint64_t start = kLandlockExecute | kLandlockReadFile;
  HEDDLE_TRY(grant(ruleset, abi, stub.fd(), start, stub.path()));
  HEDDLE_TRY(grant(ruleset, abi, grants.program(), start, grants.program_path()));
  if (const auto& loader = grants.loader()) HEDDLE_TRY(grant(ruleset, abi, loader->fd(), start, loader->path()));
  for (const ProgramGrants::Called& one : grants.scripts()) {
    HEDDLE_TRY(grant(ruleset, abi, one.file, kLandlockReadFile, one.path));
  }
  for (const ProgramGrants::Path& one : grants.paths()) {
    // Of what is granted execute for the sake of a script's interpreter alone, that alone is executed.
    const bool reads = one.access == Access::execute && needs.subprocesses == Subprocesses::none;
    HEDDLE_TRY(grant(ruleset, abi, one.object.fd(), rights_of(reads ? Access::read : one.access), one.object.path()));
  }
  return Policy::make(std::move(state));
}

}  // namespace heddle::jail
