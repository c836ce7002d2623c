#include "heddle/journal/core/store_parts.h"

#include <algorithm>
#include <utility>

#include "heddle/journal/core/flow_index.h"

namespace heddle::journal {
namespace {

core::Error damaged(std::string_view what) {
  return core::make_error(core::Errc::damaged, "read the journal",
                          std::string(what) + "; restore the journal from a copy");
}

// Above this a sequence is none that anybody has counted to, and going on from there overflows.
constexpr std::int64_t kMostFacts = std::int64_t{1} << 56;

core::Error damaged_fact(std::int64_t sequence, std::string_view what) {
  return damaged("fact " + std::to_string(sequence) + ": " + std::string(what));
}

core::Result<Digest> digest_of(const FactRow& row, std::string_view raw) {
  const auto digest = Digest::from_raw(raw);
  if (!digest) return damaged_fact(row.sequence, "a digest has another size than 32 bytes");
  return *digest;
}

}  // namespace

core::Result<HeadRow> head_row(std::string_view schema, std::int64_t last, std::string_view checksum,
                               std::int64_t indexed) {
  HeadRow row;
  HEDDLE_ASSIGN(row.schema, readable_schema(schema));
  const auto digest = Digest::from_raw(checksum);
  if (last < 0 || last > kMostFacts || !digest) return damaged("the row of its last fact makes no sense");
  if (indexed < 0 || indexed > last) return damaged("its index of flows goes further than its facts");
  row.head = {static_cast<std::uint64_t>(last), *digest};
  row.indexed = static_cast<std::uint64_t>(indexed);
  return row;
}

core::Error border_is_damaged(std::uint64_t indexed) {
  return damaged("the index of flows ends before fact " + std::to_string(indexed) + ", where it should");
}

bool Sequencer::knows_all(const HeadRow& end) const {
  return known_ && known_->head == end.head && known_->indexed == end.indexed && counts_.size() <= kMaxKnownFlows;
}

std::optional<std::uint64_t> Sequencer::begin(const HeadRow& end, Time time) {
  take_back();
  ++batch_;
  index_is_new_ = false;
  head_ = end.head;
  indexed_ = end.indexed;
  time_ = time;
  if (knows_all(end)) return std::nullopt;
  // Others have appended and perhaps brought the index up to date: what is known goes on from there.
  const bool grew = known_ && known_->head.sequence < end.head.sequence && known_->head.sequence >= end.indexed &&
                    counts_.size() <= kMaxKnownFlows;
  const std::uint64_t before = grew ? known_->head.sequence : end.indexed;
  if (grew) {
    border_moved();
  } else {
    tail_.clear();
    counts_.clear();
  }
  known_.reset();
  return before + 1;
}

void Sequencer::learn(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    Counts::value_type& flow = *counts_.try_emplace(fact.flow).first;
    flow.second.facts = fact.ordinal;
    flow.second.tail.push_back(fact.sequence);
    add_to_tail(flow);
  }
  known_ = Known{head_, indexed_};
}

void Sequencer::add_to_tail(Counts::value_type& flow) {
  if (!std::exchange(flow.second.in_tail, true)) tail_.push_back(&flow);
}

void Sequencer::clear_tail() {
  for (Counts::value_type* const flow : tail_) {
    flow->second.tail.clear();
    flow->second.in_tail = false;
  }
  tail_.clear();
}

void Sequencer::border_moved() {
  for (Counts::value_type* const flow : tail_) {
    std::vector<std::uint64_t>& tail = flow->second.tail;
    tail.erase(tail.begin(), std::upper_bound(tail.begin(), tail.end(), indexed_));
  }
}

core::Result<Sequencer::Counts::value_type*> Sequencer::count(const std::string& flow, const CountOf& count_of) {
  // Most batches are about few flows, and what a flow appends comes together.
  if (!changed_.empty() && changed_.back().flow->first == flow) return changed_.back().flow;
  auto count = counts_.find(flow);
  const bool asked = count == counts_.end();
  if (asked) {
    HEDDLE_ASSIGN(const std::uint64_t stored, count_of(flow));
    count = counts_.emplace(flow, Count{stored, {}, false, 0}).first;
  }
  if (std::exchange(count->second.batch, batch_) != batch_) {
    changed_.push_back(
        {&*count, asked ? std::nullopt : std::optional<std::uint64_t>(count->second.facts), count->second.tail.size()});
    add_to_tail(*count);
  }
  return &*count;
}

void Sequencer::take_back() {
  for (const Changed& changed : changed_) {
    if (changed.before) {
      changed.flow->second.facts = *changed.before;
      changed.flow->second.tail.resize(changed.tail);
      continue;
    }
    tail_.erase(std::find(tail_.begin(), tail_.end(), changed.flow));
    counts_.erase(counts_.find(changed.flow->first));
  }
  changed_.clear();
}

