#include "script_attacks.h"

#include <fmt/format.h>

#include "heddle/core/text.h"

namespace heddle::demo {
namespace {

namespace quickjs = sandbox::quickjs;
using Kind = quickjs::Outcome::Kind;
using quickjs::LimitKind;

// What must hit the wall clock gets a short one; all else has time enough on any machine.
constexpr std::chrono::milliseconds kShort{300};
constexpr std::chrono::milliseconds kLong{20'000};

quickjs::Outcome evaluate(quickjs::Pool& pool, const std::string& script, const std::string& input = "null",
                          std::chrono::milliseconds wall_clock = kLong) {
  quickjs::RunRequest request;
  request.script = script;
  request.input_json = input;
  request.limits.wall_clock = wall_clock;
  auto run = pool.start(std::move(request));
  if (!run.ok()) {
    quickjs::Outcome outcome;
    outcome.error = run.error();
    return outcome;
  }
  quickjs::Run started = std::move(run).value();
  return started.wait();
}

std::string describe(const quickjs::Outcome& outcome) {
  switch (outcome.kind) {
    case Kind::ok:
      return "gave " + outcome.value.substr(0, 26);
    case Kind::threw:
      return "threw " + outcome.name.value_or("something");
    case Kind::limit:
      switch (outcome.limit) {
        case LimitKind::cpu:
          return "stopped: CPU time";
        case LimitKind::memory:
          return "stopped: memory";
        case LimitKind::wall_clock:
          return fmt::format("stopped after {} ms", outcome.elapsed.count() / 1000);
        case LimitKind::output:
          return "refused: output";
      }
      break;
    case Kind::input_too_large:
      return "input too large";
    case Kind::infrastructure:
      return "failed: " + outcome.error.message();
    case Kind::cancelled:
      return "cancelled";
  }
  return "?";
}

struct ScriptAttack {
  const char* name;
  const char* script;
  Kind kind;
  LimitKind limit;
  const char* value;  // where the attack must come to nothing: what it then gives
  const char* refused_by;
};

const ScriptAttack kScriptAttacks[] = {
    {"an endless loop", "for(;;);", Kind::limit, LimitKind::wall_clock, "", "wall clock: soft stop"},
    {"a loop that catches everything", "for(;;) { try { for(;;); } catch {} }", Kind::limit, LimitKind::wall_clock, "",
     "wall clock: soft stop"},
    {"a built-in that never polls", "'a'.repeat(1.5e7).indexOf('a'.repeat(7e6) + 'b')", Kind::limit,
     LimitKind::wall_clock, "", "wall clock: jump out"},
    {"endless microtasks", "(async () => { for(;;) await 0 })()", Kind::limit, LimitKind::wall_clock, "",
     "wall clock: soft stop"},
    {"an allocation bomb", "let a = []; for(;;) a.push(new Array(1000).fill(7))", Kind::limit, LimitKind::memory, "",
     "memory limit"},
    {"the same, catching errors", "let a = []; for(;;) try { for(;;) a.push('y'.repeat(1e5) + a.length) } catch {}",
     Kind::limit, LimitKind::memory, "", "memory limit, not catchable"},
    {"an output bomb", "'x'.repeat(5e7)", Kind::limit, LimitKind::output, "", "output limit"},
    {"endless recursion", "function f() { return f() + 1 } f()", Kind::threw, LimitKind::cpu, "", "stack limit"},
    {"Function constructor", "typeof Function('return this')().process", Kind::ok, LimitKind::cpu, "\"undefined\"",
     "nothing there to find"},
    {"constructor chain", "typeof this.constructor.constructor('return this')().require", Kind::ok, LimitKind::cpu,
     "\"undefined\"", "nothing there to find"},
    {"import('std')", "import('std').then(() => 'got it', () => 'refused')", Kind::ok, LimitKind::cpu, "\"refused\"",
     "no module loader"},
    {"polluting every prototype",
     "Object.prototype.x = 1; Array.prototype.map = () => 'evil'; JSON.stringify = () => 'evil'; globalThis.leak = 1",
     Kind::ok, LimitKind::cpu, "1", "fresh memory for each run"},
};

}  // namespace

bool run_scripts(quickjs::Pool& pool, const std::string& script, const std::string& data, Table& table) {
  const quickjs::Outcome useful = evaluate(pool, script, data);
  if (useful.kind != Kind::ok) {
    fmt::print(stderr, "heddle-demo: the useful script: {} {}\n", describe(useful),
               core::printable_line(useful.message));
    return false;
  }
  fmt::print("{}\n", useful.value);

  Table::section("Scripts that attack (each followed by a run that must find nothing of it)");
  for (const ScriptAttack& attack : kScriptAttacks) {
    const bool endless = attack.kind == Kind::limit && attack.limit == LimitKind::wall_clock;
    const quickjs::Outcome outcome = evaluate(pool, attack.script, "null", endless ? kShort : kLong);
    const bool ended = outcome.kind == attack.kind && (attack.kind != Kind::limit || outcome.limit == attack.limit) &&
                       (attack.kind != Kind::ok || outcome.value == attack.value);
    const quickjs::Outcome next =
        evaluate(pool, "[({}).x, typeof leak, [1].map(n => n + 1)[0], JSON.stringify(input.a)]", R"({"a":[2]})");
    const bool clean = next.kind == Kind::ok && next.value == R"([null,"undefined",2,"[2]"])";
    table.row(attack.name, describe(outcome) + (clean ? "" : ", and left traces"), attack.refused_by, ended && clean);
  }
  return true;
}

}  // namespace heddle::demo
