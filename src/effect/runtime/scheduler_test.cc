#include "heddle/effect/runtime/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::effect {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using core::Errc;

std::shared_ptr<Scheduler> make(std::size_t total, std::size_t each, std::size_t of_a) {
  ScheduleLimits limits;
  limits.total = total;
  limits.each = each;
  limits.effects["a"] = of_a;
  return Scheduler::create(limits).value();
}

void until_waiting(const Scheduler& scheduler, std::size_t waiting) {
  while (scheduler.statistics().waiting < waiting) std::this_thread::yield();
}

// EFF-1: limits in all, of the kind, of each other kind.
TEST(Scheduler, KeepsEveryLimit) {
  const auto scheduler = make(3, 2, 1);
  const auto full = [&](const char* kind) {
    const auto slot = scheduler->acquire("f", kind, {}, Deadline::after(5ms));
    return !slot.ok() && slot.error().code == Errc::timed_out;
  };
  auto a = scheduler->acquire("f", "a", {}, Deadline::never());
  EXPECT_TRUE(full("a"));
  auto b1 = scheduler->acquire("f", "b", {}, Deadline::never());
  auto b2 = scheduler->acquire("f", "b", {}, Deadline::never());
  EXPECT_TRUE(full("b"));
  EXPECT_TRUE(full("c")) << "three are all";
  a.value().release();
  EXPECT_TRUE(full("b"));
  EXPECT_FALSE(full("c"));
  EXPECT_EQ(scheduler->statistics().running, 2U);
  ScheduleLimits zero;
  zero.effects["a"] = 0;
  EXPECT_EQ(Scheduler::create(zero).error().code, Errc::invalid_argument);
}

// EFF-7: who waits heeds its stop, and leaves no trace in the queue.
TEST(Scheduler, StopsWaiting) {
  const auto scheduler = make(1, 1, 1);
  auto slot = scheduler->acquire("f", "a", {}, Deadline::never());
  std::stop_source stop;
  std::thread stopper([&] {
    until_waiting(*scheduler, 1);
    stop.request_stop();
  });
  EXPECT_EQ(scheduler->acquire("g", "a", stop.get_token(), Deadline::never()).error().code, Errc::cancelled);
  stopper.join();
  EXPECT_EQ(scheduler->statistics().waiting, 0U);
  slot.value().release();
  EXPECT_TRUE(scheduler->acquire("g", "a", {}, Deadline::after(10s)).ok());
}

// EFF-1: of those who wait, the flow goes first that runs the least: a flow with many waits delays another by one
// effect.
TEST(Scheduler, IsFairBetweenFlows) {
  const auto scheduler = make(2, 2, 2);
  auto first = scheduler->acquire("greedy", "a", {}, Deadline::never());
  auto second = scheduler->acquire("greedy", "a", {}, Deadline::never());
  std::mutex mutex;
  std::vector<std::string> order;
  std::vector<std::thread> threads;
  const auto wait_as = [&](const std::string& flow) {
    const std::size_t waiting = scheduler->statistics().waiting;
    threads.emplace_back([&, flow] {
      auto slot = scheduler->acquire(flow, "a", {}, Deadline::never());
      {
        const std::lock_guard lock(mutex);
        order.push_back(flow);
      }
      // Ends only when all have had their turn to come in.
      std::this_thread::sleep_for(1ms);
    });
    until_waiting(*scheduler, waiting + 1);
  };
  for (int i = 0; i < 6; ++i) wait_as("greedy");
  wait_as("modest");
  first.value().release();
  for (;;) {
    const std::lock_guard lock(mutex);
    if (!order.empty()) break;
  }
  second.value().release();
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(order.size(), 7U);
  EXPECT_EQ(order[0], "modest");
}

// EFF-1: what waits for a kind that is full does not hold up what does not.
TEST(Scheduler, LetsOtherKindsPass) {
  const auto scheduler = make(4, 4, 1);
  auto slot = scheduler->acquire("f", "a", {}, Deadline::never());
  std::thread waits([&] { EXPECT_TRUE(scheduler->acquire("f", "a", {}, Deadline::after(20s)).ok()); });
  until_waiting(*scheduler, 1);
  EXPECT_TRUE(scheduler->acquire("f", "b", {}, Deadline::after(10s)).ok());
  slot.value().release();
  waits.join();
}

// EFF-1: under load no limit is ever passed, and nobody is forgotten.
TEST(Scheduler, HoldsUnderLoad) {
  const auto scheduler = make(3, 2, 1);
  std::atomic<int> all{0};
  std::atomic<int> of_a{0};
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const bool is_a = (t + i) % 2 == 0;
        auto slot = scheduler->acquire(std::to_string(t), is_a ? "a" : "b", {}, Deadline::after(60s));
        ASSERT_TRUE(slot.ok());
        EXPECT_LE(++all, 3);
        if (is_a) {
          EXPECT_LE(++of_a, 1);
        }
        if (i % 16 == 0) std::this_thread::yield();
        if (is_a) --of_a;
        --all;
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 1600);
  EXPECT_EQ(scheduler->statistics().running + scheduler->statistics().waiting, 0U);
}

// EFF-1: a slot may outlive its scheduler, and moves.
TEST(Scheduler, SlotsAreOwned) {
  Scheduler::Slot kept;
  {
    const auto scheduler = make(1, 1, 1);
    kept = scheduler->acquire("f", "a", {}, Deadline::never()).value();
    Scheduler::Slot moved(std::move(kept));
    kept = std::move(moved);
    EXPECT_EQ(scheduler->statistics().running, 1U);
  }
  kept.release();
  kept.release();
}

}  // namespace
}  // namespace heddle::effect
