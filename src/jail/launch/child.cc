// Raw system calls on prepared data, and nothing else: no allocation, no lock, no C library state. glibc's wrappers for
// the set*id family would signal the parent's threads.
#include "child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clone.h"
#include "heddle/jail/confine/landlock.h"

namespace heddle::jail {
namespace {

constexpr int kFailed = 127;
constexpr int kSignals = 64;
constexpr int kHighestCapability = 63;
constexpr std::size_t kKernelSetBytes = 8;  // sizeof(sigset_t) in the kernel

// The kernel's struct sigaction, all zero: SIG_DFL without flags.
struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

class Child {
 public:
  explicit Child(ChildOrders& orders) : orders_(orders) {}

  // Each line either did what it says or the child ends.
  bool run() {
    return enter_group() && dispositions() && session() && working_directory() && place_descriptors() && file_mask() &&
           (orders_.confinement == Confinement::helper || (enter_namespaces() && confine())) && signal_mask() &&
           execute();
  }

  bool prepare() {
    return enter_group() && dispositions() && session() && working_directory() && keep_own_descriptors() &&
           file_mask() && enter_namespaces() && hide_while_waiting() && die_with_parent() && free_low_numbers() &&
           tell_prepared();
  }

  bool run_prepared() { return receive_descriptors() && place_received() && confine() && signal_mask() && execute(); }

  [[nodiscard]] bool unwanted() const { return unwanted_; }

 private:
  bool begin(Step step) {
    orders_.report.step = step;
    return true;
  }
  bool check(long result, int detail = 0) {
    if (result >= 0) return true;
    orders_.report.detail = detail;
    orders_.report.error = errno;
    return false;
  }

  // Before anything is done on its behalf. "0" is the writer (cgroups(7)).
  bool enter_group() {
    if (orders_.members < 0) return true;
    return begin(Step::group_enter) && check(::syscall(SYS_pwrite64, orders_.members, "0\n", 2, 0));
  }

  // execve resets handlers but keeps what is ignored.
  bool dispositions() {
    begin(Step::dispositions);
    const KernelAction by_default{};
    for (int signal = 1; signal <= kSignals; ++signal) {
      if (signal == SIGKILL || signal == SIGSTOP) continue;
      if (!check(::syscall(SYS_rt_sigaction, signal, &by_default, nullptr, kKernelSetBytes), signal)) return false;
    }
    return true;
  }

  bool session() { return begin(Step::session) && check(::syscall(SYS_setsid)); }
  bool working_directory() { return begin(Step::working_directory) && check(::syscall(SYS_chdir, "/")); }
  bool file_mask() { return begin(Step::file_mask) && check(::syscall(SYS_umask, S_IRWXG | S_IRWXO)); }

  bool place(int from, int to, int flags) { return check(::syscall(SYS_dup3, from, to, flags), to); }

  // All but first to last.
  bool close_others(int first, int last) {
    begin(Step::close_others);
    return check(::syscall(SYS_close_range, open_end_, first - 1, 0)) &&
           check(::syscall(SYS_close_range, last + 1, ~0U, 0));
  }

  bool place_stdio() {
    begin(Step::stdio);
    for (int fd = 0; fd < kFirstGuestFd; ++fd) {
      if (!place(orders_.null_device, fd, 0)) return false;
    }
    return true;
  }

  bool place_guests() {
    begin(Step::descriptors);
    for (unsigned i = 0; i < orders_.descriptor_count; ++i) {
      if (!place(orders_.descriptors[i], open_end_++, 0)) return false;
    }
    return place(orders_.program, kProgramFd, O_CLOEXEC) &&
           (orders_.confinement == Confinement::helper || place(orders_.ruleset, kRulesetFd, O_CLOEXEC));
  }

  bool place_descriptors() {
    if (!place_stdio() || !place_guests()) return false;
    if (orders_.confinement == Confinement::helper) return close_others(kProgramFd, kProgramFd);
    return place(orders_.lifeline, kLifelineFd, O_CLOEXEC) && close_others(kProgramFd, kLifelineFd);
  }

