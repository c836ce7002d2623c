#include "heddle/jail/unsafe/program_grants.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "elf_program.h"
#include "heddle/core/quote.h"

namespace heddle::jail {
namespace {

using core::Errc;

constexpr std::size_t kMostScripts = 5;  // as the kernel has it

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

std::string place_of(const PathGrant& grant) { return grant.where.empty() ? "" : grant.where + ": "; }

core::Error named(core::Error error, const PathGrant& grant) {
  if (error.code == Errc::invalid_argument) return error;
  const bool glob = error.sys_errno == ENOENT && grant.path.find_first_of("*?[") != std::string::npos;
  error.step = "open a granted path";
  error.context =
      place_of(grant) + error.context +
      (glob ? ": * and ? stand for themselves: grant the folder" : ": make it, or take it out of the policy");
  return error;
}

std::string reason(const core::Error& error) {
  return error.sys_errno == 0 ? error.context : core::errno_text(error.sys_errno) + ": " + error.context;
}

// What bytes of a program name. Relative it would be the caller's folder that chooses.
core::Result<OpenedPath> open_named(const std::string& who, const std::string& name) {
  if (name.front() != '/') return not_started(who + " is not an absolute path");
  core::Result<OpenedPath> opened = OpenedPath::open(name, Automount::refused);
  if (!opened.ok()) return not_started(who + " cannot be opened: " + reason(opened.error()));
  return opened;
}

}  // namespace

core::Result<ProgramGrants> ProgramGrants::open(Called program, const ProgramNeeds& needs) {
  ProgramGrants grants(std::move(program));
  std::vector<OpenedPath> interpreters;
  HEDDLE_TRY(grants.open_interpreters(interpreters));
  HEDDLE_TRY(grants.open_paths(needs, interpreters));
  for (OpenedPath& one : interpreters) {
    const bool granted = std::any_of(grants.paths_.begin(), grants.paths_.end(), [&](const Path& path) {
      return path.access == Access::execute && one.within(path.object);
    });
    if (!granted && !grants.ungranted_) grants.ungranted_ = std::move(one);
  }
  if (!grants.ungranted_) HEDDLE_TRY(grants.open_loader());
  return grants;
}

// From the script to the program that is executed, as execve(2) goes.
core::Result<void> ProgramGrants::open_interpreters(std::vector<OpenedPath>& interpreters) {
  for (;;) {
    HEDDLE_ASSIGN(const auto line, script_line(program_.file, program_.path));
    if (!line) return {};
    if (scripts_.size() == kMostScripts) return not_started("is a script whose interpreters are scripts without end");
    const std::string who = "its interpreter (#!), " + line->interpreter + ",";
    HEDDLE_ASSIGN(OpenedPath found, open_named(who, line->interpreter));
    core::Result<core::Fd> file = found.open_for_reading();
    if (!file.ok()) return not_started(who + " cannot be read: " + reason(file.error()));
    if (leading_.empty()) leading_.push_back(program_.name);
    std::vector<std::string> before = {line->interpreter};
    if (!line->argument.empty()) before.push_back(line->argument);
    leading_.insert(leading_.begin(), before.begin(), before.end());
    scripts_.push_back(std::move(program_));
    program_ = Called{std::move(file).value(), found.path(), line->interpreter};
    interpreters.push_back(std::move(found));
  }
}

core::Result<void> ProgramGrants::open_paths(const ProgramNeeds& needs, const std::vector<OpenedPath>& interpreters) {
  for (const PathGrant& one : needs.paths) {
    core::Result<OpenedPath> object = OpenedPath::open(one.path);
    if (!object.ok()) return named(std::move(object).error(), one);
    const bool holds = std::any_of(interpreters.begin(), interpreters.end(),
                                   [&](const OpenedPath& interpreter) { return interpreter.within(object.value()); });
    if (one.access == Access::execute && needs.subprocesses == Subprocesses::none && !holds) {
      return senseless(place_of(one) + one.path + " is granted execute, and the policy lets no program be started");
    }
    paths_.push_back({std::move(object).value(), one.access});
  }
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    core::Result<void> checked = check_links(paths_[i].object);
    if (checked.ok()) continue;
    checked.error().context.insert(0, place_of(needs.paths[i]));
    return checked;
  }
  return {};
}

bool ProgramGrants::cover(const OpenedPath& object) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& one) { return object.within(one.object); });
}

core::Result<void> ProgramGrants::check_links(const OpenedPath& object) const {
  for (const Path& written : paths_) {
    if (written.access != Access::write || !S_ISDIR(written.object.info().st_mode)) continue;
    const std::string link = object.link_below(written.object);
    if (link.empty() || object.within(written.object)) continue;
    return senseless(link +
                     " is a symbolic link in a folder that the policy lets the program write, and leads out of it: an "
                     "earlier run may have made it; name what is meant, " +
                     object.path());
  }
  return {};
}

core::Result<void> ProgramGrants::open_loader() {
  HEDDLE_ASSIGN(const std::string name, loader_named_by(program_.file, program_.path));
  if (name.empty()) return {};
  const std::string who = "its interpreter, " + name + ",";
  HEDDLE_ASSIGN(OpenedPath file, open_named(who, name));
  const core::Result<core::Fd> bytes = file.open_for_reading();
  if (!bytes.ok()) return not_started(who + " cannot be read: " + reason(bytes.error()));
  if (!can_be_loader(bytes.value())) return not_started(who + " is not a 64-bit ELF program");
  if (writable_by_guest(file)) {
    return not_started(who + " can be written by the user that the program runs as: " +
                       core::shown_command("chmod a-w", file.path()) + ", or as root let root own it");
  }
  for (const Path& one : paths_) {
    if (one.access != Access::write || !file.within(one.object)) continue;
    return not_started(who + " can be written by the program itself: paths.write grants " + one.object.path());
  }
  loader_ = std::move(file);
  return {};
}

}  // namespace heddle::jail
