#include "heddle/sandbox/spi/blocking.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace heddle::sandbox::spi {
namespace {

class Engine final : public BlockingEngine {
 public:
  using Body = std::function<Outcome(const Request&)>;
  explicit Engine(Body body) : body_(std::move(body)) {}
  [[nodiscard]] Capabilities capabilities() const override { return {"test", Network::none}; }
  [[nodiscard]] Outcome run(const Request& request) override { return body_(request); }

 private:
  Body body_;
};

// A door that runs wait behind until it is opened.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Request request(std::string script = "", std::stop_token stop = {}) {
  return {std::move(script), "null", {}, false, std::move(stop)};
}

Outcome await(Evaluation& evaluation) {
  for (;;) {
    if (auto outcome = evaluation.take()) return *std::move(outcome);
    pollfd entry{evaluation.ready_fd(), POLLIN, 0};
    if (::poll(&entry, 1, 20'000) != 1) return Outcome::infrastructure("test: no answer");
  }
}

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1U : 0U;
  ::closedir(folder);
  return count;
}

// With the first thread a sanitizer's runtime starts one of its own.
std::size_t threads_at_first() {
  std::thread([] {}).join();
  return threads_of_this_process();
}

// The kernel drops a joined thread from /proc a moment after the join.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

// SBX-1: each run has a thread, and none is left once its handle is gone.
TEST(Blocking, RunsAndLeavesNoThread) {
  BlockingBackend backend(
      std::make_shared<Engine>([](const Request& r) { return Outcome::ok("\"" + r.script + "\""); }));
  const std::size_t before = threads_at_first();
  for (int i = 0; i < 50; ++i) {
    const auto handle = backend.evaluate(request("x"));
    EXPECT_EQ(await(*handle).value_json, "\"x\"");
  }
  EXPECT_TRUE(eventually([&] { return threads_of_this_process() == before; }));
  EXPECT_EQ(backend.statistics().running, 0U);
}

// SBX-1: the set is bounded; what comes later waits for a thread and gets one.
TEST(Blocking, BoundsItsThreads) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  BlockingBackend backend(std::make_shared<Engine>([&](const Request&) {
                            const int running = ++now;
                            int seen = most;
                            while (running > seen && !most.compare_exchange_weak(seen, running)) {
                            }
                            ::poll(nullptr, 0, 2);
                            --now;
                            return Outcome::ok("1");
                          }),
                          {3, std::chrono::milliseconds(100)});
  std::vector<std::unique_ptr<Evaluation>> handles;
  for (int i = 0; i < 20; ++i) handles.push_back(backend.evaluate(request()));
  for (const auto& handle : handles) EXPECT_EQ(await(*handle).kind, Outcome::Kind::ok);
  EXPECT_LE(most, 3);
}

// SBX-1, SBX-9: a stuck run keeps exactly its own counted thread; with all stuck, waiting and new runs are refused, and
// when one comes back there is room again.
TEST(Blocking, CountsStuckRunsAndRefusesMore) {
  Door door;
  std::atomic<int> started{0};
  BlockingBackend backend(std::make_shared<Engine>([&](const Request& r) {
                            if (r.script == "stick") {
                              ++started;
                              door.pass();
                            }
                            return Outcome::ok("1");
                          }),
                          {2, std::chrono::milliseconds(5)});
  const std::size_t before = threads_at_first();
  auto first = backend.evaluate(request("stick"));
  auto second = backend.evaluate(request("stick"));
  const auto waiting = backend.evaluate(request("quick"));
  ASSERT_TRUE(eventually([&] { return started == 2; }));
  EXPECT_EQ(backend.statistics().waiting, 1U);
  first.reset();
  EXPECT_EQ(backend.statistics().stuck, 1U);
  EXPECT_FALSE(waiting->take().has_value());
  second.reset();
  EXPECT_EQ(backend.statistics().stuck, 2U);
  EXPECT_TRUE(eventually([&] { return threads_of_this_process() == before + 2; }));
  const Outcome refused = await(*waiting);
  EXPECT_EQ(refused.kind, Outcome::Kind::infrastructure);
  EXPECT_EQ(refused.message, "sandbox: all 2 engine threads are stuck in runs that were given up");
  EXPECT_EQ(await(*backend.evaluate(request("quick"))).message, refused.message);
  door.open();
  ASSERT_TRUE(eventually([&] { return backend.statistics().stuck == 0; }));
  EXPECT_EQ(await(*backend.evaluate(request("quick"))).kind, Outcome::Kind::ok);
  EXPECT_TRUE(eventually([&] { return threads_of_this_process() == before; }));
}

