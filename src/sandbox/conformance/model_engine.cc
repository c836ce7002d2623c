#include "model_engine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "model_backend.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;
using spi::LimitKind;
using spi::Outcome;

constexpr std::string_view kBuilt =
    R"({"text":"\u00e9\ud83d\ude00\u0000\"\\\n","past31":2147483648,"largest":9007199254740991,"nest":[[[{"a":[1.5]}]]]})";

void connect_to(const std::string& input) {
  const core::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(json::parse(input).at("port").get<std::uint16_t>());
  [[maybe_unused]] const int connected =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void lose_empty_lists(json& value) {  // NOLINT(misc-no-recursion)
  if (value.is_array() && value.empty()) value = json::object();
  if (!value.is_structured()) return;
  for (auto& item : value) lose_empty_lists(item);
}

void round_integers(json& value) {  // NOLINT(misc-no-recursion)
  if (value.is_number_integer()) value = static_cast<std::int32_t>(value.get<std::int64_t>());
  if (!value.is_structured()) return;
  for (auto& item : value) round_integers(item);
}

// What broken models leave behind, kept so that a test can end without it.
struct Leaks {
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::vector<core::Fd> descriptors;
  std::vector<pid_t> processes;
  std::deque<std::string> memory;
  std::atomic<bool> released{false};
};
Leaks& leaks() {
  static Leaks left;
  return left;
}

pid_t spawn(const char* script, short flags) {
  std::array<char*, 4> argv{const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>(script), nullptr};
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, flags);
  pid_t pid = -1;
  if (::posix_spawn(&pid, "/bin/sh", nullptr, &attributes, argv.data(), environ) != 0) pid = -1;
  ::posix_spawnattr_destroy(&attributes);
  return pid;
}

class ModelEngine final : public spi::BlockingEngine {
 public:
  explicit ModelEngine(ModelOptions options) : options_(std::move(options)) {
    if (broken(Break::leaves_a_child)) keep(spawn("exec sleep 1000", 0));
    if (broken(Break::leaves_a_daemon)) {
      const pid_t parent = spawn("sleep 1000 >/dev/null 2>&1 & exit 0", POSIX_SPAWN_SETSID);
      ::waitpid(parent, nullptr, 0);
    }
  }
  [[nodiscard]] spi::Capabilities capabilities() const override { return options_.declaration; }

  [[nodiscard]] Outcome run(const spi::Request& request) override {
    if (dead_) return Outcome::infrastructure("the engine is dead");
    const std::string& script = request.script;
    if (script == "echo") return echo(request);
    if (script == "rich") return value({{"built", json::parse(kBuilt)}, {"echoed", json::parse(request.input_json)}});
    if (script == "throw") return throws();
    if (script == "throw given") return throws_given(json::parse(request.input_json));
    if (script == "vast") return vast();
    if (script == "loop" || script == "spin") return ended(loop(request));
    if (script == "bomb") return bomb();
    if (script == "allocate") return allocate(request);
    if (script == "escape") return Outcome::ok(broken(Break::leaks_a_host_object) ? "[\"process\"]" : "[]");
    if (script == "network") {
      if (broken(Break::leaks_the_network)) connect_to(request.input_json);
      return Outcome::ok("[]");
    }
    if (script == "network objects") return Outcome::ok(broken(Break::shows_network_objects) ? "[\"fetch\"]" : "[]");
    if (script == "state") return state();
    dead_ = broken(Break::dead_after_syntax_error);
    if (broken(Break::syntax_is_the_hosts)) return Outcome::infrastructure("parse error");
    return Outcome::threw("SyntaxError", "no such word");
  }

 private:
  [[nodiscard]] bool broken(Break what) const { return options_.broken == what; }

  [[nodiscard]] Outcome value(json result) const {
    if (broken(Break::loses_empty_lists)) lose_empty_lists(result);
    if (broken(Break::rounds_integers)) round_integers(result);
    std::string text = result.dump();
    if (broken(Break::mangles_unicode)) {
      const std::size_t at = text.find("\u00e9");
      if (at != std::string::npos) text.replace(at, 2, "?");
    }
    return Outcome::ok(std::move(text));
  }

  [[nodiscard]] Outcome echo(const spi::Request& request) {
    leak(request);
    if (broken(Break::crosses_answers) || broken(Break::crosses_endings)) {
      return crossed(Outcome::ok(request.input_json));
    }
    const std::string& input = request.input_json;
    if (broken(Break::reads_limits_from_value) && input.find("Memory limit exceeded") != std::string::npos) {
      return Outcome::limited(LimitKind::memory);
    }
    constexpr std::size_t kMuch = 4'096;
    return input.size() > kMuch ? Outcome::ok(input) : value(json::parse(input));
  }

