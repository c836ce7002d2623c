#include "heddle/sandbox/conformance/fixtures.h"

#include <array>
#include <nlohmann/json.hpp>

#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;

constexpr std::string_view kJsHostNames =
    "'process', 'require', 'module', 'Deno', 'Bun', 'std', 'os', 'scriptArgs', '__loadScript', 'print', "
    "'importScripts', 'postMessage', 'Worker', 'navigator', 'document', 'window'";
constexpr std::string_view kJsNetworkNames =
    "'fetch', 'XMLHttpRequest', 'WebSocket', 'WebTransport', 'EventSource', 'RTCPeerConnection'";

// Gives the names that an expression's object has and a script should not have; an expression that throws reached
// nothing.
std::string js_probe(std::string_view expression, std::string_view names) {
  return "(function (outer) {\n"
         "  const names = [" +
         std::string(names) +
         "];\n"
         "  try {\n"
         "    const reached = " +
         std::string(expression) +
         ";\n"
         "    return reached ? names.filter((name) => typeof reached[name] !== 'undefined') : [];\n"
         "  } catch (refused) {\n"
         "    return [];\n"
         "  }\n"
         "})(this)";
}

// Tries the ways out that a JavaScript host may have left open, towards what listens at input.host and input.port.
constexpr std::string_view kJsNetwork = R"((function () {
  const reached = [];
  const url = 'http://' + input.host + ':' + input.port + '/';
  const ways = {
    fetch: () => fetch(url),
    XMLHttpRequest: () => { const r = new XMLHttpRequest(); r.open('GET', url, false); r.send(); },
    WebSocket: () => new WebSocket(url.replace('http', 'ws')),
    require: () => require('net').connect(input.port, input.host),
    Deno: () => Deno.connect({ hostname: input.host, port: input.port }),
    Bun: () => Bun.connect({ hostname: input.host, port: input.port, socket: {} }),
    os: () => os.exec(['true']),
    std: () => std.urlGet(url),
  };
  for (const [name, way] of Object.entries(ways)) {
    try {
      way();
      reached.push(name);
    } catch (refused) {}
  }
  return reached;
})())";

Fixtures make_javascript() {
  Fixtures js;
  js.language = "javascript";
  js.echo = "input";
  js.throws = "throw new TypeError('the shuttle is empty')";
  js.thrown_message = "the shuttle is empty";
  js.syntax_error = "let = = 1 (";
  js.throws_given =
      "(function () {\n"
      "  const kind = globalThis[input.name];\n"
      "  const known = typeof kind === 'function' && kind.prototype instanceof Error;\n"
      "  throw known ? new kind(input.message) : Object.assign(new Error(input.message), { name: input.name });\n"
      "})()";
  js.runaways = {"for (;;) {}", "for (;;) { try { for (;;) {} } catch (ended) {} finally { continue; } }",
                 "(async function () { for (;;) await null; })()", "/^(a|a|a)*$/.test('a'.repeat(200) + 'b')"};
  js.allocate =
      "(function () {\n"
      "  const piece = 65536;\n"
      "  const held = [];\n"
      "  for (let left = input.bytes; left > 0; left -= piece) held.push(new Uint8Array(Math.min(left, "
      "piece)).fill(1));\n"
      "  return held.length > 0;\n"
      "})()";
  js.allocation_bomb = "const held = []; for (;;) held.push(new Array(1000).fill(held.length));";
  js.rich_value =
      "({ built: { text: 'h\\u00e9 \\u{1F600} \\u4e2d \\u0000\\u001f\\u2028 \\\\ \\\" / \\n\\t', past31: 2147483648,\n"
      "   below31: -2147483649, past32: 4294967297, largest: 9007199254740991, smallest: -9007199254740991,\n"
      "   fraction: 0.1, tiny: 5e-324, vast: 1.7976931348623157e308, nest: [[[[[[[{ deep: [null, true, false] "
      "}]]]]]]],\n"
      "   '': 'empty name', 'a\"b': [0] }, echoed: input })";
  js.rich_built =
      R"({"text":"h\u00e9 \ud83d\ude00 \u4e2d \u0000\u001f\u2028 \\ \" / \n\t","past31":2147483648,"below31":-2147483649,)"
      R"("past32":4294967297,"largest":9007199254740991,"smallest":-9007199254740991,"fraction":0.1,"tiny":5e-324,)"
      R"("vast":1.7976931348623157e308,"nest":[[[[[[[{"deep":[null,true,false]}]]]]]]],"":"empty name","a\"b":[0]})";
  js.network_probes.push_back({"network", std::string(kJsNetwork)});
  js.network_probes.push_back({"network objects", js_probe("globalThis", kJsNetworkNames)});
  const std::array<std::array<std::string_view, 2>, 12> expressions{{
      {"global object", "globalThis"},
      {"this", "outer"},
      {"constructor of this", "outer.constructor.constructor('return this')()"},
      {"constructor of the input", "input.constructor.constructor('return this')()"},
      {"Function", "Function('return this')()"},
      {"constructor of a function", "(function () {}).constructor('return this')()"},
      {"constructor of a generator", "(function* () {}).constructor('return this')().next().value"},
      {"constructor of an error", "new Error('').constructor.constructor('return this')()"},
      {"error of the engine's",
       "(() => { try { null.x } catch (e) { return e.constructor.constructor('return this')() } })()"},
      {"indirect eval", "(0, eval)('this')"},
      {"sloppy call", "(function () { return this })()"},
      {"constructor of JSON", "JSON.constructor.constructor('return globalThis')()"},
  }};
  for (const auto& [name, expression] : expressions) {
    js.escape_probes.push_back({std::string(name), js_probe(expression, kJsHostNames)});
  }
  js.stateful =
      "(function () {\n"
      "  const seen = globalThis.heddleMark === 1 || Object.prototype.heddleMark === 1 || Array.heddleMark === 1;\n"
      "  globalThis.heddleMark = 1;\n"
      "  Object.prototype.heddleMark = 1;\n"
      "  Array.heddleMark = 1;\n"
      "  return seen;\n"
      "})()";
  js.throws_vast = "throw new Error('\\ud800' + 'x'.repeat(100000))";
  return js;
}

