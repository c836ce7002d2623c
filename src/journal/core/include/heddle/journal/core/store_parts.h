// What a store does with its tables, apart from the database: numbering what is appended, and checking what is read.
// For those who implement a store. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/journal/core/group_commit.h"
#include "heddle/journal/core/store.h"

namespace heddle::journal {

/// The row of table `journal`, checked.
struct HeadRow {
  SchemaVersion schema;
  Head head;
};
[[nodiscard]] core::Result<HeadRow> head_row(std::string_view schema, std::int64_t last, std::string_view checksum);

/// A fact to be inserted.
struct NewRow {
  const Draft* draft = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t ordinal = 0;
  Digest checksum;
  const Digest* body_digest = nullptr;  ///< the job's

  [[nodiscard]] bool body_inline() const { return draft->body && draft->body->size() <= kInlineBodyBytes; }
};

/// A flow that has got facts in a batch: how many it had, and has.
struct ChangedFlow {
  std::string_view id;
  std::uint64_t before = 0;
  std::uint64_t facts = 0;
};

/// Numbers the facts of one batch after another. Remembers how many facts the flows have for as long as nobody else
/// appends.
class Sequencer {
 public:
  /// Looks the number of a flow's facts up in table `flow`; 0 when it is not there.
  using CountOf = std::function<core::Result<std::uint64_t>(const std::string& flow)>;

  /// A batch begins after `head`, all of it at `time`.
  void begin(const Head& head, Time time);
  /// The number of the job's facts is the receipt that it gets; `row` is called for each, in order.
  [[nodiscard]] core::Result<void> number(Job& job, const CountOf& count_of,
                                          const std::function<core::Result<void>(const NewRow&)>& row);
  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] std::vector<ChangedFlow> changed_flows() const;
  /// The batch is durable. Unless this is called, the next batch looks everything up anew.
  void committed() { known_ = head_; }

 private:
  static constexpr std::size_t kMaxKnownFlows = 4096;

  Head head_;
  std::optional<Head> known_;  // the head up to which counts_ hold
  Time time_;
  struct Count {
    std::uint64_t facts = 0;
    std::uint64_t before = 0;  // at the begin of the batch that changes it
    bool changed = false;
  };
  using Counts = std::unordered_map<std::string, Count>;

  core::Result<Counts::value_type*> count(const std::string& flow, const CountOf& count_of);

  Counts counts_;
  std::vector<Counts::value_type*> changed_;
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
/// A flow read takes rows of that flow alone: the last one before `query.from`, if any, and all from it on. Any other
/// read takes all rows from `first_row()` on. Conditions are looked at here, after the checks: a condition in SQL would
/// not find a row whose kind was damaged.
class PageReader {
 public:
  /// A body that is not beside its fact; Errc::damaged when it is not there.
  using BodyOf = std::function<core::Result<std::string>(const Digest&)>;

  PageReader(const Query& query, const HeadRow& head);

  [[nodiscard]] bool nothing_to_read() const { return from_ > head_.head.sequence; }
  [[nodiscard]] std::uint64_t first_row() const { return from_ > 1 ? from_ - 1 : 1; }
  [[nodiscard]] std::uint64_t from() const { return from_; }

  enum class Next : std::uint8_t { row, page_is_full };
  [[nodiscard]] core::Result<Next> take(const FactRow& row, const BodyOf& body_of);

  /// After the last row. `facts_of_flow`: its count in table `flow`, for a flow read.
  [[nodiscard]] core::Result<Page> finish(std::uint64_t facts_of_flow) &&;

 private:
  [[nodiscard]] core::Result<void> check_place(const FactRow& row);
  [[nodiscard]] bool matches(const FactRow& row, Kind kind) const;

  const Query& query_;
  HeadRow head_;
  std::uint64_t from_;
  std::size_t limit_;
  std::uint64_t last_sequence_ = 0;  // of the row taken last
  std::uint64_t last_ordinal_ = 0;
  Digest last_checksum_;
  Page page_;
};

}  // namespace heddle::journal
