#include "progress.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

TEST(ProgressTest, TheLineFitsWhateverItCounts) {
  EXPECT_EQ(progress_line({10, 8, 0, std::nullopt}), "10 done, 2 not ok");
  EXPECT_EQ(progress_line({10, 8, 50, 100}), "[###############               ]  50% 10 done, 2 not ok");
  EXPECT_EQ(progress_line({1, 1, 200, 100}), "[##############################] 100% 1 done, 0 not ok");
  EXPECT_EQ(progress_line({1, 1, 0, 0}), "1 done, 0 not ok");
  EXPECT_LT(progress_line({999'999'999'999, 0, 1, 3}).size(), 80U);
}

TEST(ProgressTest, NothingIsDueWhereNothingIsShown) {
  Progress progress(Progress::Shown::no, false);
  progress.update({1, 1, 1, 1});
  EXPECT_TRUE(progress.due().is_never());
}

}  // namespace
}  // namespace heddle::cli
