#include "heddle/sandbox/conformance/plugin_check.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "elf_file.h"
#include "heddle/core/text.h"
#include "heddle/sandbox/spi/plugin.h"

namespace heddle::sandbox::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBinaryBytes = std::size_t{256} << 20;
constexpr std::chrono::seconds kDeclareTimeout{60};

// Defined in the interface's own library and, by their key functions, in no user of it.
constexpr std::array<std::string_view, 6> kOwnSymbols{
    "_ZTVN6heddle7sandbox3spi10EvaluationE",     "_ZTVN6heddle7sandbox3spi14SandboxBackendE",
    "_ZTVN6heddle7sandbox3spi14BlockingEngineE", "_ZTVN6heddle7sandbox3spi15BlockingBackendE",
    "_ZN6heddle7sandbox3spi7pendingEv",          "_ZN6heddle7sandbox3spi5readyENS1_7OutcomeE"};

// The same classes by the names that run-time type information keeps, which no stripping removes; and the mark that is
// in every object file of heddle/core, which all the rest of Heddle's links.
constexpr std::array<std::string_view, 6> kTypeNames{"N6heddle7sandbox3spi10EvaluationE",
                                                     "N6heddle7sandbox3spi14SandboxBackendE",
                                                     "N6heddle7sandbox3spi14BlockingEngineE",
                                                     "N6heddle7sandbox3spi15BlockingBackendE",
                                                     "N6heddle7sandbox3spi12_GLOBAL__N_117PendingEvaluationE",
                                                     "N6heddle7sandbox3spi12_GLOBAL__N_115ReadyEvaluationE"};
constexpr std::string_view kLinkedMark = "heddle-part-9c41f07be25d6a38";

std::string library_name() {
  return "libheddle_sandbox_spi.so." + std::to_string(spi::kSandboxBackendSpiVersion.major);
}

core::Result<std::string> read_file(const std::string& path, std::size_t ceiling) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return core::system_error("check a plugin", path);
  return core::read_all(file, ceiling);
}

bool contains(std::string_view bytes, std::string_view part) { return bytes.find(part) != std::string_view::npos; }

// What of Heddle's own was linked into these bytes; nothing where nothing was.
std::optional<std::string> linked_in(std::string_view bytes) {
  if (contains(bytes, kLinkedMark)) return "parts of Heddle's libraries";
  for (const std::string_view name : kTypeNames) {
    // As a text of its own: behind letters it is the name of a symbol that is used, not of a type that is defined.
    const std::string whole = std::string(name) + '\0';
    if (contains(bytes, '\0' + whole) || contains(bytes, '*' + whole)) return "parts of the interface's library";
  }
  return std::nullopt;
}

bool is_backend(const std::string& path) {
  auto bytes = read_file(path, kMaxBinaryBytes);
  if (!bytes.ok()) return false;
  const auto file = parse_elf(std::move(bytes).value());
  return file.ok() && file.value().find(spi::kBackendEntrySymbol) != nullptr;
}

// Why a file must not lie in a package, or beside a backend; nothing where it may.
std::optional<std::string> foreign_part(const fs::path& path) {
  const std::string name = path.string();
  if (contains(name, "heddle/sandbox/spi/") && path.extension() == ".h") return "a header of the interface";
  if (path.filename().string().rfind("libheddle", 0) == 0) return "a library of Heddle's";
  const auto bytes = read_file(name, kMaxBinaryBytes);
  if (!bytes.ok()) return std::nullopt;
  const bool elf = std::string_view(bytes.value()).substr(0, SELFMAG) == ELFMAG;
  const bool archive = std::string_view(bytes.value()).substr(0, 8) == "!<arch>\n";
  if (!elf && !archive) return std::nullopt;
  if (elf) {
    const auto file = parse_elf(bytes.value());
    if (file.ok() && file.value().soname.rfind("libheddle", 0) == 0) return "a library of Heddle's";
  }
  return linked_in(bytes.value());
}

