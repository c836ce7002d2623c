// An embedding program: a script runs behind the boundary, by the helper programs of the installation.
#include <cstdio>
#include <utility>

#include "heddle/journal/sqlite/sqlite.h"
#include "heddle/sandbox/effect/sandbox_effect.h"
#include "heddle/sandbox/quickjs/pool.h"

int main() {
  namespace quickjs = heddle::sandbox::quickjs;
  quickjs::PoolOptions options;
  options.supervisor_path = LIBEXEC "/heddle-supervisor";
  options.worker_path = LIBEXEC "/heddle-sandbox-worker";
  auto pool = quickjs::Pool::create(std::move(options));
  if (!pool.ok()) {
    std::fprintf(stderr, "%s\n", pool.error().message().c_str());
    return 1;
  }
  quickjs::RunRequest request;
  request.script = "input.map(x => x * x)";
  request.input_json = "[1,2,3]";
  auto run = pool.value()->start(std::move(request));
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n", run.error().message().c_str());
    return 1;
  }
  const quickjs::Outcome outcome = run.value().wait();
  if (outcome.kind == quickjs::Outcome::Kind::ok && outcome.value == "[1,4,9]") return 0;
  std::fprintf(stderr, "outcome %d %s: %s\n", static_cast<int>(outcome.kind), outcome.value.c_str(),
               (outcome.message + outcome.error.message()).c_str());
  return 1;
}
