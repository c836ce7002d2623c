#include "heddle/jail/policy_file/policy_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <functional>
#include <optional>

#include "heddle/core/text.h"
#include "heddle/core/toml_shape.h"
#include "heddle/core/units.h"

namespace heddle::jail {
namespace {

using core::Errc;

constexpr core::SizeRange kBytes{std::uint64_t{64} << 10, std::uint64_t{1} << 40};
constexpr core::SizeRange kOutput{1, std::uint64_t{1} << 40};
constexpr core::DurationRange kTimes{std::chrono::milliseconds(1), std::chrono::hours(24 * 30)};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  core::Error fault(const toml::source_region& at, const std::string& what) const {
    return fault(at.begin.line, at.begin.column, what);
  }
  core::Error fault(std::size_t line, std::size_t column, const std::string& what) const {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            place(line, column) + ": " + core::printable_line(core::bound_text(what, 400)));
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
        return fault(name.source(), std::string(where) + std::string(name.str()) +
                                        " is not a key of this profile; here may stand: " + list);
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
      return fault(node.source(), "\"" + text + "\" is none of: " + list);
    };
  }

  Handler size(std::string_view name, std::uint64_t& to, core::SizeRange range) const {
    return [this, name, &to, range](const toml::node& node) -> core::Result<void> {
      std::string text;
      if (node.is_integer()) {
        text = std::to_string(node.as_integer()->get());
      } else if (node.is_string()) {
        text = node.as_string()->get();
      } else {
        return fault(node.source(), "must be a number of bytes, or a string with a unit: \"64MiB\"");
      }
      const auto parsed = core::parse_size(name, text, range);
      if (!parsed.ok()) return fault(node.source(), parsed.error().step + " " + parsed.error().context);
      to = parsed.value();
      return {};
    };
  }

  Handler count(std::uint64_t& to, std::int64_t lowest, std::int64_t highest) const {
    return [this, &to, lowest, highest](const toml::node& node) -> core::Result<void> {
      if (!node.is_integer() || node.as_integer()->get() < lowest || node.as_integer()->get() > highest) {
        return fault(node.source(),
                     "must be a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest));
      }
      to = static_cast<std::uint64_t>(node.as_integer()->get());
      return {};
    };
  }

  Handler duration(std::string_view name, std::chrono::milliseconds& to) const {
    return [this, name, &to](const toml::node& node) -> core::Result<void> {
      HEDDLE_ASSIGN(const std::string text, text_of(node));
      const auto parsed = core::parse_duration(name, text, kTimes);
      if (!parsed.ok()) return fault(node.source(), parsed.error().step + " " + parsed.error().context);
      to = parsed.value();
      return {};
    };
  }

  core::Result<std::string> absolute(const toml::node& node) const {
    HEDDLE_ASSIGN(std::string path, text_of(node));
    if (!path.empty() && path.front() == '/') return path;
    std::string what = "must be an absolute path";
    if (!path.empty() && path.front() == '~') what += "; ~ stands for nobody's folder here: write it out, /home/NAME";
    if (!path.empty() && path.front() == '$') what += "; variables are not replaced: write it out";
    return fault(node.source(), what);
  }

  Handler paths(std::vector<PathGrant>& to, Access access) const {
    return [this, &to, access](const toml::node& node) -> core::Result<void> {
      if (!node.is_array()) return fault(node.source(), "must be a list of paths: [\"/data\"]");
      for (const toml::node& element : *node.as_array()) {
        HEDDLE_ASSIGN(std::string path, absolute(element));
        to.push_back({std::move(path), access, place(element.source().begin.line, element.source().begin.column)});
      }
      return {};
    };
  }

  Handler environment(std::vector<std::string>& to) const {
    return [this, &to](const toml::node& node) -> core::Result<void> {
      if (!node.is_table()) return fault(node.source(), "must be a table: [environment]");
      for (const auto& [name, value] : *node.as_table()) {
        HEDDLE_ASSIGN(const std::string text, text_of(value));
        if (name.str().empty() || name.str().find_first_of(std::string_view("=\0", 2)) != std::string_view::npos) {
          return fault(name.source(), "\"" + std::string(name.str()) + "\" is not a name of a variable");
        }
        to.push_back(std::string(name.str()) + "=" + text);
      }
      return {};
    };
  }

 private:
  [[nodiscard]] std::string place(std::size_t line, std::size_t column) const {
    return file_ + ":" + std::to_string(line) + ":" + std::to_string(column);
  }

  const std::string file_;
};

