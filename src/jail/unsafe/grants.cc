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
  unsigned bits = R_OK;    // of the mode of what is there
  bool nothing = false;    // asks for nothing that Landlock decides
  bool makes = false;      // where there is nothing of that name
  bool in_folder = false;  // adds to, or takes from, the folder that holds it
};

Wish wish_of_open(std::uint64_t flags) {
  Wish wish;
  if ((flags & O_PATH) != 0) wish.nothing = true;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
  if (writes) wish.access = Access::write;
  wish.bits = (writes ? W_OK : 0U) | ((flags & O_ACCMODE) != O_WRONLY ? R_OK : 0U);
  wish.makes = (flags & O_CREAT) != 0;
  return wish;
}

Wish wish_of(const Denial& denial) {
  const std::string& call = denial.syscall;
  if (call == "open") return wish_of_open(denial.arguments[1]);
  if (call == "openat") return wish_of_open(denial.arguments[2]);
  if (call == "creat") return wish_of_open(O_WRONLY | O_CREAT | O_TRUNC);
  if (call == "execve" || call == "execveat") return {Access::execute, X_OK, false, false, false};
  return {Access::write, W_OK | X_OK, false, true, true};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool below(const std::string& path, const std::string& folder) {
  if (folder == "/" || path == folder) return true;
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
}

constexpr std::string_view kProc = "/proc/";

// Names of processes there mean something else to whoever looks, and are gone at the next start. The folder is what a
// policy can grant.
bool of_a_process(std::string_view path) {
  if (path.substr(0, kProc.size()) != kProc || path.size() == kProc.size()) return false;
  const std::string_view rest = path.substr(kProc.size());
  return rest.substr(0, 4) == "self" || rest.substr(0, 11) == "thread-self" || (rest[0] >= '0' && rest[0] <= '9');
}

// /dev/stdout and its kin, and the terminal: they lead to what the program holds, or to nothing.
bool of_the_program_itself(const std::string& path) {
  for (const std::string_view name : {"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd"}) {
    if (path == name) return true;
  }
  return path.compare(0, 8, "/dev/fd/") == 0 || (of_a_process(path) && path.find("/fd/") != std::string::npos);
}

// As the program named it: absolute, without dots and double slashes. Empty where it is not known whole.
std::string named_path(const Denial& denial) {
  std::string path = denial.bytes;
  if (denial.object != Denial::Object::path || path.size() >= kMaxObservedBytes) return {};
  if (path.empty() || path.front() != '/') {
    if (denial.folder.empty() || denial.folder.front() != '/') return {};
    path = path.empty() ? denial.folder : denial.folder + "/" + path;
  }
  return path;
}

// Single slashes, no ".": what is compared as text. ".." stays, since a symbolic link may stand before it.
std::string plain(const std::string& path) {
  std::string text;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (!part.empty() && part != ".") (text += '/') += part;
    at = end + 1;
  }
  return text.empty() ? "/" : text;
}

// Whether a user without groups may do this to what is there; where it is the caller itself, the kernel says.
class Modes {
 public:
  Modes(uid_t user, bool own_identity) : user_(own_identity ? user : ::geteuid()), own_identity_(own_identity) {}

  [[nodiscard]] bool allow(const std::string& path, unsigned wanted) const {
    if (!own_identity_) return ::faccessat(AT_FDCWD, path.c_str(), static_cast<int>(wanted), AT_EACCESS) == 0;
    return faults(path, wanted).empty();
  }

  // What is gone meanwhile lacks nothing: nothing is known of it.
  [[nodiscard]] std::vector<ModeFault> faults(const std::string& path, unsigned wanted) const {
    std::vector<ModeFault> list;
    if (path != "/") look("/", X_OK, list);
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      look(path.substr(0, slash), X_OK, list);
    }
    look(path, wanted, list);
    return list;
  }

 private:
  void look(const std::string& path, unsigned wanted, std::vector<ModeFault>& list) const {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return;
    ModeFault fault{path, 'o', {}, ::geteuid() == 0 || ::geteuid() == info.st_uid};
    unsigned bits = info.st_mode & 7U;
    if (in_group(info.st_gid)) {
      fault.who = 'g';
      bits = (info.st_mode >> 3U) & 7U;
    }
    if (info.st_uid == user_) {
      fault.who = 'u';
      bits = (info.st_mode >> 6U) & 7U;
    }
    const unsigned missing = wanted & ~bits;
    if ((missing & R_OK) != 0) fault.bits += 'r';
    if ((missing & W_OK) != 0) fault.bits += 'w';
    if ((missing & X_OK) != 0) fault.bits += 'x';
    if (missing != 0) list.push_back(std::move(fault));
  }
  [[nodiscard]] bool in_group(gid_t group) const {
    if (own_identity_) return group == user_;
    return group == ::getegid() || ::group_member(group) != 0;
  }
  uid_t user_;
  bool own_identity_;
};

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
  const std::string named = named_path(denial);
  if (named.empty()) return judged(PathVerdict::Reason::unknown);
  std::string path = plain(named);
  // A link may lead there too: /proc/mounts, /dev/fd.
  const std::string lies = (denial.bytes.empty() ? "" : real_path(folder_of(path))) + path.substr(path.rfind('/'));
  const std::string leads = wish.in_folder ? "" : real_path(path);
  if (of_the_program_itself(path) || of_the_program_itself(lies)) return judged(PathVerdict::Reason::unknown);
  if (of_a_process(path) || of_a_process(lies) || of_a_process(leads)) {
    verdict.path = path;
    if (covers("/proc", wish.access, false)) return judged(PathVerdict::Reason::none);
    verdict.grant = "/proc";
    return judged(PathVerdict::Reason::not_granted);
  }
  std::string real = leads;
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
  const Modes modes(user, own_identity);
  const unsigned bits = in_folder ? W_OK | X_OK : wish.bits;
  const bool mode = modes.allow(place, bits);
  if (!mode) verdict.faults = modes.faults(place, bits);
  if (!covers(real, wish.access, in_folder)) {
    verdict.grant = place;
    verdict.mode_too = !mode;
    return judged(PathVerdict::Reason::not_granted);
  }
  return judged(mode ? PathVerdict::Reason::none : PathVerdict::Reason::mode);
}

std::string Grants::program_of(const Denial& denial) {
  struct stat info {};
  const std::string named = named_path(denial);
  std::string real = named.empty() ? "" : real_path(named);
  return !real.empty() && ::stat(real.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? real : "";
}

}  // namespace heddle::jail
