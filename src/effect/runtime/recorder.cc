#include "recorder.h"

#include <utility>

#include "heddle/core/text.h"
#include "heddle/journal/core/json_text.h"

namespace heddle::effect {

void Recorder::keep(Note note) {
  if (notes_.size() < most_) {
    notes_.push_back(std::move(note));
  } else {
    ++dropped_;
  }
}

void Recorder::access_denied(AccessDenial denial) {
  const std::lock_guard lock(mutex_);
  if (denial.after == AfterDenial::ended && !fatal_) fatal_ = denial;
  keep(std::move(denial));
}

void Recorder::egress_denied(EgressDenial denial) {
  const std::lock_guard lock(mutex_);
  keep(std::move(denial));
}

void Recorder::jail_applied(std::string report_json) {
  if (!journal::is_json(report_json)) {  // a fact must be storable whatever came
    std::string quoted;
    journal::append_json_string(quoted, core::bound_text(report_json));
    report_json = std::move(quoted);
  }
  const std::lock_guard lock(mutex_);
  keep(Report{std::move(report_json)});
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
        dropped_ != 0 && i + 1 == notes_.size() ? " (and " + std::to_string(dropped_) + " more)" : std::string();
    if (const auto* access = std::get_if<AccessDenial>(&notes_[i])) {
      drafts.push_back(journal::access_denied(ref, access->syscall, access->object, access->rule + more));
    } else if (const auto* egress = std::get_if<EgressDenial>(&notes_[i])) {
      drafts.push_back(journal::egress_denied(ref, egress->host, egress->port, egress->address, egress->rule + more,
                                              egress->reason));
    } else {
      drafts.push_back(journal::jail_applied(ref, std::get<Report>(notes_[i]).json));
    }
  }
  return drafts;
}

}  // namespace heddle::effect
