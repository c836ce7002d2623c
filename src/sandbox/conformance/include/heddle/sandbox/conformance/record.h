// The report as JSON, and the record of a run: what a host demands before it loads a backend's binary.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/result.h"
#include "heddle/effect/core/content_address.h"
#include "heddle/sandbox/conformance/conformance.h"

namespace heddle::sandbox::conformance {

/// {"language":…,"network":"none"|"allowlist"|"open","wallClock":"hard"|"soft","memory":…,"cpu":…,"freshPerRun":…}
[[nodiscard]] std::string declaration_json(const spi::Capabilities& declaration);
[[nodiscard]] core::Result<spi::Capabilities> parse_declaration(std::string_view json);

/// {"declaration":…,"passed":…,"cases":[{"case":…,"status":…,"reason":…,"ms":…}]}
[[nodiscard]] std::string report_json(const Report& report);
/// Of a run of all cases.
[[nodiscard]] core::Result<Report> parse_report(std::string_view json);

/// Which binary passed which kit, with which scripts and which declaration (CNF-8, CNF-10).
struct Record {
  std::string kit_version;
  effect::ContentAddress binary;
  std::string fixtures;  ///< as fixtures_json() writes them
  Report report;         ///< of all cases
};

/// The fixtures are in it by content address and whole.
[[nodiscard]] std::string record_json(const Record& record);
/// Errc::malformed for anything that record_json does not write.
[[nodiscard]] core::Result<Record> parse_record(std::string_view json);

}  // namespace heddle::sandbox::conformance