// What the file says about limits and layers, whatever the profile.
struct Common {
  bool network_namespace = false;
  std::chrono::milliseconds cpu{0};
  std::uint64_t cpu_percent = 0;
  std::uint64_t denials = 0;
  Need groups = Need::if_available;

  explicit Common(const Limits& limits, const DenialOptions& options) : cpu(limits.cpu), denials(options.quota) {}

  [[nodiscard]] std::vector<Reader::Key> keys(const Reader& reader, NamespaceOrder& namespaces, DenialOptions& options,
                                              std::vector<std::pair<std::string_view, Notifications>> heard) {
    const std::vector<std::pair<std::string_view, Need>> needs = {
        {"required", Need::required}, {"if_available", Need::if_available}, {"off", Need::off}};
    return {{"profile", [](const toml::node&) -> core::Result<void> { return {}; }},
            {"namespaces", reader.choice<Need>(namespaces.need, needs)},
            {"notifications", reader.choice<Notifications>(options.notifications, std::move(heard))},
            {"control_groups", reader.choice<Need>(groups, needs)},
            {"network_namespace", reader.flag(network_namespace)}};
  }
  [[nodiscard]] std::vector<Reader::Key> limit_keys(const Reader& reader, Limits& limits) {
    return {{"memory", reader.size("memory", limits.data_bytes, kBytes)},
            {"stack", reader.size("stack", limits.stack_bytes, kBytes)},
            {"cpu", reader.duration("cpu", cpu)},
            {"cpu_percent", reader.count(cpu_percent, 1, 100'000)},
            {"denials", reader.count(denials, 1, 1 << 30)}};
  }

  // What each process is limited to holds for all of them together where the host has control groups.
  core::Result<void> apply(const std::string& file, NamespaceOrder& namespaces, DenialOptions& options,
                           Limits& limits) const {
    if (network_namespace) namespaces.set = kAllNamespaces;
    options.quota = static_cast<std::uint32_t>(denials);
    limits.cpu = std::chrono::ceil<std::chrono::seconds>(cpu);
    if (groups == Need::off && cpu_percent != 0) {
      return core::make_error(Errc::invalid_argument, "read the policy",
                              file + ": limits.cpu_percent is a control group's, and control_groups is \"off\"");
    }
    if (groups == Need::off) return {};
    limits.group.memory_bytes = GroupLimit{limits.data_bytes, groups};
    limits.group.swap_bytes = GroupLimit{0, Need::if_available};
    if (cpu_percent != 0) limits.group.cpu_percent = GroupLimit{cpu_percent, groups};
    return {};
  }
};

core::Result<ScriptFile> read_script(const Reader& reader, const toml::table& table, const std::string& file) {
  ScriptFile policy;
  Common common(policy.limits, policy.denials);
  std::vector<Reader::Key> keys = common.keys(reader, policy.namespaces, policy.denials,
                                              {{"required", Notifications::required},
                                               {"if_available", Notifications::if_available},
                                               {"off", Notifications::off}});
  keys.push_back({"limits", reader.section("limits", common.limit_keys(reader, policy.limits))});
  HEDDLE_TRY(reader.table(table, "", keys));
  HEDDLE_TRY(common.apply(file, policy.namespaces, policy.denials, policy.limits));
  return policy;
}

// A script's keys, and how many threads and descriptors.
template <class Needs>
core::Result<void> read_threaded(const Reader& reader, const toml::table& table, const std::string& file,
                                 Needs& needs) {
  Common common(needs.limits, needs.denials);
  std::vector<Reader::Key> limits = common.limit_keys(reader, needs.limits);
  limits.push_back({"open_files", reader.count(needs.limits.open_files, 16, 1 << 20)});
  limits.push_back({"processes", reader.count(needs.limits.processes, 1, 1 << 20)});
  std::vector<Reader::Key> keys = common.keys(reader, needs.namespaces, needs.denials,
                                              {{"required", Notifications::required},
                                               {"if_available", Notifications::if_available},
                                               {"off", Notifications::off}});
  keys.push_back({"limits", reader.section("limits", std::move(limits))});
  HEDDLE_TRY(reader.table(table, "", keys));
  return common.apply(file, needs.namespaces, needs.denials, needs.limits);
}

core::Result<ProgramFile> read_program(const Reader& reader, const toml::table& table, const std::string& file) {
  ProgramFile policy;
  ProgramNeeds& needs = policy.needs;
  Common common(needs.limits, needs.denials);
  bool runtime = true;
  bool allow_exec = false;
  std::vector<Reader::Key> limits = common.limit_keys(reader, needs.limits);
  limits.push_back({"file_size", reader.size("file_size", needs.limits.file_bytes, kBytes)});
  limits.push_back({"open_files", reader.count(needs.limits.open_files, 16, 1 << 20)});
  limits.push_back({"processes", reader.count(needs.limits.processes, 2, 1 << 20)});
  limits.push_back({"wall_clock", reader.duration("wall_clock", policy.wall_clock)});
  std::vector<Reader::Key> keys =
      common.keys(reader, needs.namespaces, needs.denials,
                  {{"required", Notifications::required}, {"if_available", Notifications::if_available}});
  keys.push_back({"allow_exec", reader.flag(allow_exec)});
  keys.push_back({"runtime_files", reader.flag(runtime)});
  keys.push_back({"working_directory", [&](const toml::node& node) -> core::Result<void> {
                    HEDDLE_ASSIGN(policy.working_directory, reader.absolute(node));
                    return {};
                  }});
  keys.push_back({"paths", reader.section("paths", {{"read", reader.paths(policy.granted, Access::read)},
                                                    {"write", reader.paths(policy.granted, Access::write)},
                                                    {"execute", reader.paths(policy.granted, Access::execute)}})});
  keys.push_back({"environment", reader.environment(policy.environment)});
  keys.push_back({"limits", reader.section("limits", std::move(limits))});
  const std::vector<std::pair<std::string_view, StandardOutput>> outputs = {{"null", StandardOutput::null},
                                                                            {"relay", StandardOutput::relay}};
  keys.push_back(
      {"stdio",
       reader.section(
           "stdio", {{"stdin", reader.choice<StandardInput>(
                                   policy.input, {{"null", StandardInput::null}, {"inherit", StandardInput::inherit}})},
                     {"stdout", reader.choice<StandardOutput>(policy.output, outputs)},
                     {"stderr", reader.choice<StandardOutput>(policy.errors, outputs)},
                     {"max_output", reader.size("max_output", policy.max_output, kOutput)}})});
  HEDDLE_TRY(reader.table(table, "", keys));
  HEDDLE_TRY(common.apply(file, needs.namespaces, needs.denials, needs.limits));
  if (common.groups != Need::off) {
    // The limit that setrlimit(2) knows is one higher, so that the group refuses first, which is counted and reported.
    needs.limits.group.processes = GroupLimit{needs.limits.processes++, common.groups};
    needs.limits.group.own_group = common.groups;
  }
  if (allow_exec) needs.subprocesses = Subprocesses::allowed;
  if (runtime) needs.paths = runtime_files();
  needs.paths.insert(needs.paths.end(), policy.granted.begin(), policy.granted.end());
  return policy;
}

}  // namespace

core::Result<PolicyFile> parse_policy(std::string_view text, const std::string& file) {
  const Reader reader(file);
  if (const std::size_t at = core::invalid_utf8_at(text); at != std::string_view::npos) {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            file + ": byte " + std::to_string(at) + " is not valid UTF-8");
  }
  if (const auto deep = core::too_deep_toml(text)) {
    const core::TextPosition at = core::position_of(text, deep->offset);
    return reader.fault(at.line, at.column, deep->message);
  }
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.failed()) {
    return reader.fault(parsed.error().source(), std::string(parsed.error().description()));
  }
  const toml::node* const node = parsed.table().get("profile");
  if (node == nullptr) {
    return core::make_error(Errc::invalid_argument, "read the policy",
                            file + ": profile is missing; write profile = \"program\"");
  }
  HEDDLE_ASSIGN(const std::string profile, reader.text_of(*node));
  if (profile == "script") {
    HEDDLE_ASSIGN(ScriptFile script, read_script(reader, parsed.table(), file));
    return PolicyFile(std::move(script));
  }
  if (profile == "program") {
    HEDDLE_ASSIGN(ProgramFile program, read_program(reader, parsed.table(), file));
    return PolicyFile(std::move(program));
  }
  if (profile == "tool") {
    ToolFile tool;
    HEDDLE_TRY(read_threaded(reader, parsed.table(), file, tool.needs));
    return PolicyFile(std::move(tool));
  }
  if (profile == "plugin") {
    PluginFile plugin;
    HEDDLE_TRY(read_threaded(reader, parsed.table(), file, plugin.needs));
    return PolicyFile(std::move(plugin));
  }
  return reader.fault(node->source(), "\"" + profile + "\" is none of: script, tool, plugin, program");
}

}  // namespace heddle::jail
