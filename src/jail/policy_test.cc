#include "heddle/jail/policy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <type_traits>

#include "heddle/jail/confine/filters.h"
#include "identities.h"
#include "process_status.h"
#include "seccomp_filter.h"

namespace heddle::jail {
namespace {

using core::Errc;

// JAIL: a value. Nothing that it gives out can be changed, and it has no way of being changed itself.
static_assert(!std::is_default_constructible_v<Policy>);
static_assert(std::is_nothrow_move_constructible_v<Policy> && std::is_copy_constructible_v<Policy>);
static_assert(std::is_same_v<decltype(std::declval<Policy&>().limits()), const Limits&>);
static_assert(std::is_same_v<decltype(std::declval<Policy&>().environment()), const std::vector<std::string>&>);
static_assert(std::is_same_v<decltype(std::declval<Policy&>().filter()), std::string_view>);
static_assert(std::is_same_v<decltype(std::declval<Policy&>().sealed_filter()), const core::Fd&>);

TEST(Policy, IsImmutable) {
  Limits limits;
  limits.data_bytes = 64U << 20;
  const Policy policy = Policy::script(limits).value();
  limits.data_bytes = 1;  // the caller's own copy
  EXPECT_EQ(policy.limits().data_bytes, 64U << 20);
  const Policy copy = policy;
  EXPECT_EQ(copy.filter().data(), policy.filter().data());
  EXPECT_TRUE(policy.environment().empty());

  // The sealed filter cannot be rewritten either, by us or by a guest that was handed it.
  const int fd = policy.sealed_filter().get();
  EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(fd, 0), -1);
  EXPECT_EQ(::fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  const std::string packed = pack_filters(policy.filter(), policy.killing_filter(), {});
  std::string bytes(packed.size() + 1, '\0');
  ASSERT_EQ(::pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(packed.size()));
  bytes.pop_back();
  EXPECT_EQ(bytes, packed);
  EXPECT_EQ(packed.size(), sizeof(FilterHeader) + policy.filter().size() + policy.killing_filter().size());
}

TEST(Policy, RefusesLimitsUnderWhichNothingStarts) {
  for (auto change : {+[](Limits& l) { l.data_bytes = 0; }, +[](Limits& l) { l.stack_bytes = 4096; },
                      +[](Limits& l) { l.cpu = std::chrono::seconds(0); }, +[](Limits& l) { l.open_files = 5; },
                      +[](Limits& l) { l.processes = 0; }}) {
    Limits limits;
    change(limits);
    const auto policy = Policy::script(limits);
    ASSERT_FALSE(policy.ok());
    EXPECT_EQ(policy.error().code, Errc::invalid_argument);
  }
}

// JAIL-14: no listener is asked for, or no guest that is never told of its denials.
TEST(Policy, SaysWhetherAndHowOftenDenialsAreTold) {
  EXPECT_EQ(Policy::script().value().denials().notifications, Notifications::if_available);
  const Policy off = Policy::script({}, {Notifications::off, 1}).value();
  EXPECT_TRUE(off.filter().empty());
  EXPECT_FALSE(off.killing_filter().empty());
  const auto none = Policy::script({}, {Notifications::required, 0});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Errc::invalid_argument);
}

constexpr std::string_view kStatus =
    "Name:\tSeccomp:\t2\nUid:\t1\t2\t3\t4\nThreads:\t1\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

// JAIL-16
TEST(ProcessStatus, ReadsWhatTheKernelWrites) {
  const ProcessStatus status = parse_status(kStatus).value();
  EXPECT_EQ(status.uids[0], 1U);
  EXPECT_EQ(status.uids[3], 4U);
  EXPECT_EQ(status.threads, 1U);
  EXPECT_EQ(status.no_new_privs, 1U);
  EXPECT_EQ(status.seccomp_mode, 2U);
  EXPECT_EQ(status.seccomp_filters, 3U);
  const auto self = read_status(::getpid(), core::Pidfd::open(::getpid()).value());
  ASSERT_TRUE(self.ok()) << self.error().message();
  EXPECT_EQ(self.value().uids[0], ::getuid());
}

// JAIL-16: fails closed.
TEST(ProcessStatus, AFieldThatIsMissingOrStrangeIsAnError) {
  for (const char* field : {"Uid:", "Threads:", "NoNewPrivs:", "Seccomp_filters:"}) {
    std::string text(kStatus);
    text.replace(text.find(field), 1, "X");
    EXPECT_FALSE(parse_status(text).ok()) << field;
  }
  std::string text(kStatus);
  text.replace(text.find("Seccomp_filters:\t3"), 18, "Seccomp_filters:\tx");
  EXPECT_FALSE(parse_status(text).ok());
  text = kStatus;
  text.replace(text.find("Uid:\t1\t2\t3\t4"), 12, "Uid:\t1\t2\t3   ");
  EXPECT_FALSE(parse_status(text).ok());
  EXPECT_FALSE(parse_status("").ok());
}

// JAIL-1, JAIL-16: each fact by itself.
TEST(ProcessStatus, OnlyAConfinedProcessIsTakenForOne) {
  const ProcessStatus confined{{7, 7, 7, 7}, 1, 1, 2, 3};
  EXPECT_TRUE(judge_confined(confined, 2, 7).ok());
  const auto refused = [&](const char* why, const std::function<void(ProcessStatus&)>& change, unsigned outer = 2) {
    ProcessStatus status = confined;
    change(status);
    const core::Result<void> verdict = judge_confined(status, outer, 7);
    ASSERT_FALSE(verdict.ok()) << why;
    EXPECT_EQ(verdict.error().code, Errc::confinement);
    EXPECT_NE(verdict.error().message().find(why), std::string::npos) << verdict.error().message();
  };
  refused("no_new_privs is off", [](ProcessStatus& status) { status.no_new_privs = 0; });
  refused("no system call filter", [](ProcessStatus& status) { status.seccomp_mode = 0; });
  refused("no system call filter", [](ProcessStatus& status) { status.seccomp_mode = 1; });  // strict: no filter
  refused(
      "of its own, only the 3", [](ProcessStatus&) {}, 3);
  refused(
      "of its own, only the 4", [](ProcessStatus&) {}, 4);
  refused("2 threads", [](ProcessStatus& status) { status.threads = 2; });
  refused("0 threads", [](ProcessStatus& status) { status.threads = 0; });
  for (std::size_t which = 0; which < 4; ++which) {
    refused("user 8", [&](ProcessStatus& status) { status.uids[which] = 8; });
  }
}

TEST(Identities, AreABlockThatIsMapped) {
  const auto choose = [](IdentityRange wanted, const char* map, std::uint32_t random) {
    return choose_identities(wanted, map, random);
  };
  constexpr const char* kAllMapped = "         0          0 4294967295\n";
  for (const std::uint32_t random : {0U, 1U, 12345U, ~0U}) {
    const IdentityRange range = choose({0, 4096}, kAllMapped, random).value();
    EXPECT_GE(range.first, 0x70000000U);
    EXPECT_LE(range.first + range.count, 0x7fff0000U);
    EXPECT_EQ(range.count, 4096U);
    // A container's 65,536: the upper half.
    const IdentityRange small = choose({0, 4096}, "0 100000 65536\n", random).value();
    EXPECT_GE(small.first, 32768U);
    EXPECT_LE(small.first + small.count, 65536U);
    const IdentityRange tiny = choose({0, 4096}, "0 100000 10\n", random).value();
    EXPECT_GE(tiny.first, 5U);
    EXPECT_LE(tiny.first + tiny.count, 10U);
  }
  EXPECT_NE(choose({0, 4096}, kAllMapped, 0).value().first, choose({0, 4096}, kAllMapped, 1).value().first);
  EXPECT_EQ(choose({5000, 100}, "0 100000 65536\n", 7).value().first, 5000U);
  EXPECT_EQ(choose({70000, 100}, "0 100000 65536\n", 7).error().code, Errc::unsupported);
  EXPECT_EQ(choose({0, 4096}, "0 1000 1\n", 7).error().code, Errc::unsupported);
  EXPECT_EQ(choose({0, 4096}, "", 7).error().code, Errc::unsupported);
  EXPECT_EQ(choose({0, 0}, kAllMapped, 7).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace heddle::jail
