#include "heddle/sandbox/conformance/record.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kNetworks{"none", "allowlist", "open"};
constexpr std::array<std::string_view, 2> kClocks{"hard", "soft"};
constexpr std::array<std::string_view, 3> kStatuses{"passed", "failed", "skipped"};

core::Error malformed_record(std::string_view what) {
  return core::make_error(core::Errc::malformed, "read a conformance record", what);
}

template <std::size_t Size>
std::optional<std::size_t> index_of(const std::array<std::string_view, Size>& names, const json& name) {
  for (std::size_t i = 0; i < Size; ++i) {
    if (name == names[i]) return i;
  }
  return std::nullopt;
}

json declaration_object(const spi::Capabilities& declaration) {
  return {{"language", declaration.language},
          {"network", kNetworks.at(static_cast<std::size_t>(declaration.network) - 1)},
          {"wallClock", kClocks.at(static_cast<std::size_t>(declaration.wall_clock) - 1)},
          {"memory", declaration.memory},
          {"cpu", declaration.cpu},
          {"freshPerRun", declaration.fresh_per_run}};
}

core::Result<spi::Capabilities> read_declaration(const json& object) {
  if (!object.is_object() || object.size() != 6) return malformed_record("its declaration");
  const auto network = index_of(kNetworks, object.value("network", json()));
  const auto clock = index_of(kClocks, object.value("wallClock", json()));
  const json language = object.value("language", json());
  const json memory = object.value("memory", json());
  const json cpu = object.value("cpu", json());
  const json fresh = object.value("freshPerRun", json());
  if (!network || !clock || !language.is_string() || !memory.is_boolean() || !cpu.is_boolean() || !fresh.is_boolean()) {
    return malformed_record("its declaration");
  }
  spi::Capabilities declaration;
  declaration.language = language.get<std::string>();
  declaration.network = static_cast<spi::Network>(*network + 1);
  declaration.wall_clock = static_cast<spi::WallClock>(*clock + 1);
  declaration.memory = memory.get<bool>();
  declaration.cpu = cpu.get<bool>();
  declaration.fresh_per_run = fresh.get<bool>();
  return declaration;
}

json report_object(const Report& report) {
  json cases = json::array();
  for (const CaseResult& result : report.cases) {
    cases.push_back({{"case", case_name(result.id)},
                     {"status", status_name(result.status)},
                     {"reason", result.reason},
                     {"ms", result.took.count()}});
  }
  return {{"declaration", declaration_object(report.declaration)}, {"passed", report.passed()}, {"cases", cases}};
}

core::Result<Report> read_report(const json& object) {
  if (!object.is_object() || !object.contains("declaration") || !object.contains("cases"))
    return malformed_record("its parts");
  Report report;
  HEDDLE_ASSIGN(report.declaration, read_declaration(object.at("declaration")));
  const json& cases = object.at("cases");
  if (!cases.is_array() || cases.size() != kCaseCount) return malformed_record("its list of cases");
  for (std::size_t i = 0; i < kCaseCount; ++i) {
    CaseResult result;
    result.id = static_cast<CaseId>(i);
    const json& one = cases.at(i);
    if (!one.is_object() || one.value("case", json()) != case_name(result.id))
      return malformed_record("its list of cases");
    const auto status = index_of(kStatuses, one.value("status", json()));
    const json reason = one.value("reason", json());
    const json took = one.value("ms", json());
    if (!status || !reason.is_string() || !took.is_number_integer()) return malformed_record("a case");
    result.status = static_cast<CaseStatus>(*status);
    result.reason = reason.get<std::string>();
    result.took = std::chrono::milliseconds(took.get<std::int64_t>());
    report.cases.push_back(std::move(result));
  }
  if (object.value("passed", json()) != report.passed()) return malformed_record("its verdict");
  return report;
}

json parse(std::string_view text) { return json::parse(text.begin(), text.end(), nullptr, false); }

}  // namespace

std::string declaration_json(const spi::Capabilities& declaration) { return declaration_object(declaration).dump(); }

core::Result<spi::Capabilities> parse_declaration(std::string_view text) { return read_declaration(parse(text)); }

std::string report_json(const Report& report) { return report_object(report).dump(); }

core::Result<Report> parse_report(std::string_view text) { return read_report(parse(text)); }

std::string record_json(const Record& record) {
  json object = report_object(record.report);
  object["kit"] = record.kit_version;
  object["binary"] = record.binary.text();
  object["fixtures"] = {{"address", effect::ContentAddress::of(record.fixtures).text()},
                        {"content", parse(record.fixtures)}};
  return object.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

core::Result<Record> parse_record(std::string_view text) {
  const json object = parse(text);
  HEDDLE_ASSIGN(Report report, read_report(object));
  const json kit = object.value("kit", json());
  const json binary = object.value("binary", json());
  const json fixtures = object.value("fixtures", json());
  if (!kit.is_string() || !binary.is_string() || !fixtures.is_object() || object.size() != 6) {
    return malformed_record("its parts");
  }
  HEDDLE_ASSIGN(const auto address, effect::ContentAddress::parse(binary.get<std::string>()));
  const json content = fixtures.value("content", json());
  HEDDLE_ASSIGN(const Fixtures read, parse_fixtures(content.dump(-1, ' ', true, json::error_handler_t::replace)));
  std::string canonical = fixtures_json(read);
  if (fixtures.size() != 2 || fixtures.value("address", json()) != effect::ContentAddress::of(canonical).text()) {
    return malformed_record("its fixtures are not those of their content address");
  }
  return Record{kit.get<std::string>(), address, std::move(canonical), std::move(report)};
}

}  // namespace heddle::sandbox::conformance
