// JAIL-12, JAIL-15: the host, the supervisor, or both are killed with SIGKILL while 50 workers run hostile scripts.
// Within a second nothing of ours is left: no process, no socket, no file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "tests/support/processes.h"

namespace heddle {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr int kWorkers = 50;
const char* const kHostile[] = {"for(;;);", "for(;;){try{for(;;);}catch(e){}}",
                                "Array.prototype.indexOf.call({length:2**53-1},1)",
                                "let a=[]; for(;;) { a.push(1); a.pop() }", "(async()=>{for(;;) await 0})()"};

class KillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Orphans come to this process instead of to init, which need not be quick to reap them.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    std::string pattern = (fs::temp_directory_path() / "heddle-kill-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream batch(folder_ / "batch.ndjson");
    for (int i = 0; i < kWorkers; ++i) {
      batch << R"({"script":")" << kHostile[static_cast<std::size_t>(i) % std::size(kHostile)]
            << R"(","limits":{"wallClockMs":600000}})" << '\n';
    }
    batch.close();
    fs::create_directory(folder_ / "empty");
  }

  void TearDown() override {
    if (host_ > 0) {
      ::kill(host_, SIGKILL);
      ::waitpid(host_, nullptr, 0);
    }
    fs::remove_all(folder_);
  }

  // Starts the command in a folder that stays empty, with its output thrown away, and waits until all workers are
  // running.
  void start() {
    const std::string batch = (folder_ / "batch.ndjson").string();
    const std::string empty = (folder_ / "empty").string();
    const std::string workers = std::to_string(kWorkers);
    host_ = ::fork();
    ASSERT_GE(host_, 0);
    if (host_ == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, STDIN_FILENO);
      ::dup2(null, STDOUT_FILENO);
      if (::chdir(empty.c_str()) != 0) ::_exit(99);
      ::setenv("TMPDIR", empty.c_str(), 1);
      ::setenv("XDG_RUNTIME_DIR", empty.c_str(), 1);
      ::setenv("HOME", empty.c_str(), 1);
      ::execl(HEDDLE_COMMAND, "heddle", "run", "--batch", batch.c_str(), "--workers", workers.c_str(), nullptr);
      ::_exit(98);
    }
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (test::descendants_named("heddle-sandbox-").size() < kWorkers) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the workers did not come up";
      ASSERT_EQ(::waitpid(host_, nullptr, WNOHANG), 0) << "the host ended before its workers ran";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    workers_ = test::descendants_named("heddle-sandbox-");
    const std::vector<pid_t> supervisors = test::descendants_named("heddle-supervis");
    ASSERT_EQ(supervisors.size(), 1U);
    supervisor_ = supervisors[0];
    collect_sockets(host_);
    collect_sockets(supervisor_);
    ASSERT_FALSE(sockets_.empty());
  }

  void collect_sockets(pid_t pid) {
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry.path(), error).string();
      if (target.rfind("socket:[", 0) == 0) sockets_.insert(target.substr(8, target.size() - 9));
    }
  }

  // Those of the sockets seen before that the kernel still knows: the inode is the seventh column of /proc/net/unix.
  [[nodiscard]] std::size_t sockets_left() const {
    std::ifstream table("/proc/net/unix");
    std::string line;
    std::size_t left = 0;
    while (std::getline(table, line)) {
      std::istringstream columns(line);
      std::string word;
      for (int i = 0; i < 7 && columns >> word; ++i) {
      }
      left += sockets_.count(word);
    }
    return left;
  }

  void expect_nothing_left() {
    std::vector<pid_t> all = workers_;
    all.push_back(supervisor_);
    const auto end = std::chrono::steady_clock::now() + seconds(1);
    while (!test::gone_within(all, std::chrono::milliseconds(1)) && std::chrono::steady_clock::now() < end) {
      for (const pid_t pid : all) ::waitpid(pid, nullptr, WNOHANG);
    }
    EXPECT_TRUE(test::gone_within(all, seconds(0)));
    EXPECT_TRUE(fs::is_empty(folder_ / "empty"));
  }

  void reap_host() {
    ASSERT_EQ(::waitpid(host_, &host_status_, 0), host_);
    host_ = 0;
  }

  fs::path folder_;
  pid_t host_ = 0;
  pid_t supervisor_ = 0;
  std::vector<pid_t> workers_;
  std::set<std::string> sockets_;
  int host_status_ = 0;
};

TEST_F(KillTest, OfTheHost) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_GT(sockets_left(), 0U);
  ASSERT_EQ(::kill(host_, SIGKILL), 0);
  reap_host();
  expect_nothing_left();
  EXPECT_EQ(sockets_left(), 0U);
}

TEST_F(KillTest, OfTheSupervisor) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(::kill(supervisor_, SIGKILL), 0);
  expect_nothing_left();
  // The host says so for each run that was asked, and ends; a run that was still to be asked gets another supervisor
  // (JAIL-21), which ends with the host.
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  std::vector<pid_t> others;
  while (others.empty() && ::waitpid(host_, &host_status_, WNOHANG) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    others = test::descendants_named("heddle-supervis");
    others.erase(std::remove(others.begin(), others.end(), supervisor_), others.end());
  }
  if (others.empty()) {
    EXPECT_TRUE(WIFEXITED(host_status_));
    EXPECT_EQ(WEXITSTATUS(host_status_), 1);
    host_ = 0;
  } else {
    collect_sockets(others[0]);
    ASSERT_EQ(::kill(host_, SIGKILL), 0);
    reap_host();
    supervisor_ = others[0];
    expect_nothing_left();
  }
  EXPECT_EQ(sockets_left(), 0U);
}

TEST_F(KillTest, OfBothAtOnce) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(::kill(supervisor_, SIGSTOP), 0);  // it must not help
  ASSERT_EQ(::kill(host_, SIGKILL), 0);
  ASSERT_EQ(::kill(supervisor_, SIGKILL), 0);
  reap_host();
  expect_nothing_left();
  EXPECT_EQ(sockets_left(), 0U);
}

}  // namespace
}  // namespace heddle
