#include "exec_policy.h"

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <functional>
#include <optional>

#include "heddle/core/text.h"
#include "units.h"

namespace heddle::cli {
namespace {

using core::Errc;

constexpr SizeRange kBytes{std::uint64_t{64} << 10, std::uint64_t{1} << 40};
constexpr SizeRange kOutput{1, std::uint64_t{1} << 40};
constexpr DurationRange kTimes{std::chrono::milliseconds(1), std::chrono::hours(24 * 30)};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  core::Error fault(const toml::source_region& at, const std::string& what) const {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            fmt::format("{}:{}:{}: {}", file_, at.begin.line, at.begin.column,
                                        core::printable_line(core::bound_text(what, 400))));
  }

  using Handler = std::function<core::Result<void>(const toml::node&)>;
  struct Key {
    std::string_view name;
    Handler read;
  };

  // Every key of the table is one of these, or the file is refused.
  core::Result<void> table(const toml::table& table, std::string_view where, const std::vector<Key>& keys) const {
    for (const auto& [name, node] : table) {
      const Key* known = nullptr;
      std::string list;
      for (const Key& key : keys) {
        if (key.name == name.str()) known = &key;
        list += (list.empty() ? "" : ", ") + std::string(key.name);
      }
      if (known == nullptr) {
        return fault(name.source(), fmt::format("{}{} is not a key; here may stand: {}", where, name.str(), list));
      }
      HEDDLE_TRY(known->read(node));
    }
    return {};
  }

  Handler section(std::string_view name, std::vector<Key> keys) const {
    return
        [this, where = std::string(name) + ".", keys = std::move(keys)](const toml::node& node) -> core::Result<void> {
          if (!node.is_table())
            return fault(node.source(), "must be a table: [" + where.substr(0, where.size() - 1) + "]");
          return table(*node.as_table(), where, keys);
        };
  }

  core::Result<std::string> text_of(const toml::node& node) const {
    if (!node.is_string()) return fault(node.source(), "must be a string, in quotes");
    const std::string text = node.as_string()->get();
    if (text.find('\0') != std::string::npos) return fault(node.source(), "must not hold a NUL");
    return text;
  }

  Handler flag(bool& to) const {
    return [this, &to](const toml::node& node) -> core::Result<void> {
      if (!node.is_boolean()) return fault(node.source(), "must be true or false");
      to = node.as_boolean()->get();
      return {};
    };
  }

  template <class Enum>
  Handler choice(Enum& to, std::vector<std::pair<std::string_view, Enum>> choices) const {
    return [this, &to, choices = std::move(choices)](const toml::node& node) -> core::Result<void> {
      HEDDLE_ASSIGN(const std::string text, text_of(node));
      std::string list;
      for (const auto& [name, value] : choices) {
        if (name == text) {
          to = value;
          return {};
        }
        list += (list.empty() ? "" : ", ") + std::string(name);
      }
      return fault(node.source(), fmt::format("\"{}\" is none of: {}", text, list));
    };
  }

  Handler size(std::string_view name, std::uint64_t& to, SizeRange range) const {
    return [this, name, &to, range](const toml::node& node) -> core::Result<void> {
      std::string text;
      if (node.is_integer()) {
        text = std::to_string(node.as_integer()->get());
      } else if (node.is_string()) {
        text = node.as_string()->get();
      } else {
        return fault(node.source(), "must be a number of bytes, or a string with a unit: \"64MiB\"");
      }
      const auto parsed = parse_size(name, text, range);
      if (!parsed.ok()) return fault(node.source(), parsed.error().step + " " + parsed.error().context);
      to = parsed.value();
      return {};
    };
  }

  Handler count(std::uint64_t& to, std::int64_t lowest, std::int64_t highest) const {
    return [this, &to, lowest, highest](const toml::node& node) -> core::Result<void> {
      if (!node.is_integer() || node.as_integer()->get() < lowest || node.as_integer()->get() > highest) {
        return fault(node.source(), fmt::format("must be a whole number from {} to {}", lowest, highest));
      }
      to = static_cast<std::uint64_t>(node.as_integer()->get());
      return {};
    };
  }

  Handler duration(std::string_view name, std::chrono::milliseconds& to) const {
    return [this, name, &to](const toml::node& node) -> core::Result<void> {
      HEDDLE_ASSIGN(const std::string text, text_of(node));
      const auto parsed = parse_duration(name, text, kTimes);
      if (!parsed.ok()) return fault(node.source(), parsed.error().step + " " + parsed.error().context);
      to = parsed.value();
      return {};
    };
  }

  core::Result<std::string> absolute(const toml::node& node) const {
    HEDDLE_ASSIGN(std::string path, text_of(node));
    if (path.empty() || path.front() != '/') return fault(node.source(), "must be an absolute path");
    return path;
  }

  Handler paths(std::vector<jail::PathGrant>& to, jail::Access access) const {
    return [this, &to, access](const toml::node& node) -> core::Result<void> {
      if (!node.is_array()) return fault(node.source(), "must be a list of paths: [\"/data\"]");
      for (const toml::node& element : *node.as_array()) {
        HEDDLE_ASSIGN(std::string path, absolute(element));
        to.push_back({std::move(path), access});
      }
      return {};
    };
  }

  Handler environment(std::vector<std::string>& to) const {
    return [this, &to](const toml::node& node) -> core::Result<void> {
      if (!node.is_table()) return fault(node.source(), "must be a table: [environment]");
      for (const auto& [name, value] : *node.as_table()) {
        HEDDLE_ASSIGN(const std::string text, text_of(value));
        if (name.str().empty() || name.str().find('=') != std::string_view::npos) {
          return fault(name.source(), "is not a name of a variable");
        }
        to.push_back(std::string(name.str()) + "=" + text);
      }
      return {};
    };
  }

