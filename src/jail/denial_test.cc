#include "heddle/jail/denial.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "denial_reader.h"
#include "heddle/jail/applied.h"

namespace heddle::jail {
namespace {

template <class Address>
std::string bytes_of(const Address& address, std::size_t size = sizeof(Address)) {
  return {reinterpret_cast<const char*>(&address), size};
}

const SyscallTable kScript = syscall_table(Profile::script);

DenialRecord record(int number) {
  DenialRecord record;
  record.number = number;
  record.architecture = AUDIT_ARCH_X86_64;
  return record;
}

// JAIL-14
TEST(Denial, NamesCallsByTheirNumber) {
  EXPECT_EQ(syscall_name(SYS_ptrace, AUDIT_ARCH_X86_64), "ptrace");
  EXPECT_EQ(syscall_name(20, AUDIT_ARCH_I386), "getpid");
  EXPECT_EQ(syscall_name(9999, AUDIT_ARCH_X86_64), "system call 9999");
}

TEST(Denial, SaysTheRule) {
  EXPECT_EQ(denial_rule(kScript, "ptrace"), "seccomp: not in the script profile's list");
  EXPECT_EQ(denial_rule(kScript, "openat"), "seccomp: a script has no files");
  EXPECT_EQ(denial_rule(kScript, "mprotect"),
            "seccomp: in the script profile only with other arguments (memory, never executable)");
  EXPECT_FALSE(denial_hint(kScript, "ptrace").empty());
}

// JAIL-14: what was read from a guest cannot drive a terminal or grow without bound.
TEST(Denial, MakesAPathOneBoundedLine) {
  DenialRecord open = record(SYS_openat);
  open.object = DenialRecord::Object::path;
  open.bytes = "/a\n\x1b[31m\xFF" + std::string(5000, 'x');
  const Denial denial = read_denial(kScript, open);
  EXPECT_EQ(denial.observed.find('\n'), std::string::npos);
  EXPECT_EQ(denial.observed.find('\x1b'), std::string::npos);
  EXPECT_LE(denial.observed.size(), 2000U);
}

TEST(Denial, ShowsArgumentsWhereThereIsNothingBetter) {
  DenialRecord kill = record(SYS_kill);
  kill.arguments[0] = 1;
  kill.arguments[1] = ~std::uint64_t{0};
  EXPECT_EQ(to_line(read_denial(kScript, kill)),
            "kill(1, 0xffffffffffffffff, 0, 0, 0, 0): seccomp: not in the script profile's list");
  EXPECT_EQ(to_line(unknown_denial(kScript)).find("unknown: seccomp"), 0U);
}

TEST(Denial, DecodesAddresses) {
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_port = htons(443);
  inet.sin_addr.s_addr = htonl(0xC0000201);
  EXPECT_EQ(address_text(bytes_of(inet)), "192.0.2.1:443");
  sockaddr_in6 inet6{};
  inet6.sin6_family = AF_INET6;
  inet6.sin6_port = htons(53);
  inet6.sin6_addr.s6_addr[15] = 1;
  EXPECT_EQ(address_text(bytes_of(inet6)), "[::1]:53");
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::strcpy(local.sun_path, "/run/x");
  EXPECT_EQ(address_text(bytes_of(local)), "unix:/run/x");
  std::memcpy(local.sun_path, "\0name", 5);
  EXPECT_EQ(address_text(bytes_of(local, sizeof(sa_family_t) + 5)), "unix:@name");
  EXPECT_EQ(address_text(bytes_of(local, sizeof(sa_family_t))), "unix: without a name");
  EXPECT_EQ(address_text(bytes_of(inet, 4)), "an address of family 2");
  EXPECT_EQ(address_text("x"), "an address that is cut short");
  EXPECT_EQ(address_text(""), "an address that is cut short");
}

// JAIL-13: what is not enforced is not claimed.
TEST(Applied, SaysWhatHolds) {
  AppliedPolicy applied;
  applied.notified = Notified::killing;
  applied.notified_error = EBUSY;
  std::string all;
  for (const std::string& line : to_lines(applied)) all += line + "\n";
  EXPECT_NE(all.find("no_new_privs is OFF"), std::string::npos) << all;
  EXPECT_NE(all.find("no notifications here (Device or resource busy)"), std::string::npos) << all;
  EXPECT_NE(all.find("0 filters of its own"), std::string::npos) << all;
}

// JAIL-2, JAIL-13: what an older Landlock leaves to the filter is said, by ABI.
TEST(Applied, SaysWhatLandlockLeavesToTheFilter) {
  const auto line = [](int abi) {
    AppliedPolicy applied;
    applied.landlock_abi = abi;
    for (const std::string& one : to_lines(applied)) {
      if (one.rfind("Landlock ABI", 0) == 0) return one;
    }
    return std::string();
  };
  const auto says = [&](int abi, const char* words) { return line(abi).find(words) != std::string::npos; };
  for (const auto& [words, since] : {std::pair{"TCP", 4}, std::pair{"devices", 5}, std::pair{"signals", 6}}) {
    EXPECT_TRUE(says(since - 1, words)) << words;
    EXPECT_FALSE(says(since, words)) << words;
  }
}

// JAIL-20: where no control group counts it, the report says so.
TEST(Applied, SaysWhichMemoryIsCounted) {
  AppliedPolicy applied;
  const auto says = [&](const char* words) {
    std::string all;
    for (const std::string& line : to_lines(applied)) all += line + "\n";
    return all.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("shared memory, files in memory and page cache are not limited"));
  applied.cgroup.part(GroupPart::memory).asked = true;
  EXPECT_TRUE(says("shared memory, files in memory and page cache are not limited"));
  applied.cgroup.part(GroupPart::memory).applied = 1U << 20;
  EXPECT_FALSE(says("not limited"));
  EXPECT_FALSE(says("queued signals"));
  applied.profile = Profile::program;
  EXPECT_TRUE(says("256 queued signals and timers"));
}

}  // namespace
}  // namespace heddle::jail
