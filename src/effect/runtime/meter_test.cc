#include "heddle/effect/runtime/meter.h"

#include <gtest/gtest.h>

#include <limits>

namespace heddle::effect {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// EFF-5: taken before the call: calls, input, the price of a call. A refusal takes nothing.
TEST(Meter, TakesBeforeTheCall) {
  Meter meter({3, {}, 100, 10}, {{"a", Price{4, 0, 0}}});
  EXPECT_FALSE(meter.admit("f", "a", 40).refused);
  EXPECT_EQ(meter.usage("f"), (Usage{1, 0us, 40, 4}));
  EXPECT_EQ(meter.admit("f", "a", 61).refused->resource, Resource::bytes);
  EXPECT_EQ(meter.usage("f"), (Usage{1, 0us, 40, 4}));
  EXPECT_FALSE(meter.admit("f", "a", 60).refused);
  EXPECT_EQ(meter.admit("f", "a", 0).refused->resource, Resource::cost);
  EXPECT_FALSE(meter.admit("f", "free", 0).refused);
  EXPECT_EQ(meter.admit("f", "free", 0).refused->resource, Resource::calls);
  EXPECT_FALSE(meter.admit("g", "a", 100).refused) << "each flow has its own";
}

// EFF-5: known after the call: time, output, what they cost.
TEST(Meter, CountsAfterTheCall) {
  Meter meter({{}, 10ms, 100, {}}, {{"a", Price{1, 1000, 2}}});
  EXPECT_EQ(meter.admit("f", "a", 10).time_left, 10ms);
  EXPECT_FALSE(meter.settle("f", "a", 1500us, 10, 90));
  EXPECT_EQ(meter.usage("f"), (Usage{1, 1500us, 100, 1 + 2 + 1})) << "1.5 thousandths and a tenth of a KiB, rounded up";
  EXPECT_EQ(meter.admit("f", "a", 0).time_left, 8500us);
  EXPECT_EQ(meter.settle("f", "a", 8500us, 0, 1)->resource, Resource::bytes);
  EXPECT_EQ(meter.usage("f").bytes, 100U) << "what nobody gets is not counted";
  EXPECT_EQ(meter.admit("f", "a", 0).refused->resource, Resource::time);
}

// EFF-5: sums never begin anew.
TEST(Meter, DoesNotOverflow) {
  Meter meter({kMost, {}, kMost, kMost}, {{"a", Price{kMost, kMost, kMost}}});
  EXPECT_FALSE(meter.admit("f", "a", kMost - 1).refused);
  EXPECT_EQ(meter.settle("f", "a", 2000s, kMost - 1, 5)->resource, Resource::bytes);
  EXPECT_EQ(meter.usage("f").cost, kMost);
  EXPECT_EQ(meter.admit("f", "a", 0).refused->resource, Resource::cost);
  meter.count("f", "a", {kMost, 1us, kMost, 0});
  EXPECT_EQ(meter.usage("f").calls, kMost);
  EXPECT_EQ(meter.admit("f", "free", 0).refused->resource, Resource::calls);
}

// EFF-5: what the journal says counts, without a limit, and is forgotten with the flow.
TEST(Meter, CountsThePast) {
  Meter meter({2, {}, {}, {}}, {{"a", Price{3, 1'000'000, 1024}}});
  meter.count("f", "a", {2, 5us, 7, 0});
  EXPECT_EQ(meter.usage("f"), (Usage{2, 5us, 7, 6 + 5 + 7}));
  EXPECT_EQ(meter.admit("f", "a", 0).refused->limit, 2U);
  meter.forget("f");
  EXPECT_EQ(meter.usage("f"), Usage{});
}

}  // namespace
}  // namespace heddle::effect
