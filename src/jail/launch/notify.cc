#include "heddle/jail/launch/notify.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "heddle/jail/confine/notify.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kPage = 4096;

// The kernel's structures may grow: it wants a buffer of its own size, all zero.
union Received {
  seccomp_notif notification;
  char room[512];
};
union Answered {
  seccomp_notif_resp response;
  char room[256];
};

struct ObjectRow {
  int number;
  ObjectArgument where;
};
constexpr ObjectArgument path_at(unsigned argument, unsigned folder = ObjectArgument::kNone) {
  return {DenialRecord::Object::path, argument, 0, folder};
}
constexpr ObjectArgument address_at(unsigned argument) {
  return {DenialRecord::Object::address, argument, argument + 1, ObjectArgument::kNone};
}
constexpr ObjectRow kObjects[] = {
    {SYS_openat, path_at(1, 0)},     {SYS_openat2, path_at(1, 0)},    {SYS_execveat, path_at(1, 0)},
    {SYS_mkdirat, path_at(1, 0)},    {SYS_mknodat, path_at(1, 0)},    {SYS_unlinkat, path_at(1, 0)},
    {SYS_renameat2, path_at(1, 0)},  {SYS_renameat, path_at(1, 0)},   {SYS_linkat, path_at(1, 0)},
    {SYS_symlinkat, path_at(2, 1)},  {SYS_fchmodat, path_at(1, 0)},   {SYS_fchownat, path_at(1, 0)},
    {SYS_utimensat, path_at(1, 0)},  {SYS_newfstatat, path_at(1, 0)}, {SYS_faccessat, path_at(1, 0)},
    {SYS_readlinkat, path_at(1, 0)}, {SYS_statx, path_at(1, 0)},      {SYS_open_tree, path_at(1, 0)},
    {SYS_execve, path_at(0)},        {SYS_truncate, path_at(0)},      {SYS_statfs, path_at(0)},
    {SYS_chdir, path_at(0)},         {SYS_chroot, path_at(0)},        {SYS_pivot_root, path_at(0)},
    {SYS_umount2, path_at(0)},       {SYS_mount, path_at(1)},         {SYS_swapon, path_at(0)},
    {SYS_setxattr, path_at(0)},      {SYS_lsetxattr, path_at(0)},     {SYS_connect, address_at(1)},
    {SYS_bind, address_at(1)},       {SYS_sendto, address_at(4)},
#ifdef SYS_open
    {SYS_open, path_at(0)},          {SYS_creat, path_at(0)},         {SYS_mkdir, path_at(0)},
    {SYS_rmdir, path_at(0)},         {SYS_unlink, path_at(0)},        {SYS_rename, path_at(0)},
    {SYS_link, path_at(0)},          {SYS_symlink, path_at(1)},       {SYS_chmod, path_at(0)},
    {SYS_chown, path_at(0)},         {SYS_lchown, path_at(0)},        {SYS_mknod, path_at(0)},
    {SYS_stat, path_at(0)},          {SYS_lstat, path_at(0)},         {SYS_access, path_at(0)},
    {SYS_readlink, path_at(0)},      {SYS_utime, path_at(0)},         {SYS_utimes, path_at(0)},
    {SYS_futimesat, path_at(1, 0)},
#endif
};
constexpr ObjectRow kSecondPaths[] = {
    {SYS_renameat2, path_at(3, 2)}, {SYS_renameat, path_at(3, 2)}, {SYS_linkat, path_at(3, 2)},
#ifdef SYS_rename
    {SYS_rename, path_at(1)},       {SYS_link, path_at(1)},
#endif
};

template <std::size_t Count>
ObjectArgument find_object(const ObjectRow (&rows)[Count], int number) {
  for (const ObjectRow& row : rows) {
    if (row.number == number) return row.where;
  }
  return {};
}

#if defined(__x86_64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
#endif

// Whether this descriptor of the guest's is what it says: the kernel knows no notification 0 on a listener (ENOENT),
// and no such request on anything else.
bool is_listener(const core::Fd& fd) {
  std::uint64_t none = 0;
  return ::ioctl(fd.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &none) != 0 && errno == ENOENT;
}

