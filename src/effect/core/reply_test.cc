#include "heddle/effect/core/reply.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::effect {
namespace {

using Text = Reply<std::string>;

TEST(Reply, IsExactlyOneOfFour) {
  const Text value(std::string("1"));
  EXPECT_TRUE(value.ok() && !value.is_typed() && !value.is_cancelled() && !value.is_untyped());
  EXPECT_EQ(value.value(), "1");
  EXPECT_EQ(Text(TypedFailure{"scriptError", "{}", "x"}).typed().channel, "scriptError");
  EXPECT_EQ(Text(Cancelled{"stopped"}).cancelled().message, "stopped");
  EXPECT_EQ(Text(untyped("broken", Retry::yes)).untyped().retry, Retry::yes);
}

TEST(ReplyDeathTest, ReadingWhatIsNotThereAborts) {
  const Text cancelled(Cancelled{"stopped"});
  EXPECT_DEATH(static_cast<void>(cancelled.value()), "index");
  EXPECT_DEATH(static_cast<void>(cancelled.untyped()), "index");
}

// JRN-4: whatever is behind a failure, its message can be stored.
TEST(Untyped, BoundsItsMessage) {
  EXPECT_EQ(untyped(std::string(5'000'000, 'x')).message.size(), 2048U);
  EXPECT_EQ(untyped("a\xED\xA0\x80z").message, "a\xEF\xBF\xBDz");
  const UntypedFailure failure = untyped(core::make_error(core::Errc::closed, "run"));
  EXPECT_EQ(failure.error.value().code, core::Errc::closed);
}

}  // namespace
}  // namespace heddle::effect
