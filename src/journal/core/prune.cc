#include "heddle/journal/core/prune.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/journal/core/facts.h"

namespace heddle::journal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPrunedPage = 2000;

void add(std::vector<Range>& ranges, std::uint64_t sequence) {
  if (!ranges.empty() && ranges.back().last + 1 == sequence) {
    ranges.back().last = sequence;
  } else {
    ranges.push_back({sequence, sequence});
  }
}

// One flow while the journal is looked through: is it to go as far as it has been seen?
struct Seen {
  bool ended = false;
  Time end;
};

core::Result<void> each_fact(Store& store, const Wait& wait, const std::function<void(const Fact&)>& visit) {
  Query query;
  query.limit = kPrunedPage;
  query.bodies = Bodies::digests_only;
  for (bool at_end = false; !at_end;) {
    HEDDLE_ASSIGN(const Page page, store.read(query, wait));
    for (const Fact& fact : page.facts) visit(fact);
    query.from = page.next;
    at_end = page.at_end;
    if (auto over = wait_over(wait, "prune the journal", "at fact " + std::to_string(page.next))) {
      return *std::move(over);
    }
  }
  return {};
}

// Nothing unless it is a list of ascending ranges before `end`.
std::optional<std::vector<Range>> ranges_in(std::string_view json, std::uint64_t end) {
  const Json list = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return std::nullopt;
  std::vector<Range> ranges;
  std::uint64_t before = 0;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned() || !item[1].is_number_unsigned()) {
      return std::nullopt;
    }
    const Range range{item[0].get<std::uint64_t>(), item[1].get<std::uint64_t>()};
    if (range.first <= before || range.last < range.first || range.last >= end) return std::nullopt;
    before = range.last;
    ranges.push_back(range);
  }
  return ranges;
}

std::string json_of(const std::vector<Range>& ranges) {
  std::string json = "[";
  for (const Range& range : ranges) {
    if (json.size() > 1) json += ',';
    json += '[' + std::to_string(range.first) + ',' + std::to_string(range.last) + ']';
  }
  return json + ']';
}

}  // namespace

core::Result<PrunePlan> plan_prune(Store& store, const PruneOptions& options, const Wait& wait) {
  std::map<std::string, Seen, std::less<>> flows;
  HEDDLE_TRY(each_fact(store, wait, [&](const Fact& fact) {
    if (fact.flow.empty() || (options.flow && fact.flow != *options.flow)) return;
    if (fact.pruned) {
      flows.erase(fact.flow);
      return;
    }
    Seen& seen = flows[fact.flow];
    seen.ended = fact.kind == Kind::flow_ended;
    seen.end = fact.time;
  }));
  PrunePlan plan;
  const auto goes = [&](const Fact& fact) {
    const auto seen = flows.find(fact.flow);
    return seen != flows.end() && seen->second.ended && seen->second.end < options.before;
  };
  for (const auto& [id, seen] : flows) {
    if (seen.ended && seen.end < options.before) ++plan.flows;
  }
  if (plan.flows == 0) return plan;
  HEDDLE_TRY(each_fact(store, wait, [&](const Fact& fact) {
    if (fact.pruned || !goes(fact)) return;
    add(plan.ranges, fact.sequence);
    ++plan.facts;
  }));
  return plan;
}

core::Result<std::uint64_t> prune(Store& store, const PrunePlan& plan, const PruneOptions& options, const Wait& wait) {
  if (plan.ranges.empty()) return 0U;
  return store.erase(plan.ranges, pruned(plan.facts, plan.flows, options.by, options.reason, json_of(plan.ranges)),
                     wait);
}

void PrunedCheck::take(const Fact& fact) {
  if (fact.pruned) {
    add(unexplained_, fact.sequence);
    return;
  }
  if (fact.kind != Kind::pruned || wrong_) return;
  const auto ranges = ranges_in(fact.body ? fact.body->text : "", fact.sequence);
  if (!ranges) {
    wrong_ = "fact " + std::to_string(fact.sequence) + ": it does not say which facts were pruned";
    return;
  }
  explained_.insert(explained_.end(), ranges->begin(), ranges->end());
}

core::Result<void> PrunedCheck::finish() const {
  const auto damaged = [](const std::string& what) {
    return core::make_error(core::Errc::damaged, "read the journal", what + "; restore the journal from a copy");
  };
  if (wrong_) return damaged(*wrong_);
  // Both as ascending ranges that do not touch.
  std::vector<Range> said = explained_;
  std::sort(said.begin(), said.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& range : said) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  const auto [gone, spoken] = std::mismatch(unexplained_.begin(), unexplained_.end(), joined.begin(), joined.end());
  if (gone == unexplained_.end() && spoken == joined.end()) return {};
  std::uint64_t where = 0;
  if (gone == unexplained_.end()) {
    where = spoken->first;
  } else if (spoken == joined.end()) {
    where = gone->first;
  } else if (gone->first != spoken->first) {
    where = std::min(gone->first, spoken->first);
  } else {
    where = std::min(gone->last, spoken->last) + 1;
  }
  return damaged("fact " + std::to_string(where) +
                 ": what it said is gone, or should be, and the facts of kind PRUNED say otherwise");
}

}  // namespace heddle::journal
