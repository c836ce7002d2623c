#include "heddle/jail/unsafe/grants.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "heddle/jail/launch/notify.h"

namespace heddle::jail {
namespace {

struct Release {
  void operator()(char* text) const { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc): realpath's contract
};

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, Release> real(::realpath(path.c_str(), nullptr));
  return real ? real.get() : "";
}

// What a call does with its path.
struct Wish {
  Access access = Access::read;
  bool nothing = false;    // asks for nothing that Landlock decides
  bool makes = false;      // where there is nothing of that name
  bool in_folder = false;  // adds to, or takes from, the folder that holds it
};

Wish wish_of_open(std::uint64_t flags) {
  Wish wish;
  if ((flags & O_PATH) != 0) wish.nothing = true;
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0) wish.access = Access::write;
  wish.makes = (flags & O_CREAT) != 0;
  return wish;
}

Wish wish_of(const Denial& denial) {
  const std::string& call = denial.syscall;
  if (call == "open") return wish_of_open(denial.arguments[1]);
  if (call == "openat") return wish_of_open(denial.arguments[2]);
  if (call == "creat") return wish_of_open(O_WRONLY | O_CREAT | O_TRUNC);
  if (call == "execve" || call == "execveat") return {Access::execute, false, false, false};
  return {Access::write, false, true, true};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool below(const std::string& path, const std::string& folder) {
  if (folder == "/" || path == folder) return true;
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
}

// Names of processes there mean something else to whoever looks. The folder is what a policy can grant.
bool of_a_process(const std::string& path) {
  constexpr std::string_view kProc = "/proc/";
  if (path.compare(0, kProc.size(), kProc) != 0 || path.size() == kProc.size()) return false;
  const std::string_view rest = std::string_view(path).substr(kProc.size());
  return rest.substr(0, 4) == "self" || rest.substr(0, 11) == "thread-self" || (rest[0] >= '0' && rest[0] <= '9');
}

// Whether a user without groups may do this to what is there; where it is the caller itself, the kernel says.
class Modes {
 public:
  Modes(uid_t user, bool own_identity) : user_(user), own_identity_(own_identity) {}

  [[nodiscard]] bool allow(const std::string& path, unsigned wanted) const {
    if (!own_identity_) return ::faccessat(AT_FDCWD, path.c_str(), static_cast<int>(wanted), AT_EACCESS) == 0;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (!has(path.substr(0, slash), X_OK)) return false;
    }
    return has("/", X_OK) && has(path, wanted);
  }

 private:
  [[nodiscard]] bool has(const std::string& path, unsigned wanted) const {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return true;  // gone meanwhile: nothing is known
    unsigned bits = info.st_mode & 7U;
    if (info.st_gid == user_) bits = (info.st_mode >> 3U) & 7U;
    if (info.st_uid == user_) bits = (info.st_mode >> 6U) & 7U;
    return (bits & wanted) == wanted;
  }
  uid_t user_;
  bool own_identity_;
};

unsigned mode_bits(Access access) {
  switch (access) {
    case Access::read:
      return R_OK;
    case Access::write:
      return W_OK;
    case Access::execute:
      return X_OK;
  }
  return R_OK;
}

}  // namespace

Grants::Grants(const ProgramGrants& granted) {
  for (const ProgramGrants::Path& one : granted.paths()) grants_.push_back({one.object.path(), one.access});
  for (const ProgramGrants::Called& one : granted.scripts()) grants_.push_back({one.path, Access::read});
  executable_.push_back(granted.program_path());
  if (granted.loader()) executable_.push_back(granted.loader()->path());
}

bool Grants::covers(const std::string& path, Access access, bool in_folder) const {
  const std::string place = in_folder ? folder_of(path) : path;
  const bool program = std::find(executable_.begin(), executable_.end(), path) != executable_.end();
  if (program && access != Access::write && !in_folder) return true;
  return std::any_of(grants_.begin(), grants_.end(), [&](const PathGrant& grant) {
    const bool enough = grant.access == access || access == Access::read;
    return enough && !grant.path.empty() && below(place, grant.path);
  });
}

PathVerdict Grants::judge(const Denial& denial, uid_t user, bool own_identity) const {
  PathVerdict verdict;
  const Wish wish = wish_of(denial);
  verdict.access = wish.access;
  if (!denial.left_to_landlock || wish.nothing) return verdict;
  const auto judged = [&](PathVerdict::Reason reason) {
    verdict.reason = reason;
    return verdict;
  };
  std::string path = denial.bytes;
  if (denial.object != Denial::Object::path || path.size() >= kMaxObservedBytes) {
    return judged(PathVerdict::Reason::unknown);
  }
  if (path.empty() || path.front() != '/') {
    if (denial.folder.empty() || denial.folder.front() != '/') return judged(PathVerdict::Reason::unknown);
    path = path.empty() ? denial.folder : (denial.folder == "/" ? "" : denial.folder) + "/" + path;
  }
  if (of_a_process(path)) {
    verdict.path = path;
    if (covers("/proc", wish.access, false)) return judged(PathVerdict::Reason::none);
    verdict.grant = "/proc";
    return judged(PathVerdict::Reason::not_granted);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::string real = wish.in_folder ? "" : real_path(path);
  const bool there =
      wish.in_folder ? ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 : !real.empty();
  const bool in_folder = wish.in_folder || (!there && wish.makes);
  if (!there && !wish.makes) return judged(PathVerdict::Reason::absent);
  if (in_folder) {
    const std::string folder = real_path(folder_of(path));
    if (folder.empty()) return judged(PathVerdict::Reason::absent);
    real = (folder == "/" ? "" : folder) + path.substr(path.rfind('/'));
  }
  verdict.path = real;
  const std::string place = in_folder ? folder_of(real) : real;
  const bool mode = Modes(user, own_identity).allow(place, in_folder ? W_OK | X_OK : mode_bits(wish.access));
  if (!covers(real, wish.access, in_folder)) {
    verdict.grant = place;
    verdict.mode_too = !mode;
    return judged(PathVerdict::Reason::not_granted);
  }
  return judged(mode ? PathVerdict::Reason::none : PathVerdict::Reason::mode);
}

}  // namespace heddle::jail
