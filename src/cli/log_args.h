// The arguments of `heddle log`, `heddle log verify`, `heddle replay` and `heddle resolve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/journal/core/facts.h"
#include "heddle/journal/core/store.h"

namespace heddle::cli {

enum class LogMode : std::uint8_t { help, log, flows, verify, prune, replay, resolve };

struct LogOptions {
  LogMode mode = LogMode::log;
  std::string journal;
  std::string flow;  ///< of replay and resolve
  std::string key;   ///< of resolve: the effect's, in its flow
  journal::Resolution resolution = journal::Resolution::run_again;
  std::string output;                   ///< of resolve, with Resolution::success
  std::string by;                       ///< of resolve and prune; empty: not said
  std::string reason;                   ///< of resolve and prune
  std::optional<journal::Time> before;  ///< of prune
  bool dry_run = false;                 ///< of prune
  bool open_only = false;               ///< of flows
  journal::Query query;                 ///< of log: flow, kinds, since, from
  bool follow = false;
  bool json = false;
};

/// `args` begins with "log", "replay" or "resolve". `now` is what ages are counted from. Errc::invalid_argument for a
/// usage error, with the line that says which.
[[nodiscard]] core::Result<LogOptions> parse_log_args(const std::vector<std::string>& args, journal::Time now);

/// A point in time, UTC ("2026-11-29", "2026-11-29T18:43", "2026-11-29 18:43:54.5Z"), or an age ("90s", "10m", "2h",
/// "7d").
[[nodiscard]] core::Result<journal::Time> parse_since(std::string_view text, journal::Time now);

/// Within 80 columns.
[[nodiscard]] std::string log_help_text();

}  // namespace heddle::cli
