#include "world.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::jail {
namespace {

constexpr std::chrono::seconds kLong{20};

}  // namespace

InjectedSupervisor::InjectedSupervisor(const std::vector<Injection>& injections, Outer outer) {
  char folder[] = "/tmp/heddle-inject-XXXXXX";
  HEDDLE_CHECK(::mkdtemp(folder) != nullptr);
  HEDDLE_CHECK(::chmod(folder, 0755) == 0);
  folder_ = folder;
  path_ = folder_ + "/supervisor";
  std::filesystem::copy_file(kTestPrograms + "heddle-test-inject", path_);
  HEDDLE_CHECK(::chmod(path_.c_str(), 0755) == 0);
  std::ofstream rules(path_ + ".rules");
  rules << kSupervisor << '\n';
  if (outer == Outer::listens) rules << "listen\n";
  for (const Injection& injection : injections) {
    rules << injection.number << ' ' << injection.error;
    for (const Injection::When& when : injection.when) {
      rules << ' ' << when.argument << ' ' << when.mask << ' ' << when.value;
    }
    rules << '\n';
  }
}

InjectedSupervisor::~InjectedSupervisor() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

core::Result<Supervisor> start_supervisor(const std::string& path, const CgroupOptions& cgroup) {
  SupervisorOptions options;
  options.program = path;
  options.cgroup = cgroup;
  return Supervisor::start(options);
}

void prepare_if_asked(Supervisor& supervisor, const Policy& policy) {
  if (std::getenv("HEDDLE_TEST_PREPARED") != nullptr) (void)supervisor.prepare(policy);
}

core::Result<Started> start_guest(Supervisor& supervisor, const std::string& program,
                                  const std::vector<std::string>& arguments, const Limits& limits,
                                  const DenialOptions& denials) {
  HEDDLE_ASSIGN(const Policy policy, Policy::script(limits, denials));
  return start_guest(supervisor, program, arguments, policy);
}

core::Result<Started> start_guest(Supervisor& supervisor, const std::string& program,
                                  const std::vector<std::string>& arguments, const Policy& policy) {
  HEDDLE_ASSIGN(const Program opened, open_program(kTestPrograms + program));
  prepare_if_asked(supervisor, policy);
  HEDDLE_ASSIGN(core::FdPair pair, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(pair.first)));
  HEDDLE_ASSIGN(Guest guest, supervisor.spawn(policy, opened, arguments, std::move(pair.second)));
  return Started{std::move(guest), std::move(channel)};
}

core::Result<Started> start_bare(Supervisor& supervisor, const Policy& policy) {
  HEDDLE_ASSIGN(Started started, start_guest(supervisor, "heddle-test-guest", {"bare"}, policy));
  EXPECT_EQ(next_message(started.channel).op(), "ready");
  return started;
}

wire::Message next_message(wire::Channel& channel) {
  const auto frame = channel.wait_frame(core::Deadline::after(kLong));
  if (!frame.ok()) {
    EXPECT_EQ(frame.error().code, core::Errc::disconnected) << frame.error().message();
    return wire::Message("gone");
  }
  auto message = wire::as_message(frame.value());
  EXPECT_TRUE(message.ok());
  return message.ok() ? std::move(message).value() : wire::Message("unreadable");
}

Death wait_death(Guest& guest) {
  const auto death = guest.wait(core::Deadline::after(kLong));
  EXPECT_TRUE(death.ok() && death.value().has_value());
  return death.ok() && death.value().has_value() ? *death.value() : Death{};
}

bool gone(pid_t pid) {
  const core::Deadline deadline = core::Deadline::after(kLong);
  while (::kill(pid, 0) == 0 || errno == EPERM) {
    if (deadline.passed()) return false;
    ::usleep(2000);
  }
  return true;
}

}  // namespace heddle::jail
