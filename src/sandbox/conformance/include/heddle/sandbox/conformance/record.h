// The report as JSON, and the record of a run that `heddle plugin check` wants to see beside a backend's binary.
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
[[nodiscard]] core::Result<Report> parse_report(std::string_view json);

/// Which binary passed which kit with which declaration (CNF-8).
struct Record {
  std::string kit_version;
  effect::ContentAddress binary;
  Report report;
};

[[nodiscard]] std::string record_json(const Record& record);
/// Errc::malformed for anything that record_json does not write.
[[nodiscard]] core::Result<Record> parse_record(std::string_view json);

/// PATH.conformance.json
[[nodiscard]] std::string record_path(std::string_view binary_path);

}  // namespace heddle::sandbox::conformance