// A page at a time, so that what ends just before an unmapped page is read as well.
std::size_t read_memory(const core::Fd& memory, pid_t pid, std::uint64_t address, char* to, std::size_t wanted) {
  std::size_t got = 0;
  while (got < wanted) {
    const std::uint64_t from = address + got;
    const std::size_t part = std::min(wanted - got, kPage - static_cast<std::size_t>(from % kPage));
    ssize_t read = -1;
    if (memory.valid() && from <= static_cast<std::uint64_t>(INT64_MAX)) {
      read = ::pread(memory.get(), to + got, part, static_cast<off_t>(from));
    }
    if (read <= 0) {
      const iovec local{to + got, part};
      const iovec remote{reinterpret_cast<void*>(from), part};  // NOLINT(performance-no-int-to-ptr): another process's
      read = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    }
    if (read <= 0) break;
    got += static_cast<std::size_t>(read);
  }
  return got;
}

// The process's parent (proc_pid_stat(5), field 4); 0 when it cannot be read. The name in field 2 may hold anything.
pid_t parent_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512] = {};
  if (!file.valid() || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  const char* const name_end = std::strrchr(text, ')');
  int parent = 0;
  char state = 0;
  if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d", &state, &parent) != 2) return 0;
  return parent;
}

// Where a descriptor of the process, or with AT_FDCWD its working folder, lies; empty when it cannot be read whole.
std::string link_of(pid_t pid, int descriptor) {
  const std::string name = descriptor == AT_FDCWD ? "cwd" : "fd/" + std::to_string(descriptor);
  const std::string link = "/proc/" + std::to_string(pid) + "/" + name;
  std::string target(kMaxObservedBytes, '\0');
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return {};
  target.resize(static_cast<std::size_t>(size));
  return target;
}

}  // namespace

std::optional<std::int64_t> result_of_keeping(HeldIds ids, int number, const std::uint64_t (&arguments)[6]) noexcept {
  constexpr std::uint32_t kAsItIs = UINT32_MAX;
  struct Row {
    int number;
    unsigned count;  // of ids
    bool user;
    bool tells;  // gives the id that it was, whatever is asked for
  };
  constexpr Row kRows[] = {{SYS_setuid, 1, true, false},    {SYS_setgid, 1, false, false},
                           {SYS_setreuid, 2, true, false},  {SYS_setregid, 2, false, false},
                           {SYS_setresuid, 3, true, false}, {SYS_setresgid, 3, false, false},
                           {SYS_setfsuid, 1, true, true},   {SYS_setfsgid, 1, false, true}};
  for (const Row& row : kRows) {
    if (row.number != number) continue;
    const std::uint32_t held = row.user ? ids.user : ids.group;
    for (unsigned i = 0; i < row.count; ++i) {
      const auto asked = static_cast<std::uint32_t>(arguments[i]);
      // The calls with one id know no "as it is", but for those that tell.
      if (asked != held && !(asked == kAsItIs && (row.count > 1 || row.tells))) return std::nullopt;
    }
    return row.tells ? held : 0;
  }
  return std::nullopt;
}

bool is_birth(int number, std::uint64_t flags) noexcept {
#ifdef SYS_fork
  if (number == SYS_fork || number == SYS_vfork) return true;
#endif
  return number == SYS_clone && (flags & (kBirthFlagsRefused | CLONE_THREAD)) == 0;
}

ObjectArgument object_argument(int number) noexcept { return find_object(kObjects, number); }
ObjectArgument second_path(int number) noexcept { return find_object(kSecondPaths, number); }

void DenialLog::add(DenialRecord record) {
  ++total_;
  if (records_.size() < kRoom) {
    records_.push_back(std::move(record));
  } else {
    ++dropped_;
  }
}

