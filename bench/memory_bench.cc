// ./dev bench: what a guest that waits takes, beside bubblewrap and unshare with the same payload in the same run. Many
// are up at once, so that what they share is shared as it would be. bubblewrap's and unshare's own processes count:
// they live as long as what they started. So does Heddle's supervisor, one for all guests, which has a line of its own.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "heddle/jail/confine/confine.h"
#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"
#include "heddle/wire/hello.h"
#include "process_memory.h"
#include "sample.h"

namespace heddle::bench {
namespace {

constexpr std::size_t kGuests = 50;
constexpr unsigned kRounds = 5;
const std::string kWait = HEDDLE_BENCH_WAIT;

core::Deadline in_time() { return core::Deadline::after(std::chrono::seconds(30)); }

// Ends what waits, and waits for that.
class Waiting {
 public:
  virtual ~Waiting() = default;
  [[nodiscard]] virtual pid_t pid() const = 0;

 protected:
  Waiting() = default;
  Waiting(const Waiting&) = default;
  Waiting& operator=(const Waiting&) = default;
};

bool says_up(const core::Fd& channel) {
  char byte = 0;
  return ::read(channel.get(), &byte, 1) == 1;
}

class Spawned final : public Waiting {
 public:
  Spawned(pid_t pid, core::Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;
  ~Spawned() override {
    channel_.reset();
    int status = 0;
    (void)::waitpid(pid_, &status, 0);
  }
  [[nodiscard]] pid_t pid() const override { return pid_; }

 private:
  pid_t pid_;
  core::Fd channel_;
};

// Nothing when it did not come up.
std::unique_ptr<Waiting> spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<char*, 1> environment{nullptr};
  core::FdPair ends = must(core::stream_pair());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends.second.get(), jail::kChannelFd);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ends.second.reset();
  if (error != 0) return nullptr;
  const bool up = says_up(ends.first);
  auto waiting = std::make_unique<Spawned>(pid, std::move(ends.first));
  if (!up) return nullptr;
  return waiting;
}

class Jailed final : public Waiting {
 public:
  Jailed(jail::Guest guest, core::Fd channel) : channel_(std::move(channel)), guest_(std::move(guest)) {}
  [[nodiscard]] pid_t pid() const override { return guest_.pid(); }

 private:
  core::Fd channel_;
  jail::Guest guest_;
};

std::unique_ptr<Waiting> jailed(jail::Supervisor& supervisor, const jail::Policy& policy,
                                const jail::Program& program) {
  core::FdPair ends = must(core::stream_pair());
  jail::Guest guest = must(supervisor.spawn(policy, program, {"confine"}, std::move(ends.second)));
  if (!says_up(ends.first)) return nullptr;
  must(guest.verify_confined());
  return std::make_unique<Jailed>(std::move(guest), std::move(ends.first));
}

class Worker final : public Waiting {
 public:
  Worker(jail::Guest guest, wire::Channel channel) : channel_(std::move(channel)), guest_(std::move(guest)) {}
  [[nodiscard]] pid_t pid() const override { return guest_.pid(); }