core::Error malformed_fixtures(std::string_view why) {
  return core::make_error(core::Errc::malformed, "read conformance fixtures", core::bound_text(why));
}

// The members that are one script or text each.
using Texts = std::array<std::pair<const char*, std::string Fixtures::*>, 11>;
constexpr Texts kTexts{{
    {"language", &Fixtures::language},
    {"echo", &Fixtures::echo},
    {"throws", &Fixtures::throws},
    {"thrown_message", &Fixtures::thrown_message},
    {"throws_given", &Fixtures::throws_given},
    {"syntax_error", &Fixtures::syntax_error},
    {"allocate", &Fixtures::allocate},
    {"allocation_bomb", &Fixtures::allocation_bomb},
    {"rich_value", &Fixtures::rich_value},
    {"stateful", &Fixtures::stateful},
    {"throws_vast", &Fixtures::throws_vast},
}};
constexpr std::size_t kOtherMembers = 3;  // runaway, rich_built, probes

core::Result<std::vector<std::string>> read_runaways(const json& document) {
  const json given = document.value("runaway", json());
  std::vector<std::string> scripts;
  for (const json& one : given.is_array() ? given : json::array({given})) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty()) {
      return malformed_fixtures("runaway must be a script, or a list of scripts, none of them empty");
    }
    scripts.push_back(one.get<std::string>());
  }
  if (scripts.empty()) return malformed_fixtures("runaway must have one script at least");
  return scripts;
}

core::Result<std::vector<Probe>> read_probes(const json& document, const std::string& kind) {
  const json given = document.value("probes", json()).is_object() ? document.at("probes").value(kind, json()) : json();
  if (!given.is_object() || given.empty()) {
    return malformed_fixtures("probes." + kind + " must be an object of scripts by name, with one at least");
  }
  std::vector<Probe> probes;
  for (const auto& [name, script] : given.items()) {
    if (!script.is_string()) return malformed_fixtures("the probe " + name + " must be a string");
    probes.push_back({name, script.get<std::string>()});
  }
  return probes;
}

json probes_object(const std::vector<Probe>& probes) {
  json object = json::object();
  for (const Probe& probe : probes) object[probe.name] = probe.script;
  return object;
}

}  // namespace

const Fixtures& javascript_fixtures() {
  static const Fixtures kFixtures = make_javascript();
  return kFixtures;
}

core::Result<Fixtures> parse_fixtures(std::string_view text) {
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_object()) return malformed_fixtures("they must be one JSON object");
  Fixtures fixtures;
  for (const auto& [name, place] : kTexts) {
    const auto found = document.find(name);
    if (found == document.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
      return malformed_fixtures(std::string(name) + " must be a string that is not empty");
    }
    fixtures.*place = found->get<std::string>();
  }
  HEDDLE_ASSIGN(fixtures.runaways, read_runaways(document));
  if (!document.contains("rich_built"))
    return malformed_fixtures("rich_built is missing: the value that rich_value builds");
  fixtures.rich_built = document.at("rich_built").dump(-1, ' ', true, json::error_handler_t::replace);
  HEDDLE_ASSIGN(fixtures.network_probes, read_probes(document, "network"));
  HEDDLE_ASSIGN(fixtures.escape_probes, read_probes(document, "escape"));
  if (document.at("probes").size() != 2) return malformed_fixtures("probes has more than network and escape");
  if (document.size() != kTexts.size() + kOtherMembers) {
    return malformed_fixtures("there is a member that fixtures do not have");
  }
  return fixtures;
}

std::string fixtures_json(const Fixtures& fixtures) {
  json document;
  for (const auto& [name, place] : kTexts) document[name] = fixtures.*place;
  document["runaway"] = fixtures.runaways;
  document["rich_built"] = json::parse(fixtures.rich_built, nullptr, false);
  document["probes"] = {{"network", probes_object(fixtures.network_probes)},
                        {"escape", probes_object(fixtures.escape_probes)}};
  return document.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace heddle::sandbox::conformance
