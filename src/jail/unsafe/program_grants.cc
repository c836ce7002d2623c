#include "heddle/jail/unsafe/program_grants.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "elf_program.h"

namespace heddle::jail {
namespace {

using core::Errc;

core::Error senseless(const std::string& what) {
  return core::make_error(Errc::invalid_argument, "make a policy", what);
}

core::Error not_started(const std::string& what) {
  return core::make_error(Errc::invalid_argument, ProgramGrants::step(), what);
}

// Whether the user that the guest runs as may write the file, by any of its names. For a host that is root that user is
// not known yet: anybody but root, who is whoever owns the root folder where a user namespace shows other numbers. The
// bits of a group stand for an access list too (acl(5)), so that they count whichever group it is.
bool writable_by_guest(const OpenedPath& file) {
  const struct stat& info = file.info();
  if (::geteuid() == 0) {
    struct stat root {};
    const bool roots = info.st_uid == 0 || (::stat("/", &root) == 0 && info.st_uid == root.st_uid);
    return (info.st_mode & (S_IWGRP | S_IWOTH | (roots ? 0U : S_IWUSR))) != 0;
  }
  const long answer = ::syscall(SYS_faccessat2, file.fd().get(), "", W_OK, AT_EMPTY_PATH | AT_EACCESS);
  if (answer == 0) return true;
  if (errno == EACCES) return false;
  // A mount that may only be read says nothing about another mount of the same files.
  return (info.st_mode & (S_IWGRP | S_IWOTH | (info.st_uid == ::geteuid() ? S_IWUSR : 0U))) != 0;
}

core::Error named(core::Error error, const PathGrant& grant) {
  if (error.code == Errc::invalid_argument) return error;
  error.step = "open a granted path";
  error.context += ": make it, or take " + grant.path + " out of the policy";
  return error;
}

}  // namespace

core::Result<ProgramGrants> ProgramGrants::open(core::Fd program, std::string path, const ProgramNeeds& needs) {
  ProgramGrants grants(std::move(program), std::move(path));
  HEDDLE_TRY(grants.open_paths(needs));
  HEDDLE_TRY(grants.open_loader());
  return grants;
}

core::Result<void> ProgramGrants::open_paths(const ProgramNeeds& needs) {
  for (const PathGrant& one : needs.paths) {
    if (one.access == Access::execute && needs.subprocesses == Subprocesses::none) {
      return senseless(one.path + " is granted execute, and the policy lets no program be started");
    }
    core::Result<OpenedPath> object = OpenedPath::open(one.path);
    if (!object.ok()) return named(std::move(object).error(), one);
    paths_.push_back({std::move(object).value(), one.access});
  }
  for (const Path& written : paths_) {
    if (written.access != Access::write || !S_ISDIR(written.object.info().st_mode)) continue;
    for (const Path& one : paths_) {
      const std::string link = one.object.link_below(written.object);
      if (link.empty() || one.object.within(written.object)) continue;
      return senseless(link +
                       " is a symbolic link in a folder that the policy lets the program write, and leads out of "
                       "it: an earlier run may have made it; grant what is meant, " +
                       one.object.path());
    }
  }
  return {};
}

core::Result<void> ProgramGrants::open_loader() {
  HEDDLE_ASSIGN(const std::string name, loader_named_by(program_, program_path_));
  if (name.empty()) return {};
  const std::string who = "its interpreter, " + name + ",";
  if (name.front() != '/') return not_started(who + " is not an absolute path");
  core::Result<OpenedPath> opened = OpenedPath::open(name, Automount::refused);
  if (!opened.ok()) {
    return not_started(who + " cannot be opened: " + core::errno_text(opened.error().sys_errno) + ": " +
                       opened.error().context);
  }
  const OpenedPath& file = opened.value();
  if (!S_ISREG(file.info().st_mode)) return not_started(who + " is not a regular file");
  // The same file: only now is it known that opening it waits for nobody and has no effect.
  const core::Fd bytes(::open(("/proc/self/fd/" + std::to_string(file.fd().get())).c_str(),
                              O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!bytes.valid()) return not_started(who + " cannot be read: " + core::errno_text(errno));
  if (!can_be_loader(bytes)) return not_started(who + " is not a 64-bit ELF program");
  if (writable_by_guest(file)) {
    return not_started(who + " can be written by the user that the program runs as: chmod a-w " + file.path() +
                       ", or as root let root own it");
  }
  for (const Path& one : paths_) {
    if (one.access != Access::write || !file.within(one.object)) continue;
    return not_started(who + " can be written by the program itself: paths.write grants " + one.object.path());
  }
  loader_ = std::move(opened).value();
  return {};
}

}  // namespace heddle::jail