// Pointers are left out of the key, and so are arguments that hold one.
void DenialLog::observe(DenialRecord record) {
  std::string key = std::to_string(record.number);
  for (unsigned at = 0; at < 6; ++at) {
    const bool flags = (record.number == SYS_openat && at == 2) || (record.number == SYS_unlinkat && at == 2);
    if (flags) key += ' ' + std::to_string(record.arguments[at]);
  }
#ifdef SYS_open
  if (record.number == SYS_open) key += ' ' + std::to_string(record.arguments[1]);
#endif
  ((key += '\0') += record.folder) += '\0';
  key += record.bytes;
  const auto found = arrivals_.find(key);
  if (found != arrivals_.end()) {
    ++observed_.at(found->second).second.count;
    ++observed_waiting_;
  } else if (observed_.size() < kObservedRoom) {
    observed_waiting_ += record.count;
    arrivals_.emplace(key, ++arrived_);
    observed_.emplace(arrived_, std::pair(std::move(key), std::move(record)));
  } else {
    ++observed_dropped_;
  }
}

bool DenialLog::take(DenialRecord& record) {
  if (!records_.empty()) {
    record = std::move(records_.front());
    records_.pop_front();
    return true;
  }
  if (observed_.empty()) return false;
  arrivals_.erase(observed_.begin()->second.first);
  record = std::move(observed_.begin()->second.second);
  observed_.erase(observed_.begin());
  observed_waiting_ -= record.count;
  return true;
}

// A guest whose memory cannot be opened (root without CAP_SYS_PTRACE) is denied all the same; its paths stay unknown. A
// guest that is still in execve is waited for by the kernel, so that it is the new program's memory.
Notifier::Verdict Notifier::begin() noexcept {
  const std::string path = "/proc/" + std::to_string(guest_) + "/mem";
  memory_ = core::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto word = static_cast<std::uint8_t>(rules_.order == NotifyOrder::required ? NotifyWord::required
                                                                                    : NotifyWord::if_available);
  const bool told = ::send(socket_.get(), &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof word;
  // EPIPE: it has ended already, which is told elsewhere.
  return told || errno == EPIPE ? Verdict::go_on : Verdict::kill;
}

Notifier::Verdict Notifier::take_message() noexcept {
  std::uint8_t words[3] = {};
  iovec part{words, sizeof words};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Verdict::go_on;
  core::Fd descriptor;
  const cmsghdr* rights = got > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    int raw = -1;
    std::memcpy(&raw, CMSG_DATA(rights), sizeof raw);
    descriptor = core::Fd(raw);
  }
  if (got <= 0) return Verdict::closed;  // it ended before it said anything
  if ((header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) return Verdict::kill;
  switch (static_cast<NotifyWord>(words[0])) {
    case NotifyWord::listening:
      if (got != 1 || !descriptor.valid() || !is_listener(descriptor)) return Verdict::kill;
      listener_ = std::move(descriptor);
      return conclude(NotifyState::listening, Verdict::listen);
    case NotifyWord::killing:
      if (got != 2 || rules_.order == NotifyOrder::required) return Verdict::kill;
      error_ = words[1];
      return conclude(NotifyState::killing, Verdict::go_on);
    default:
      return Verdict::kill;
  }
}

// Nothing is heard a second time.
Notifier::Verdict Notifier::conclude(NotifyState state, Verdict verdict) noexcept {
  state_ = state;
  socket_.reset();
  return verdict;
}

// Until that call only the stub's own code has run in the guest, so that what the call points at is the stub's: neither
// path nor arguments are looked at. Landlock grants execute on the program and its loader.
bool Notifier::starts_the_program(const seccomp_notif& call) const {
  return rules_.one_program && !started_ && call.data.arch == kNative && call.data.nr == SYS_execveat &&
         static_cast<std::uint32_t>(call.data.args[4]) == AT_EMPTY_PATH &&
         parent_of(static_cast<pid_t>(call.pid)) == guest_;
}

bool Notifier::observes(const seccomp_notif& call) const {
  return call.data.arch == kNative && std::binary_search(rules_.observed.begin(), rules_.observed.end(), call.data.nr);
}

void Notifier::look(DenialRecord& record, pid_t caller, ObjectArgument where) const {
  if (where.object == DenialRecord::Object::none || record.arguments[where.pointer] == 0) return;
  std::size_t wanted = kMaxObservedBytes;
  if (where.object == DenialRecord::Object::address) {
    wanted = std::min<std::size_t>(record.arguments[where.length] & UINT32_MAX, sizeof(sockaddr_storage));
  }
  std::string bytes(wanted, '\0');
  // The guest's own memory was opened while it could be; a descendant's is another.
  const core::Fd none;
  const core::Fd& memory = caller == guest_ ? memory_ : none;
  bytes.resize(read_memory(memory, caller, record.arguments[where.pointer], bytes.data(), wanted));
  if (where.object == DenialRecord::Object::path) bytes.resize(std::min(bytes.size(), bytes.find('\0')));
  // An empty path is the descriptor itself (AT_EMPTY_PATH).
  const bool itself = where.object == DenialRecord::Object::path && record.number == SYS_execveat;
  if (bytes.empty() && !itself) return;
  record.object = where.object;
  record.bytes = std::move(bytes);
  if (where.object != DenialRecord::Object::path || (!record.bytes.empty() && record.bytes.front() == '/')) return;
  const auto folder =
      where.folder == ObjectArgument::kNone ? AT_FDCWD : static_cast<int>(record.arguments[where.folder]);
  record.folder = link_of(caller, folder);
}

Notifier::Verdict Notifier::answer(std::uint64_t id, bool goes_on) noexcept {
  Answered answered{};
  answered.response.id = id;
  if (goes_on) {
    answered.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    answered.response.error = -EPERM;
  }
  // ENOENT: the caller is gone, or a signal took it out of the call; it will make the call anew and be told then.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answered) != 0 && errno != ENOENT) return Verdict::kill;
  return Verdict::go_on;
}

Notifier::Verdict Notifier::answer_done(std::uint64_t id, std::int64_t result) noexcept {
  Answered answered{};
  answered.response.id = id;
  answered.response.val = result;
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answered) != 0 && errno != ENOENT) return Verdict::kill;
  return Verdict::go_on;
}

