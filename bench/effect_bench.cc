// ./dev bench: what the sandbox effect costs over the bare backend, with a handle that has its outcome from the start,
// so that nothing but the guarantees is measured: a 2 kB script fetched and hashed, input and output checked.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/spi/pending.h"
#include "sample.h"

namespace heddle::bench {
namespace {

namespace spi = sandbox::spi;

constexpr const char* kInput = R"({"rows":[{"id":1,"name":"warp"},{"id":2,"name":"weft"}],"limit":10})";
constexpr const char* kOutput = R"([{"id":1,"name":"warp"}])";

class ReadyBackend final : public spi::SandboxBackend {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities capabilities;
    capabilities.language = "none";
    capabilities.network = spi::Network::none;
    capabilities.fresh_per_run = true;
    return capabilities;
  }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request /*request*/) override {
    return spi::ready(spi::Outcome::ok(kOutput));
  }
};

int run() {
  const std::string script = "input.rows.filter((row) => row.id < 2)" + std::string(2'010, ' ');
  const auto backend = std::make_shared<ReadyBackend>();
  const auto scripts = std::make_shared<sandbox::MemoryScripts>();
  sandbox::SandboxEffectOptions options;
  options.trust_backend_to_return = true;
  const auto effect = sandbox::SandboxEffect::create(scripts, backend, options);
  if (!effect.ok()) return 1;
  const sandbox::SandboxEvalInput input{scripts->add(script), kInput, std::nullopt, {}};
  std::stop_source stop;
  Sample bare("bare backend, ready at once");
  Sample whole("the same through SandboxEffect");
  Sample hash("of it: SHA-256 of the script");
  bool good = true;
  for (int i = 0; i < 20'000; ++i) {
    bare.time([&] {
      const auto handle = backend->evaluate({script, kInput, {}, false, stop.get_token()});
      good = good && handle->take().has_value();
    });
    whole.time([&] { good = good && effect.value()->evaluate(input, stop.get_token()).ok(); });
    hash.time([&] { good = good && effect::ContentAddress::of(script) == input.script; });
  }
  if (!good) {
    (void)std::fputs("bench: an evaluation gave no value\n", stderr);
    return 1;
  }
  print_heading();
  print_row(bare);
  print_row(whole, bare);
  print_row(hash);
  std::printf("The effect costs %.2f us over the bare backend (p50).\n", whole.percentile(50) - bare.percentile(50));
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main() { return heddle::bench::run(); }
