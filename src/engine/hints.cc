#include "hints.h"

#include <algorithm>
#include <array>

namespace heddle::engine {
namespace {

constexpr std::size_t kMaxName = 100;

constexpr std::string_view kReturn =
    "a script is no function: the value of its last expression is the result, so write the value alone in place of "
    "return, or call a function around it: (() => { … return value })()";
constexpr std::string_view kAwait =
    "await works in an async function only; its promise is awaited when it is the last expression: "
    "(async () => { … return value })()";
constexpr std::string_view kImport =
    "a script has no modules: bundle what it needs into one file first (such as esbuild --bundle --format=iife)";
constexpr std::string_view kExport =
    "a script has no modules: leave export away; the value of the last expression is the result";
constexpr std::string_view kTypes =
    "this looks like TypeScript (or JSX), which is not understood: leave the types away, or compile the script first";
constexpr std::string_view kBraces =
    "braces at the start of a statement are a block: put an object literal in parentheses, ({ … })";
constexpr std::string_view kDeep =
    "the script's source is nested too deep to be parsed: give nested data as input instead";
constexpr std::string_view kSyntaxAtRunTime =
    "the script itself was parsed; JSON.parse, eval, Function or RegExp was given text that does not parse, or a name "
    "is "
    "declared twice";
constexpr std::string_view kRecursion = "about 2,000 nested calls fit: use a loop, or check what ends the recursion";
constexpr std::string_view kConsole = "the console has log, info, warn, error and debug";

constexpr std::string_view kNoHost =
    " is not there: a script has no files, network, modules, processes or timers; what it works on comes as input "
    "(docs/guide/javascript.md has the list of what there is)";
constexpr std::string_view kInput = " is not there: what a script works on is the global input";
constexpr std::string_view kResult = " is not there: the value of the script's last expression is the result";

struct Foreign {
  std::string_view name;
  std::string_view words;
};
// Names that other hosts of JavaScript have.
constexpr std::array<Foreign, 62> kForeign{{
    {"require", kNoHost},
    {"process", kNoHost},
    {"Buffer", kNoHost},
    {"global", kNoHost},
    {"__dirname", kNoHost},
    {"__filename", kNoHost},
    {"fs", kNoHost},
    {"path", kNoHost},
    {"os", kNoHost},
    {"http", kNoHost},
    {"https", kNoHost},
    {"child_process", kNoHost},
    {"axios", kNoHost},
    {"fetch", kNoHost},
    {"XMLHttpRequest", kNoHost},
    {"WebSocket", kNoHost},
    {"Request", kNoHost},
    {"Response", kNoHost},
    {"Headers", kNoHost},
    {"FormData", kNoHost},
    {"AbortController", kNoHost},
    {"window", kNoHost},
    {"document", kNoHost},
    {"navigator", kNoHost},
    {"location", kNoHost},
    {"localStorage", kNoHost},
    {"sessionStorage", kNoHost},
    {"self", kNoHost},
    {"alert", kNoHost},
    {"prompt", kNoHost},
    {"setTimeout", kNoHost},
    {"setInterval", kNoHost},
    {"setImmediate", kNoHost},
    {"clearTimeout", kNoHost},
    {"requestAnimationFrame", kNoHost},
    {"crypto", kNoHost},
    {"performance", kNoHost},
    {"Intl", kNoHost},
    {"WebAssembly", kNoHost},
    {"Atomics", kNoHost},
    {"URL", kNoHost},
    {"URLSearchParams", kNoHost},
    {"TextEncoder", kNoHost},
    {"TextDecoder", kNoHost},
    {"structuredClone", kNoHost},
    {"atob", kNoHost},
    {"btoa", kNoHost},
    {"Deno", kNoHost},
    {"Bun", kNoHost},
    {"lodash", kNoHost},
    {"_", kNoHost},
    {"moment", kNoHost},
    {"$input", kInput},
    {"$json", kInput},
    {"$node", kInput},
    {"$", kInput},
    {"items", kInput},
    {"data", kInput},
    {"event", kInput},
    {"args", kInput},
    {"module", kResult},
    {"exports", kResult},
}};

// Words after which TypeScript goes on where JavaScript cannot.
constexpr std::array<std::string_view, 12> kTypeWords{"interface", "type",    "namespace", "declare",
                                                      "abstract",  "private", "public",    "protected",
                                                      "readonly",  "as",      "satisfies", "enum"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view line_of(std::string_view source, std::uint32_t line) {
  for (; line > 1; --line) {
    const std::size_t end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  return source.substr(0, source.find('\n'));
}

// The engine counts columns in bytes.
std::size_t offset_of(std::string_view text, std::uint32_t column) {
  return std::min<std::size_t>(column == 0 ? 0 : column - 1, text.size());
}

std::string_view word_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view word_before(std::string_view text, std::size_t at) {
  while (at > 0 && is_space(text[at - 1])) --at;
  std::size_t begin = at;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

bool one_of(std::string_view word, const auto& list) { return std::find(list.begin(), list.end(), word) != list.end(); }

// A type annotation, or an object literal that was read as a block.
std::string_view colon_hint(std::string_view text, std::size_t at) {
  std::size_t first = 0;
  while (first < text.size() && is_space(text[first])) ++first;
  if (first < text.size() && text[first] == '{') return kBraces;
  if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == ')' || text[at - 1] == '?')) return kTypes;
  return {};
}

std::string_view syntax_hint(std::string_view source, const RunResult& result) {
  const std::string_view message = result.message;
  if (result.name != "SyntaxError") return kDeep;
  if (message.starts_with("return not in a function")) return kReturn;
  if (message == "unsupported keyword: export") return kExport;
  if (message == "unsupported keyword: enum") return kTypes;
  const std::string_view text = line_of(source, result.line);
  const std::size_t at = offset_of(text, result.column);
  const std::string_view here = word_from(text, at);
  const std::string_view before = word_before(text, at);
  if (before == "await" || here == "await") return kAwait;
  if (before == "import" || here == "import") return kImport;
  if (before == "export" || here == "export") return kExport;
  if (one_of(before, kTypeWords) || here == "as" || here == "satisfies") return kTypes;
  const char c = at < text.size() ? text[at] : '\0';
  if (c == ':') return colon_hint(text, at);
  if (c == '?' && at + 1 < text.size() && text[at + 1] == ':') return kTypes;
  if (c == '!' || c == '<') return kTypes;
  return {};
}

}  // namespace

std::string hint_for_syntax(std::string_view source, const RunResult& result) {
  return std::string(syntax_hint(source, result));
}

std::string hint_for_thrown(const RunResult& result) {
  const std::string_view message = result.message;
  if (result.name == "SyntaxError") return std::string(kSyntaxAtRunTime);
  if (result.name == "ReferenceError") {
    if (message.starts_with("could not load module")) return std::string(kImport);
    const std::string_view name = word_from(message, 0);
    for (const Foreign& foreign : kForeign) {
      if (foreign.name == name) return std::string(name) + std::string(foreign.words);
    }
    return {};
  }
  if (result.name == "RangeError" && message.starts_with("Maximum call stack")) return std::string(kRecursion);
  if (result.name == "InternalError" && message == "stack overflow") return std::string(kRecursion);
  if (message.starts_with("console.") && message.ends_with("is not a function")) return std::string(kConsole);
  return {};
}

std::string callee_at(std::string_view source, std::uint32_t line, std::uint32_t column) {
  const std::string_view text = line_of(source, line);
  std::size_t at = offset_of(text, column);
  while (at < text.size() && is_space(text[at])) ++at;
  if (line == 0 || column == 0 || at >= text.size()) return {};
  std::size_t begin = at;
  if (text[at] == '?' && at + 1 < text.size() && text[at + 1] == '.') ++at;
  if (text[at] == '.') {
    while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    ++at;
  }
  const std::string_view name = word_from(text, at);
  const std::string_view whole = text.substr(begin, at - begin + name.size());
  if (name.empty() || whole.size() > kMaxName) return {};
  // Where the script itself made the error: nothing was called that is none.
  if (name == "new" || name.ends_with("Error")) return {};
  return (whole.front() == '.' || whole.front() == '?' ? "…" : "") + std::string(whole);
}

}  // namespace heddle::engine
