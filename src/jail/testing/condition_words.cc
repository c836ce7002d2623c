#include "testing/condition_words.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace heddle::jail {
namespace {

constexpr std::uint64_t kLow32 = 0xFFFFFFFF;

constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

enum class Kind : std::uint8_t { number, flags };

struct Named {
  const char* name;
  std::uint64_t value;
  std::uint64_t field = 0;  // the bits that hold it; 0: those of the value
};

struct Argument {
  std::string_view calls;  // " name name "
  unsigned index;
  const char* name;
  Kind kind;
  std::vector<Named> names;
};

#define NAMED(symbol) \
  { #symbol, static_cast < std::uint32_t>(symbol) }

const std::vector<Argument>& arguments() {
  static const std::vector<Named> kOpen = {NAMED(O_TRUNC),
                                           {"O_RDONLY", O_RDONLY, O_ACCMODE},
                                           {"O_WRONLY", O_WRONLY, O_ACCMODE},
                                           {"O_RDWR", O_RDWR, O_ACCMODE},
                                           {"access mode 3", O_ACCMODE, O_ACCMODE}};
  static const std::vector<Named> kMessage = {NAMED(MSG_NOSIGNAL), NAMED(MSG_DONTWAIT), NAMED(MSG_MORE),
                                              NAMED(MSG_CMSG_CLOEXEC), NAMED(MSG_WAITALL)};
  static const std::vector<Named> kProtection = {NAMED(PROT_EXEC)};
  static const std::vector<Named> kMapping = {NAMED(MAP_ANONYMOUS), NAMED(MAP_HUGETLB)};
  static const std::vector<Named> kClone = {
      NAMED(CLONE_VM),
      NAMED(CLONE_FS),
      NAMED(CLONE_FILES),
      NAMED(CLONE_SIGHAND),
      NAMED(CLONE_THREAD),
      NAMED(CLONE_SYSVSEM),
      NAMED(CLONE_SETTLS),
      NAMED(CLONE_PARENT),
      NAMED(CLONE_PTRACE),
      {"CLONE_*TID", CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID},
      {"CLONE_NEW* (any)", kNamespaces}};
  static const std::vector<Argument> kArguments = {
      {" open ", 1, "flags", Kind::flags, kOpen},
      {" openat ", 2, "flags", Kind::flags, kOpen},
      {" sendto recvfrom ", 3, "flags", Kind::flags, kMessage},
      {" sendmsg recvmsg ", 2, "flags", Kind::flags, kMessage},
      {" sendto recvfrom ", 4, "address", Kind::number, {}},
      {" mmap ", 2, "prot", Kind::flags, kProtection},
      {" mprotect ", 2, "prot", Kind::flags, kProtection},
      {" mmap ", 3, "flags", Kind::flags, kMapping},
      {" clone ", 0, "flags", Kind::flags, kClone},
      {" execveat ", 4, "flags", Kind::number, {NAMED(AT_EMPTY_PATH)}},
      {" ioctl ",
       1,
       "request",
       Kind::number,
       {NAMED(TCGETS), NAMED(TIOCGWINSZ), NAMED(FIONREAD), NAMED(FIONBIO), NAMED(FIOCLEX), NAMED(FIONCLEX)}},
      {" fcntl ",
       1,
       "command",
       Kind::number,
       {NAMED(F_DUPFD), NAMED(F_DUPFD_CLOEXEC), NAMED(F_GETFD), NAMED(F_SETFD), NAMED(F_GETFL), NAMED(F_SETFL),
        NAMED(F_GETPIPE_SZ), NAMED(F_GETLK), NAMED(F_SETLK), NAMED(F_SETLKW), NAMED(F_OFD_GETLK), NAMED(F_OFD_SETLK),
        NAMED(F_OFD_SETLKW)}},
      {" prctl ",
       0,
       "option",
       Kind::number,
       {NAMED(PR_SET_NAME), NAMED(PR_GET_NAME), NAMED(PR_SET_PDEATHSIG), NAMED(PR_GET_DUMPABLE),
        NAMED(PR_CAPBSET_READ)}},
      {" prlimit64 ", 0, "pid", Kind::number, {{"0 (itself)", 0}}},
      {" socket socketpair ", 0, "family", Kind::number, {NAMED(AF_UNIX)}},
      {" socket socketpair ",
       1,
       "type",
       Kind::flags,
       {{"SOCK_STREAM", SOCK_STREAM, 0xF}, NAMED(SOCK_CLOEXEC), NAMED(SOCK_NONBLOCK)}},
      {" setsockopt ", 1, "level", Kind::number, {NAMED(SOL_SOCKET)}},
      {" seccomp ", 0, "operation", Kind::number, {NAMED(SECCOMP_SET_MODE_FILTER)}},
      {" seccomp ", 1, "flags", Kind::number, {NAMED(SECCOMP_FILTER_FLAG_TSYNC)}},
  };
  return kArguments;
}

#undef NAMED

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  (void)std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "CLONE_VM, _FS": a long prefix is written once.
void append(std::string& list, const std::string& word) {
  constexpr std::string_view kPrefix = "CLONE_";
  const bool again = list.compare(0, kPrefix.size(), kPrefix) == 0 && word.compare(0, kPrefix.size(), kPrefix) == 0;
  list += (list.empty() ? "" : ", ") + (again ? word.substr(kPrefix.size() - 1) : word);
}

std::string number_words(const Argument& argument, const Condition& condition) {
  if (condition.mask == ~std::uint64_t{0} && condition.value == 0) return " null";
  for (const Named& named : argument.names) {
    if (named.value == condition.value) return std::string(" ") + named.name;
  }
  return " " + hexadecimal(condition.value);
}

std::string flag_words(const Argument& argument, const Condition& condition) {
  std::string with;
  std::string without;
  std::string free;
  std::uint64_t rest = condition.mask & kLow32;
  std::uint64_t unnamed = ~condition.mask & kLow32;
  for (const Named& named : argument.names) {
    const std::uint64_t field = named.field == 0 ? named.value : named.field;
    if ((field & ~condition.mask) != 0) {
      append(free, named.name);
      unnamed &= ~field;
    } else if ((condition.value & field) == named.value) {
      append(with, named.name);
      rest &= ~field;
    } else if (named.field == 0 && (condition.value & field) == 0) {
      append(without, named.name);
      rest &= ~field;
    }
  }
  std::string words;
  if (!with.empty()) words += " with " + with;
  // Most bits are asked for: what may be set is the shorter list.
  if (rest > 0xFFFF && unnamed != 0) append(free, hexadecimal(unnamed));
  if (rest > 0xFFFF) return words + (with.empty() ? " at most " : " and at most ") + (free.empty() ? "none" : free);
  if (rest != 0) append((condition.value & rest) != 0 ? with : without, hexadecimal(rest));
  if (!without.empty()) words += (words.empty() ? " without " : " and without ") + without;
  return words;
}

}  // namespace

std::string condition_words(const std::string& call, const Condition& condition) {
  for (const Argument& argument : arguments()) {
    if (argument.index != condition.argument) continue;
    if (argument.calls.find(" " + call + " ") == std::string_view::npos) continue;
    return std::string("`") + argument.name + "`" +
           (argument.kind == Kind::number ? number_words(argument, condition) : flag_words(argument, condition));
  }
  return "argument " + std::to_string(condition.argument) + " & " + hexadecimal(condition.mask) + " = " +
         hexadecimal(condition.value);
}

}  // namespace heddle::jail