void Sequencer::committed() {
  known_ = Known{head_, indexed_};
  changed_.clear();
  if (index_is_new_) clear_tail();
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
    flow->second.tail.push_back(made.sequence);
    if (draft.body) made.body_digest = &job.body_digests[i];
    head_.checksum = chain(head_.checksum, {made.sequence, made.ordinal, time_, kSchema, draft.flow, draft.effect,
                                            kind_name(draft.kind), draft.payload, made.body_digest});
    made.checksum = head_.checksum;
    HEDDLE_TRY(row(made));
  }
  job.receipt.last = head_.sequence;
  return {};
}

std::vector<FlowTail> Sequencer::flow_tails() const {
  std::vector<FlowTail> flows;
  flows.reserve(tail_.size());
  for (const Counts::value_type* flow : tail_) {
    const Count& count = flow->second;
    if (!count.tail.empty()) flows.push_back({flow->first, count.facts, count.tail});
  }
  return flows;
}

void Sequencer::index_written() {
  index_is_new_ = true;
  indexed_ = head_.sequence;
}

PageReader::PageReader(const Query& query, const HeadRow& end)
    : query_(query),
      end_(end),
      from_(std::max<std::uint64_t>(query.from, 1)),
      limit_(std::max<std::size_t>(query.limit, 1)),
      // From the fact after the border on too: then the index tells which ordinal comes first.
      in_index_(query.flow && from_ <= end.head.sequence && from_ - 1 <= end.indexed) {
  if (in_index_) last_ordinal_ = 0;
  page_.next = from_;
  page_.at_end = true;
}

std::uint64_t PageReader::first_row() const {
  const std::uint64_t before = query_.flow ? std::max(from_ - 1, end_.indexed) : from_ - 1;
  return std::max<std::uint64_t>(before, 1);
}

core::Error PageReader::missing(std::uint64_t sequence) {
  return damaged("fact " + std::to_string(sequence) + " is missing");
}

core::Result<std::vector<std::uint64_t>> PageReader::take_index_row(std::int64_t last, std::string_view packed) {
  if (last > static_cast<std::int64_t>(end_.indexed)) return damaged_fact(last, "the index of flows has it too early");
  HEDDLE_ASSIGN(std::vector<std::uint64_t> sequences, unpack_sequences(packed, last));
  // Of what is before the page only a row's last fact is looked at: its ordinal is the one before the next.
  const auto from = std::lower_bound(sequences.begin(), sequences.end(), from_);
  if (from != sequences.begin()) sequences.erase(sequences.begin(), from - 1);
  return sequences;
}

core::Result<void> PageReader::check_indexed_row(const FactRow& row) {
  const auto sequence = static_cast<std::uint64_t>(row.sequence);
  if (row.sequence < 1 || sequence <= last_sequence_) return damaged_fact(row.sequence, "it is out of order");
  if (sequence > end_.indexed) return damaged_fact(row.sequence, "the index of flows has it too early");
  if (sequence < from_) last_ordinal_.reset();
  last_checksum_ = {};
  if (sequence == 1) return {};
  if (!row.previous) return damaged_fact(row.sequence, "the fact before it is missing");
  HEDDLE_ASSIGN(last_checksum_, digest_of(row, *row.previous));
  return {};
}

core::Result<void> PageReader::check_scanned_row(const FactRow& row) const {
  const auto sequence = static_cast<std::uint64_t>(row.sequence);
  if (row.sequence < 1 || sequence <= last_sequence_) return damaged_fact(row.sequence, "it is out of order");
  if (sequence > end_.head.sequence) return damaged_fact(row.sequence, "it comes after the last fact");
  const std::uint64_t expected = last_sequence_ == 0 ? first_row() : last_sequence_ + 1;
  if (sequence != expected) return missing(expected);
  return {};
}

// Of a row of the flow that is read.
core::Result<void> PageReader::check_ordinal(const FactRow& row) {
  const auto ordinal = static_cast<std::uint64_t>(row.ordinal);
  if (row.ordinal < 1 || (last_ordinal_ && ordinal != *last_ordinal_ + 1)) {
    return damaged_fact(row.sequence, "facts of its flow before it are missing");
  }
  last_ordinal_ = ordinal;
  return {};
}

bool PageReader::matches(const FactRow& row, Kind kind) const {
  if (!query_.kinds.empty() && std::find(query_.kinds.begin(), query_.kinds.end(), kind) == query_.kinds.end()) {
    return false;
  }
  const Time time{std::chrono::microseconds(row.time)};
  return (!query_.since || time >= *query_.since) && (!query_.until || time < *query_.until);
}

