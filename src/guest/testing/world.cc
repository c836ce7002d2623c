#include "testing/world.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/processes.h"

namespace heddle::guest {
namespace {

const std::string kRealSupervisor = HEDDLE_LIBEXEC_DIR "/heddle-supervisor";
const std::string kGuests = HEDDLE_TEST_LIBEXEC_DIR "/";

}  // namespace

StandIn::StandIn() {
  char folder[] = "/tmp/heddle-stand-in-XXXXXX";
  HEDDLE_CHECK(::mkdtemp(folder) != nullptr && ::chmod(folder, 0755) == 0);
  folder_ = folder;
  std::filesystem::copy_file(kGuests + "heddle-test-inject", folder_ + "/supervisor");
  HEDDLE_CHECK(::chmod((folder_ + "/supervisor").c_str(), 0755) == 0);
  std::ofstream(folder_ + "/bad") << "#!/bin/sh\necho start >>" << folder_ << "/starts\n";
  HEDDLE_CHECK(::chmod((folder_ + "/bad").c_str(), 0755) == 0);
  be_real();
}

StandIn::~StandIn() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

jail::SupervisorOptions StandIn::options() const {
  jail::SupervisorOptions options;
  options.program = folder_ + "/supervisor";
  return options;
}

void StandIn::be_real() const { become(kRealSupervisor); }
void StandIn::be_bad() const { become(folder_ + "/bad"); }

int StandIn::bad_starts() const {
  std::ifstream file(folder_ + "/starts");
  int count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

void StandIn::become(const std::string& program) const {
  std::ofstream(folder_ + "/supervisor.rules") << program << '\n';
}

jail::Program test_program(const std::string& name) { return jail::open_program(kGuests + name).value(); }

jail::Policy test_policy() { return jail::Policy::script().value(); }

std::shared_ptr<Host> make_host() {
  jail::SupervisorOptions options;
  options.program = kRealSupervisor;
  return std::make_shared<Host>(options);
}

void kill_supervisors() {
  const std::vector<pid_t> all = test::descendants_named("heddle-");
  const std::vector<pid_t> supervisors = test::descendants_named("heddle-supervis");
  EXPECT_FALSE(supervisors.empty());
  for (const pid_t pid : supervisors) EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(test::ended_within(all, std::chrono::seconds(20)));
}

}  // namespace heddle::guest
