#include "source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "heddle/core/text.h"

namespace heddle::cli {

core::Result<Source> Source::open(std::string_view option, std::string_view path, Stdin stdin_state) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : core::printable_line(path);
  const std::string step = "read " + std::string(option);
  core::Fd fd;
  if (standard_input) {
    if (stdin_state == Stdin::closed) {
      return core::make_error(core::Errc::malformed, step,
                              "standard input is closed; give it something, or name a file");
    }
    fd = core::Fd(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  } else {
    // O_NONBLOCK: a FIFO that nobody writes to is waited for in poll(2), where a signal is noticed.
    fd = core::Fd(::open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  }
  if (!fd.valid()) return core::system_error(step, name);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return core::system_error(step, name);
  if (S_ISDIR(status.st_mode)) return core::system_error(EISDIR, step, name + "; name a file");
  std::optional<std::uint64_t> size;
  if (S_ISREG(status.st_mode)) {
    const auto at = ::lseek(fd.get(), 0, SEEK_CUR);
    size = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - std::max<off_t>(0, at)));
  }
  return Source(std::move(fd), name, size);
}

core::Result<Source::Chunk> Source::read(char* buffer, std::size_t capacity) {
  const ssize_t got = ::read(fd_.get(), buffer, capacity);
  if (got > 0) return Chunk{{buffer, static_cast<std::size_t>(got)}, Chunk::State::data};
  if (got == 0) return Chunk{{}, Chunk::State::end};
  if (errno == EAGAIN || errno == EINTR) return Chunk{{}, Chunk::State::nothing_yet};
  return core::system_error("read", name_);
}

core::Result<Content> read_content(Source& source, std::uint64_t ceiling, Signals& signals) {
  if (source.size() && *source.size() > ceiling) return Content{Content::State::too_large, {}};
  Content content{Content::State::complete, {}};
  std::array<char, 65536> buffer;
  for (;;) {
    std::array<pollfd, 2> fds{{{signals.fd(), POLLIN, 0}, {source.fd(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return core::system_error("poll", source.name());
    }
    if (fds[0].revents != 0 && signals.take()) return Content{Content::State::cancelled, {}};
    if (fds[1].revents == 0) continue;
    HEDDLE_ASSIGN(const Source::Chunk chunk, source.read(buffer.data(), buffer.size()));
    if (chunk.state == Source::Chunk::State::end) return content;
    content.text += chunk.bytes;
    if (content.text.size() > ceiling) return Content{Content::State::too_large, {}};
  }
}

}  // namespace heddle::cli