core::Result<PageReader::Next> PageReader::take(const FactRow& row, const BodyOf& body_of) {
  HEDDLE_TRY(in_index_ ? check_indexed_row(row) : check_scanned_row(row));
  const bool chained = in_index_ || last_sequence_ != 0 || row.sequence == 1;
  last_sequence_ = static_cast<std::uint64_t>(row.sequence);
  HEDDLE_ASSIGN(const Digest checksum, digest_of(row, row.checksum));
  const Digest previous = std::exchange(last_checksum_, checksum);
  // The first row of a scan is there for its checksum; the fact after it vouches for that.
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
  const auto ordinal = static_cast<std::uint64_t>(row.ordinal);
  const Time time{std::chrono::microseconds(row.time)};
  // Its content was taken away. Its checksum stays, and the fact after it vouches for that: one comes, since what was
  // taken away is recorded by a later fact.
  const bool pruned = row.payload.empty();
  if (pruned && (row.body || row.body_digest || last_sequence_ == end_.head.sequence)) {
    return damaged_fact(row.sequence, "the payload is not a JSON object");
  }
  const Digest expected = chain(previous, {last_sequence_, ordinal, time, version.value(), row.flow, row.effect,
                                           row.kind, row.payload, digest ? &*digest : nullptr});
  if (!pruned && checksum != expected) return damaged_fact(row.sequence, "its checksum does not hold");
  if (last_sequence_ == end_.head.sequence && checksum != end_.head.checksum) {
    return damaged("the last fact is not the one that was written last");
  }
  if (const auto broken = broken_rule(row.flow, row.effect, row.kind, time)) return damaged_fact(row.sequence, *broken);
  if (query_.flow) {
    const bool mine = row.flow == *query_.flow;
    if (in_index_ && !mine) return damaged_fact(row.sequence, "it is of another flow than its index");
    // Passed over in a scan: others, and the one at the border, which the index has had.
    if (!mine || (!in_index_ && last_sequence_ <= end_.indexed)) return Next::row;
    HEDDLE_TRY(check_ordinal(row));
  }
  const Kind kind = kind_from(row.kind);
  if (last_sequence_ < from_ || !matches(row, kind)) return Next::row;

  const std::string_view payload = pruned ? "{}" : row.payload;
  if (const auto broken = broken_rule_of_payload(payload)) return damaged_fact(row.sequence, *broken);
  Fact fact;
  fact.schema = version.value();
  fact.sequence = last_sequence_;
  fact.ordinal = ordinal;
  fact.time = time;
  fact.flow = row.flow;
  fact.effect = row.effect;
  fact.kind = kind;
  fact.kind_text = row.kind;
  fact.payload = payload;
  fact.pruned = pruned;
  fact.checksum = checksum;
  if (digest) {
    fact.body = Body{*digest, {}};
    if (query_.bodies == Bodies::load) {
      HEDDLE_ASSIGN(fact.body->text, text_of_body(row, *digest, body_of));
    }
  }
  bytes_ += sizeof fact + fact.flow.size() + fact.effect.size() + fact.payload.size();
  if (fact.body) bytes_ += fact.body->text.size();
  page_.facts.push_back(std::move(fact));
  return full() ? Next::page_is_full : Next::row;
}

core::Result<std::string> PageReader::text_of_body(const FactRow& row, const Digest& digest, const BodyOf& body_of) {
  std::string text;
  if (row.body) {
    text = *row.body;
  } else {
    HEDDLE_ASSIGN(text, body_of(digest));
  }
  if (core::sha256(text) != digest) return damaged_fact(row.sequence, "its body is not what was written");
  if (row.body.has_value() != (text.size() <= kInlineBodyBytes)) {
    return damaged_fact(row.sequence, "its body lies in the wrong table for its size");
  }
  if (const auto broken = broken_rule_of_body(text)) return damaged_fact(row.sequence, *broken);
  return text;
}

core::Result<void> PageReader::end_of_index(std::uint64_t facts_of_flow) {
  if (last_ordinal_.value_or(0) != facts_of_flow) {
    return damaged("the last facts of flow \"" + *query_.flow + "\" are missing from the index of flows");
  }
  last_ordinal_ = facts_of_flow;
  last_sequence_ = 0;
  last_checksum_ = {};
  in_index_ = false;
  return {};
}

core::Result<Page> PageReader::finish() && {
  const std::uint64_t end = end_.head.sequence;
  if (full() && last_sequence_ < end) {
    page_.at_end = false;
    page_.next = last_sequence_ + 1;
    return std::move(page_);
  }
  const bool to_scan = !nothing_to_read() && !(query_.flow && end_.indexed == end);
  if (!full() && to_scan && last_sequence_ != end) {
    return damaged("facts after " + std::to_string(last_sequence_) + " are missing");
  }
  page_.next = std::max(from_, end + 1);
  return std::move(page_);
}

core::Result<std::vector<Fact>> facts_without_payload(const HeadRow& end, std::uint64_t from,
                                                      const std::function<core::Result<void>(PageReader&)>& scan) {
  std::vector<Fact> facts;
  Query query;
  query.from = from;
  query.bodies = Bodies::digests_only;
  for (bool at_end = false; !at_end;) {
    PageReader reader(query, end);
    if (reader.nothing_to_read()) break;
    HEDDLE_TRY(scan(reader));
    HEDDLE_ASSIGN(Page page, std::move(reader).finish());
    for (Fact& fact : page.facts) {
      fact.payload = std::string();
      facts.push_back(std::move(fact));
    }
    query.from = page.next;
    at_end = page.at_end;
  }
  return facts;
}

}  // namespace heddle::journal
