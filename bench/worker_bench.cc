// ./dev bench: what a script behind the boundary costs, each figure beside its floor from the same run.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/engine/engine.h"
#include "heddle/guest/process.h"
#include "heddle/sandbox/protocol/protocol.h"
#include "heddle/sandbox/quickjs/pool.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"
#include "sample.h"

namespace heddle::bench {
namespace {

namespace protocol = sandbox::protocol;
namespace quickjs = sandbox::quickjs;

std::string slurp(const std::string& path) {
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return must(core::read_all(file, std::size_t{1} << 20));
}

core::Deadline in_time() { return core::Deadline::after(std::chrono::seconds(30)); }

// The floor of a spawn: the same program without a jail or a request to anybody, from exec to its end.
void plain_spawn(const char* program) {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environment) != 0) std::exit(1);
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) std::exit(1);
}

std::unique_ptr<guest::Process> spawn_to_ready(guest::Host& host, const jail::Policy& policy,
                                               const jail::Program& program) {
  std::unique_ptr<guest::Process> worker = must(guest::Process::spawn(host, policy, program));
  must(worker->await_ready(std::chrono::seconds(30)));
  return worker;
}

void bench_spawn(const std::string& libexec) {
  Sample floor("posix_spawn + wait of true");
  Sample spawned("spawn to ready (jail and engine)");
  jail::SupervisorOptions options;
  options.program = libexec + "/heddle-supervisor";
  guest::Host host(options);
  must(host.start());
  const jail::Policy policy = must(jail::Policy::script());
  const jail::Program program = must(jail::open_program(libexec + "/heddle-sandbox-worker"));
  for (int i = 0; i < 200; ++i) {
    floor.time([] { plain_spawn("/bin/true"); });
    const core::TimePoint before = core::Clock::now();
    const auto worker = spawn_to_ready(host, policy, program);
    spawned.add(core::Clock::now() - before);
  }
  print_row(floor);
  print_row(spawned, floor);

  // The floor of a question and its answer: one byte each way between two plain processes.
  core::FdPair raw = must(core::stream_pair());
  const pid_t echo = ::fork();
  if (echo == 0) {
    raw.first.reset();
    char byte = 0;
    while (::read(raw.second.get(), &byte, 1) == 1 && ::write(raw.second.get(), &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  raw.second.reset();
  Sample socket("raw socket ping");
  Sample ping("ping of a jailed worker");
  const auto worker = spawn_to_ready(host, policy, program);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    socket.time([&] {
      char byte = 1;
      if (::write(raw.first.get(), &byte, 1) != 1 || ::read(raw.first.get(), &byte, 1) != 1) std::exit(1);
    });
    ping.time([&] {
      worker->channel().queue(wire::ping_message(i));
      const wire::Frame frame = must(worker->channel().wait_frame(in_time()));
      if (must(wire::read_pong(must(wire::as_message(frame)))) != i) std::exit(1);
    });
  }
  raw.first.reset();
  int status = 0;
  if (::waitpid(echo, &status, 0) != echo) std::exit(1);
  print_row(socket);
  print_row(ping, socket);
}

void bench_restore() {
  const std::unique_ptr<engine::Engine> engine = must(engine::Engine::create());
  must(engine::install_stop_signals(*engine, protocol::kSoftStopSignal, protocol::kHardStopSignal));
  Sample restore("restore alone (in process)");
  // After a run, as a run finds it: what was touched is what has to be put back.
  for (std::uint32_t i = 1; i <= 5'000; ++i) {
    const engine::RunResult run = engine->run(i, "[1,2,3].map(x => x + 1)", "null", {std::uint64_t{64} << 20, 1000});
    if (run.ending != engine::Ending::ok) std::exit(1);
    restore.time([&] { engine->restore(); });
  }
  print_row(restore);
}

void bench_runs(const std::string& libexec, const std::string& scripts) {
  quickjs::PoolOptions options;
  options.supervisor_path = libexec + "/heddle-supervisor";
  options.worker_path = libexec + "/heddle-sandbox-worker";
  const std::unique_ptr<quickjs::Pool> pool = must(quickjs::Pool::create(options));
  const struct {
    const char* name;
    int rounds;
  } workloads[] = {{"trivial", 10'000}, {"fib", 200}, {"transform", 200}};
  for (const auto& workload : workloads) {
    const std::string name = workload.name;
    const std::string script = slurp(scripts + "/" + name + ".js");
    const std::string input = slurp(scripts + "/" + name + ".json");
    Sample sample("fresh run: " + name);
    for (int i = 0; i < workload.rounds; ++i) {
      sample.time([&] {
        quickjs::Run run = must(pool->start({script, input, {}}));
        const quickjs::Outcome outcome = run.wait();
        if (outcome.kind != quickjs::Outcome::Kind::ok) {
          (void)std::fprintf(stderr, "bench: %s did not give a value: %s\n", workload.name, outcome.message.c_str());
          std::exit(1);
        }
      });
    }
    print_row(sample);
  }
}

}  // namespace
}  // namespace heddle::bench

int main() {
  heddle::bench::print_heading();
  heddle::bench::bench_spawn(HEDDLE_LIBEXEC_DIR);
  heddle::bench::bench_restore();
  heddle::bench::bench_runs(HEDDLE_LIBEXEC_DIR, HEDDLE_SCRIPTS_DIR);
  return 0;
}