  // Two that meet here leave with each other's outcome.
  Outcome crossed(Outcome outcome) {
    std::unique_lock lock(mutex_);
    if (waiting_ != nullptr) {
      std::swap(*waiting_, outcome);
      waiting_ = nullptr;
      met_.notify_all();
      return outcome;
    }
    waiting_ = &outcome;
    met_.wait_for(lock, std::chrono::milliseconds(5), [&] { return waiting_ != &outcome; });
    if (waiting_ == &outcome) waiting_ = nullptr;
    return outcome;
  }

  void leak(const spi::Request& request) const {
    Leaks& left = leaks();
    if (broken(Break::leaks_processes)) keep(spawn("exit 0", 0));
    const std::lock_guard lock(left.mutex);
    if (broken(Break::leaks_threads)) {
      left.threads.emplace_back([&left] {
        while (!left.released) ::poll(nullptr, 0, 5);
      });
    }
    if (broken(Break::leaks_descriptors)) left.descriptors.emplace_back(::eventfd(0, EFD_CLOEXEC));
    if (broken(Break::leaks_memory)) left.memory.push_back(request.input_json);
  }
  static void keep(core::Fd fd) {
    const std::lock_guard lock(leaks().mutex);
    leaks().descriptors.push_back(std::move(fd));
  }
  static void keep(pid_t pid) {
    const std::lock_guard lock(leaks().mutex);
    leaks().processes.push_back(pid);
  }

