#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "heddle/journal/core/group_commit.h"
#include "heddle/journal/memory/memory.h"

namespace heddle::journal {
namespace {

struct Row {
  Draft draft;
  std::uint64_t ordinal = 0;
  Time time;
  // Made when it is first read: a flow that is never looked at pays for no hash.
  std::optional<Digest> body_digest;
  Digest checksum;
};

class MemoryStore final : public Store {
 public:
  core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait) override {
    for (const Draft& draft : drafts) HEDDLE_TRY(check_draft(draft));
    if (auto over = wait_over(wait, "append to the journal", "in memory")) return *std::move(over);
    const Time time = now();
    Receipt receipt;
    {
      const std::lock_guard lock(mutex_);
      receipt.first = rows_.size() + 1;
      for (const Draft& draft : drafts) add(draft, time);
      receipt.last = rows_.size();
    }
    bell_.ring();
    return receipt;
  }

  core::Result<Page> read(const Query& query, const Wait& wait) override {
    if (auto over = wait_over(wait, "read the journal", "in memory")) return *std::move(over);
    const std::lock_guard lock(mutex_);
    hash_rows();
    const std::uint64_t from = std::max<std::uint64_t>(query.from, 1);
    Page page{{}, from, true};
    const std::vector<std::uint64_t>* of_flow = nullptr;
    if (query.flow) {
      const auto flow = flows_.find(*query.flow);
      if (flow == flows_.end()) return end(std::move(page));
      of_flow = &flow->second;
    }
    std::size_t at = 0;
    if (of_flow != nullptr) {
      at = static_cast<std::size_t>(std::lower_bound(of_flow->begin(), of_flow->end(), from) - of_flow->begin());
    }
    for (std::uint64_t sequence = from;; ++sequence) {
      if (of_flow != nullptr) {
        if (at == of_flow->size()) break;
        sequence = (*of_flow)[at++];
      }
      if (sequence > rows_.size()) break;
      const Row& row = rows_[sequence - 1];
      if (!matches(query, row)) continue;
      if (page.facts.size() == std::max<std::size_t>(query.limit, 1)) {
        page.at_end = false;
        page.next = page.facts.back().sequence + 1;
        return page;
      }
      page.facts.push_back(fact_of(sequence, row, query.bodies));
    }
    return end(std::move(page));
  }

  core::Result<Page> follow(const Query& query, const Wait& wait) override {
    Query rest = query;
    for (;;) {
      const std::uint32_t seen = bell_.state();
      HEDDLE_ASSIGN(Page page, read(rest, {}));
      if (!page.facts.empty() || wait.deadline.passed()) return page;
      if (wait.stop.stop_requested()) return core::make_error(core::Errc::cancelled, "follow the journal", "in memory");
      rest.from = page.next;
      bell_.wait(seen, wait);
    }
  }

  core::Result<Head> head(const Wait& /*wait*/) override {
    const std::lock_guard lock(mutex_);
    hash_rows();
    return Head{rows_.size(), rows_.empty() ? Digest{} : rows_.back().checksum};
  }

  core::Result<void> check_storage(const Wait& /*wait*/) override { return {}; }

 private:
  void add(const Draft& draft, Time time) {
    auto flow = flows_.find(draft.flow);
    if (flow == flows_.end()) flow = flows_.emplace(draft.flow, std::vector<std::uint64_t>()).first;
    Row& row = rows_.emplace_back();
    row.draft = draft;
    row.time = time;
    flow->second.push_back(rows_.size());
    row.ordinal = flow->second.size();
  }

  void hash_rows() {
    for (; hashed_ < rows_.size(); ++hashed_) {
      Row& row = rows_[hashed_];
      if (row.draft.body) row.body_digest = core::sha256(*row.draft.body);
      row.checksum =
          chain(hashed_ == 0 ? Digest{} : rows_[hashed_ - 1].checksum,
                {hashed_ + 1, row.ordinal, row.time, kSchema, row.draft.flow, row.draft.effect,
                 kind_name(row.draft.kind), row.draft.payload, row.body_digest ? &*row.body_digest : nullptr});
    }
  }

  [[nodiscard]] static bool matches(const Query& query, const Row& row) {
    if (!query.kinds.empty() &&
        std::find(query.kinds.begin(), query.kinds.end(), row.draft.kind) == query.kinds.end()) {
      return false;
    }
    return (!query.since || row.time >= *query.since) && (!query.until || row.time < *query.until);
  }

  [[nodiscard]] static Fact fact_of(std::uint64_t sequence, const Row& row, Bodies bodies) {
    Fact fact;
    fact.schema = kSchema;
    fact.sequence = sequence;
    fact.ordinal = row.ordinal;
    fact.time = row.time;
    fact.flow = row.draft.flow;
    fact.effect = row.draft.effect;
    fact.kind = row.draft.kind;
    fact.kind_text = kind_name(row.draft.kind);
    fact.payload = row.draft.payload;
    if (row.draft.body) {
      fact.body = Body{*row.body_digest, bodies == Bodies::load ? *row.draft.body : std::string()};
    }
    fact.checksum = row.checksum;
    return fact;
  }

  [[nodiscard]] Page end(Page page) const {
    page.next = std::max<std::uint64_t>(page.next, rows_.size() + 1);
    return page;
  }

  std::mutex mutex_;
  std::deque<Row> rows_;
  std::size_t hashed_ = 0;
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> flows_;
  Bell bell_;
};

}  // namespace

std::unique_ptr<Store> open_memory() { return std::make_unique<MemoryStore>(); }

}  // namespace heddle::journal
