#include "model_engine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/core/fd.h"

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

class ModelEngine final : public spi::BlockingEngine {
 public:
  explicit ModelEngine(ModelOptions options) : options_(std::move(options)) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return options_.declaration; }

  [[nodiscard]] Outcome run(const spi::Request& request) override {
    const std::string& script = request.script;
    if (script == "echo") return value(json::parse(request.input_json));
    if (script == "rich") return value({{"built", json::parse(kBuilt)}, {"echoed", json::parse(request.input_json)}});
    if (script == "throw") return throws();
    if (script == "vast") return Outcome::threw("Error", "\xED\xA0\x80" + std::string(100'000, 'x'));
    if (script == "loop") return loop(request);
    if (script == "bomb") return bomb();
    if (script == "escape") return Outcome::ok(broken(Break::leaks_a_host_object) ? "[\"process\"]" : "[]");
    if (script == "network") {
      if (broken(Break::leaks_the_network)) connect_to(request.input_json);
      return Outcome::ok("[]");
    }
    if (script == "state") return state();
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

  [[nodiscard]] Outcome throws() const {
    if (broken(Break::no_known_kind)) return {};
    if (broken(Break::throws_typed_failure)) throw effect::TypedFailure{"scriptError", "{}", "the shuttle is empty"};
    return Outcome::threw("Error", broken(Break::loses_the_message) ? "script failed" : "the shuttle is empty");
  }

  [[nodiscard]] Outcome loop(const spi::Request& request) const {
    const auto begin = std::chrono::steady_clock::now();
    // The model's budget of CPU time: an hour of wall clock never comes first.
    constexpr std::chrono::milliseconds kBudget{400};
    const bool budget = options_.declaration.cpu && !broken(Break::cpu_is_a_lie);
    for (;;) {
      const auto spent = std::chrono::steady_clock::now() - begin;
      if (request.stop.stop_requested() && !broken(Break::ignores_the_stop)) return Outcome::infrastructure("stopped");
      if (!broken(Break::never_comes_back) && spent >= request.limits.wall_clock) {
        if (broken(Break::clock_is_an_exception)) return Outcome::threw("InternalError", "interrupted");
        return Outcome::limited(LimitKind::wall_clock);
      }
      if (budget && spent >= kBudget && request.limits.wall_clock > std::chrono::minutes(1)) {
        return Outcome::limited(LimitKind::cpu);
      }
      ::poll(nullptr, 0, 1);
    }
  }

  [[nodiscard]] Outcome bomb() const {
    if (broken(Break::memory_is_a_lie)) return Outcome::ok("\"took all it wanted\"");
    if (broken(Break::memory_is_an_exception)) return Outcome::threw("InternalError", "out of memory");
    return Outcome::limited(LimitKind::memory);
  }

  [[nodiscard]] Outcome state() {
    if (broken(Break::pools_contexts)) return Outcome::ok(runs_++ < 2 ? "false" : "true");
    const int now = ++at_once_;
    if (broken(Break::shares_under_load)) ::poll(nullptr, 0, 50);
    const bool shared = broken(Break::shares_under_load) && (now > 1 || at_once_ > 1);
    --at_once_;
    return Outcome::ok(shared ? "true" : "false");
  }

  const ModelOptions options_;
  std::atomic<int> runs_{0};
  std::atomic<int> at_once_{0};
};

Fixtures make_fixtures() {
  Fixtures fixtures;
  fixtures.language = "model";
  fixtures.echo = "echo";
  fixtures.throws = "throw";
  fixtures.thrown_message = "the shuttle is empty";
  fixtures.syntax_error = "= =";
  fixtures.runaway = "loop";
  fixtures.allocation_bomb = "bomb";
  fixtures.rich_value = "rich";
  fixtures.rich_built = kBuilt;
  fixtures.probes = {{"network", "network"}, {"escape", "escape"}};
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
  return [options] {
    return std::make_shared<spi::BlockingBackend>(std::make_shared<ModelEngine>(options),
                                                  spi::BlockingOptions{16, std::chrono::milliseconds(500)});
  };
}

}  // namespace heddle::sandbox::conformance
