// The arguments of `heddle`, checked as far as they can be without opening anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec_command.h"
#include "heddle/cli/evaluator.h"
#include "heddle/core/result.h"
#include "heddle/core/units.h"
#include "heddle/effect/core/content_address.h"
#include "heddle/sandbox/quickjs/run.h"

namespace heddle::cli {

enum class Mode { help, version, single, each, batch, exec };
enum class Format { text, json };

inline constexpr core::DurationRange kTimeRange{std::chrono::milliseconds(1), std::chrono::hours(1)};
inline constexpr core::SizeRange kMemoryRange{std::uint64_t{2} << 20, std::uint64_t{2} << 30};
inline constexpr core::SizeRange kTextRange{1, std::uint64_t{1} << 30};
inline constexpr core::SizeRange kWorkerRange{1, 64};
inline constexpr std::uint64_t kMaxJournaled = std::uint64_t{64} << 20;  ///< a body's ceiling in a journal

struct Options {
  Mode mode = Mode::single;
  Format format = Format::text;
  bool explain = false;
  EngineKind engine = EngineKind::worker;
  std::string script;                                    ///< a path, or "-"
  std::optional<effect::ContentAddress> script_address;  ///< what the script's bytes must have
  std::string source;                     ///< of --input, --each or --batch: a path, or "-"; empty for none
  std::optional<std::string> input_json;  ///< of --input-json
  sandbox::quickjs::RunLimits limits;
  std::uint64_t max_input = std::uint64_t{1} << 20;
  std::uint64_t max_script = std::uint64_t{1} << 20;
  std::size_t workers = 1;
  std::string journal;  ///< of --journal; empty for none
  ExecOptions exec;
};

/// `args` without the program's name. Errc::invalid_argument for a usage error, with the line that says which.
[[nodiscard]] core::Result<Options> parse_args(std::vector<std::string> args, unsigned cores);

/// Within 80 columns.
[[nodiscard]] std::string help_text();

}  // namespace heddle::cli
