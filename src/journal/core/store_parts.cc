#include "heddle/journal/core/store_parts.h"

#include <algorithm>
#include <utility>

namespace heddle::journal {
namespace {

core::Error damaged(std::string_view what) {
  return core::make_error(core::Errc::damaged, "read the journal",
                          std::string(what) + "; restore the journal from a copy");
}

core::Error damaged_fact(std::int64_t sequence, std::string_view what) {
  return damaged("fact " + std::to_string(sequence) + ": " + std::string(what));
}

core::Result<Digest> digest_of(const FactRow& row, std::string_view raw) {
  const auto digest = Digest::from_raw(raw);
  if (!digest) return damaged_fact(row.sequence, "a digest has another size than 32 bytes");
  return *digest;
}

}  // namespace

core::Result<HeadRow> head_row(std::string_view schema, std::int64_t last, std::string_view checksum) {
  HeadRow row;
  HEDDLE_ASSIGN(row.schema, readable_schema(schema));
  const auto digest = Digest::from_raw(checksum);
  if (last < 0 || !digest) return damaged("the row of its last fact makes no sense");
  row.head = {static_cast<std::uint64_t>(last), *digest};
  return row;
}

void Sequencer::begin(const Head& head, Time time) {
  for (Counts::value_type* const flow : changed_) flow->second.changed = false;
  changed_.clear();
  if (known_ != head || counts_.size() > kMaxKnownFlows) counts_.clear();
  known_.reset();
  head_ = head;
  time_ = time;
}

core::Result<Sequencer::Counts::value_type*> Sequencer::count(const std::string& flow, const CountOf& count_of) {
  // Most batches are about few flows, and what a flow appends comes together.
  if (!changed_.empty() && changed_.back()->first == flow) return changed_.back();
  auto count = counts_.find(flow);
  if (count == counts_.end()) {
    HEDDLE_ASSIGN(const std::uint64_t stored, count_of(flow));
    count = counts_.emplace(flow, Count{stored, stored, false}).first;
  }
  if (!std::exchange(count->second.changed, true)) {
    count->second.before = count->second.facts;
    changed_.push_back(&*count);
  }
  return &*count;
}

core::Result<void> Sequencer::number(Job& job, const CountOf& count_of,
                                     const std::function<core::Result<void>(const NewRow&)>& row) {
  job.receipt.first = head_.sequence + 1;
  for (std::size_t i = 0; i < job.drafts.size(); ++i) {
    const Draft& draft = job.drafts[i];
    HEDDLE_ASSIGN(Counts::value_type* const flow, count(draft.flow, count_of));
    NewRow made;
    made.draft = &draft;
    made.sequence = ++head_.sequence;
    made.ordinal = ++flow->second.facts;
    if (draft.body) made.body_digest = &job.body_digests[i];
    head_.checksum = chain(head_.checksum, {made.sequence, made.ordinal, time_, kSchema, draft.flow, draft.effect,
                                            kind_name(draft.kind), draft.payload, made.body_digest});
    made.checksum = head_.checksum;
    HEDDLE_TRY(row(made));
  }
  job.receipt.last = head_.sequence;
  return {};
}

std::vector<ChangedFlow> Sequencer::changed_flows() const {
  std::vector<ChangedFlow> changed;
  changed.reserve(changed_.size());
  for (const Counts::value_type* flow : changed_) {
    changed.push_back({flow->first, flow->second.before, flow->second.facts});
  }
  return changed;
}

PageReader::PageReader(const Query& query, const HeadRow& head)
    : query_(query),
      head_(head),
      from_(std::max<std::uint64_t>(query.from, 1)),
      limit_(std::max<std::size_t>(query.limit, 1)) {
  page_.next = from_;
  page_.at_end = true;
}

// Is this the row that has to come now? Sets the checksum before it in `last_checksum_`.
core::Result<void> PageReader::check_place(const FactRow& row) {
  const auto sequence = static_cast<std::uint64_t>(row.sequence);
  if (row.sequence < 1 || sequence <= last_sequence_) return damaged_fact(row.sequence, "it is out of order");
  if (sequence > head_.head.sequence) return damaged_fact(row.sequence, "it comes after the last fact");
  const bool first = last_sequence_ == 0;
  if (query_.flow) {
    const bool follows = static_cast<std::uint64_t>(row.ordinal) == last_ordinal_ + 1;
    if (!follows && !(first && row.ordinal > 0 && sequence < from_)) {
      return damaged_fact(row.sequence, "facts of its flow before it are missing");
    }
    last_checksum_ = {};
    if (sequence == 1) return {};
    if (!row.previous) return damaged_fact(row.sequence, "the fact before it is missing");
    HEDDLE_ASSIGN(last_checksum_, digest_of(row, *row.previous));
    return {};
  }
  const std::uint64_t expected = first ? first_row() : last_sequence_ + 1;
  if (sequence != expected) return damaged("fact " + std::to_string(expected) + " is missing");
  return {};
}

bool PageReader::matches(const FactRow& row, Kind kind) const {
  if (query_.flow && row.flow != *query_.flow) return false;
  if (!query_.kinds.empty() && std::find(query_.kinds.begin(), query_.kinds.end(), kind) == query_.kinds.end()) {
    return false;
  }
  const Time time{std::chrono::microseconds(row.time)};
  return (!query_.since || time >= *query_.since) && (!query_.until || time < *query_.until);
}

core::Result<PageReader::Next> PageReader::take(const FactRow& row, const BodyOf& body_of) {
  HEDDLE_TRY(check_place(row));
  const bool chained = last_sequence_ != 0 || row.sequence == 1 || query_.flow;
  last_sequence_ = static_cast<std::uint64_t>(row.sequence);
  last_ordinal_ = static_cast<std::uint64_t>(row.ordinal);
  HEDDLE_ASSIGN(const Digest checksum, digest_of(row, row.checksum));
  const Digest previous = std::exchange(last_checksum_, checksum);
  // The row before `from` of a scan is there for its checksum; the fact after it vouches for that.
  if (!chained) return Next::row;

  auto version = readable_schema(row.schema);
  if (!version.ok()) {
    version.error().context = "fact " + std::to_string(row.sequence) + ": " + version.error().context;
    return std::move(version).error();
  }
  std::optional<Digest> digest;
  if (row.body_digest) {
    HEDDLE_ASSIGN(digest, digest_of(row, *row.body_digest));
  } else if (row.body) {
    return damaged_fact(row.sequence, "its body has no digest");
  }
  const Time time{std::chrono::microseconds(row.time)};
  const Digest expected = chain(previous, {last_sequence_, last_ordinal_, time, version.value(), row.flow, row.effect,
                                           row.kind, row.payload, digest ? &*digest : nullptr});
  if (checksum != expected) return damaged_fact(row.sequence, "its checksum does not hold");
  if (last_sequence_ == head_.head.sequence && checksum != head_.head.checksum) {
    return damaged("the last fact is not the one that was written last");
  }
  if (query_.flow && row.flow != *query_.flow)
    return damaged_fact(row.sequence, "it is of another flow than its index");
  const Kind kind = kind_from(row.kind);
  if (last_sequence_ < from_ || !matches(row, kind)) return Next::row;

  Fact fact;
  fact.schema = version.value();
  fact.sequence = last_sequence_;
  fact.ordinal = last_ordinal_;
  fact.time = time;
  fact.flow = row.flow;
  fact.effect = row.effect;
  fact.kind = kind;
  fact.kind_text = row.kind;
  fact.payload = row.payload;
  fact.checksum = checksum;
  if (digest) {
    fact.body = Body{*digest, {}};
    if (query_.bodies == Bodies::load) {
      if (row.body) {
        fact.body->text = *row.body;
      } else {
        auto text = body_of(*digest);
        if (!text.ok()) return std::move(text).error();
        fact.body->text = std::move(text).value();
      }
      if (sha256(fact.body->text) != *digest) return damaged_fact(row.sequence, "its body is not what was written");
    }
  }
  page_.facts.push_back(std::move(fact));
  return page_.facts.size() < limit_ ? Next::row : Next::page_is_full;
}

core::Result<Page> PageReader::finish(std::uint64_t facts_of_flow) && {
  const std::uint64_t end = head_.head.sequence;
  const bool full = page_.facts.size() >= limit_;
  if (full && last_sequence_ < end) {
    page_.at_end = false;
    page_.next = last_sequence_ + 1;
    return std::move(page_);
  }
  if (query_.flow) {
    if (!full && last_ordinal_ != facts_of_flow)
      return damaged("the last facts of flow \"" + *query_.flow + "\" are missing");
  } else if (!nothing_to_read() && last_sequence_ != end) {
    return damaged("facts after " + std::to_string(last_sequence_) + " are missing");
  }
  page_.next = std::max(from_, end + 1);
  return std::move(page_);
}

}  // namespace heddle::journal
