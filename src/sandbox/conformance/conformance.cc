#include "heddle/sandbox/conformance/conformance.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bounded.h"
#include "cases.h"
#include "heddle/core/fd.h"
#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

core::Error refused(std::string_view why) {
  return core::make_error(core::Errc::invalid_argument, "run the conformance kit", core::bound_text(why));
}

// What a case's thread and the kit share; it outlives the kit where the thread does not come back.
struct CaseRun {
  std::shared_ptr<World> world;
  core::Fd done{::eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex;
  Problem problem;
};

bool readable_by(const core::Fd& fd, core::Deadline deadline) {
  for (;;) {
    pollfd entry{fd.get(), POLLIN, 0};
    const int ready = ::poll(&entry, 1, deadline.poll_ms());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && deadline.passed()) return false;
  }
}

Problem run_case(const CaseRow& row, std::shared_ptr<World> world) {
  const auto timeout = world->options().case_timeout;
  // Held here too, since the case may let go of it; a backend of this process must be gone when the case says so.
  const auto process =
      world->process() != nullptr ? std::dynamic_pointer_cast<plugin::BackendProcess>(world->raw) : nullptr;
  const auto run = std::make_shared<CaseRun>();
  run->world = std::move(world);
  if (!run->done.valid()) return core::system_error("make an event descriptor").message();
  std::thread thread([run, body = row.run] {
    Problem problem = body(*run->world);
    const std::lock_guard lock(run->mutex);
    run->problem = std::move(problem);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(run->done.get(), &one, sizeof one);
  });
  if (!readable_by(run->done, core::Deadline::after(timeout))) {
    thread.detach();
    if (process != nullptr) process->end();  // the thread comes back, most likely
    return "it did not end within " + std::to_string(timeout.count()) + " ms";
  }
  thread.join();
  leave(std::move(run->world));
  return run->problem;
}

core::Result<spi::Capabilities> read_declaration(const Setting& setting) {
  const auto declared = std::make_shared<spi::Capabilities>();
  const auto problem = bounded("making a backend and reading its capabilities", setting.options.case_timeout,
                               [factory = setting.factory, declared] {
                                 const auto first = factory();
                                 if (first == nullptr) throw std::runtime_error("the factory gave no backend");
                                 *declared = first->capabilities();
                               });
  if (problem) return refused(*problem);
  return *declared;
}

bool asked_for(const Options& options, CaseId id) {
  return options.only.empty() || std::find(options.only.begin(), options.only.end(), id) != options.only.end();
}

}  // namespace

SandboxEffectOptions effect_options(const spi::Capabilities& declared, const Options& options) {
  SandboxEffectOptions effect;
  effect.allow_network = declared.network != spi::Network::none;
  effect.allow_reused_environment = !declared.fresh_per_run;
  effect.wall_clock = kMaxWallClock;  // what a case may ask for
  effect.memory_bytes = options.memory_bytes;
  effect.trust_backend_to_return = true;            // a call that does not come back is the case's to find
  effect.backend_grace = options.case_timeout / 2;  // what never settles is told by the case, not by its time-out
  return effect;
}

core::Result<std::shared_ptr<World>> make_world(std::shared_ptr<const Setting> setting) {
  auto world = std::make_shared<World>();
  world->setting = std::move(setting);
  const auto made = std::make_shared<std::shared_ptr<spi::SandboxBackend>>();
  const auto problem = bounded("the factory", world->options().case_timeout,
                               [factory = world->setting->factory, made] { *made = factory(); });
  if (problem) return refused(*problem);
  if (*made == nullptr) return refused("the factory gave no backend");
  world->raw = *made;
  world->recording = std::make_shared<Recording>();
  world->scripts = std::make_shared<MemoryScripts>();
  world->backend = std::make_shared<RecordingBackend>(world->raw, world->recording, world->setting->declared);
  HEDDLE_ASSIGN(world->effect, SandboxEffect::create(world->scripts, world->backend,
                                                     effect_options(world->setting->declared, world->options())));
  return world;
}