  bool keep_own_descriptors() {
    return place_stdio() && begin(Step::descriptors) && place(orders_.lifeline, kLifelineFd, O_CLOEXEC) &&
           place(orders_.handover, kHandoverFd, O_CLOEXEC) && close_others(kLifelineFd, kHandoverFd);
  }

  // For the guest's descriptors.
  bool free_low_numbers() {
    return begin(Step::close_others) && check(::syscall(SYS_close_range, kFirstGuestFd, kLifelineFd - 1, 0));
  }

  bool tell_prepared() {
    begin(Step::handover);
    return check(::syscall(SYS_sendto, kHandoverFd, "", 1, MSG_NOSIGNAL, nullptr, 0));
  }

  // While it waits the parent goes on, with the errno that both have: hence a call that touches none. The kernel gives
  // the lowest numbers that are free, from the first on, so that the guest's are in their places at once.
  bool receive_descriptors() {
    int received[2 + kMaxGuestDescriptors];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof received)];
    char byte = 0;
    iovec part{&byte, sizeof byte};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const long got = quiet_receive(kHandoverFd, &header, 0);
    unwanted_ = got == 0;
    if (unwanted_) return false;
    begin(Step::handover);
    const unsigned wanted = orders_.descriptor_count + 2;
    const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    if (got < 0 || rights == nullptr || rights->cmsg_len != CMSG_LEN(wanted * sizeof(int))) {
      // The kernel leaves out descriptors for which there is no room.
      orders_.report.error = got < 0 ? static_cast<int>(-got) : EMFILE;
      return false;
    }
    begin(Step::descriptors);
    std::memcpy(received, CMSG_DATA(rights), wanted * sizeof(int));
    for (unsigned i = 0; i < wanted; ++i) {
      if (received[i] == kFirstGuestFd + static_cast<int>(i)) continue;
      orders_.report.error = EBADF;
      return false;
    }
    open_end_ = kFirstGuestFd + static_cast<int>(orders_.descriptor_count);
    return true;
  }

  // The socket stays until execve, or the end, closes it: the parent waits for that.
  bool place_received() {
    return place(open_end_, kProgramFd, O_CLOEXEC) && place(open_end_ + 1, kRulesetFd, O_CLOEXEC) &&
           close_others(kProgramFd, kHandoverFd);
  }

