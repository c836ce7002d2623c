// The kit's JavaScript against a real engine: node's vm, which its own manual calls no boundary. The same program
// passes, or fails at one case, by how its contexts are made.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "heddle/core/fd.h"
#include "heddle/sandbox/conformance/conformance.h"
#include "heddle/sandbox/spi/blocking.h"

namespace heddle::sandbox {
namespace {

using Json = nlohmann::json;
using conformance::CaseId;
using conformance::CaseStatus;

class Node final : public spi::BlockingEngine {
 public:
  explicit Node(const char* mode) {
    core::FdPair requests = core::pipe_pair().value();
    core::FdPair outcomes = core::pipe_pair().value();
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, requests.first.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, outcomes.second.get(), STDOUT_FILENO);
    std::array<char*, 4> argv{const_cast<char*>("node"), const_cast<char*>(HEDDLE_NODE_VM), const_cast<char*>(mode),
                              nullptr};
    if (::posix_spawnp(&pid_, "node", &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    to_ = std::move(requests.second);
    from_ = ::fdopen(outcomes.first.release(), "r");
  }
  ~Node() override {
    to_.reset();
    std::fclose(from_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities declared;
    declared.language = "javascript";
    declared.network = spi::Network::none;
    declared.fresh_per_run = true;
    return declared;
  }

  // One at a time: it is one process.
  [[nodiscard]] spi::Outcome run(const spi::Request& request) override {
    const std::lock_guard lock(mutex_);
    const Json asked{
        {"script", request.script}, {"input", request.input_json}, {"clock", request.limits.wall_clock.count()}};
    if (!core::write_all(to_, asked.dump() + "\n").ok()) return spi::Outcome::infrastructure("node is gone");
    char* line = nullptr;
    std::size_t size = 0;
    const ssize_t got = ::getline(&line, &size, from_);
    const std::string text(line == nullptr ? "" : line, got < 0 ? 0 : static_cast<std::size_t>(got));
    std::free(line);
    const Json outcome = Json::parse(text, nullptr, false);
    if (!outcome.is_object()) return spi::Outcome::infrastructure("node gave no outcome: " + text);
    if (outcome.at("kind") == "ok") return spi::Outcome::ok(outcome.at("value").get<std::string>());
    if (outcome.at("kind") == "wallClock") return spi::Outcome::limited(spi::LimitKind::wall_clock);
    return spi::Outcome::threw(outcome.at("name").get<std::string>(), outcome.at("message").get<std::string>());
  }

 private:
  std::mutex mutex_;
  pid_t pid_ = -1;
  core::Fd to_;
  std::FILE* from_ = nullptr;
};

std::set<std::string> failed(const char* mode) {
  conformance::Options options;
  options.only = {CaseId::echo,          CaseId::throws,          CaseId::syntax_error, CaseId::limit_from_text,
                  CaseId::runaway_loop,  CaseId::rich_value,      CaseId::own_answers,  CaseId::no_escape,
                  CaseId::fresh_per_run, CaseId::already_aborted, CaseId::composition};
  const auto report = conformance::run_sandbox_backend_conformance(
      [mode] { return std::make_shared<spi::BlockingBackend>(std::make_shared<Node>(mode)); }, nullptr, options);
  std::set<std::string> names;
  for (const auto& result : report.value().cases) {
    if (result.status == CaseStatus::failed) names.emplace(case_name(result.id));
    EXPECT_NE(result.status, CaseStatus::skipped);
  }
  if (!names.empty()) std::puts(to_text(report.value()).c_str());
  return names;
}

class NodeVm : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no node here (Debian: nodejs)";
  }
};

// CNF-6: the control: contexts that no object of the host's is in.
TEST_F(NodeVm, PassesWhereContextsAreClosed) { EXPECT_EQ(failed("good"), std::set<std::string>()); }

// CNF-6: one object of the host's in a context, and the probes reach `process`.
TEST_F(NodeVm, FailsWhereAHostObjectLeaks) {
  EXPECT_EQ(failed("leaks"), std::set<std::string>{"no network, no escape"});
}

// CNF-6
TEST_F(NodeVm, FailsWhereContextsAreReused) { EXPECT_EQ(failed("reuses"), std::set<std::string>{"fresh per run"}); }

}  // namespace
}  // namespace heddle::sandbox
