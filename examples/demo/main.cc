// ./dev demo: a useful script over real data, then everything that a hostile one would try, and what became of it.
#include <fcntl.h>
#include <fmt/format.h>

#include "heddle/core/fd.h"
#include "heddle/sandbox/quickjs/pool.h"
#include "native_attacks.h"
#include "script_attacks.h"
#include "table.h"

namespace heddle::demo {
namespace {

constexpr const char* kData = "/usr/share/iso-codes/json/iso_3166-1.json";

core::Result<std::string> slurp(const std::string& path) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open", path);
  return core::read_all(file, std::size_t{1} << 20);
}

core::Result<void> run(Table& table) {
  HEDDLE_ASSIGN(const std::string script, slurp(HEDDLE_DEMO_SCRIPT));
  auto data = slurp(kData);
  if (!data.ok()) {
    data.error().context += ": it is in Debian's package iso-codes";
    return data.error();
  }
  sandbox::quickjs::PoolOptions options;
  options.supervisor_path = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  options.worker_path = HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker";
  HEDDLE_ASSIGN(const auto pool, sandbox::quickjs::Pool::create(options));

  fmt::print("A script over {} ({} bytes), the same as\n  heddle run {} --input {}\n", kData, data.value().size(),
             HEDDLE_DEMO_SCRIPT_NAME, kData);
  const bool all = run_scripts(*pool, script, data.value(), table) &&
                   run_native_attacks(options.supervisor_path, HEDDLE_ATTACKER, table);
  return all ? core::Result<void>() : core::make_error(core::Errc::start_up, "run the demo", "see above");
}

}  // namespace
}  // namespace heddle::demo

int main() {
  heddle::demo::Table table;
  const auto done = heddle::demo::run(table);
  if (!done.ok()) {
    fmt::print(stderr, "heddle-demo: {}\n", done.error().message());
    return 1;
  }
  fmt::print("\n{} tried, {} went otherwise than they must\n", table.rows(), table.failures());
  return table.failures() == 0 ? 0 : 1;
}