  bool confine() {
    return limits() && die_with_parent() &&
           // JAIL-1: before Landlock, and long before any filter.
           begin(Step::no_new_privs) && check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) &&
           begin(Step::landlock_restrict) && landlock() && drop_capabilities();
  }

  bool accept(const Failure& failure) {
    if (failure.step == Step::none) return true;
    begin(failure.step);
    orders_.report.detail = failure.detail;
    orders_.report.error = failure.error;
    return false;
  }

  // Before Landlock, which denies mounting. Whoever is root mounts with root's rights and becomes the guest's user
  // before it makes the user namespace; anybody else is in it since clone(2).
  bool enter_namespaces() {
    const bool root = orders_.creator == Creator::root;
    if (orders_.namespaces.need == Need::off) return !root || (drop_bounding_set() && become());
    if (!accept(open_map_folder(map_folder_))) return false;
    return root ? mounts() && become() && accept(unshare_user()) && own_maps() && map() && hide(Step::map_owner) &&
                      drop_bounding_set()
                : map() && mounts() && drop_bounding_set();
  }

  bool mounts() {
    const NamespaceOrder& order = orders_.namespaces;
    if (!order.set.has(Namespace::mount)) return true;
    return accept(make_mounts_private()) && (order.root == Root::host || accept(enter_empty_root()));
  }

  // A change of user made /proc/self root's, maps included. The flag is of the memory, which the parent shares: it is
  // off again before anybody of the guest's user, to whom this process looks like one of its own, could make use of it.
  bool own_maps() { return begin(Step::map_owner) && check(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }
  bool hide(Step step) { return begin(step) && check(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }

  // A change of user leaves the flag at what the host's fs.suid_dumpable says, and here is root's memory.
  bool hide_while_waiting() { return orders_.creator == Creator::user || hide(Step::not_dumpable); }

  bool map() { return accept(write_maps(map_folder_, orders_.user, orders_.group)); }

  // Asked first where a child of a supervisor that is root has none left, since that costs a fifth. A new user
  // namespace comes with the full set.
  bool drop_bounding_set() {
    begin(Step::bounding_set);
    const bool ask = orders_.namespaces.need == Need::off;
    for (int capability = 0; capability <= kHighestCapability; ++capability) {
      const int held = ask ? ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) : 1;
      const int dropped = held == 1 ? ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) : held;
      if (dropped < 0 && errno == EINVAL) return true;  // this kernel has no more
      if (!check(dropped, capability)) return false;
    }
    return true;
  }

  bool become() {
    const std::uint32_t id = orders_.identity;
    return begin(Step::groups) && check(::syscall(SYS_setgroups, 0, nullptr)) &&  //
           begin(Step::group_id) && check(::syscall(SYS_setresgid, id, id, id)) && begin(Step::user_id) &&
           check(::syscall(SYS_setresuid, id, id, id));
  }

  // A hard limit that is lower already stays. Whoever may not raise one (EPERM) is told so by the kernel and takes what
  // there is; whoever may puts it back.
  bool limits() {
    begin(Step::limits);
    for (unsigned i = 0; i < orders_.limit_count; ++i) {
      const ResourceLimit& limit = orders_.limits[i];
      const rlimit64 wanted{limit.value, limit.value};
      rlimit64 before{};
      const long set = ::syscall(SYS_prlimit64, 0, limit.resource, &wanted, &before);
      if (set == 0 && before.rlim_max >= limit.value) continue;
      if (set != 0 && (errno != EPERM || ::syscall(SYS_prlimit64, 0, limit.resource, nullptr, &before) != 0)) {
        return check(-1, limit.resource);
      }
      const rlimit64 kept{before.rlim_max, before.rlim_max};
      if (!check(::syscall(SYS_prlimit64, 0, limit.resource, &kept, nullptr), limit.resource)) return false;
    }
    return true;
  }

  // A change of identity clears the parent-death signal, so this comes after it. A parent that ended before the call
  // sends nothing: hence the look at the pipe that only the parent can write to. The kernel closes an ending process's
  // descriptors before it looks for children with a signal to send (do_exit), so one of the two is always seen. The
  // parent's number would not do: in a pid namespace it is 0 whether or not it lives.
  bool die_with_parent() {
    if (!begin(Step::parent_death) || !check(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))) return false;
    begin(Step::parent_alive);
    char nothing = 0;
    const long got = ::syscall(SYS_read, kLifelineFd, &nothing, sizeof nothing);
    if (got < 0 && errno == EAGAIN) return true;
    if (got >= 0) errno = ESRCH;
    return check(-1);
  }

  bool landlock() {
    const int result = landlock_enforce(kRulesetFd);
    errno = -result;
    return check(result);
  }

  bool drop_capabilities() {
    begin(Step::ambient_set);
    if (!check(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))) return false;
    begin(Step::capabilities);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return check(::syscall(SYS_capset, &header, none));
  }

  // The parent blocked all signals for the time that it shares its memory.
  bool signal_mask() {
    begin(Step::signal_mask);
    const std::uint64_t none = 0;
    return check(::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kKernelSetBytes));
  }

  bool execute() {
    begin(Step::execute);
    return check(::syscall(SYS_execveat, kProgramFd, "", orders_.arguments, orders_.environment, AT_EMPTY_PATH));
  }

  ChildOrders& orders_;
  int open_end_ = kFirstGuestFd;  // above the guest's descriptors that are in place
  int map_folder_ = -1;
  bool unwanted_ = false;
};

}  // namespace

int run_child(void* argument) noexcept {
  Child child(*static_cast<ChildOrders*>(argument));
  (void)child.run();
  return kFailed;
}

int run_prepared_child(void* argument) noexcept {
  Child child(*static_cast<ChildOrders*>(argument));
  if (child.prepare()) (void)child.run_prepared();
  return child.unwanted() ? 0 : kFailed;
}

}  // namespace heddle::jail
