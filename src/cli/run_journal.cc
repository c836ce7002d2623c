#include "run_journal.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "heddle/core/check.h"
#include "heddle/effect/core/content_address.h"
#include "heddle/journal/core/facts.h"
#include "heddle/journal/open/open.h"
#include "heddle/sandbox/effect/channels.h"
#include "json.h"

namespace heddle::cli {
namespace {

using effect::ContentAddress;
using journal::Draft;
using journal::EffectRef;

// A journal that is locked, or a server that does not answer, is waited for so long; then the run has failed.
constexpr auto kPatience = std::chrono::seconds(30);
constexpr std::string_view kEffect = "sandboxEval";

core::Result<std::string> new_flow() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return core::system_error("getrandom");
  }
  return fmt::format("run-{:016x}", random);
}

std::string begun_json(const sandbox::quickjs::RunRequest& request) {
  const auto& limits = request.limits;
  return fmt::format(R"({{"input":"{}","inputBytes":{},"scriptBytes":{},"limits":{{"wallClockMs":{},"cpuMs":{},)"
                     R"("memoryBytes":{},"outputBytes":{}}}}})",
                     ContentAddress::of(request.input_json).text(), request.input_json.size(), request.script.size(),
                     limits.wall_clock.count(), limits.cpu.count(), limits.memory_bytes, limits.output_bytes);
}

std::string detail_json(const Report& report) {
  if (report.kind == OutcomeKind::limit_exceeded) return quote_json(sandbox::limit_name(report.limit));
  if (report.kind != OutcomeKind::script_error) return "null";
  return fmt::format(R"({{"name":{},"line":{},"column":{}}})", report.name ? quote_json(*report.name) : "null",
                     report.line, report.column);
}

Draft outcome_of(const EffectRef& ref, const Report& report) {
  switch (report.kind) {
    case OutcomeKind::ok:
      return journal::outcome_success(ref, report.value);
    case OutcomeKind::cancelled:
      return journal::outcome_cancelled(ref, "a signal came");
    case OutcomeKind::failed:
      return journal::outcome_error(ref, report.message, journal::Repeatable::yes);
    default:
      return journal::outcome_failure(ref, row_of(report.kind).name, report.message, detail_json(report));
  }
}

Draft flow_ended(std::string_view flow, OutcomeKind how, std::string_view message, std::optional<std::string> result) {
  switch (how) {
    case OutcomeKind::ok:
      return journal::flow_ended(flow, journal::Ending::success, {}, {}, std::move(result));
    case OutcomeKind::cancelled:
      return journal::flow_ended(flow, journal::Ending::cancelled, {}, "a signal came", std::move(result));
    case OutcomeKind::failed:
      return journal::flow_ended(flow, journal::Ending::error, {}, message, std::move(result));
    default:
      return journal::flow_ended(flow, journal::Ending::failure, row_of(how).name, message, std::move(result));
  }
}

// What was enforced around the run, and each thing that the kernel refused it (JRN-8).
void add_explanation(std::vector<Draft>& drafts, const EffectRef& ref, const Report& report) {
  if (!report.explanation) return;
  std::string applied = "[";
  for (const std::string& fact : report.explanation->applied) {
    applied += (applied.size() > 1 ? "," : "") + quote_json(fact);
  }
  drafts.push_back(journal::jail_applied(ref, applied + ']'));
  for (const auto& denied : report.explanation->denied) {
    drafts.push_back(journal::access_denied(ref, denied.syscall, denied.object, denied.rule));
  }
}

}  // namespace

core::Result<std::unique_ptr<RunJournal>> RunJournal::open(const std::string& name, std::string_view script, Runs runs,
                                                           std::stop_token stop) {
  HEDDLE_ASSIGN(std::unique_ptr<journal::Store> store,
                journal::open(name, journal::Access::append, {stop, core::Deadline::after(kPatience)}));
  return begin_in(std::move(store), script, runs, std::move(stop));
}

core::Result<std::unique_ptr<RunJournal>> RunJournal::begin_in(std::unique_ptr<journal::Store> store,
                                                               std::string_view script, Runs runs,
                                                               std::stop_token stop) {
  const journal::Wait wait{std::move(stop), core::Deadline::after(kPatience)};
  HEDDLE_ASSIGN(std::string flow, new_flow());
  const Draft started = journal::flow_started(flow, script, R"({"heddle":")" HEDDLE_VERSION R"("})");
  const auto appended = store->append_one(started, wait);
  if (!appended.ok()) return appended.error();
  return std::unique_ptr<RunJournal>(new RunJournal(std::move(store), std::move(flow), runs));
}

RunJournal::RunJournal(std::unique_ptr<journal::Store> store, std::string flow, Runs runs)
    : store_(std::move(store)), flow_(std::move(flow)), runs_(runs), thread_([this] { write_all(); }) {}

RunJournal::~RunJournal() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<core::Result<void>> RunJournal::Pending::result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

std::shared_ptr<const RunJournal::Pending> RunJournal::begin(std::uint64_t number,
                                                             const sandbox::quickjs::RunRequest& request) {
  const std::string key = std::to_string(number);
  return append({journal::intent({flow_, key, kEffect, 1}, journal::Repeatable::yes,
                                 {{"script", ContentAddress::of(request.script).text()}}, begun_json(request))});
}

std::shared_ptr<const RunJournal::Pending> RunJournal::end(std::uint64_t number, const Report& report) {
  const std::string key = std::to_string(number);
  const EffectRef ref{flow_, key, kEffect, 1};
  std::vector<Draft> drafts;
  add_explanation(drafts, ref, report);
  const auto& remarks = report.remarks;
  if (!remarks.console.empty()) {
    drafts.push_back(journal::console(ref, sandbox::console_json(remarks), remarks.console_cut));
  }
  drafts.push_back(outcome_of(ref, report));
  if (runs_ == Runs::one) {
    drafts.push_back(flow_ended(flow_, report.kind, report.message, std::nullopt));
    ended_ = true;
  }
  return append(std::move(drafts));
}

core::Result<void> RunJournal::finish(OutcomeKind how, std::optional<std::string> result_json) {
  if (!ended_) (void)append({flow_ended(flow_, how, "no run ended", std::move(result_json))});
  ended_ = true;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (first_error_) return *first_error_;
  return {};
}

std::shared_ptr<const RunJournal::Pending> RunJournal::append(std::vector<Draft> drafts) {
  auto pending = std::make_shared<Pending>();
  pending->event_ = core::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  HEDDLE_CHECK(pending->event_.valid());
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(drafts), pending});
  }
  changed_.notify_one();
  return pending;
}

// Everything that waits is one append: all of it is stored, or none.
void RunJournal::write_all() {
  for (;;) {
    std::deque<Entry> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      batch.swap(queue_);
    }
    std::vector<Draft> drafts;
    for (Entry& entry : batch) std::move(entry.drafts.begin(), entry.drafts.end(), std::back_inserter(drafts));
    const auto receipt = store_->append(drafts, {{}, core::Deadline::after(kPatience)});
    if (!receipt.ok()) {
      const std::lock_guard lock(mutex_);
      if (!first_error_) first_error_ = receipt.error();
    }
    for (const Entry& entry : batch) {
      {
        const std::lock_guard lock(entry.pending->mutex_);
        entry.pending->result_ = receipt.ok() ? core::Result<void>() : core::Result<void>(receipt.error());
      }
      const std::uint64_t one = 1;
      HEDDLE_CHECK(::write(entry.pending->fd(), &one, sizeof one) == static_cast<ssize_t>(sizeof one));
    }
  }
}

}  // namespace heddle::cli
