// The third ring: what a flow may use. Everything is counted by the host, around the effect: what runs behind a
// boundary is not asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::effect {

struct Usage {
  std::uint64_t calls = 0;           ///< each attempt is one
  std::chrono::microseconds time{};  ///< that effects ran, by the host's clock; side by side counts twice
  std::uint64_t bytes = 0;           ///< of input and output JSON
  std::uint64_t cost = 0;            ///< by the table of prices

  friend bool operator==(const Usage&, const Usage&) = default;
};

/// Of one flow, over its whole life: what it used before it was killed counts. Absent: no limit.
struct Budget {
  std::optional<std::uint64_t> calls;
  std::optional<std::chrono::microseconds> time;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> cost;
};

/// In a unit of the operator's, such as a thousandth of a cent. Parts of a second or KiB cost their part, rounded up.
struct Price {
  std::uint64_t per_call = 0;
  std::uint64_t per_second = 0;
  std::uint64_t per_kib = 0;
};
using Prices = std::map<std::string, Price, std::less<>>;  ///< by the effect's kind; what is not here is free

enum class Resource : std::uint8_t { calls, time, bytes, cost };
[[nodiscard]] std::string_view resource_name(Resource resource) noexcept;

struct Exceeded {
  Resource resource = Resource::calls;
  std::uint64_t limit = 0;  ///< time in microseconds
};

/// Thread-safe. Calls, input bytes and the price of a call are taken before it runs, so no number of calls side by side
/// gets past them. Time, output and what they cost are known afterwards: a call gets what is left of the time as its
/// deadline, an output that is over the bytes left is not delivered, and a flow that is over its cost gets no further
/// call.
class Meter {
 public:
  explicit Meter(Budget per_flow = {}, Prices prices = {}) : budget_(per_flow), prices_(std::move(prices)) {}

  struct Admission {
    std::optional<Exceeded> refused;  ///< nothing was taken then
    std::optional<std::chrono::microseconds> time_left;
  };
  [[nodiscard]] Admission admit(std::string_view flow, std::string_view effect, std::uint64_t input_bytes);

  /// After the call. Set when the output is over what was left.
  [[nodiscard]] std::optional<Exceeded> settle(std::string_view flow, std::string_view effect,
                                               std::chrono::microseconds time, std::uint64_t input_bytes,
                                               std::uint64_t output_bytes);

  /// Counts what the journal says was used before, without a limit. `usage.cost` is worked out here.
  void count(std::string_view flow, std::string_view effect, Usage usage);

  [[nodiscard]] Usage usage(std::string_view flow) const;
  /// The flow is over, in this process.
  void forget(std::string_view flow);

  [[nodiscard]] const Budget& budget() const noexcept { return budget_; }

 private:
  [[nodiscard]] Price price(std::string_view effect) const;
  [[nodiscard]] Usage& of(std::string_view flow);

  const Budget budget_;
  const Prices prices_;
  mutable std::mutex mutex_;
  std::map<std::string, Usage, std::less<>> flows_;
};

}  // namespace heddle::effect
