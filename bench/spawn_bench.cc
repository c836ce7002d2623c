// ./dev bench: from the request to the end of a static program that does nothing, under each profile and behind each
// set of namespaces, from nothing and with the child made ahead, beside bubblewrap and unshare with the same payload in
// the same run. Theirs is equal or weaker protection: no Landlock, no filter, no limits, no user of its own. Ours
// confines itself before it ends; under `program` the whole command is measured, as theirs is: it starts, reads its
// policy, starts a supervisor and a stub. A plugin's root is a copy of the host's, which is not made ahead.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "heddle/jail/supervisor.h"
#include "heddle/jail/unsafe/threaded_policy.h"
#include "sample.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 200;
const std::string kTrue = HEDDLE_BENCH_TRUE;
const std::string kAhead = ", made ahead";

bool run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<char*, 1> environment{nullptr};
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, arguments[0], &quiet, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return error == 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

void jailed(jail::Supervisor& supervisor, const jail::Policy& policy, const jail::Program& program) {
  core::FdPair ends = must(core::stream_pair());
  jail::Guest guest = must(supervisor.spawn(policy, program, {"confine"}, std::move(ends.second)));
  const auto death = must(guest.wait(core::Deadline::after(std::chrono::seconds(30))));
  if (!death || death->kind != jail::Death::Kind::exited || death->code != 0) {
    (void)std::fprintf(stderr, "bench: the payload was not confined\n");
    std::exit(1);
  }
}

struct Contender {
  Sample sample;
  std::function<void()> work;
  std::function<void()> before = [] {};  // not in the time
};

// A policy file for heddle exec, gone with the object.
class PolicyFile {
 public:
  explicit PolicyFile(const std::string& text) {
    std::string path = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
    const core::Fd file(::mkstemp(path.data()));
    if (!file.valid()) {
      std::perror("bench: make a policy file");
      std::exit(1);
    }
    path_ = path;
    std::ofstream(path_) << text;
  }
  PolicyFile(const PolicyFile&) = delete;
  PolicyFile& operator=(const PolicyFile&) = delete;
  ~PolicyFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A profile behind a set of namespaces.
struct Guests {
  std::string name;
  jail::Policy policy;
};

std::vector<Guests> each_kind() {
  using jail::NamespaceOrder;
  using jail::Need;
  const std::pair<std::string, NamespaceOrder> sets[] = {
      {"no namespaces", {Need::off, {}}},
      {"usual namespaces", {Need::if_available, jail::kUsualNamespaces}},
      {"network too", {Need::if_available, jail::kAllNamespaces}},
  };
  std::vector<Guests> all;
  for (const auto& [name, order] : sets) {
    all.push_back({"script, " + name, must(jail::Policy::script({}, {}, order))});
  }
  for (const auto& [name, order] : sets) {
    jail::ToolNeeds needs;
    needs.namespaces = order;
    all.push_back({"tool, " + name, must(jail::ThreadedPolicy::tool(needs))});
  }
  for (const auto& [name, order] : sets) {
    jail::PluginNeeds needs;
    needs.namespaces = {order.need, order.set, jail::Root::host};
    all.push_back({"plugin, " + name, must(jail::ThreadedPolicy::plugin(needs))});
  }
  return all;
}

int measure() {
  jail::SupervisorOptions options;
  options.program = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
  jail::Supervisor supervisor = must(jail::Supervisor::start(options));
  jail::Supervisor ahead = must(jail::Supervisor::start(options));
  const jail::Program program = must(jail::open_program(kTrue));
  const std::vector<Guests> guests = each_kind();

  std::vector<Contender> contenders;
  contenders.push_back({Sample("plain spawn"), [] { (void)run({kTrue}); }});
  for (const Guests& one : guests) {
    contenders.push_back({Sample(one.name), [&] { jailed(supervisor, one.policy, program); }});
  }
  for (const Guests& one : guests) {
    if (one.policy.namespaces().root == jail::Root::host) continue;
    contenders.push_back({Sample(one.name + kAhead), [&] { jailed(ahead, one.policy, program); },
                          [&] { must(ahead.prepare(one.policy)); }});
  }
  const auto add = [&](const char* name, const std::vector<std::string>& words) {
    if (!run(words)) {
      std::printf("%s: not here, or refused by this host (Debian packages bubblewrap, util-linux)\n", name);
      return;
    }
    contenders.push_back({Sample(name), [words] { (void)run(words); }});
  };
  const std::string heading = "profile = \"program\"\nruntime_files = false\n";
  const PolicyFile usual_policy(heading);
  const PolicyFile network_policy(heading + "network_namespace = true\n");
  add("heddle exec, usual namespaces", {HEDDLE_BENCH_COMMAND, "exec", "--policy", usual_policy.path(), "--", kTrue});
  add("heddle exec, network too", {HEDDLE_BENCH_COMMAND, "exec", "--policy", network_policy.path(), "--", kTrue});
  const std::vector<std::string> flags = {"/usr/bin/bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc",
                                          "--unshare-uts",  "--new-session",  "--ro-bind",     kTrue,
                                          "/true",          "--cap-drop",     "ALL",           "--die-with-parent"};
  std::vector<std::string> bwrap = flags;
  bwrap.emplace_back("/true");
  std::vector<std::string> bwrap_net = flags;
  bwrap_net.insert(bwrap_net.end(), {"--unshare-net", "/true"});
  add("bubblewrap, usual namespaces", bwrap);
  add("bubblewrap, network too", bwrap_net);
  add("unshare, usual namespaces",
      {"/usr/bin/unshare", "--user", "--pid", "--fork", "--mount", "--ipc", "--uts", kTrue});
  add("unshare, network too",
      {"/usr/bin/unshare", "--user", "--pid", "--fork", "--mount", "--ipc", "--uts", "--net", kTrue});

  // In another order each round: what one leaves to the kernel to clear away is not always the same one's loss.
  std::vector<Contender*> order;
  order.reserve(contenders.size());
  for (Contender& contender : contenders) order.push_back(&contender);
  std::mt19937 random(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Contender* const contender : order) {
      contender->before();
      contender->sample.time(contender->work);
    }
  }
  print_heading();
  for (const Contender& contender : contenders) print_row(contender.sample, contenders[0].sample);
  const auto median = [&](const std::string& name) {
    for (const Contender& contender : contenders) {
      if (contender.sample.name() == name) return contender.sample.percentile(50);
    }
    return 0.0;
  };
  std::printf("\nthe other's p50 as a multiple of ours; in brackets, of ours made ahead\n%-30s %16s %16s %16s %8s\n",
              "", "no namespaces", "usual", "network too", "exec");
  for (const std::string other : {"bubblewrap", "unshare"}) {
    for (const std::string set : {", usual namespaces", ", network too"}) {
      const double theirs = median(other + set);
      if (theirs == 0) continue;
      std::printf("%-30s", (other + set).c_str());
      for (const std::string ours : {"script, no namespaces", "script, usual namespaces", "script, network too"}) {
        std::printf("   %5.1f x (%4.1f)", theirs / median(ours), theirs / median(ours + kAhead));
      }
      std::printf(" %6.1f x\n", theirs / median("heddle exec" + set));
    }
  }
  std::printf(
      "The filter of profile script refuses every socket, so that protection from the network which is the like of\n"
      "ours is, even without namespaces, theirs with a network namespace.\n");
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main() { return heddle::bench::measure(); }
