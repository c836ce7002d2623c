#include "heddle/jail/confine/notify.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace heddle::jail {
namespace {

int send_words(const std::uint8_t* words, std::size_t count) {
  while (::send(kNotifyFd, words, count, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

int send_descriptor(std::uint8_t word, int descriptor) {
  iovec part{&word, sizeof word};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  while (::sendmsg(kNotifyFd, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

int receive_word(NotifyWord& word) {
  std::uint8_t byte = 0;
  for (;;) {
    const ssize_t got = ::recv(kNotifyFd, &byte, sizeof byte, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got != 1) return -EPROTO;
    word = static_cast<NotifyWord>(byte);
    return 0;
  }
}

constexpr std::uint8_t byte_of(NotifyWord word) { return static_cast<std::uint8_t>(word); }

}  // namespace

int notify_order(NotifyWord& order) noexcept {
  const int heard = receive_word(order);
  if (heard < 0) return heard;
  return order == NotifyWord::required || order == NotifyWord::if_available ? 0 : -EPROTO;
}

int notify_pass(int listener) noexcept { return send_descriptor(byte_of(NotifyWord::listening), listener); }

int notify_give_up(int error) noexcept {
  const std::uint8_t words[] = {byte_of(NotifyWord::killing), static_cast<std::uint8_t>(error)};
  return send_words(words, sizeof words);
}

}  // namespace heddle::jail