Notifier::Verdict Notifier::serve(std::uint32_t events) noexcept {
  // Hung up: it stays so, and to look again and again would keep the processor from the last one that is just ending.
  if ((events & POLLIN) == 0) return Verdict::closed;
  Received received{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &received) != 0) {
    // ENOENT: the caller was killed, or interrupted, meanwhile.
    return errno == ENOENT || errno == EINTR ? Verdict::go_on : Verdict::closed;
  }
  const seccomp_notif& call = received.notification;
  const auto caller = static_cast<pid_t>(call.pid);
  // What was read of the caller was the caller's only if it is still in this very call.
  const auto still_there = [&] {
    std::uint64_t id = call.id;
    return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
  };
  if (starts_the_program(call)) {
    started_ = true;
    return still_there() ? answer(call.id, true) : Verdict::go_on;
  }
  if (rules_.held_ids && call.data.arch == kNative) {
    std::uint64_t arguments[6];
    std::copy(std::begin(call.data.args), std::end(call.data.args), std::begin(arguments));
    if (const auto result = result_of_keeping(ids_, call.data.nr, arguments)) return answer_done(call.id, *result);
  }
  // By number and flags, which are the kernel's: no memory of the caller's has a say.
  if (rules_.births && call.data.arch == kNative && is_birth(call.data.nr, call.data.args[0])) {
    return answer(call.id, true);
  }
  DenialRecord record;
  record.number = call.data.nr;
  record.architecture = call.data.arch;
  std::copy(std::begin(call.data.args), std::end(call.data.args), std::begin(record.arguments));
  const bool observed = observes(call);
  record.left_to_landlock = observed;
  DenialRecord second = record;
  look(record, caller, object_argument(record.number));
  if (observed) look(second, caller, second_path(record.number));
  if (!still_there()) {
    for (DenialRecord* one : {&record, &second}) {
      one->object = DenialRecord::Object::none;
      one->bytes.clear();
      one->folder.clear();
    }
  }
  if (observed) {
    if (record.object != DenialRecord::Object::none) log_.observe(std::move(record));
    if (second.object != DenialRecord::Object::none) log_.observe(std::move(second));
    return answer(call.id, true);
  }
  log_.add(std::move(record));
  if (log_.total() >= rules_.quota) {
    quota_spent_ = true;  // never answered
    return Verdict::kill;
  }
  return answer(call.id, false);
}

void Notifier::end(std::vector<core::Fd>& open) {
  for (core::Fd* fd : {&socket_, &memory_, &listener_}) {
    if (fd->valid()) open.push_back(std::move(*fd));
  }
}

}  // namespace heddle::jail
