#include "heddle/core/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "linked.h"

namespace heddle::core {

void Fd::reset() noexcept {
  if (raw_ >= 0) ::close(std::exchange(raw_, -1));
}

Result<Fd> Fd::duplicate(int lowest) const {
  Fd copy(::fcntl(raw_, F_DUPFD_CLOEXEC, lowest));
  if (!copy.valid()) return system_error("duplicate a descriptor");
  return copy;
}

Result<FdPair> stream_pair() {
  int raw[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0) return system_error("make a socket pair");
  return FdPair{Fd(raw[0]), Fd(raw[1])};
}

Result<FdPair> pipe_pair() {
  int raw[2];
  if (::pipe2(raw, O_CLOEXEC) != 0) return system_error("make a pipe");
  return FdPair{Fd(raw[0]), Fd(raw[1])};
}

Result<void> set_nonblocking(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return system_error("set O_NONBLOCK");
  return {};
}

Result<Fd> sealed_memory(const char* name, std::string_view bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("memfd_create", name);
  HEDDLE_TRY(write_all(fd, bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return system_error("seal a memory file", name);
  }
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return system_error("rewind a memory file", name);
  return fd;
}

Result<std::string> read_all(const Fd& fd, std::size_t ceiling) {
  std::string bytes;
  std::size_t have = 0;
  for (;;) {
    if (have == bytes.size()) {
      const std::size_t grown = bytes.empty() ? std::size_t{64} << 10 : bytes.size() * 2;
      bytes.resize(grown > ceiling ? ceiling + 1 : grown);
    }
    const ssize_t got = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have > ceiling) return make_error(Errc::too_large, "read", "more than " + std::to_string(ceiling) + " bytes");
  }
  bytes.resize(have);
  return bytes;
}

Result<void> write_all(const Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace heddle::core
