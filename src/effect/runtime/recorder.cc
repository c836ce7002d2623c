#include "recorder.h"

#include <utility>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::effect {
namespace {

constexpr std::size_t kMostReports = 8;
// 64 KiB of text, each byte escaped, and the lines around it.
constexpr std::size_t kMostConsoleBytes = std::size_t{1} << 20;

}  // namespace

void Recorder::keep_denial(Note note) {
  if (denials_ == most_) {
    ++dropped_;
    return;
  }
  ++denials_;
  last_ = notes_.size();
  notes_.push_back(std::move(note));
}

void Recorder::access_denied(AccessDenial denial) {
  const std::lock_guard lock(mutex_);
  if (denial.after == AfterDenial::ended && !fatal_) fatal_ = denial;
  keep_denial(std::move(denial));
}

void Recorder::egress_denied(EgressDenial denial) {
  const std::lock_guard lock(mutex_);
  keep_denial(std::move(denial));
}

void Recorder::jail_applied(std::string report_json) {
  if (!core::is_json(report_json)) {  // a fact must be storable whatever came
    std::string quoted;
    core::append_json_string(quoted, core::bound_text(report_json));
    report_json = std::move(quoted);
  }
  const std::lock_guard lock(mutex_);
  // A boundary reports once or twice; one that does it for ever has nothing new to say.
  if (notes_.size() - denials_ < kMostReports) notes_.push_back(Report{std::move(report_json)});
}

void Recorder::console(std::string lines_json, bool cut) {
  if (lines_json.size() > kMostConsoleBytes || !core::is_json(lines_json)) {
    lines_json = "[]";
    cut = true;
  }
  const std::lock_guard lock(mutex_);
  if (notes_.size() - denials_ >= kMostReports) return;
  console_bytes_ += lines_json.size();
  notes_.push_back(Console{std::move(lines_json), cut});
}

std::uint64_t Recorder::console_bytes() const {
  const std::lock_guard lock(mutex_);
  return console_bytes_;
}

std::optional<AccessDenial> Recorder::fatal() const {
  const std::lock_guard lock(mutex_);
  return fatal_;
}

std::vector<journal::Draft> Recorder::drafts(const journal::EffectRef& ref) const {
  const std::lock_guard lock(mutex_);
  std::vector<journal::Draft> drafts;
  if (notes_.empty()) return drafts;
  drafts.reserve(notes_.size() + 1);
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const std::string more =
        dropped_ != 0 && i == last_ ? " (and " + std::to_string(dropped_) + " more)" : std::string();
    if (const auto* access = std::get_if<AccessDenial>(&notes_[i])) {
      drafts.push_back(journal::access_denied(ref, access->syscall, access->object, access->rule + more));
    } else if (const auto* egress = std::get_if<EgressDenial>(&notes_[i])) {
      drafts.push_back(journal::egress_denied(ref, egress->host, egress->port, egress->address, egress->rule + more,
                                              egress->reason));
    } else if (const auto* console = std::get_if<Console>(&notes_[i])) {
      drafts.push_back(journal::console(ref, console->json, console->cut));
    } else {
      drafts.push_back(journal::jail_applied(ref, std::get<Report>(notes_[i]).json));
    }
  }
  return drafts;
}

}  // namespace heddle::effect
