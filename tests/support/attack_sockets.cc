#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "attacker.h"

namespace heddle::attacker {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

// "@name" is the abstract namespace.
Address address_of(const std::string& path) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, path.data(), path.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path[0] == '@') {
    address.name.sun_path[0] = '\0';
  } else {
    ++address.size;
  }
  return address;
}

// A new socket, or where none can be had, the one that was inherited.
int any_socket(int type) {
  const long fresh = ::syscall(SYS_socket, AF_UNIX, type, 0);
  return fresh >= 0 ? static_cast<int>(fresh) : 3;
}

int make_socket(const std::string& family) {
  int last = 0;
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
    last = outcome(::syscall(SYS_socket, std::atoi(family.c_str()), type, 0));
    if (last == 0) return 0;
  }
  return last;
}
int make_socket_upper_bits(const std::string&) {
  return outcome(::syscall(SYS_socket, (std::uint64_t{1} << 32) | AF_INET, SOCK_STREAM, 0));
}
int make_pair(const std::string&) {
  int pair[2];
  return outcome(::syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pair));
}
int connect_unix(const std::string& path) {
  const Address address = address_of(path);
  return outcome(::syscall(SYS_connect, any_socket(SOCK_STREAM), &address.name, address.size));
}
int sendto_unix(const std::string& path) {
  const Address address = address_of(path);
  return outcome(::syscall(SYS_sendto, any_socket(SOCK_DGRAM), "x", 1, MSG_NOSIGNAL, &address.name, address.size));
}
int sendmsg_unix(const std::string& path) {
  Address address = address_of(path);
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr header{};
  header.msg_name = &address.name;
  header.msg_namelen = address.size;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  return outcome(::syscall(SYS_sendmsg, any_socket(SOCK_DGRAM), &header, MSG_NOSIGNAL));
}
int bind_unix(const std::string& path) {
  const Address address = address_of(path);
  return outcome(::syscall(SYS_bind, any_socket(SOCK_STREAM), &address.name, address.size));
}
int listen_inet(const std::string&) {
  const long fresh = ::syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
  return outcome(::syscall(SYS_listen, fresh >= 0 ? fresh : 3, 1));
}
// Where a name server would be: UDP, without connect.
int sendto_inet(const std::string&) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const long fresh = ::syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
  return outcome(::syscall(SYS_sendto, fresh >= 0 ? fresh : 3, "x", 1, MSG_NOSIGNAL, &address, sizeof address));
}
// New ones, and any that the host has: both begin with the same call.
int shared_memory(const std::string&) {
  const long id = ::syscall(SYS_shmget, IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0) return errno;
  (void)::syscall(SYS_shmctl, id, IPC_RMID, nullptr);
  return 0;
}
int semaphores(const std::string&) {
  const long id = ::syscall(SYS_semget, IPC_PRIVATE, 1, IPC_CREAT | 0600);
  if (id < 0) return errno;
  (void)::syscall(SYS_semctl, id, 0, IPC_RMID, 0);
  return 0;
}
int messages(const std::string&) {
  const long id = ::syscall(SYS_msgget, IPC_PRIVATE, IPC_CREAT | 0600);
  if (id < 0) return errno;
  (void)::syscall(SYS_msgctl, id, IPC_RMID, nullptr);
  return 0;
}
int posix_queue(const std::string&) {
  const long queue = ::syscall(SYS_mq_open, "heddle-attack", O_RDWR | O_CREAT, 0600, nullptr);
  if (queue < 0) return errno;
  (void)::syscall(SYS_mq_unlink, "heddle-attack");
  return 0;
}
int posix_memory(const std::string&) {
  const long memory = ::syscall(SYS_openat, AT_FDCWD, "/dev/shm/heddle-attack", O_RDWR | O_CREAT, 0600);
  if (memory < 0) return errno;
  ::unlink("/dev/shm/heddle-attack");
  return 0;
}
int out_of_band(const std::string&) {
  return outcome(::syscall(SYS_sendto, 3, "x", 1, MSG_OOB | MSG_NOSIGNAL, nullptr, 0));
}
int out_of_band_upper_bits(const std::string&) {
  return outcome(::syscall(SYS_sendto, 3, "x", 1, (std::uint64_t{1} << 32) | MSG_OOB | MSG_NOSIGNAL, nullptr, 0));
}
int io_uring(const std::string&) {
  char parameters[256] = {};
  return outcome(::syscall(SYS_io_uring_setup, 4, parameters));
}

}  // namespace

// Parameter: a family's number, or a UNIX socket's path, "@…" for an abstract one.
const Attack kSocketAttacks[] = {
    {"socket", "make a socket", make_socket},
    {"socket_upper_bits", "make an internet socket, upper argument bits set", make_socket_upper_bits},
    {"socketpair", "make a datagram socket pair", make_pair},
    {"connect_unix", "connect to a host's UNIX socket", connect_unix},
    {"sendto_unix", "send to a host's UNIX socket", sendto_unix},
    {"sendmsg_unix", "send to a host's UNIX socket by sendmsg", sendmsg_unix},
    {"bind_unix", "bind a UNIX socket", bind_unix},
    {"listen_inet", "listen", listen_inet},
    {"sendto_inet", "send UDP, as to a name server", sendto_inet},
    {"shmget", "System V shared memory", shared_memory},
    {"semget", "System V semaphores", semaphores},
    {"msgget", "System V messages", messages},
    {"mq_open", "a POSIX message queue", posix_queue},
    {"shm_open", "POSIX shared memory", posix_memory},
    {"out_of_band", "send out-of-band data", out_of_band},
    {"out_of_band_upper_bits", "send out-of-band data, upper argument bits set", out_of_band_upper_bits},
    {"io_uring", "set up an io_uring", io_uring},
    {nullptr, nullptr, nullptr},
};

}  // namespace heddle::attacker
