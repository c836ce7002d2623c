#include "heddle/journal/core/flow_index.h"

#include <limits>

namespace heddle::journal {
namespace {

constexpr unsigned kBits = 7;  // of a number in a byte; the eighth says that there is more
constexpr std::uint64_t kMore = 1U << kBits;

core::Error damaged_row(std::int64_t last) {
  return core::make_error(core::Errc::damaged, "read the journal",
                          "the index of flows makes no sense where it ends with fact " + std::to_string(last) +
                              "; restore the journal from a copy");
}

}  // namespace

std::string pack_sequences(std::span<const std::uint64_t> sequences) {
  std::string packed;
  std::uint64_t before = 0;
  for (const std::uint64_t sequence : sequences) {
    std::uint64_t rest = sequence - before;
    for (; rest >= kMore; rest >>= kBits) packed += static_cast<char>(rest % kMore | kMore);
    packed += static_cast<char>(rest);
    before = sequence;
  }
  return packed;
}

core::Result<std::vector<std::uint64_t>> unpack_sequences(std::string_view packed, std::int64_t last) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::vector<std::uint64_t> sequences;
  std::uint64_t before = 0;
  std::uint64_t more = 0;
  unsigned shift = 0;
  for (const char byte : packed) {
    const auto bits = static_cast<unsigned char>(byte);
    // Nine bytes hold every sequence there is.
    if (shift >= 9 * kBits) return damaged_row(last);
    more |= static_cast<std::uint64_t>(bits % kMore) << shift;
    shift += kBits;
    if ((bits & kMore) != 0) continue;
    if (more == 0 || more > kMost - before) return damaged_row(last);
    before += more;
    sequences.push_back(before);
    more = 0;
    shift = 0;
  }
  if (shift != 0 || sequences.empty() || last < 0 || before != static_cast<std::uint64_t>(last)) {
    return damaged_row(last);
  }
  return sequences;
}

core::Error IndexCheck::differs() {
  return core::make_error(core::Errc::damaged, "read the journal",
                          "the index of flows and the facts do not agree; restore the journal from a copy");
}

core::Result<std::vector<std::uint64_t>> IndexCheck::take_row(std::string_view flow, std::int64_t last,
                                                              std::string_view packed) {
  HEDDLE_ASSIGN(std::vector<std::uint64_t> sequences, unpack_sequences(packed, last));
  const bool goes_on = last_ != 0 && flow == flow_;
  if (sequences.back() > indexed_ || (goes_on && sequences.front() <= last_)) return differs();
  flow_ = flow;
  last_ = sequences.back();
  listed_ += sequences.size();
  if (listed_ > indexed_) return differs();
  facts_[flow_] += sequences.size();
  return sequences;
}

core::Result<void> IndexCheck::take_count(std::string_view flow, std::int64_t facts) {
  const auto listed = facts_.find(std::string(flow));
  if (listed == facts_.end() || facts < 0 || listed->second != static_cast<std::uint64_t>(facts)) return differs();
  facts_.erase(listed);
  return {};
}

core::Result<void> IndexCheck::finish() const {
  if (listed_ != indexed_ || !facts_.empty()) return differs();
  return {};
}

}  // namespace heddle::journal
