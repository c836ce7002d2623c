// What is about to run is durable before it runs, whatever the journal does meanwhile.
#include "journaled_evaluator.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "heddle/journal/memory/memory.h"
#include "run_journal.h"

namespace heddle::cli {
namespace {

using sandbox::quickjs::RunRequest;

// A journal that takes facts, holds them up or refuses them, as a test says.
struct Will {
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;
  std::atomic<bool> refuses{false};
  std::atomic<int> appends{0};

  void release() {
    const std::lock_guard lock(mutex);
    held = false;
    changed.notify_all();
  }
};

class WilfulStore final : public journal::Store {
 public:
  WilfulStore(std::shared_ptr<journal::Store> store, std::shared_ptr<Will> will)
      : store_(std::move(store)), will_(std::move(will)) {}

  core::Result<journal::Receipt> append(std::span<const journal::Draft> drafts, const journal::Wait& wait) override {
    ++will_->appends;
    {
      std::unique_lock lock(will_->mutex);
      will_->changed.wait(lock, [this] { return !will_->held; });
    }
    if (will_->refuses) return core::make_error(core::Errc::exhausted, "append to the journal", "the disk is full");
    return store_->append(drafts, wait);
  }
  core::Result<journal::Page> read(const journal::Query& query, const journal::Wait& wait) override {
    return store_->read(query, wait);
  }
  core::Result<journal::Page> follow(const journal::Query& query, const journal::Wait& wait) override {
    return store_->follow(query, wait);
  }
  core::Result<journal::Head> head(const journal::Wait& wait) override { return store_->head(wait); }
  core::Result<void> check_storage(const journal::Wait& wait) override { return store_->check_storage(wait); }

 private:
  std::shared_ptr<journal::Store> store_;
  std::shared_ptr<Will> will_;
};

// Ends at once; counts what was started, and how many facts were durable by then.
struct Started {
  int runs = 0;
  std::uint64_t durable = 0;
};

class CountingEvaluator final : public Evaluator {
 public:
  CountingEvaluator(Started& started, std::shared_ptr<journal::Store> store)
      : started_(started), store_(std::move(store)) {}
  core::Result<std::unique_ptr<Evaluation>> start(RunRequest /*request*/) override {
    ++started_.runs;
    started_.durable = store_->head({}).value().sequence;
    return std::unique_ptr<Evaluation>(std::make_unique<Ended>());
  }

 private:
  class Ended final : public Evaluation {
   public:
    [[nodiscard]] int fd() const override { return -1; }
    [[nodiscard]] std::optional<RunEnd> poll() override { return RunEnd{sandbox::Evaluated{"1", std::nullopt}, {}}; }
  };
  Started& started_;
  std::shared_ptr<journal::Store> store_;
};

struct JournaledBench {
  JournaledBench()
      : journal(RunJournal::begin_in(std::make_unique<WilfulStore>(store, will), "script", Runs::many, {}).value()),
        evaluator(journaled(std::make_unique<CountingEvaluator>(started, store), *journal)) {}
  ~JournaledBench() { will->release(); }
  JournaledBench(const JournaledBench&) = delete;
  JournaledBench& operator=(const JournaledBench&) = delete;

  std::shared_ptr<journal::Store> store = journal::open_memory();
  std::shared_ptr<Will> will = std::make_shared<Will>();
  Started started;
  std::unique_ptr<RunJournal> journal;
  std::unique_ptr<Evaluator> evaluator;
};

bool is_readable(int fd, int wait_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

std::optional<RunEnd> end_of(Evaluation& evaluation) {
  for (;;) {
    if (auto end = evaluation.poll()) return end;
    if (evaluation.fd() >= 0 && !is_readable(evaluation.fd(), 60'000)) return std::nullopt;
  }
}

// JRN-5: the control: FLOW_STARTED and INTENT are durable when the run starts, and the outcome when it is told.
TEST(JournaledEvaluator, RunsWhatIsDurable) {
  JournaledBench bench;
  const auto run = bench.evaluator->start({}).value();
  EXPECT_EQ(end_of(*run).value().reply.value().value_json, "1");
  EXPECT_EQ(bench.started.runs, 1);
  EXPECT_EQ(bench.started.durable, 2U);
  EXPECT_EQ(bench.store->head({}).value().sequence, 3U);
}

// JRN-5: while the journal holds the INTENT up nothing runs, however often it is asked.
TEST(JournaledEvaluator, WaitsForItsIntent) {
  JournaledBench bench;
  bench.will->held = true;
  const auto run = bench.evaluator->start({}).value();
  while (bench.will->appends < 2) ::poll(nullptr, 0, 1);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(run->poll());
  EXPECT_FALSE(is_readable(run->fd(), 50));
  EXPECT_EQ(bench.started.runs, 0);
  bench.will->release();
  EXPECT_TRUE(end_of(*run).value().reply.ok());
  EXPECT_EQ(bench.started.runs, 1);
  EXPECT_EQ(bench.started.durable, 2U);
}

// JRN-5: what could not be stored does not run, and the journal's error is how it ended.
TEST(JournaledEvaluator, DoesNotRunWhatCannotBeStored) {
  JournaledBench bench;
  bench.will->refuses = true;
  const auto run = bench.evaluator->start({}).value();
  const RunEnd end = end_of(*run).value();
  EXPECT_EQ(bench.started.runs, 0);
  ASSERT_TRUE(end.reply.is_untyped());
  EXPECT_NE(end.reply.untyped().message.find("the disk is full"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cli
