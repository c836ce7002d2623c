// A fact: something that happened, once it is durable. A draft: what a caller asks a store to make a fact of.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/digest/digest.h"
#include "heddle/core/json.h"
#include "heddle/core/result.h"
#include "heddle/journal/core/schema.h"

namespace heddle::journal {

using core::Digest;

/// Closed for writers, open for readers: a reader gives `unknown` for a kind of a newer MINOR and skips it. The names
/// in the journal are those in docs/formats/journal.md ("FLOW_STARTED"), never these numbers.
enum class Kind : std::uint8_t {
  unknown = 0,
  flow_started,   ///< a flow began; body: its input
  flow_ended,     ///< it returned or gave up; body: its result
  intent,         ///< an effect is about to run; body: its input
  outcome,        ///< it has run: success (body: its output), failure (typed) or error (untyped)
  effect_denied,  ///< the host refused the effect
  egress_denied,  ///< the host refused a connection of the effect's guest
  access_denied,  ///< the kernel refused the guest something
  jail_applied,   ///< what was really enforced around the effect's guest
  resolved,       ///< an operator decided what became of an effect that was in doubt
  snapshot,       ///< folded state; body: the state
  pruned,         ///< payloads and bodies of older facts were taken away; body: of which
  console,        ///< what the effect's guest wrote to its console; body: the lines (1.1.0)
};

[[nodiscard]] std::string_view kind_name(Kind kind) noexcept;
[[nodiscard]] Kind kind_from(std::string_view name) noexcept;

/// Microseconds since 1970-01-01T00:00:00Z, by the writer's clock. Clocks differ and are set: order is the sequence's.
using Time = std::chrono::sys_time<std::chrono::microseconds>;

[[nodiscard]] Time now();

inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::size_t kMaxKindBytes = 64;
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{64} << 10;
/// A payload or body may nest this deep: what Heddle wraps around a value comes on top of core::kMaxJsonDepth.
inline constexpr std::size_t kMaxFactDepth = core::kMaxJsonDepth + 24;
inline constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 20;
/// A body up to this size lies beside its fact; a larger one lies once by its digest, however many facts have it.
inline constexpr std::size_t kInlineBodyBytes = std::size_t{4} << 10;

struct Draft {
  std::string flow;    ///< the flow's id; empty for what belongs to none
  std::string effect;  ///< the effect's idempotency key in that flow; empty for what belongs to the flow itself
  Kind kind = Kind::unknown;
  std::string payload = "{}";       ///< a JSON object: the kind's fields
  std::optional<std::string> body;  ///< one JSON value, kept byte for byte: an input, an output, a state
};

/// Errc::malformed or too_large when a draft cannot be stored as it is: ids are well-formed UTF-8 without NUL,
/// payload and body are JSON. Builders in facts.h make drafts that always can.
[[nodiscard]] core::Result<void> check_draft(const Draft& draft);

/// What a writer keeps to and every reader checks of a stored fact, besides its checksum: a journal may come from
/// anybody (JRN-9). They say what is wrong ("its payload is not a JSON object") or give nothing.
/// Flow's and effect's ids, the kind's name, the time: of every fact that a reader passes.
[[nodiscard]] std::optional<std::string> broken_rule(std::string_view flow, std::string_view effect,
                                                     std::string_view kind, Time time);
/// Payload: of every fact that a reader gives out.
[[nodiscard]] std::optional<std::string> broken_rule_of_payload(std::string_view payload);
[[nodiscard]] std::optional<std::string> broken_rule_of_body(std::string_view body);

struct Body {
  Digest digest;
  std::string text;  ///< empty when the query asked for digests only

  friend bool operator==(const Body&, const Body&) = default;
};

struct Fact {
  SchemaVersion schema;
  std::uint64_t sequence = 0;  ///< from 1, without gaps, one series a journal
  std::uint64_t ordinal = 0;   ///< from 1, without gaps, within its flow
  Time time;
  std::string flow;
  std::string effect;
  Kind kind = Kind::unknown;
  std::string kind_text;  ///< the name as stored, which says more than Kind::unknown
  std::string payload;
  std::optional<Body> body;
  Digest checksum;
  bool pruned = false;  ///< its payload and body were taken away (prune.h): it says that it was, and no more

  friend bool operator==(const Fact&, const Fact&) = default;
};

/// The fields that a checksum covers, as a writer or reader has them at hand.
struct FactView {
  std::uint64_t sequence;
  std::uint64_t ordinal;
  Time time;
  SchemaVersion schema;
  std::string_view flow;
  std::string_view effect;
  std::string_view kind;
  std::string_view payload;
  const Digest* body = nullptr;
};

/// The checksum of a fact that follows one with `previous` (all zero before the first). A fact that was changed,
/// removed or put between others breaks the chain. It is no signature: who can write the file can write a new chain,
/// unless the operator keeps a checksum elsewhere.
[[nodiscard]] Digest chain(const Digest& previous, const FactView& fact);

}  // namespace heddle::journal
