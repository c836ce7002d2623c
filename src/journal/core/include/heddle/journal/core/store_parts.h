// What a store does with its tables, apart from the database: numbering what is appended, and checking what is read.
// For those who implement a store. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/journal/core/group_commit.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// Where a journal ends and how far its index goes, checked. Tables `flow` and `flow_index`, the index of flows, are
/// brought up to date every now and then only (Sequencer::index_due); facts after `indexed` are found by looking.
struct HeadRow {
  SchemaVersion schema;
  Head head;
  std::uint64_t indexed = 0;
};
[[nodiscard]] core::Result<HeadRow> head_row(std::string_view schema, std::int64_t last, std::string_view checksum,
                                             std::int64_t indexed);

/// For a store whose row of table `journal` says `last` is `indexed` when it is not: the fact at the border must be in
/// the index.
[[nodiscard]] core::Error border_is_damaged(std::uint64_t indexed);

/// A fact to be inserted.
struct NewRow {
  const Draft* draft = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t ordinal = 0;
  Digest checksum;
  const Digest* body_digest = nullptr;  ///< the job's

  [[nodiscard]] bool body_inline() const { return draft->body && draft->body->size() <= kInlineBodyBytes; }
};

/// A flow that has facts after the end of the index. The views hold until the sequencer is used again.
struct FlowTail {
  std::string_view flow;
  std::uint64_t facts = 0;                   ///< all that it has
  std::span<const std::uint64_t> sequences;  ///< of those after the end, ascending; not empty
};

/// Numbers the facts of one batch after another. Knows how many facts the flows have that have got some after the end
/// of the index; of other flows it remembers what it has asked for.
class Sequencer {
 public:
  /// Looks the number of a flow's facts up in table `flow`; 0 when it is not there.
  using CountOf = std::function<core::Result<std::uint64_t>(const std::string& flow)>;

  /// A batch begins after `end`, all of it at `time`. What it gives is the lowest sequence of facts that it does not
  /// know: then the store checks the border of the index and gives all facts from that sequence on, which may be none,
  /// to `learn`. Nothing when it knows them all.
  [[nodiscard]] std::optional<std::uint64_t> begin(const HeadRow& end, Time time);
  /// Will `begin` give nothing?
  [[nodiscard]] bool knows_all(const HeadRow& end) const;
  void learn(const std::vector<Fact>& facts);
  /// The number of the job's facts is the receipt that it gets; `row` is called for each, in order.
  [[nodiscard]] core::Result<void> number(Job& job, const CountOf& count_of,
                                          const std::function<core::Result<void>(const NewRow&)>& row);
  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] std::uint64_t indexed() const { return indexed_; }

  /// Is it time to bring the index up to `head`? Then the store inserts a row into table `flow_index` and sets the
  /// count in table `flow` for each of `flow_tails`, and says so. They come from here and not from table `fact`: where
  /// the two differ, table `fact` has been damaged, and who reads that flow finds it out.
  [[nodiscard]] bool index_due(std::uint64_t every) const { return head_.sequence - indexed_ >= every; }
  [[nodiscard]] std::vector<FlowTail> flow_tails() const;
  void index_written();

  /// The batch is durable. Unless this is called, the next batch takes it back.
  void committed();
  /// What was known may not hold any more.
  void forget() { known_.reset(); }

 private:
  static constexpr std::size_t kMaxKnownFlows = 4096;

  struct Count {
    std::uint64_t facts = 0;
    std::vector<std::uint64_t> tail;  // sequences of those after indexed_
    bool in_tail = false;             // it is in tail_
    std::uint64_t batch = 0;          // that has changed it last
  };
  using Counts = std::unordered_map<std::string, Count>;
  struct Changed {
    Counts::value_type* flow;
    std::optional<std::uint64_t> before;  // nothing: it was asked for in this batch
    std::size_t tail = 0;                 // how many it had before
  };
  struct Known {
    Head head;
    std::uint64_t indexed = 0;
  };

  void add_to_tail(Counts::value_type& flow);
  void clear_tail();
  void border_moved();
  void take_back();
  core::Result<Counts::value_type*> count(const std::string& flow, const CountOf& count_of);

  Head head_;
  std::uint64_t indexed_ = 0;
  bool index_is_new_ = false;
  Time time_;
  std::uint64_t batch_ = 0;
  std::optional<Known> known_;  // up to where counts_ and tail_ hold, but for what changed_ says
  Counts counts_;
  std::vector<Counts::value_type*> tail_;  // flows that have facts after indexed_, and perhaps some that have none
  std::vector<Changed> changed_;           // by the batch under way
};

