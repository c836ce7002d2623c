// SIGKILL at random moments while eight threads append, on a real disk: `heddle_journal_kill_test append FILE ROUND` is
// the process that dies. It writes what was acknowledged to a pipe that the test reads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/pidfd.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "journal_folder.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it with _GNU_SOURCE alone

namespace heddle::journal::testing {
namespace {

constexpr std::uint32_t kThreads = 8;
#if defined(HEDDLE_UNDER_ASAN) || defined(HEDDLE_UNDER_TSAN)
constexpr int kRounds = 40;  // the kernel kills in the same way whatever the program is built with
#else
constexpr int kRounds = 200;
#endif

// What one append was acknowledged as. One write of this size to a pipe is whole or not at all (pipe(7), PIPE_BUF).
struct Acknowledged {
  std::uint32_t thread;
  std::uint32_t first_effect;
  std::uint64_t first_sequence;
  std::uint64_t last_sequence;
};

std::string flow_of(const std::string& round, std::uint32_t thread) { return round + '/' + std::to_string(thread); }

std::string body_of(std::uint32_t effect) {
  const std::string number = std::to_string(effect);
  return effect % 16 == 0 ? '"' + number + std::string(kInlineBodyBytes, 'x') + '"' : '"' + number + '"';
}

int append_until_killed(const std::string& path, const std::string& round) {
  const auto store = open_sqlite(path);
  if (!store.ok()) return 2;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t effect = 0;;) {
        std::vector<Draft> drafts;
        const std::uint32_t first = effect;
        for (const std::uint32_t end = effect + 1 + effect % 3; effect < end; ++effect) {
          drafts.push_back({flow_of(round, t), std::to_string(effect), Kind::intent,
                            "{\"facts\":" + std::to_string(end - first) + ",\"first\":" + std::to_string(first) + "}",
                            body_of(effect)});
        }
        const auto receipt = store.value()->append(drafts, {});
        if (!receipt.ok()) ::_exit(3);
        const Acknowledged record{t, first, receipt.value().first, receipt.value().last};
        if (::write(STDOUT_FILENO, &record, sizeof record) != static_cast<ssize_t>(sizeof record)) ::_exit(4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

struct Child {
  pid_t pid = -1;
  core::Pidfd pidfd;
  core::Fd acknowledgements;
};

Child spawn(const std::string& path, const std::string& round) {
  Child child;
  core::FdPair pipe = core::pipe_pair().value();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.second.get(), STDOUT_FILENO);
  std::array<std::string, 4> words{"heddle_journal_kill_test", "append", path, round};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  EXPECT_EQ(::posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  child.pidfd = core::Pidfd::open(child.pid).value();
  child.acknowledgements = std::move(pipe.first);
  return child;
}

void await_acknowledgement(const core::Fd& pipe) {
  pollfd item{pipe.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&item, 1, 20'000), 1);
}

// The facts of one append are next to each other and all there.
void expect_whole_appends(const std::vector<Fact>& facts) {
  for (std::size_t i = 0; i < facts.size();) {
    const int count = 1 + std::stoi(facts[i].effect) % 3;
    ASSERT_LE(i + static_cast<std::size_t>(count), facts.size()) << "half an append at the end";
    for (int k = 0; k < count; ++k, ++i) {
      ASSERT_EQ(facts[i].payload, facts[i - static_cast<std::size_t>(k)].payload);
      ASSERT_EQ(facts[i].body->text, body_of(static_cast<std::uint32_t>(std::stoul(facts[i].effect))));
    }
  }
}

// JRN-5: every acknowledged fact is there, where the receipt said; each thread's facts are in order without a gap; none
// is half-written. In every second round another process (this one) has the journal open when the writer dies.
TEST(JournalKill, NothingAcknowledgedIsLost) {
  const Folder folder;
  std::mt19937 random(std::random_device{}());
  std::unique_ptr<Store> open_meanwhile;
  std::uint64_t known = 0;
  std::uint64_t acknowledged_in_all = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string round = std::to_string(i);
    open_meanwhile = i % 2 == 1 ? open_sqlite(folder.file()).value() : nullptr;
    const Child child = spawn(folder.file(), round);
    // Half of the rounds die amid appends, the others anywhere, opening the journal included.
    if (i % 4 < 2) await_acknowledgement(child.acknowledgements);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ASSERT_TRUE(child.pidfd.send_signal(SIGKILL).ok());
    const std::string bytes = core::read_all(child.acknowledgements, 64U << 20).value();
    int status = 0;
    ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);

    auto store = open_meanwhile != nullptr ? std::move(open_meanwhile) : open_sqlite(folder.file()).value();
    Query query;
    query.from = known + 1;
    query.limit = 1'000'000;
    const auto page = store->read(query, {});
    ASSERT_TRUE(page.ok()) << page.error().message();
    const std::vector<Fact>& facts = page.value().facts;
    ASSERT_NO_FATAL_FAILURE(expect_whole_appends(facts)) << "round " << i;
    std::map<std::string, int> next;
    for (const Fact& fact : facts) ASSERT_EQ(fact.effect, std::to_string(next[fact.flow]++)) << "round " << i;
    for (const auto& [flow, count] : next) {
      Query of_flow;
      of_flow.flow = flow;
      of_flow.limit = 1'000'000;
      const auto found = store->read(of_flow, {});
      ASSERT_TRUE(found.ok()) << found.error().message();
      ASSERT_EQ(found.value().facts.size(), static_cast<std::size_t>(count)) << "by the index, in round " << i;
    }
    ASSERT_EQ(bytes.size() % sizeof(Acknowledged), 0U);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Acknowledged)) {
      Acknowledged record{};
      std::memcpy(&record, bytes.data() + at, sizeof record);
      ASSERT_LE(record.last_sequence, known + facts.size()) << "an acknowledged fact is lost in round " << i;
      const Fact& fact = facts[record.first_sequence - known - 1];
      ASSERT_EQ(fact.flow, flow_of(round, record.thread));
      ASSERT_EQ(fact.effect, std::to_string(record.first_effect));
      acknowledged_in_all += record.last_sequence - record.first_sequence + 1;
    }
    known += facts.size();
  }
  EXPECT_GT(acknowledged_in_all, 0U);
  const auto store = open_sqlite(folder.file(), {SqliteMode::read_only, {}}).value();
  const auto verified = verify(*store);
  ASSERT_TRUE(verified.ok()) << verified.error().message();
  EXPECT_EQ(verified.value().facts, known);
  RecordProperty("acknowledged", std::to_string(acknowledged_in_all));
  RecordProperty("stored", std::to_string(known));
}

}  // namespace
}  // namespace heddle::journal::testing

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "append") == 0) {
    return heddle::journal::testing::append_until_killed(argv[2], argv[3]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
