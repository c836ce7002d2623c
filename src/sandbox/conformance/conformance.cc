#include "heddle/sandbox/conformance/conformance.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>

#include "cases.h"
#include "heddle/core/fd.h"
#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

core::Error refused(std::string_view why) {
  return core::make_error(core::Errc::invalid_argument, "run the conformance kit", core::bound_text(why));
}

core::Result<std::shared_ptr<spi::SandboxBackend>> make_backend(const BackendFactory& factory) {
  try {
    auto backend = factory();
    if (backend == nullptr) return refused("the factory gave no backend");
    return backend;
  } catch (const std::exception& error) {
    return refused(std::string("the factory threw: ") + error.what());
  } catch (...) {
    return refused("the factory threw");
  }
}

void close_backend(spi::SandboxBackend& backend) {
  try {
    backend.close();
  } catch (...) {  // NOLINT(bugprone-empty-catch): what is left of it dies with the process
  }
}

// The options that the declaration needs, and no others (CNF-5).
core::Result<std::shared_ptr<World>> make_world(std::shared_ptr<spi::SandboxBackend> backend,
                                                const spi::Capabilities& declared, const Fixtures& fixtures,
                                                const Options& options) {
  auto world = std::make_shared<World>();
  world->fixtures = fixtures;
  world->options = options;
  world->recording = std::make_shared<Recording>();
  world->scripts = std::make_shared<MemoryScripts>();
  world->backend = std::make_shared<RecordingBackend>(std::move(backend), world->recording);
  SandboxEffectOptions effect;
  effect.allow_network = declared.network != spi::Network::none;
  effect.allow_reused_environment = !declared.fresh_per_run;
  effect.backend_grace = options.case_timeout;  // the case's own time-out comes first
  HEDDLE_ASSIGN(world->effect, SandboxEffect::create(world->scripts, world->backend, effect));
  return world;
}

// What a case's thread and the kit share; it outlives the kit where the thread does not come back.
struct CaseRun {
  std::shared_ptr<World> world;
  core::Fd done{::eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex;
  bool finished = false;
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

Problem run_case(const CaseRow& row, std::shared_ptr<World> world, std::chrono::milliseconds timeout) {
  const auto run = std::make_shared<CaseRun>();
  run->world = std::move(world);
  if (!run->done.valid()) return core::system_error("make an event descriptor").message();
  std::thread thread([run, body = row.run] {
    Problem problem = body(*run->world);
    const std::lock_guard lock(run->mutex);
    run->problem = std::move(problem);
    run->finished = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(run->done.get(), &one, sizeof one);
  });
  if (!readable_by(run->done, core::Deadline::after(timeout))) {
    thread.detach();
    return "it did not end within " + std::to_string(timeout.count()) + " ms";
  }
  thread.join();
  close_backend(*run->world->backend);
  return run->problem;
}

}  // namespace

std::string_view case_name(CaseId id) noexcept { return case_table().at(static_cast<std::size_t>(id)).name; }

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
  Report report;
  {
    HEDDLE_ASSIGN(const auto first, make_backend(factory));
    try {
      report.declaration = first->capabilities();
    } catch (...) {
      return refused("the backend's capabilities cannot be read: it threw");
    }
    close_backend(*first);
  }
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

  for (const CaseRow& row : case_table()) {
    CaseResult result;
    result.id = row.id;
    if (const char* reason = row.skip(report.declaration)) {
      result.status = CaseStatus::skipped;
      result.reason = reason;
    } else {
      HEDDLE_ASSIGN(auto backend, make_backend(factory));
      HEDDLE_ASSIGN(auto world, make_world(std::move(backend), report.declaration, *fixtures, options));
      const auto begin = core::Clock::now();
      const Problem problem = run_case(row, std::move(world), options.case_timeout);
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
  return text;
}

}  // namespace heddle::sandbox::conformance