void leave(std::shared_ptr<World> world) {
  const auto timeout = world->options().call_timeout;
  if (auto* process = world->process()) {
    process->end();
  } else if (world->raw != nullptr) {
    [[maybe_unused]] const auto closed = bounded("close()", timeout, [backend = world->raw] { backend->close(); });
  }
  // On a thread that may be left alone: destructors of a backend's may block.
  const auto last = std::make_shared<std::shared_ptr<World>>(std::move(world));
  [[maybe_unused]] const auto gone = bounded("its destructors", timeout, [last] { last->reset(); });
}

std::string_view case_name(CaseId id) noexcept { return case_table().at(static_cast<std::size_t>(id)).name; }

std::optional<CaseId> case_named(std::string_view name) noexcept {
  for (const CaseRow& row : case_table()) {
    if (row.name == name) return row.id;
  }
  return std::nullopt;
}

std::string_view status_name(CaseStatus status) noexcept {
  switch (status) {
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::failed:
      return "failed";
    case CaseStatus::skipped:
      return "skipped";
  }
  return "unknown";
}

bool Report::passed() const {
  return std::none_of(cases.begin(), cases.end(),
                      [](const CaseResult& result) { return result.status == CaseStatus::failed; });
}

core::Result<Report> run_sandbox_backend_conformance(const BackendFactory& factory, const Fixtures* fixtures,
                                                     const Options& options) {
  auto setting = std::make_shared<Setting>();
  setting->factory = factory;
  setting->options = options;
  setting->adoption = std::make_shared<const Adoption>();
  Report report;
  HEDDLE_ASSIGN(report.declaration, read_declaration(*setting));
  setting->declared = report.declaration;
  const std::string& language = report.declaration.language;
  if (fixtures == nullptr) {
    if (language != javascript_fixtures().language) {
      return refused("the backend's language is " + language +
                     "; the kit's own scripts are JavaScript, so give it fixtures in that language");
    }
    fixtures = &javascript_fixtures();
  } else if (fixtures->language != language) {
    return refused("the fixtures are " + fixtures->language + ", the backend's language is " + language);
  }
  setting->fixtures = *fixtures;
  {
    // A declaration that the effect refuses leaves nothing to report on.
    HEDDLE_ASSIGN(auto first, make_world(setting));
    leave(std::move(first));
  }

  for (const CaseRow& row : case_table()) {
    if (!asked_for(options, row.id)) continue;
    CaseResult result;
    result.id = row.id;
    if (const char* reason = row.skip(report.declaration)) {
      result.status = CaseStatus::skipped;
      result.reason = reason;
    } else {
      const auto begin = core::Clock::now();
      auto world = make_world(setting);
      const bool watched = world.ok() && world.value()->process() != nullptr;
      const Problem problem = world.ok() ? run_case(row, std::move(world).value()) : Problem(world.error().message());
      if (watched) setting->adoption->sweep();
      result.took = std::chrono::duration_cast<std::chrono::milliseconds>(core::Clock::now() - begin);
      result.status = problem ? CaseStatus::failed : CaseStatus::passed;
      result.reason = core::bound_text(problem.value_or(""));
    }
    report.cases.push_back(std::move(result));
  }
  return report;
}

std::string to_text(const Report& report) {
  constexpr std::size_t kNameWidth = 24;
  constexpr std::size_t kStatusWidth = 9;
  std::string text;
  std::array<std::size_t, 3> counts{};
  for (const CaseResult& result : report.cases) {
    std::string line(case_name(result.id));
    line.resize(std::max(line.size(), kNameWidth), ' ');
    std::string status(status_name(result.status));
    status.resize(std::max(status.size(), kStatusWidth), ' ');
    text += line + status;
    text += result.status == CaseStatus::passed ? std::to_string(result.took.count()) + " ms"
                                                : core::printable_line(result.reason);
    text += '\n';
    ++counts.at(static_cast<std::size_t>(result.status));
  }
  text += std::to_string(counts[0]) + " passed, " + std::to_string(counts[1]) + " failed, " +
          std::to_string(counts[2]) + " skipped\n";
  for (const CaseResult& result : report.cases) {
    if (result.status != CaseStatus::failed) continue;
    text += "again, alone: the same command with --case '" + std::string(case_name(result.id)) + "'\n";
  }
  return text;
}

}  // namespace heddle::sandbox::conformance