struct Package {
  std::string binary;
  std::vector<std::string> parts;  // of Heddle's, each with what it is
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
    if (entry->path().extension() == ".so" && is_backend(name)) {
      binaries.push_back(name);
    } else if (const auto what = foreign_part(entry->path())) {
      package.parts.push_back(name + " (" + *what + ")");
    }
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

// The interface's library as this program has loaded it.
std::string own_library() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const fs::path name(info->dlpi_name == nullptr ? "" : info->dlpi_name);
        if (name.filename().string().rfind("libheddle_sandbox_spi.so", 0) == 0)
          *static_cast<std::string*>(to) = name.string();
        return 0;
      },
      &found);
  return found;
}

// What the loader would find in the folders that the binary names: a library of Heddle's that is not this one's, or a
// library with parts of it.
std::optional<std::string> brought_by_path(const ElfFile& file, const std::string& binary) {
  const std::string own = own_library();
  for (std::string folder : file.run_paths) {
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
      const std::size_t at = folder.find(origin);
      const std::string parent = fs::path(binary).parent_path().string();
      if (at != std::string::npos) folder.replace(at, origin.size(), parent.empty() ? "." : parent);
    }
    for (const std::string& needed : file.needed) {
      const fs::path path = fs::path(folder) / needed;
      std::error_code failed;
      if (!fs::is_regular_file(path, failed)) continue;
      const bool interface = needed == library_name();
      if (interface && !own.empty()) {
        if (fs::equivalent(path, own, failed)) continue;
        const auto theirs = read_file(path.string(), kMaxBinaryBytes);
        const auto ours = read_file(own, kMaxBinaryBytes);
        if (theirs.ok() && ours.ok() && theirs.value() == ours.value()) continue;
        return path.string() + " (another library of the interface than this Heddle's)";
      }
      if (const auto what = foreign_part(path)) return path.string() + " (" + *what + ")";
    }
  }
  return std::nullopt;
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

RuleResult copy_rule(const ElfFile& file, const Package& package) {
  RuleResult result{"brings no copy of it", true, "none found"};
  const auto found = [&](std::string what) -> RuleResult { return {result.rule, false, std::move(what)}; };
  for (const ElfSymbol& symbol : file.definitions) {
    if (std::find(kOwnSymbols.begin(), kOwnSymbols.end(), symbol.name) != kOwnSymbols.end()) {
      return found("it defines " + symbol.name + " itself; link the shared library instead");
    }
  }
  if (const auto what = linked_in(file.bytes)) {
    return found(*what + " were linked into it; link heddle::sandbox_spi, the shared library, and nothing else");
  }
  if (!package.parts.empty()) {
    return found("remove " + core::printable_line(package.parts.front()) + "; use what is installed");
  }
  if (const auto what = brought_by_path(file, package.binary)) {
    return found("its run path finds " + core::printable_line(*what) + "; use what is installed");
  }
  return result;
}

std::string scripts_of(const Record& record) {
  if (record.fixtures == fixtures_json(javascript_fixtures())) return "the kit's own scripts";
  return "scripts of its author's, " + effect::ContentAddress::of(record.fixtures).text();
}

RuleResult proof_rule(const plugin::BackendFile& file, const plugin::ServerCommand& serve) {
  const std::string rule = "its declaration is proven";
  plugin::ProcessOptions options;
  options.start_timeout = options.call_timeout = kDeclareTimeout;
  const auto record = find_proof(file);
  if (!record.ok()) return {rule, false, record.error().message()};
  const auto started = start_backend(serve, file, Proof::demanded, options);
  if (!started.ok()) return {rule, false, started.error().message()};
  return {rule, true, declaration_json(record.value().report.declaration) + " with " + scripts_of(record.value())};
}

}  // namespace

core::Result<std::vector<RuleResult>> check_plugin(const std::string& path, const plugin::ServerCommand& serve) {
  HEDDLE_ASSIGN(const Package package, find_package(path));
  HEDDLE_ASSIGN(const auto binary, plugin::BackendFile::open(package.binary));
  HEDDLE_ASSIGN(std::string bytes, binary.bytes());
  auto parsed = parse_elf(std::move(bytes));
  if (!parsed.ok()) {
    return core::make_error(core::Errc::malformed, "check a plugin", package.binary + ": " + parsed.error().context);
  }
  const ElfFile& file = parsed.value();
  return std::vector<RuleResult>{entry_rule(file), version_rule(file), link_rule(file), copy_rule(file, package),
                                 proof_rule(binary, serve)};
}

}  // namespace heddle::sandbox::conformance
