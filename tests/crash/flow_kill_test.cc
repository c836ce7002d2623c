// SIGKILL at random moments while flows run, on a real disk: `heddle_flow_kill_test run FOLDER GENERATION` is the
// process that dies and is started again. Each effect leaves a line in a file of its own, so that what happened is
// known apart from the journal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/effect/runtime/flow.h"
#include "heddle/effect/runtime/function_effect.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "journal_folder.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it with _GNU_SOURCE alone

namespace heddle::effect::testing {
namespace {

using journal::EffectPhase;
using journal::testing::Folder;
using Text = Reply<std::string>;

constexpr int kFlows = 4;
#if defined(HEDDLE_UNDER_TSAN) || defined(HEDDLE_UNDER_ASAN)
constexpr int kKills = 40;  // everything is many times slower
constexpr std::uint32_t kWindow = 500'000;
#else
constexpr int kKills = 200;
constexpr std::uint32_t kWindow = 50'000;  // microseconds
#endif
constexpr int kDone = 0;
constexpr int kInDoubtStatus = 5;

std::string flow_id(const std::string& generation, int flow) { return generation + "-" + std::to_string(flow); }

// The effect's trace is one write to a file opened for appending: whole or not there.
std::shared_ptr<const Effect> traced(const char* kind, Idempotency idempotency,
                                     const std::shared_ptr<core::Fd>& trace) {
  FunctionEffect function;
  function.kind = kind;
  function.idempotency = idempotency;
  function.run = [trace](std::string_view input, const Call& call) -> Text {
    const std::string line = call.idempotency_key + "\n";
    if (::write(trace->get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(9);
    std::this_thread::sleep_for(std::chrono::microseconds(std::hash<std::string>{}(line) % 800));
    return Text("{\"of\":" + std::string(input) + "}");
  };
  return make_effect(std::move(function));
}

// Sequences, effects side by side and branches; what one gives is what the next one gets.
Text work(Flow& flow) {
  std::string last = std::string(flow.input_json());
  for (int step = 0; step < 4; ++step) {
    const Text one = flow.ask(step % 2 == 0 ? "once" : "again", last);
    if (!one.ok()) return one;
    std::vector<Ask> asks;
    for (int i = 0; i < 4; ++i) asks.push_back({i % 2 == 0 ? "again" : "once", std::to_string(i), {}});
    std::string together = "[";
    for (const Text& reply : flow.ask_together(asks)) {
      if (!reply.ok()) return reply;
      together += (together.size() > 1 ? "," : "") + reply.value();
    }
    std::array<std::string, 2> ends;
    std::vector<std::function<void(Flow&)>> branches;
    for (std::string& end : ends) {
      branches.emplace_back([&end](Flow& branch) {
        const Text first = branch.ask("once", "1");
        if (!first.ok()) return;
        const Text second = branch.ask("again", first.value());
        if (second.ok()) end = second.value();
      });
    }
    flow.together(branches);
    last = "{\"step\":" + std::to_string(step) + ",\"together\":" + together + "]}";
  }
  return Text(last);
}

constexpr int kEffectsOfAFlow = 4 * (1 + 4 + 4);

int run_until_killed(const std::string& folder, const std::string& generation) {
  auto store = journal::open_sqlite(folder + "/journal");
  if (!store.ok()) return 2;
  const auto trace =
      std::make_shared<core::Fd>(::open((folder + "/trace").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const auto allow = std::make_shared<CallbackAuthorizer>([](const Request&) { return Decision::allow(); });
  auto runtime =
      EffectRuntime::create({allow, Scheduler::create().value(), std::make_shared<Meter>(), std::move(store).value()});
  if (!runtime.value()->add(traced("once", Idempotency::not_idempotent, trace)).ok()) return 3;
  if (!runtime.value()->add(traced("again", Idempotency::idempotent, trace)).ok()) return 3;
  if (::write(STDOUT_FILENO, "r", 1) != 1) return 7;  // ready: what a kill hits from here on is work
  std::atomic<int> status{kDone};
  std::vector<std::thread> threads;
  threads.reserve(kFlows);
  for (int i = 0; i < kFlows; ++i) {
    threads.emplace_back([&, i] {
      const auto run = run_flow(*runtime.value(), {flow_id(generation, i), "work", std::to_string(i), work});
      if (!run.ok()) {
        (void)std::fprintf(stderr, "%s\n", run.error().message().c_str());
        status = 4;
      } else if (run.value().state == FlowState::in_doubt) {
        int done = kDone;
        status.compare_exchange_strong(done, kInDoubtStatus);
      } else if (!run.value().reply.ok()) {
        status = 6;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

struct Child {
  pid_t pid = -1;
  core::Pidfd pidfd;
  core::Fd ready;  // a byte comes when it begins to work
};

Child spawn(const std::string& folder, const std::string& generation) {
  Child child;
  core::FdPair pipe = core::pipe_pair().value();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.second.get(), STDOUT_FILENO);
  std::array<std::string, 4> words{"heddle_flow_kill_test", "run", folder, generation};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  EXPECT_EQ(::posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  child.ready = std::move(pipe.first);
  child.pidfd = core::Pidfd::open(child.pid).value();
  return child;
}

// How often each effect has happened, by flow and key.
std::map<std::string, int> happened(const Folder& folder) {
  std::map<std::string, int> count;
  std::istringstream lines(journal::testing::read_file(folder.file("trace")));
  for (std::string line; std::getline(lines, line);) ++count[line];
  return count;
}

bool settled(const journal::EffectState& effect) {
  return effect.phase != EffectPhase::none && effect.phase != EffectPhase::begun;
}

class Watch {
 public:
  // Whatever the journal had the end of before has not happened since; nothing has happened that the journal did not
  // know the beginning of.
  void look(const Folder& folder, const std::string& generation) {
    const auto store = journal::open_sqlite(folder.file()).value();
    const std::map<std::string, int> count = happened(folder);
    for (const auto& [id, times] : ended_) {
      const auto found = count.find(id);
      ASSERT_EQ(found == count.end() ? 0 : found->second, times) << id << " had ended and was done again";
    }
    for (int i = 0; i < kFlows; ++i) {
      const std::string flow = flow_id(generation, i);
      const journal::State state = journal::replay(*store, flow, journal::From::start).value();
      const auto found = state.flows.find(flow);
      for (const auto& [id, times] : count) {
        if (id.rfind(flow + '/', 0) != 0) continue;
        const auto effect = found->second.effects.find(id.substr(flow.size() + 1));
        ASSERT_NE(effect, found->second.effects.end()) << id << " was done without an intent";
        ASSERT_LE(times, static_cast<int>(effect->second.attempts)) << id;
      }
      if (found == state.flows.end()) continue;
      for (const auto& [key, effect] : found->second.effects) {
        const auto times = count.find(flow + '/' + key);
        if (effect.phase == EffectPhase::begun) ++cut_;
        if (settled(effect)) ended_[flow + '/' + key] = times == count.end() ? 0 : times->second;
      }
    }
  }

  [[nodiscard]] std::size_t ended() const { return ended_.size(); }
  [[nodiscard]] int cut() const { return cut_; }  // begun and not ended, each time that it was looked at

 private:
  std::map<std::string, int> ended_;
  int cut_ = 0;
};

// The operator, who can look at the trace.
int resolve_all(const Folder& folder, const std::string& generation) {
  const auto store = journal::open_sqlite(folder.file()).value();
  const std::map<std::string, int> count = happened(folder);
  int resolved = 0;
  for (int i = 0; i < kFlows; ++i) {
    const std::string flow = flow_id(generation, i);
    const journal::State state = journal::replay(*store, flow, journal::From::start).value();
    const auto found = state.flows.find(flow);
    if (found == state.flows.end()) continue;
    for (const auto& [key, effect] : found->second.effects) {
      if (effect.phase != EffectPhase::begun || effect.repeatable) continue;
      Verdict verdict{Verdict::Kind::run_again, "test", "it is not in the trace", {}};
      if (count.count(flow + '/' + key) != 0)
        verdict = {Verdict::Kind::done, "test", "it is in the trace", "{\"of\":0}"};
      EXPECT_TRUE(resolve(*store, flow, key, verdict).ok());
      ++resolved;
    }
  }
  return resolved;
}

// EFF-6, JRN-5: 200 times (fewer under a sanitizer) killed at any moment and started again. No effect whose end is in
// the journal happens again; one that is not idempotent happens exactly once, whatever became of its process; each flow
// comes to its end.
TEST(FlowKill, NothingThatEndedHappensAgain) {
  const Folder folder;
  std::mt19937 random(std::random_device{}());
  Watch watch;
  int kills = 0;
  int finished = 0;
  int resolved = 0;
  for (int generation = 0; kills < kKills; ++generation) {
    const std::string name = "g" + std::to_string(generation);
    for (bool done = false; !done;) {
      const Child child = spawn(folder.path().string(), name);
      if (kills < kKills) {
        char byte = 0;
        // Some die while they start, most at work.
        if (random() % 8 != 0) {
          ASSERT_EQ(::read(child.ready.get(), &byte, 1), 1);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % kWindow));
        static_cast<void>(child.pidfd.send_signal(SIGKILL));
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
      ASSERT_NO_FATAL_FAILURE(watch.look(folder, name));
      if (WIFSIGNALED(status)) {
        ++kills;
        continue;
      }
      ASSERT_TRUE(WEXITSTATUS(status) == kDone || WEXITSTATUS(status) == kInDoubtStatus) << WEXITSTATUS(status);
      if (WEXITSTATUS(status) == kInDoubtStatus) resolved += resolve_all(folder, name);
      done = WEXITSTATUS(status) == kDone;
    }
    ++finished;
    const auto store = journal::open_sqlite(folder.file()).value();
    const std::map<std::string, int> count = happened(folder);
    for (int i = 0; i < kFlows; ++i) {
      const journal::State state = journal::replay(*store, flow_id(name, i), journal::From::start).value();
      const journal::FlowState& flow = state.flows.at(flow_id(name, i));
      ASSERT_EQ(flow.ending, journal::Ending::success);
      ASSERT_EQ(flow.effects.size(), static_cast<std::size_t>(kEffectsOfAFlow));
      for (const auto& [key, effect] : flow.effects) {
        ASSERT_EQ(effect.phase, EffectPhase::succeeded) << key;
        const int times = count.at(flow_id(name, i) + '/' + key);
        if (effect.effect == "once") {
          ASSERT_EQ(times, 1) << key;
        }
      }
    }
  }
  EXPECT_GT(watch.cut(), 0) << "no kill hit an effect";
  const auto verified =
      journal::verify(*journal::open_sqlite(folder.file(), {journal::SqliteMode::read_only, {}}).value());
  ASSERT_TRUE(verified.ok()) << verified.error().message();
  RecordProperty("generations", std::to_string(finished));
  RecordProperty("ended", std::to_string(watch.ended()));
  RecordProperty("resolved", std::to_string(resolved));
  std::printf("%d kills, %d generations of %d flows, %zu effects ended, %d in doubt and resolved\n", kills, finished,
              kFlows, watch.ended(), resolved);
}

}  // namespace
}  // namespace heddle::effect::testing

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "run") == 0) {
    return heddle::effect::testing::run_until_killed(argv[2], argv[3]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
