#include "heddle/core/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>

namespace heddle::core {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return make_error(Errc::invalid_argument, "halve", "odd");
  return n / 2;
}

Result<int> quarter(int n) {
  HEDDLE_ASSIGN(const int once, half(n));
  return half(once);
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(quarter(8).value(), 2);
  const Result<int> odd = quarter(6);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, Errc::invalid_argument);
  EXPECT_EQ(odd.error().message(), "halve: odd");
}

TEST(Result, IsAskedLikeAPointer) {
  Result<std::string> name(std::string("loom"));
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "loom");
  EXPECT_EQ(name->size(), 4U);
  name->push_back('s');
  EXPECT_EQ(*std::move(name), "looms");
  EXPECT_FALSE(half(1));
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(make_error(Errc::closed, "close")));
  static_assert(!std::is_convertible_v<Result<int>, bool>, "a Result is no number");
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

using ResultDeathTest = ::testing::Test;

TEST(ResultDeathTest, ReadingWhatIsNotThereAborts) {
  EXPECT_DEATH((void)half(1).value(), "internal error at .*result_test.cc:[0-9]+: .*invalid_argument: halve: odd");
  EXPECT_DEATH((void)*half(1), "internal error: .*invalid_argument: halve: odd");
  EXPECT_DEATH((void)quarter(6).operator->(), "invalid_argument: halve: odd");
  EXPECT_DEATH((void)half(2).error(), "internal error");
  EXPECT_DEATH((void)Result<void>().error(), "internal error");
}

TEST(Error, NamesStepErrnoAndThing) {
  EXPECT_EQ(system_error(2, "open the script", "job.js").message(),
            "open the script: No such file or directory: job.js");
}

}  // namespace
}  // namespace heddle::core
