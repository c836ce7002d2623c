// The journal's store: append-only, durable, shared by threads and by processes. SQLite and PostgreSQL stand behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/journal/core/fact.h"

namespace heddle::journal {

/// How long a call may wait: for the store's lock, for a server, for new facts.
struct Wait {
  std::stop_token stop;
  core::Deadline deadline = core::Deadline::never();
};

/// The error of a wait that is over: Errc::cancelled or Errc::timed_out. Nothing while it is not.
[[nodiscard]] std::optional<core::Error> wait_over(const Wait& wait, std::string_view step, std::string_view context);

/// The facts of one append stand next to each other.
struct Receipt {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Facts by their sequences, both ends included.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// The end of a journal. `checksum` vouches for all of it (fact.h, chain).
struct Head {
  std::uint64_t sequence = 0;  ///< 0: no fact yet
  Digest checksum;

  friend bool operator==(const Head&, const Head&) = default;
};

/// After so many facts a store brings its index of flows up to date: with each of them would cost an append as much as
/// the fact itself.
inline constexpr std::uint32_t kIndexEvery = 256;

enum class Bodies : std::uint8_t { load, digests_only };

/// A page ends when its facts have so many bytes, too: of a few facts with large bodies one journal may have many.
inline constexpr std::size_t kMaxPageBytes = std::size_t{32} << 20;

/// What to read. Absent conditions hold for every fact. Reading a flow uses an index, and looks through the facts that
/// are newer than it, fewer than kIndexEvery; everything else reads all facts from `from` on and passes over those that
/// do not match. Both notice when a fact is missing.
struct Query {
  std::uint64_t from = 1;  ///< the lowest sequence
  std::optional<std::string> flow;
  std::vector<Kind> kinds;    ///< any of these; empty: all, unknown ones too
  std::optional<Time> since;  ///< not before
  std::optional<Time> until;  ///< before
  std::size_t limit = 1000;   ///< facts in one page, at least 1; a page may have fewer although it is not the end
  Bodies bodies = Bodies::load;
};

/// Facts in the order of their sequence. To go on, ask again with `from = next`.
struct Page {
  std::vector<Fact> facts;
  std::uint64_t next = 1;
  bool at_end = false;  ///< the journal held nothing more that matched
};

/// All calls may come from any thread at any time; a store outlives the calls in it. A store must not be used on both
/// sides of a fork. Errors: Errc::timed_out and cancelled by the Wait; unsupported for a journal of a newer MAJOR;
/// damaged for bytes that are not what was written; exhausted for a full disk; system for the rest, with the errno.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Appends all drafts, next to each other and in this order, or none. They are durable when it returns (JRN-5). An
  /// error means that they are not stored, unless its text says that this is not known. A Wait that ends stops an
  /// append that has not begun; once begun it is seen through.
  [[nodiscard]] virtual core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait) = 0;

  /// As above, for one. The fact's sequence.
  [[nodiscard]] core::Result<std::uint64_t> append_one(const Draft& draft, const Wait& wait = {});

  /// Takes payload and body away from the facts of `ranges`, which ascend and do not meet, and appends `record`, which
  /// says so: both, or nothing. The facts stay, with their places, ids, kinds, times and checksums. For `prune`
  /// (prune.h). Errc::unsupported where a store does not do that.
  [[nodiscard]] virtual core::Result<std::uint64_t> erase(std::span<const Range> ranges, const Draft& record,
                                                          const Wait& wait);

  /// What is durable now. Does not wait for new facts.
  [[nodiscard]] virtual core::Result<Page> read(const Query& query, const Wait& wait) = 0;

  /// As `read`, but waits until at least one fact matches. A deadline that passes first gives an empty page, and its
  /// `next` is where to go on; a stop gives Errc::cancelled.
  [[nodiscard]] virtual core::Result<Page> follow(const Query& query, const Wait& wait) = 0;

  [[nodiscard]] virtual core::Result<Head> head(const Wait& wait) = 0;

  /// Asks the store to look through its own structures. Reads everything; `verify` (verify.h) looks at the facts too.
  [[nodiscard]] virtual core::Result<void> check_storage(const Wait& wait) = 0;
};

}  // namespace heddle::journal
