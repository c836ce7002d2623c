#include "heddle/sandbox/conformance/fixtures.h"

#include <array>
#include <nlohmann/json.hpp>

#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

using nlohmann::json;

// Gives the names that an expression's object has and a script should not have; an expression that throws reached
// nothing.
std::string js_probe(std::string_view expression) {
  return "(function (outer) {\n"
         "  const names = ['process', 'require', 'module', 'fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', "
         "'Deno',\n"
         "                 'Bun', 'std', 'os', 'scriptArgs', '__loadScript', 'print', 'importScripts', 'postMessage',\n"
         "                 'Worker', 'navigator', 'document', 'window'];\n"
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
  js.runaway = "for (;;) {}";
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
  js.probes.push_back({"network", std::string(kJsNetwork)});
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
  for (const auto& [name, expression] : expressions) js.probes.push_back({std::string(name), js_probe(expression)});
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

}  // namespace

const Fixtures& javascript_fixtures() {
  static const Fixtures kFixtures = make_javascript();
  return kFixtures;
}

core::Result<Fixtures> parse_fixtures(std::string_view text) {
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_object()) return malformed_fixtures("they must be one JSON object");
  Fixtures fixtures;
  const std::array<std::pair<std::string_view, std::string*>, 10> texts{{
      {"language", &fixtures.language},
      {"echo", &fixtures.echo},
      {"throws", &fixtures.throws},
      {"thrown_message", &fixtures.thrown_message},
      {"syntax_error", &fixtures.syntax_error},
      {"runaway", &fixtures.runaway},
      {"allocation_bomb", &fixtures.allocation_bomb},
      {"rich_value", &fixtures.rich_value},
      {"stateful", &fixtures.stateful},
      {"throws_vast", &fixtures.throws_vast},
  }};
  for (const auto& [name, place] : texts) {
    const auto found = document.find(std::string(name));
    if (found == document.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
      return malformed_fixtures(std::string(name) + " must be a string that is not empty");
    }
    *place = found->get<std::string>();
  }
  if (!document.contains("rich_built"))
    return malformed_fixtures("rich_built is missing: the value that rich_value builds");
  fixtures.rich_built = document.at("rich_built").dump(-1, ' ', true, json::error_handler_t::replace);
  const auto probes = document.find("probes");
  if (probes == document.end() || !probes->is_object() || probes->empty()) {
    return malformed_fixtures("probes must be an object of scripts by name, with one at least");
  }
  for (const auto& [name, script] : probes->items()) {
    if (!script.is_string()) return malformed_fixtures("the probe " + name + " must be a string");
    fixtures.probes.push_back({name, script.get<std::string>()});
  }
  if (document.size() != texts.size() + 2) return malformed_fixtures("there is a member that fixtures do not have");
  return fixtures;
}

}  // namespace heddle::sandbox::conformance
