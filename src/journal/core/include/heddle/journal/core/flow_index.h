// The rows of table `flow_index`: which facts a flow has (docs/formats/journal.md). For those who implement a store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/core/result.h"

namespace heddle::journal {

/// What a row keeps of ascending sequences: each as what it is more than the one before (the first: than 0), in
/// unsigned LEB128.
[[nodiscard]] std::string pack_sequences(std::span<const std::uint64_t> sequences);
/// The sequences of a row. Errc::damaged unless they ascend and `last` is the last of them.
[[nodiscard]] core::Result<std::vector<std::uint64_t>> unpack_sequences(std::string_view packed, std::int64_t last);

/// Compares the whole index with the facts, both of one moment. Used by one thread at a time. All errors are
/// Errc::damaged.
class IndexCheck {
 public:
  /// The border is fact `indexed`.
  explicit IndexCheck(std::uint64_t indexed) : indexed_(indexed) {}

  /// Every row of table `flow_index`, in the order of its key. It gives sequences up to the border that no row before
  /// has given. That there are such facts, of that flow, is for the store to see; if not, the index `differs`.
  [[nodiscard]] core::Result<std::vector<std::uint64_t>> take_row(std::string_view flow, std::int64_t last,
                                                                  std::string_view packed);
  /// Then every row of table `flow`.
  [[nodiscard]] core::Result<void> take_count(std::string_view flow, std::int64_t facts);
  [[nodiscard]] core::Result<void> finish() const;

  [[nodiscard]] static core::Error differs();

 private:
  std::uint64_t indexed_;
  std::uint64_t listed_ = 0;
  std::string flow_;        // of the row taken last
  std::uint64_t last_ = 0;  // of that row; 0 before the first
  std::unordered_map<std::string, std::uint64_t> facts_;
};

}  // namespace heddle::journal
