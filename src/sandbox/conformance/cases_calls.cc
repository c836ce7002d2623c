// Cases about the calls of the interface themselves, made without the effect.
#include <poll.h>

#include <array>
#include <thread>

#include "bounded.h"
#include "cases.h"
#include "heddle/sandbox/conformance/record.h"

namespace heddle::sandbox::conformance {
namespace {

using std::chrono::milliseconds;

// A handle that calls of several threads share.
using Handle = std::shared_ptr<std::unique_ptr<spi::Evaluation>>;

class Caller {
 public:
  Caller(std::shared_ptr<spi::SandboxBackend> backend, const World& world)
      : backend_(std::move(backend)), world_(world) {}

  [[nodiscard]] Problem warm() const {
    return bounded("warm()", world_.options().call_timeout, [backend = backend_] { backend->warm(); });
  }
  [[nodiscard]] Problem close() const {
    return bounded("close() while a run goes on", world_.options().call_timeout,
                   [backend = backend_] { backend->close(); });
  }
  // A run that lasts longer than any call may.
  [[nodiscard]] Problem start(const std::string& script, const Handle& handle) const {
    spi::Request request;
    request.script = script;
    request.input_json = "null";
    request.limits = {3 * world_.options().call_timeout, world_.options().memory_bytes};
    return bounded(
        "evaluate()", world_.options().call_timeout,
        [backend = backend_, handle, request = std::move(request)] { *handle = backend->evaluate(request); });
  }
  [[nodiscard]] Problem take(const Handle& handle, const std::shared_ptr<std::optional<spi::Outcome>>& outcome) const {
    return bounded("take() while the run goes on", world_.options().call_timeout,
                   [handle, outcome] { *outcome = (*handle)->take(); });
  }
  [[nodiscard]] Problem drop(const std::string& when, const Handle& handle) const {
    return bounded("the destructor of an evaluation " + when, world_.options().call_timeout,
                   [handle] { handle->reset(); });
  }

 private:
  std::shared_ptr<spi::SandboxBackend> backend_;
  const World& world_;
};

Handle new_handle() { return std::make_shared<std::unique_ptr<spi::Evaluation>>(); }

// "Runs that come later end as infrastructure."
Problem look_at_a_late_run(const Caller& caller, const World& world) {
  const Handle late = new_handle();
  if (auto problem = caller.start(world.fixtures().echo, late)) return "after close(): " + *problem;
  if (*late == nullptr) return "after close(): evaluate() gave no handle";
  const auto outcome = std::make_shared<std::optional<spi::Outcome>>();
  const auto deadline = core::Deadline::after(world.options().call_timeout);
  while (!*outcome && !deadline.passed()) {
    if (auto problem = caller.take(late, outcome)) return "after close(): " + *problem;
    ::poll(nullptr, 0, 1);
  }
  if (!*outcome) return "after close(): a run did not end";
  if ((*outcome)->kind != spi::Outcome::Kind::infrastructure)
    return "after close(): a run did not end as infrastructure";
  return caller.drop("after close()", late);
}

}  // namespace

Problem capabilities_hold(World& world) {
  constexpr int kReads = 32;
  constexpr std::size_t kThreads = 8;
  const std::string declared = declaration_json(world.setting->declared);
  const auto read = [&](const std::shared_ptr<spi::SandboxBackend>& backend, const std::string& when) -> Problem {
    const auto text = std::make_shared<std::string>();
    if (auto problem = bounded("capabilities()", world.options().call_timeout,
                               [backend, text] { *text = declaration_json(backend->capabilities()); })) {
      return problem;
    }
    if (*text == declared) return std::nullopt;
    return "the declaration of " + when + " is another one: " + *text + " after " + declared;
  };
  for (int i = 0; i < kReads; ++i) {
    if (auto problem = read(world.raw, "the same backend")) return problem;
  }
  std::array<Problem, kThreads> problems;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (Problem& problem : problems) {
    threads.emplace_back([&] { problem = read(world.raw, "the same backend, read by several threads,"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Problem& problem : problems) {
    if (problem) return problem;
  }
  [[maybe_unused]] const auto reply = world.run({world.fixtures().throws, "null", {}, {}, {}});
  if (auto problem = read(world.raw, "the backend after a run")) return problem;
  auto second = make_world(world.setting);
  if (!second.ok()) return second.error().message();
  auto problem = read(second.value()->raw, "a second backend");
  leave(std::move(second).value());
  return problem;
}

Problem calls_return(World& world) {
  const std::string& runaway = world.fixtures().runaways.front();
  const auto nothing = std::make_shared<std::optional<spi::Outcome>>();
  const Handle kept = new_handle();
  {
    const Caller caller(world.raw, world);
    if (auto problem = caller.warm()) return problem;
    const Handle given_up = new_handle();
    if (auto problem = caller.start(runaway, given_up)) return problem;
    if (*given_up == nullptr) return "evaluate() gave no handle";
    if (auto problem = caller.take(given_up, nothing)) return problem;
    if (auto problem = caller.drop("whose run goes on", given_up)) return problem;
    if (auto problem = caller.start(runaway, kept)) return problem;
    if (*kept == nullptr) return "evaluate() gave no handle";
    if (auto problem = caller.close()) return problem;
    if (auto problem = look_at_a_late_run(caller, world)) return problem;
  }
  // The last one to hold the backend, while a run of it goes on: handles must not depend on it.
  if (auto* process = world.process()) {
    world.effect.reset();
    world.backend.reset();
    const auto raw = world.raw;
    return bounded("the destructor of the backend", world.options().call_timeout, [raw, process] {
      if (const auto left = process->finish(); !left.ok()) throw std::runtime_error(left.error().message());
    });
  }
  world.effect.reset();
  world.backend.reset();
  const auto last = std::make_shared<std::shared_ptr<spi::SandboxBackend>>(std::move(world.raw));
  world.raw = nullptr;
  if (auto problem =
          bounded("the destructor of the backend", world.options().call_timeout, [last] { last->reset(); })) {
    return problem;
  }
  return Caller(nullptr, world).drop("that outlives its backend", kept);
}

}  // namespace heddle::sandbox::conformance