 private:
  wire::Channel channel_;
  jail::Guest guest_;
};

std::unique_ptr<Waiting> worker(jail::Supervisor& supervisor, const jail::Policy& policy,
                                const jail::Program& program) {
  core::FdPair ends = must(core::stream_pair());
  wire::Channel channel = must(wire::Channel::adopt(std::move(ends.first)));
  jail::Guest guest = must(supervisor.spawn(policy, program, {}, std::move(ends.second)));
  const wire::Frame frame = must(channel.wait_frame(in_time()));
  must(wire::accept_ready(must(wire::as_message(frame)), "heddle-sandbox-worker"));
  must(guest.verify_confined());
  return std::make_unique<Worker>(std::move(guest), std::move(channel));
}

// 0.25 and 0.75: the quartiles.
double at(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
}
double median(const std::vector<double>& values) { return at(values, 0.5); }

struct Contender {
  std::string name;
  std::function<std::unique_ptr<Waiting>()> start;
  std::size_t processes = 0;
  std::vector<double> pss;        // of each guest, its whole tree
  std::vector<double> kernel;     // of each round, a guest: by how much the kernel's memory grew
  std::vector<double> available;  // and by how much MemAvailable fell
};

// The kernel gives back late what ended: namespaces above all.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }

// The PSS of the tree, or nothing when it may not be read.
std::optional<double> tree_pss(const std::vector<pid_t>& tree) {
  double sum = 0;
  for (const pid_t pid : tree) {
    const std::optional<double> pss = pss_kilobytes(pid);
    if (!pss) return std::nullopt;
    sum += *pss;
  }
  return sum;
}

// The supervisor's own, while the guests of this round live.
std::optional<double> round(Contender& contender, pid_t supervisor) {
  settle();
  const MachineMemory before = machine_memory();
  std::vector<std::unique_ptr<Waiting>> guests;
  for (std::size_t i = 0; i < kGuests; ++i) {
    guests.push_back(contender.start());
    if (!guests.back()) {
      (void)std::fprintf(stderr, "bench: %s: the payload did not come up\n", contender.name.c_str());
      std::exit(1);
    }
  }
  settle();
  const MachineMemory now = machine_memory();
  contender.kernel.push_back((now.kernel - before.kernel) / kGuests);
  contender.available.push_back((before.available - now.available) / kGuests);
  for (const auto& guest : guests) {
    const std::vector<pid_t> tree = tree_of(guest->pid());
    contender.processes = tree.size();
    if (const std::optional<double> pss = tree_pss(tree)) contender.pss.push_back(*pss);
  }
  return pss_kilobytes(supervisor);
}

void print(const std::vector<Contender>& contenders) {
  std::printf(
      "kB a waiting guest, %zu at once, medians of %u rounds. PSS: of all its processes. kernel: what the\n"
      "kernel keeps for it and cannot give back. machine: MemAvailable's fall, with quartiles: other work on\n"
      "the machine shows in it.\n",
      kGuests, kRounds);
  std::printf("%-34s %5s %8s %8s %8s %17s   %s\n", "", "procs", "PSS", "kernel", "machine", "", "PSS against plain");
  const double floor = median(contenders[0].pss);
  for (const Contender& one : contenders) {
    const std::string pss = one.pss.empty() ? "no right" : std::to_string(static_cast<long>(median(one.pss)));
    std::printf("%-34s %5zu %8s %8.0f %8.0f %8.0f..%-7.0f", one.name.c_str(), one.processes, pss.c_str(),
                median(one.kernel), median(one.available), at(one.available, 0.25), at(one.available, 0.75));
    if (!one.pss.empty() && floor > 0) std::printf("   %5.1f x", median(one.pss) / floor);
    std::printf("\n");
  }
}

int measure() {
  if (::geteuid() != 0) std::printf("not root: the PSS of a jailed guest may not be readable\n");
  jail::SupervisorOptions options;
  options.program = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  jail::Supervisor supervisor = must(jail::Supervisor::start(options));
  const jail::Program payload = must(jail::open_program(kWait));
  const jail::Program engine = must(jail::open_program(HEDDLE_LIBEXEC_DIR "/heddle-sandbox-worker"));
  const auto policy = [](jail::Need need, jail::NamespaceSet set) {
    return must(jail::Policy::script({}, {}, jail::NamespaceOrder{need, set}));
  };
  const jail::Policy none = policy(jail::Need::off, {});
  const jail::Policy usual = policy(jail::Need::if_available, jail::kUsualNamespaces);
  const jail::Policy all = policy(jail::Need::if_available, jail::kAllNamespaces);

  std::vector<Contender> contenders;
  const auto add = [&](const char* name, std::function<std::unique_ptr<Waiting>()> start) {
    contenders.push_back({name, std::move(start), 0, {}, {}, {}});
  };
  add("plain", [] { return spawn({kWait}); });
  add("jail, no namespaces", [&] { return jailed(supervisor, none, payload); });
  add("jail, usual namespaces", [&] { return jailed(supervisor, usual, payload); });
  add("jail, network namespace too", [&] { return jailed(supervisor, all, payload); });
  add("script worker, usual namespaces", [&] { return worker(supervisor, usual, engine); });
  const auto add_other = [&](const char* name, const std::vector<std::string>& words) {
    if (!spawn(words)) {
      std::printf("%s: not here, or refused by this host (Debian packages bubblewrap, util-linux)\n", name);
      return;
    }
    add(name, [words] { return spawn(words); });
  };
  const std::vector<std::string> flags = {"/usr/bin/bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc",
                                          "--unshare-uts",  "--new-session",  "--ro-bind",     kWait,
                                          "/wait",          "--cap-drop",     "ALL",           "--die-with-parent"};
  std::vector<std::string> bwrap = flags;
  bwrap.emplace_back("/wait");
  std::vector<std::string> bwrap_net = flags;
  bwrap_net.insert(bwrap_net.end(), {"--unshare-net", "/wait"});
  add_other("bubblewrap, usual namespaces", bwrap);
  add_other("bubblewrap, network too", bwrap_net);
  const std::vector<std::string> apart = {"/usr/bin/unshare", "--user", "--pid", "--fork", "--mount", "--ipc", "--uts"};
  std::vector<std::string> unshare = apart;
  unshare.push_back(kWait);
  std::vector<std::string> unshare_net = apart;
  unshare_net.insert(unshare_net.end(), {"--net", kWait});
  add_other("unshare, usual namespaces", unshare);
  add_other("unshare, network too", unshare_net);

  std::optional<double> own;
  for (unsigned number = 0; number < kRounds; ++number) {
    for (Contender& contender : contenders) {
      const bool ours = contender.name.compare(0, 4, "jail") == 0;
      const std::optional<double> pss = round(contender, supervisor.pid());
      if (ours) own = pss;
    }
  }
  print(contenders);
  if (own) std::printf("and one supervisor for all of a host's guests, with %zu of them: PSS %.0f kB\n", kGuests, *own);
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main() { return heddle::bench::measure(); }