// SBX-9: a run that heeds its stop is joined, not counted.
TEST(Blocking, JoinsARunThatHeedsItsStop) {
  std::atomic<bool> started{false};
  BlockingBackend backend(std::make_shared<Engine>([&](const Request& r) {
                            started = true;
                            while (!r.stop.stop_requested()) ::poll(nullptr, 0, 1);
                            return Outcome::infrastructure("stopped");
                          }),
                          {2, std::chrono::milliseconds(20'000)});
  const std::size_t before = threads_at_first();
  std::stop_source stop;
  auto handle = backend.evaluate(request("", stop.get_token()));
  ASSERT_TRUE(eventually([&] { return started.load(); }));
  stop.request_stop();
  handle.reset();
  EXPECT_EQ(backend.statistics().stuck, 0U);
  EXPECT_TRUE(eventually([&] { return threads_of_this_process() == before; }));
}

// SBX-1: a run that waits for a thread can be given up.
TEST(Blocking, ForgetsAWaitingRun) {
  Door door;
  std::atomic<int> runs{0};
  BlockingBackend backend(std::make_shared<Engine>([&](const Request&) {
                            ++runs;
                            door.pass();
                            return Outcome::ok("1");
                          }),
                          {1, std::chrono::milliseconds(5)});
  const auto running = backend.evaluate(request());
  ASSERT_TRUE(eventually([&] { return runs == 1; }));
  backend.evaluate(request()).reset();
  EXPECT_EQ(backend.statistics().waiting, 0U);
  door.open();
  EXPECT_EQ(await(*running).kind, Outcome::Kind::ok);
  EXPECT_EQ(runs, 1);
}

// SBX-10: an exception of the engine's comes out of take(), its type kept.
TEST(Blocking, CarriesExceptions) {
  BlockingBackend backend(std::make_shared<Engine>([](const Request&) -> Outcome { throw std::out_of_range("far"); }));
  const auto handle = backend.evaluate(request());
  EXPECT_THROW({ [[maybe_unused]] const Outcome outcome = await(*handle); }, std::out_of_range);
}

// SBX-1: close() answers what waits and what comes; handles and stuck runs outlive the backend.
TEST(Blocking, ClosesAndIsOutlived) {
  auto door = std::make_shared<Door>();
  std::atomic<int> runs{0};
  auto backend = std::make_unique<BlockingBackend>(std::make_shared<Engine>([&runs, door](const Request&) {
                                                     ++runs;
                                                     door->pass();
                                                     return Outcome::ok("1");
                                                   }),
                                                   BlockingOptions{1, std::chrono::milliseconds(5)});
  const auto running = backend->evaluate(request());
  ASSERT_TRUE(eventually([&] { return runs == 1; }));
  const auto waiting = backend->evaluate(request());
  backend->close();
  EXPECT_EQ(await(*waiting).message, "sandbox: the backend is closed");
  EXPECT_EQ(await(*backend->evaluate(request())).message, "sandbox: the backend is closed");
  backend.reset();
  door->open();
  EXPECT_EQ(await(*running).kind, Outcome::Kind::ok);
}

// SBX-1: a run on an engine of its own counts among the same threads.
TEST(Blocking, AnEngineARunSharesTheThreads) {
  BlockingBackend backend(std::make_shared<Engine>([](const Request&) { return Outcome::ok("1"); }),
                          {1, std::chrono::milliseconds(5)});
  EXPECT_EQ(await(*backend.evaluate(request())).value_json, "1");
  const auto door = std::make_shared<Door>();
  std::weak_ptr<Engine> other;
  {
    const auto engine = std::make_shared<Engine>([door](const Request&) {
      door->pass();
      return Outcome::ok("2");
    });
    other = engine;
    const auto given_up = backend.evaluate_on(engine, request());
  }
  EXPECT_EQ(backend.statistics().stuck, 1U);
  EXPECT_EQ(await(*backend.evaluate(request())).kind, Outcome::Kind::infrastructure);
  EXPECT_FALSE(other.expired());  // its thread is inside it
  door->open();
  while (backend.statistics().running > 0) ::poll(nullptr, 0, 1);
  EXPECT_EQ(await(*backend.evaluate(request())).value_json, "1");
}

}  // namespace
}  // namespace heddle::sandbox::spi