 private:
  const std::string file_;
};

// What each process is limited to holds for all of them together where the host has control groups. The limit of
// processes that setrlimit(2) knows is one higher, so that the group refuses first, which is counted and reported.
void set_groups(jail::Limits& limits, jail::Need need, std::uint64_t cpu_percent) {
  if (need == jail::Need::off) return;
  limits.group.memory_bytes = jail::GroupLimit{limits.data_bytes, need};
  limits.group.swap_bytes = jail::GroupLimit{0, jail::Need::if_available};
  limits.group.processes = jail::GroupLimit{limits.processes, need};
  if (cpu_percent != 0) limits.group.cpu_percent = jail::GroupLimit{cpu_percent, need};
  limits.group.own_group = need;
  ++limits.processes;
}

}  // namespace

core::Result<ExecPolicy> parse_exec_policy(std::string_view text, const std::string& file) {
  const Reader reader(file);
  if (const std::size_t at = core::invalid_utf8_at(text); at != std::string_view::npos) {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            fmt::format("{}: byte {} is not valid UTF-8", file, at));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.failed()) {
    return reader.fault(parsed.error().source(), std::string(parsed.error().description()));
  }
  using jail::Access;
  using jail::Need;
  using jail::Notifications;
  ExecPolicy policy;
  jail::ProgramNeeds& needs = policy.needs;
  bool runtime = true;
  bool allow_exec = false;
  bool network_namespace = false;
  std::uint64_t cpu_percent = 0;
  Need groups = Need::if_available;
  std::uint64_t denials = needs.denials.quota;
  std::chrono::milliseconds cpu{needs.limits.cpu};
  std::optional<std::string> profile;
  const auto profile_key = [&](const toml::node& node) -> core::Result<void> {
    HEDDLE_ASSIGN(profile, reader.text_of(node));
    if (*profile != "program") {
      return reader.fault(node.source(), fmt::format("\"{}\" is none of: program", *profile));
    }
    return {};
  };
  const auto folder_key = [&](const toml::node& node) -> core::Result<void> {
    HEDDLE_ASSIGN(policy.working_directory, reader.absolute(node));
    return {};
  };
  std::vector<jail::PathGrant>& paths = policy.granted;
  HEDDLE_TRY(reader.table(
      parsed.table(), "",
      {{"profile", profile_key},
       {"namespaces",
        reader.choice<Need>(needs.namespaces.need,
                            {{"required", Need::required}, {"if_available", Need::if_available}, {"off", Need::off}})},
       {"notifications",
        reader.choice<Notifications>(needs.denials.notifications, {{"required", Notifications::required},
                                                                   {"if_available", Notifications::if_available}})},
       {"control_groups",
        reader.choice<Need>(groups,
                            {{"required", Need::required}, {"if_available", Need::if_available}, {"off", Need::off}})},
       {"network_namespace", reader.flag(network_namespace)},
       {"allow_exec", reader.flag(allow_exec)},
       {"runtime_files", reader.flag(runtime)},
       {"working_directory", folder_key},
       {"paths", reader.section("paths", {{"read", reader.paths(paths, Access::read)},
                                          {"write", reader.paths(paths, Access::write)},
                                          {"execute", reader.paths(paths, Access::execute)}})},
       {"environment", reader.environment(policy.environment)},
       {"limits", reader.section("limits", {{"memory", reader.size("memory", needs.limits.data_bytes, kBytes)},
                                            {"stack", reader.size("stack", needs.limits.stack_bytes, kBytes)},
                                            {"file_size", reader.size("file_size", needs.limits.file_bytes, kBytes)},
                                            {"open_files", reader.count(needs.limits.open_files, 16, 1 << 20)},
                                            {"processes", reader.count(needs.limits.processes, 2, 1 << 20)},
                                            {"denials", reader.count(denials, 1, 1 << 30)},
                                            {"cpu", reader.duration("cpu", cpu)},
                                            {"cpu_percent", reader.count(cpu_percent, 1, 100'000)},
                                            {"wall_clock", reader.duration("wall_clock", policy.wall_clock)}})},
       {"stdio",
        reader.section("stdio",
                       {{"stdin", reader.choice<StandardInput>(policy.input, {{"null", StandardInput::null},
                                                                              {"inherit", StandardInput::inherit}})},
                        {"stdout", reader.choice<StandardOutput>(policy.output, {{"null", StandardOutput::null},
                                                                                 {"relay", StandardOutput::relay}})},
                        {"stderr", reader.choice<StandardOutput>(policy.errors, {{"null", StandardOutput::null},
                                                                                 {"relay", StandardOutput::relay}})},
                        {"max_output", reader.size("max_output", policy.max_output, kOutput)}})}}));
  if (!profile) {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            file + ": profile is missing; write profile = \"program\"");
  }
  if (network_namespace) needs.namespaces.set = jail::kAllNamespaces;
  if (cpu_percent != 0 && groups == Need::off) {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            file + ": limits.cpu_percent is a control group's, and control_groups is \"off\"");
  }
  set_groups(needs.limits, groups, cpu_percent);
  if (allow_exec) needs.subprocesses = jail::Subprocesses::allowed;
  needs.denials.quota = static_cast<std::uint32_t>(denials);
  needs.limits.cpu = std::chrono::ceil<std::chrono::seconds>(cpu);
  if (runtime) needs.paths = jail::runtime_files();
  needs.paths.insert(needs.paths.end(), paths.begin(), paths.end());
  return policy;
}

}  // namespace heddle::cli