/// A row of table `fact` as read. The views hold while its store says so.
struct FactRow {
  std::int64_t sequence = 0;
  std::int64_t ordinal = 0;
  std::int64_t time = 0;
  std::string_view schema;
  std::string_view flow;
  std::string_view effect;
  std::string_view kind;
  std::string_view payload;
  std::string_view checksum;
  std::optional<std::string_view> body_digest;
  std::optional<std::string_view> body;
  std::optional<std::string_view> previous;  ///< the checksum of the fact before it; flow reads only
};

/// Makes a page out of rows, checks each of them, filters, and finds what is missing.
///
/// A read takes all rows from `first_row()` on. One of a flow begins with the index, if `begins_with_index()`: the rows
/// of that flow in table `flow_index`, the last one that ends before `query.from`, if any, and all after it, go to
/// `take_index_row`, and the facts that it asks for to `take`; then comes `end_of_index`. Conditions
/// are looked at here, after the checks: a condition in SQL would not find a row whose kind was damaged.
class PageReader {
 public:
  /// A body that is not beside its fact; Errc::damaged when it is not there.
  using BodyOf = std::function<core::Result<std::string>(const Digest&)>;

  PageReader(const Query& query, const HeadRow& end);

  [[nodiscard]] bool nothing_to_read() const { return from_ > end_.head.sequence; }
  [[nodiscard]] bool begins_with_index() const { return in_index_; }
  [[nodiscard]] std::uint64_t from() const { return from_; }

  enum class Next : std::uint8_t { row, page_is_full };
  [[nodiscard]] core::Result<Next> take(const FactRow& row, const BodyOf& body_of);
  [[nodiscard]] core::Result<std::vector<std::uint64_t>> take_index_row(std::int64_t last, std::string_view packed);
  /// One of those facts is not there.
  [[nodiscard]] static core::Error missing(std::uint64_t sequence);

  /// After the last row that the index names, unless the page is full. `facts_of_flow`: its count in table `flow`.
  [[nodiscard]] core::Result<void> end_of_index(std::uint64_t facts_of_flow);
  [[nodiscard]] std::uint64_t first_row() const;
  [[nodiscard]] bool full() const { return page_.facts.size() >= limit_ || bytes_ >= kMaxPageBytes; }

  /// After the last row.
  [[nodiscard]] core::Result<Page> finish() &&;

 private:
  [[nodiscard]] core::Result<void> check_indexed_row(const FactRow& row);
  [[nodiscard]] core::Result<void> check_scanned_row(const FactRow& row) const;
  [[nodiscard]] core::Result<void> check_ordinal(const FactRow& row);
  [[nodiscard]] bool matches(const FactRow& row, Kind kind) const;
  [[nodiscard]] core::Result<std::string> text_of_body(const FactRow& row, const Digest& digest, const BodyOf& body_of);

  const Query& query_;
  HeadRow end_;
  std::uint64_t from_;
  std::size_t limit_;
  std::size_t bytes_ = 0;  // of what the page holds
  bool in_index_;
  std::uint64_t last_sequence_ = 0;            // of the row taken last, of the index or of the scan
  Digest last_checksum_;                       // of the fact before the row that is to be checked
  std::optional<std::uint64_t> last_ordinal_;  // of the fact of the flow taken last; nothing: any may come
  Page page_;
};

/// All facts from `from` on, checked, for `Sequencer::learn`: without their payloads and bodies, which memory need not
/// hold. `scan` hands a page's rows over.
[[nodiscard]] core::Result<std::vector<Fact>> facts_without_payload(
    const HeadRow& end, std::uint64_t from, const std::function<core::Result<void>(PageReader&)>& scan);

}  // namespace heddle::journal