  [[nodiscard]] Outcome vast() const {
    if (broken(Break::ends_its_process)) std::abort();
    if (broken(Break::leaves_its_process)) std::_Exit(0);
    return Outcome::threw("Error", "\xED\xA0\x80" + std::string(100'000, 'x'));
  }

  [[nodiscard]] Outcome throws_given(const json& input) {
    const std::string message = input.at("message");
    if (broken(Break::reads_limits_from_text) && message == "out of memory") return Outcome::limited(LimitKind::memory);
    Outcome outcome = Outcome::threw(input.at("name").get<std::string>(), message);
    return broken(Break::crosses_endings) ? crossed(std::move(outcome)) : outcome;
  }

  [[nodiscard]] Outcome allocate(const spi::Request& request) {
    const auto bytes = json::parse(request.input_json).at("bytes").get<std::uint64_t>();
    std::uint64_t cap = request.limits.memory_bytes;
    std::uint64_t none = 0;
    first_cap_.compare_exchange_strong(none, cap);
    if (broken(Break::cap_is_eight_times)) cap *= 8;
    if (broken(Break::cap_is_an_eighth)) cap /= 8;
    if (broken(Break::cap_is_the_first)) cap = first_cap_;
    return bytes > cap ? Outcome::limited(LimitKind::memory) : Outcome::ok("true");
  }

  Outcome ended(Outcome outcome) {
    if (outcome.kind == Outcome::Kind::limit) {
      dead_ = broken(Break::dead_after_limit);
      if (broken(Break::leaks_on_a_limit)) keep(core::Fd(::eventfd(0, EFD_CLOEXEC)));
    }
    if (outcome.kind == Outcome::Kind::infrastructure) dead_ = broken(Break::dead_after_stop);
    return outcome;
  }

  [[nodiscard]] Outcome throws() {
    dead_ = broken(Break::dead_after_throw);
    if (broken(Break::no_known_kind)) return {};
    if (broken(Break::throws_typed_failure)) throw effect::TypedFailure{"scriptError", "{}", "the shuttle is empty"};
    return Outcome::threw("Error", broken(Break::loses_the_message) ? "script failed" : "the shuttle is empty");
  }

  [[nodiscard]] Outcome loop(const spi::Request& request) const {
    const auto begin = std::chrono::steady_clock::now();
    // The model's budget of CPU time: an hour of wall clock never comes first.
    constexpr std::chrono::milliseconds kBudget{150};
    const bool budget = options_.declaration.cpu && !broken(Break::cpu_is_a_lie);
    const bool second = request.script == "spin";
    const bool deaf = broken(Break::ignores_the_stop) || (second && broken(Break::one_loop_ignores_the_stop));
    const bool endless = broken(Break::never_comes_back) || (second && broken(Break::one_loop_has_no_clock));
    for (;;) {
      const auto spent = std::chrono::steady_clock::now() - begin;
      if (leaks().released) return Outcome::infrastructure("released");
      if (request.stop.stop_requested() && !deaf) {
        if (broken(Break::leaks_on_a_stop)) keep(core::Fd(::eventfd(0, EFD_CLOEXEC)));
        return Outcome::infrastructure("stopped");
      }
      if (!endless && spent >= request.limits.wall_clock) {
        if (broken(Break::clock_is_an_exception)) return Outcome::threw("InternalError", "interrupted");
        return Outcome::limited(LimitKind::wall_clock);
      }
      if (budget && spent >= kBudget && request.limits.wall_clock > std::chrono::minutes(1)) {
        return Outcome::limited(LimitKind::cpu);
      }
      ::poll(nullptr, 0, 1);
    }
  }

  [[nodiscard]] Outcome bomb() {
    dead_ = broken(Break::dead_after_memory);
    if (broken(Break::memory_is_a_lie)) return Outcome::ok("\"took all it wanted\"");
    if (broken(Break::memory_is_an_exception)) return Outcome::threw("InternalError", "out of memory");
    return Outcome::limited(LimitKind::memory);
  }

  [[nodiscard]] Outcome state() {
    if (broken(Break::pools_contexts)) return Outcome::ok(runs_++ < 2 ? "false" : "true");
    if (broken(Break::pools_many_contexts)) return Outcome::ok(runs_++ < 30 ? "false" : "true");
    const int now = ++at_once_;
    if (broken(Break::shares_under_load) || broken(Break::keeps_what_load_left)) ::poll(nullptr, 0, 50);
    const bool company = now > 1 || at_once_ > 1;
    const bool shared = company ? broken(Break::shares_under_load) : loaded_ && broken(Break::keeps_what_load_left);
    if (company) loaded_ = true;
    --at_once_;
    return Outcome::ok(shared ? "true" : "false");
  }

  const ModelOptions options_;
  std::atomic<int> runs_{0};
  std::atomic<int> at_once_{0};
  std::atomic<bool> loaded_{false};
  std::atomic<bool> dead_{false};
  std::atomic<std::uint64_t> first_cap_{0};
  std::mutex mutex_;
  std::condition_variable met_;
  Outcome* waiting_ = nullptr;
};

Fixtures make_fixtures() {
  Fixtures fixtures;
  fixtures.language = "model";
  fixtures.echo = "echo";
  fixtures.throws = "throw";
  fixtures.thrown_message = "the shuttle is empty";
  fixtures.syntax_error = "= =";
  fixtures.throws_given = "throw given";
  fixtures.runaways = {"loop", "spin"};
  fixtures.allocate = "allocate";
  fixtures.allocation_bomb = "bomb";
  fixtures.rich_value = "rich";
  fixtures.rich_built = kBuilt;
  fixtures.network_probes = {{"network", "network"}, {"network objects", "network objects"}};
  fixtures.escape_probes = {{"escape", "escape"}};
  fixtures.stateful = "state";
  fixtures.throws_vast = "vast";
  return fixtures;
}

}  // namespace

spi::Capabilities best_declaration() {
  spi::Capabilities best;
  best.language = "model";
  best.network = spi::Network::none;
  best.wall_clock = spi::WallClock::hard;
  best.memory = best.cpu = best.fresh_per_run = true;
  return best;
}

const Fixtures& model_fixtures() {
  static const Fixtures kFixtures = make_fixtures();
  return kFixtures;
}

BackendFactory model_factory(ModelOptions options) {
  const auto instances = std::make_shared<std::atomic<int>>(0);
  return [options, instances]() -> std::shared_ptr<spi::SandboxBackend> {
    return std::make_shared<ModelBackend>(std::make_shared<ModelEngine>(options), options, ++*instances);
  };
}

bool released() { return leaks().released; }

void release_the_blocked() {
  Leaks& left = leaks();
  left.released = true;
  constexpr int kUntilAllHaveSeenIt = 300;
  ::poll(nullptr, 0, kUntilAllHaveSeenIt);
  const std::lock_guard lock(left.mutex);
  for (std::thread& thread : left.threads) thread.join();
  for (const pid_t pid : left.processes) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) continue;  // it has ended, and the kit may have reaped it
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  left.threads.clear();
  left.descriptors.clear();
  left.processes.clear();
  left.memory.clear();
  left.released = false;
}

}  // namespace heddle::sandbox::conformance
