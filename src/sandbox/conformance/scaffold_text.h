// The texts of a scaffolded package. @NAME@ stands for the package's name.
#pragma once

#include <string_view>

namespace heddle::sandbox::conformance {

inline constexpr std::string_view kScaffoldCmake = R"text(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)

find_package(heddle REQUIRED)
find_program(HEDDLE_COMMAND heddle REQUIRED)

# Links the interface and nothing else of Heddle's: `heddle plugin check` insists.
add_library(@NAME@ MODULE src/backend.cc)
target_link_libraries(@NAME@ PRIVATE heddle::sandbox_spi)
set_target_properties(@NAME@ PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden)

enable_testing()
# The kit proves what the backend declares, and leaves the record that `plugin check` and every host ask for, in the state
# folder of whoever runs it.
add_test(NAME conformance COMMAND ${HEDDLE_COMMAND} conformance --backend $<TARGET_FILE:@NAME@>
  --fixtures ${CMAKE_CURRENT_SOURCE_DIR}/fixtures.json)
add_test(NAME check COMMAND ${HEDDLE_COMMAND} plugin check $<TARGET_FILE:@NAME@>)
set_tests_properties(check PROPERTIES DEPENDS conformance)
)text";

inline constexpr std::string_view kScaffoldBackend = R"text(// @NAME@: a sandbox backend for Heddle.
//
// It runs a language of a few words, made up so that the package passes the kit as it is. Replace run() by a call of your
// boundary, and fixtures.json by the kit's scripts in your language ("javascript" needs none).
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "heddle/sandbox/spi/spi.h"

namespace {

namespace spi = heddle::sandbox::spi;

class Engine final : public spi::BlockingEngine {
 public:
  // The worst case. Claim more, one word at a time, and only what the kit then proves.
  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities declared;
    declared.language = "@NAME@-words";
    declared.network = spi::Network::open;
    declared.wall_clock = spi::WallClock::soft;
    declared.memory = false;
    declared.cpu = false;
    declared.fresh_per_run = false;
    return declared;
  }

  // Blocks until the script has ended. Called on a thread of its own, several at once.
  [[nodiscard]] spi::Outcome run(const spi::Request& request) override {
    const std::string& script = request.script;
    if (script == "input") return spi::Outcome::ok(request.input_json);
    if (script.rfind("pair ", 0) == 0) {
      return spi::Outcome::ok("{\"built\":" + script.substr(5) + ",\"echoed\":" + request.input_json + "}");
    }
    if (script == "throw") return spi::Outcome::threw("Error", "the shuttle is empty");
    if (script == "throw input") return spi::Outcome::threw("Error", request.input_json);
    if (script == "throw at length") return spi::Outcome::threw("Error", std::string(100'000, 'x'));
    if (script == "loop" || script == "loop again") return loop(request);
    if (script == "grow") return spi::Outcome::ok("\"nothing stopped it\"");
    if (script == "hold") return spi::Outcome::ok("true");
    if (script == "look") return spi::Outcome::ok("[]");
    if (script == "dial") return spi::Outcome::ok("[\"network\"]");
    if (script == "mark") return spi::Outcome::ok(marked_.exchange(true) ? "true" : "false");
    return spi::Outcome::threw("SyntaxError", "no such word");
  }

 private:
  static spi::Outcome loop(const spi::Request& request) {
    const auto end = std::chrono::steady_clock::now() + request.limits.wall_clock;
    while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return spi::Outcome::limited(spi::LimitKind::wall_clock);
  }

  std::atomic<bool> marked_{false};
};

std::unique_ptr<spi::SandboxBackend> make() {
  return std::make_unique<spi::BlockingBackend>(std::make_shared<Engine>());
}

}  // namespace

HEDDLE_SANDBOX_BACKEND(make);
)text";

inline constexpr std::string_view kScaffoldFixtures = R"text({
  "language": "@NAME@-words",
  "echo": "input",
  "throws": "throw",
  "thrown_message": "the shuttle is empty",
  "throws_given": "throw input",
  "syntax_error": "= =",
  "runaway": ["loop", "loop again"],
  "allocate": "hold",
  "allocation_bomb": "grow",
  "rich_value": "pair {\"text\":\"\u00e9\\u0000\",\"past31\":2147483648,\"nest\":[[{\"a\":[1.5]}]]}",
  "rich_built": { "text": "\u00e9\u0000", "past31": 2147483648, "nest": [[{ "a": [1.5] }]] },
  "probes": { "network": { "dial": "dial" }, "escape": { "look": "look" } },
  "stateful": "mark",
  "throws_vast": "throw at length"
}
)text";

inline constexpr std::string_view kScaffoldReadme = R"text(# @NAME@

A sandbox backend for Heddle. What to change: `src/backend.cc` (run your boundary) and `fixtures.json` (the kit's scripts in
your language; a JavaScript backend deletes the file and the option `--fixtures`).

    cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure

The tests run Heddle's conformance kit with what `capabilities()` declares. It starts with the worst case, and cases that it
does not claim are skipped. Strengthen one word at a time and let the kit prove it.

## Before it runs code that nobody trusts

- [ ] No service account and no credentials where scripts run: nothing to find, nothing to use.
- [ ] Egress is denied at the network layer, not by the language. Then declare `network: none`.
- [ ] One request an instance: nothing that a script leaves behind is there for the next one, which may be another
      tenant's. Then declare `fresh_per_run`.
- [ ] The request's time-out is the hard kill of the instance, and a stop ends it as well. Then declare `wall_clock: hard`.
- [ ] Memory and CPU are capped from outside the instance. Then declare `memory` and `cpu`.
- [ ] No writable state is shared between instances: no volume, no cache, no temporary folder.

With `memory: false` or `cpu: false` a script can exhaust the machine that the backend runs on. In process, that is yours.

## Rules that `heddle plugin check` holds it to

It links the interface only and brings no copy of it or of anything else of Heddle's, its version of the interface fits, and
the record that `heddle conformance` left in your own state folder proves this very binary with this very declaration. A
record that came with a package proves nothing: whoever uses the package runs the kit.
)text";

}  // namespace heddle::sandbox::conformance
