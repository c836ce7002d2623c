#include "heddle/sandbox/spi/pending.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <thread>

namespace heddle::sandbox::spi {
namespace {

bool readable(const Evaluation& evaluation, int wait_ms = 0) {
  pollfd entry{evaluation.ready_fd(), POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

// SBX-1: the descriptor is readable when the outcome can be taken, and not before.
TEST(Pending, IsReadableOnceAnswered) {
  const Pending handle = pending();
  EXPECT_FALSE(readable(*handle.evaluation));
  EXPECT_FALSE(handle.evaluation->take().has_value());
  std::thread other([completion = handle.completion] { completion.complete(Outcome::ok("1")); });
  EXPECT_TRUE(readable(*handle.evaluation, 10'000));
  other.join();
  EXPECT_EQ(handle.evaluation->take().value().value_json, "1");
  EXPECT_FALSE(handle.evaluation->take().has_value());
}

// SBX-1: of two answers the first counts.
TEST(Pending, TakesTheFirstAnswer) {
  const Pending handle = pending();
  EXPECT_TRUE(handle.completion.complete(Outcome::ok("1")));
  EXPECT_FALSE(handle.completion.complete(Outcome::ok("2")));
  EXPECT_EQ(handle.evaluation->take().value().value_json, "1");
}

// SBX-1: an answer to a handle that is gone leads nowhere, whenever it comes.
TEST(Pending, OutlivesItsHandle) {
  Pending handle = pending();
  EXPECT_FALSE(handle.completion.abandoned());
  handle.evaluation.reset();
  EXPECT_TRUE(handle.completion.abandoned());
  EXPECT_FALSE(handle.completion.complete(Outcome::ok("1")));
}

// SBX-9: a process without descriptors left gets an answer, not a handle that is silent for ever.
TEST(Pending, AnswersWhenNoDescriptorIsLeft) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Pending handle = pending();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);  // UBSan wants a descriptor to look at an object with
  const auto outcome = handle.evaluation->take();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome.value().kind, Outcome::Kind::infrastructure);
  EXPECT_FALSE(handle.completion.complete(Outcome::ok("1")));
}

// SBX-1
TEST(Ready, IsReadableFromTheStart) {
  const auto handle = ready(Outcome::threw("TypeError", "no"));
  EXPECT_TRUE(readable(*handle));
  EXPECT_EQ(handle->take().value().name, "TypeError");
  EXPECT_FALSE(handle->take().has_value());
}

}  // namespace
}  // namespace heddle::sandbox::spi
