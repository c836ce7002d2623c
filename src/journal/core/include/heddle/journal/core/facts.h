// Makes drafts of every kind, with the fields that docs/formats/journal.md gives each. Text that may come from a guest
// is bounded and made storable here (JRN-4), so a draft made here is one that a store takes, as long as the bodies that
// are handed in are JSON and the ids are an application's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/journal/core/fact.h"

namespace heddle::journal {

/// How an effect or a flow ended.
enum class Ending : std::uint8_t {
  success,    ///< it has a value
  failure,    ///< typed: on one of its channels, and a flow may act on it
  error,      ///< untyped: the job could not be done
  cancelled,  ///< a stop was requested
};

[[nodiscard]] std::string_view ending_name(Ending ending) noexcept;  ///< "success"
[[nodiscard]] std::optional<Ending> ending_from(std::string_view name) noexcept;

/// What an operator decided about an effect of which nobody knows whether it was done.
enum class Resolution : std::uint8_t {
  success,    ///< it was done, and this is its output
  failure,    ///< count it as failed
  run_again,  ///< it was not done, or doing it twice does no harm
};

[[nodiscard]] std::string_view resolution_name(Resolution resolution) noexcept;  ///< "run_again"
[[nodiscard]] std::optional<Resolution> resolution_from(std::string_view name) noexcept;

/// Which attempt of which effect in which flow a fact is about.
struct EffectRef {
  std::string_view flow;
  std::string_view key;     ///< the effect's idempotency key
  std::string_view effect;  ///< its kind: "sandboxEval"
  std::uint32_t attempt = 1;
};

using TextPairs = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] Draft flow_started(std::string_view flow, std::string_view name, std::string input_json);
/// `channel` for a failure; `message` for everything but success; `result_json` for success.
[[nodiscard]] Draft flow_ended(std::string_view flow, Ending ending, std::string_view channel, std::string_view message,
                               std::optional<std::string> result_json);

enum class Repeatable : std::uint8_t { no, yes };  ///< may an intent without an outcome be run again?

[[nodiscard]] Draft intent(const EffectRef& ref, Repeatable repeatable, const TextPairs& annotations,
                           std::string input_json);

[[nodiscard]] Draft outcome_success(const EffectRef& ref, std::string output_json);
[[nodiscard]] Draft outcome_failure(const EffectRef& ref, std::string_view channel, std::string_view message,
                                    std::string detail_json);
[[nodiscard]] Draft outcome_error(const EffectRef& ref, std::string_view message, Repeatable retry);
[[nodiscard]] Draft outcome_cancelled(const EffectRef& ref, std::string_view message);

/// `rule` is the policy's own name for what refused.
[[nodiscard]] Draft effect_denied(const EffectRef& ref, std::string_view rule, std::string_view reason);
[[nodiscard]] Draft egress_denied(const EffectRef& ref, std::string_view host, std::uint16_t port,
                                  std::string_view address, std::string_view rule, std::string_view reason);
/// `object` is a path or an address; empty where the kernel does not tell.
[[nodiscard]] Draft access_denied(const EffectRef& ref, std::string_view syscall, std::string_view object,
                                  std::string_view rule);
[[nodiscard]] Draft jail_applied(const EffectRef& ref, std::string report_json);
/// `lines_json`: [{"level":"log","text":"…"}]; `cut`: there was more.
[[nodiscard]] Draft console(const EffectRef& ref, std::string lines_json, bool cut);

/// `output_json` for Resolution::success.
[[nodiscard]] Draft resolved(const EffectRef& ref, Resolution resolution, std::string_view by, std::string_view reason,
                             std::optional<std::string> output_json);

/// `ranges`: of the facts whose payloads and bodies go. Of no flow.
[[nodiscard]] Draft pruned(std::uint64_t facts, std::uint64_t flows, std::string_view by, std::string_view reason,
                           std::string ranges_json);

}  // namespace heddle::journal
