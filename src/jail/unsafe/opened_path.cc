#include "heddle/jail/unsafe/opened_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace heddle::jail {
namespace {

constexpr const char* kStep = "open a path";
constexpr unsigned kMostLinks = 40;               // as the kernel has it
constexpr std::size_t kLongest = 4UL * PATH_MAX;  // what is left to walk, with the targets of links

core::Error refused(int error, const std::string& path, const std::string& why = {}) {
  core::Error result = core::system_error(error, kStep, why.empty() ? path : path + ": " + why);
  if (error == ENOENT || error == ENOTDIR) result.code = core::Errc::not_found;
  return result;
}

}  // namespace

class Walk {
 public:
  Walk(const std::string& path, Automount automount) : wanted_(path), rest_(path), automount_(automount) {}

  core::Result<OpenedPath> run() {
    if (wanted_.empty() || wanted_.front() != '/') {
      return core::make_error(core::Errc::invalid_argument, kStep, wanted_ + " is not an absolute path");
    }
    Place root;
    root.fd = core::Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.fd.valid() || ::fstat(root.fd.get(), &root.info) != 0) return refused(errno, "/");
    places_.push_back(std::move(root));
    while (next_name()) HEDDLE_TRY(step());
    OpenedPath result;
    result.above_ = inodes();
    result.path_ = text();
    result.info_ = places_.back().info;
    result.fd_ = std::move(places_.back().fd);
    result.links_ = std::move(links_);
    return result;
  }

 private:
  struct Place {
    core::Fd fd;
    std::string name;
    struct stat info {};
    bool automounter = false;
  };

  // Takes the next part off what is left.
  bool next_name() {
    rest_.erase(0, std::min(rest_.find_first_not_of('/'), rest_.size()));
    const std::size_t end = std::min(rest_.find('/'), rest_.size());
    name_ = rest_.substr(0, end);
    as_folder_ = end != rest_.size();
    rest_.erase(0, end);
    return !name_.empty();
  }

  core::Result<void> step() {
    if (name_ == ".") return {};
    if (name_ == "..") {
      if (places_.size() > 1) places_.pop_back();
      return {};
    }
    const int parent = places_.back().fd.get();
    Place place;
    place.name = name_;
    place.fd = core::Fd(::openat(parent, name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place.fd.valid() || ::fstat(place.fd.get(), &place.info) != 0) return refused(errno, wanted_);
    HEDDLE_TRY(let_mount(parent, place));
    if (S_ISLNK(place.info.st_mode)) return follow(place);
    if (as_folder_ && !S_ISDIR(place.info.st_mode)) return refused(ENOTDIR, wanted_);
    places_.push_back(std::move(place));
    return {};
  }

  // O_PATH alone finds the automounter's empty folder.
  core::Result<void> let_mount(int parent, Place& place) {
    if (!places_.back().automounter && place.info.st_dev == places_.back().info.st_dev) return {};
    struct statfs system {};
    place.automounter = ::fstatfs(place.fd.get(), &system) == 0 && system.f_type == AUTOFS_SUPER_MAGIC;
    if (!place.automounter || automount_ == Automount::refused || !S_ISDIR(place.info.st_mode)) return {};
    core::Fd mounted(::openat(parent, place.name.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
    if (!mounted.valid() || ::fstat(mounted.get(), &place.info) != 0) return refused(errno, wanted_);
    place.fd = std::move(mounted);
    return {};
  }

  core::Result<void> follow(const Place& link) {
    const struct stat& folder = places_.back().info;
    const std::string path = text() == "/" ? "/" + link.name : text() + "/" + link.name;
    if ((folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) && link.info.st_uid != ::geteuid() &&
        link.info.st_uid != folder.st_uid) {
      return refused(
          EACCES, path,
          "a symbolic link of user " + std::to_string(link.info.st_uid) + "'s in a folder that everybody may write");
    }
    if (links_.size() == kMostLinks) return refused(ELOOP, wanted_);
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(link.fd.get(), "", target.data(), target.size());
    if (size < 0) return refused(errno, path);
    if (size == 0) return refused(ENOENT, path);
    target.resize(static_cast<std::size_t>(size));
    links_.push_back({path, inodes()});
    if (target.front() == '/') places_.resize(1);
    rest_ = target + (as_folder_ ? "/" : "") + rest_;
    return rest_.size() > kLongest ? refused(ENAMETOOLONG, wanted_) : core::Result<void>();
  }

  [[nodiscard]] std::vector<OpenedPath::Inode> inodes() const {
    std::vector<OpenedPath::Inode> list;
    list.reserve(places_.size());
    for (const Place& place : places_) list.push_back({place.info.st_dev, place.info.st_ino});
    return list;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const Place& place : places_) {
      if (!place.name.empty()) (text += '/') += place.name;
    }
    return text.empty() ? "/" : text;
  }

  const std::string wanted_;
  std::string rest_;
  const Automount automount_;
  std::string name_;
  bool as_folder_ = false;  // something stands behind the name, were it but a slash
  std::vector<Place> places_;
  std::vector<OpenedPath::Link> links_;
};

core::Result<OpenedPath> OpenedPath::open(const std::string& path, Automount automount) {
  return Walk(path, automount).run();
}

core::Result<core::Fd> OpenedPath::open_for_reading() const {
  if (!S_ISREG(info_.st_mode)) return core::make_error(core::Errc::invalid_argument, kStep, "it is not a regular file");
  core::Fd file(
      ::open(("/proc/self/fd/" + std::to_string(fd_.get())).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return core::system_error(kStep, path_);
  return file;
}

bool OpenedPath::within(const OpenedPath& folder) const {
  return std::find(above_.begin(), above_.end(), folder.inode()) != above_.end();
}

std::string OpenedPath::link_below(const OpenedPath& folder) const {
  for (const Link& link : links_) {
    if (std::find(link.above.begin(), link.above.end(), folder.inode()) != link.above.end()) return link.path;
  }
  return {};
}

}  // namespace heddle::jail
