#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "elf_file.h"
#include "heddle/core/text.h"
#include "heddle/effect/core/content_address.h"
#include "heddle/sandbox/conformance/plugin_file.h"
#include "heddle/sandbox/conformance/record.h"
#include "heddle/sandbox/spi/plugin.h"

namespace heddle::sandbox::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBinaryBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 20;
constexpr std::chrono::seconds kDeclareTimeout{60};

// Defined in the interface's own library and, by their key functions, in no user of it.
constexpr std::array<std::string_view, 6> kOwnSymbols{
    "_ZTVN6heddle7sandbox3spi10EvaluationE",     "_ZTVN6heddle7sandbox3spi14SandboxBackendE",
    "_ZTVN6heddle7sandbox3spi14BlockingEngineE", "_ZTVN6heddle7sandbox3spi15BlockingBackendE",
    "_ZN6heddle7sandbox3spi7pendingEv",          "_ZN6heddle7sandbox3spi5readyENS1_7OutcomeE"};

std::string library_name() {
  return "libheddle_sandbox_spi.so." + std::to_string(spi::kSandboxBackendSpiVersion.major);
}

core::Result<std::string> read_file(const std::string& path, std::size_t ceiling) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return core::system_error("check a plugin", path);
  return core::read_all(file, ceiling);
}

bool is_backend(const fs::path& path) {
  auto bytes = read_file(path.string(), kMaxBinaryBytes);
  if (!bytes.ok()) return false;
  const auto file = parse_elf(std::move(bytes).value());
  return file.ok() && file.value().find(spi::kBackendEntrySymbol) != nullptr;
}

struct Package {
  std::string binary;
  std::vector<std::string> copies;  // of the interface's headers
};

core::Result<Package> find_package(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return Package{path, {}};
  Package package;
  std::vector<std::string> binaries;
  auto entry = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (!entry->is_regular_file(failed)) continue;
    const std::string name = entry->path().string();
    if (name.find("heddle/sandbox/spi/") != std::string::npos && entry->path().extension() == ".h") {
      package.copies.push_back(name);
    }
    if (entry->path().extension() == ".so" && is_backend(entry->path())) binaries.push_back(name);
  }
  if (failed) return core::make_error(core::Errc::system, "check a plugin", path + ": " + failed.message());
  if (binaries.size() != 1) {
    return core::make_error(core::Errc::invalid_argument, "check a plugin",
                            path + " holds " + std::to_string(binaries.size()) +
                                " shared objects that are backends; build it, or name the one to check");
  }
  package.binary = binaries.front();
  return package;
}

RuleResult entry_rule(const ElfFile& file) {
  RuleResult result{"exports one backend", false, ""};
  const ElfSymbol* symbol = file.find(spi::kBackendEntrySymbol);
  result.kept = symbol != nullptr && symbol->exported;
  result.what = result.kept ? std::string(spi::kBackendEntrySymbol)
                            : "no symbol " + std::string(spi::kBackendEntrySymbol) +
                                  " is exported; write HEDDLE_SANDBOX_BACKEND(make) in one source file";
  return result;
}

RuleResult version_rule(const ElfFile& file) {
  RuleResult result{"fits the interface's version", false, "no version can be read from it"};
  const ElfSymbol* symbol = file.find(spi::kBackendEntrySymbol);
  if (symbol == nullptr) return result;
  const auto bytes = file.at(symbol->address, sizeof(spi::Version));
  if (!bytes) return result;
  spi::Version version{};
  std::memcpy(&version, bytes->data(), sizeof version);
  const auto text = [](const spi::Version& of) {
    return std::to_string(of.major) + "." + std::to_string(of.minor) + "." + std::to_string(of.patch);
  };
  result.kept = spi::fits(version);
  result.what = "it has " + text(version) + ", this Heddle " + text(spi::kSandboxBackendSpiVersion);
  if (!result.kept) result.what += "; build it against this Heddle";
  return result;
}

RuleResult link_rule(const ElfFile& file) {
  RuleResult result{"links the interface only", true, library_name()};
  bool linked = false;
  for (const std::string& name : file.needed) {
    if (name == library_name()) {
      linked = true;
    } else if (name.rfind("libheddle", 0) == 0) {
      return {result.rule, false, "it needs " + core::printable_line(name) + "; link heddle::sandbox_spi alone"};
    }
  }
  if (!linked) return {result.rule, false, "it does not need " + library_name() + "; link heddle::sandbox_spi"};
  return result;
}

RuleResult copy_rule(const ElfFile& file, const std::vector<std::string>& copies) {
  RuleResult result{"brings no copy of it", true, "none found"};
  for (const ElfSymbol& symbol : file.definitions) {
    if (std::find(kOwnSymbols.begin(), kOwnSymbols.end(), symbol.name) != kOwnSymbols.end()) {
      return {result.rule, false, "it defines " + symbol.name + " itself; link the shared library instead"};
    }
  }
  if (!copies.empty()) {
    return {result.rule, false, "remove " + core::printable_line(copies.front()) + "; include the installed headers"};
  }
  return result;
}

bool same(const spi::Capabilities& a, const spi::Capabilities& b) { return declaration_json(a) == declaration_json(b); }

RuleResult proof_rule(const std::string& binary, const effect::ContentAddress& address, const ChildCommand& declare) {
  const std::string rule = "its declaration is proven";
  const std::string path = record_path(binary);
  const std::string advice = "; run heddle conformance --backend " + core::printable_line(binary);
  const auto text = read_file(path, kMaxRecordBytes);
  if (!text.ok()) return {rule, false, "there is no record " + core::printable_line(path) + advice};
  const auto record = parse_record(text.value());
  if (!record.ok()) return {rule, false, "the record cannot be read: " + record.error().message() + advice};
  if (record.value().kit_version != kKitVersion) {
    return {rule, false,
            "the record is of kit " + core::printable_line(record.value().kit_version) + ", this is " +
                std::string(kKitVersion) + advice};
  }
  if (record.value().binary != address) return {rule, false, "the record is of another binary" + advice};
  if (!record.value().report.passed()) return {rule, false, "the record says that the kit failed" + advice};
  const auto declared = declaration_in_child(declare, binary, kDeclareTimeout);
  if (!declared.ok()) return {rule, false, "its declaration cannot be read: " + declared.error().message()};
  if (!same(declared.value(), record.value().report.declaration)) {
    return {rule, false, "it declares something else than what was proven" + advice};
  }
  return {rule, true, declaration_json(declared.value())};
}

}  // namespace

core::Result<std::vector<RuleResult>> check_plugin(const std::string& path, const ChildCommand& declare) {
  HEDDLE_ASSIGN(const Package package, find_package(path));
  HEDDLE_ASSIGN(std::string bytes, read_file(package.binary, kMaxBinaryBytes));
  const auto address = effect::ContentAddress::of(bytes);
  auto parsed = parse_elf(std::move(bytes));
  if (!parsed.ok()) {
    return core::make_error(core::Errc::malformed, "check a plugin", package.binary + ": " + parsed.error().context);
  }
  const ElfFile& file = parsed.value();
  return std::vector<RuleResult>{entry_rule(file), version_rule(file), link_rule(file), copy_rule(file, package.copies),
                                 proof_rule(package.binary, address, declare)};
}

}  // namespace heddle::sandbox::conformance
