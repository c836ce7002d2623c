#include "testing/world.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  std::ofstream(folder_ + "/slow") << "#!/bin/sh\nsleep 1\n";
  for (const char* script : {"/bad", "/slow"}) HEDDLE_CHECK(::chmod((folder_ + script).c_str(), 0755) == 0);
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

void StandIn::be_slow_and_bad() const { become(folder_ + "/slow"); }

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

Clock Asking::ask(Process& guest, std::uint32_t call) {
  guest_ = &guest;
  calls.push_back(call);
  send(clock_ == Clock::waits ? "load" : what_);
  return clock_;
}

core::Result<Heard> Asking::take(const wire::Frame& frame) {
  HEDDLE_ASSIGN(wire::Message message, wire::as_message(frame));
  if (message.op() == "loaded") {
    send(what_);
    return Heard::begun;
  }
  HEDDLE_TRY(message.expect("answer"));
  HEDDLE_ASSIGN(const std::uint64_t number, message.take_number("number"));
  if (number != calls.back()) return core::make_error(core::Errc::protocol, "read an answer", "of another call");
  return says_of_answer;
}

void Asking::stop(Process& guest, std::uint32_t call, std::size_t attempt) {
  stops.push_back(attempt);
  guest.send_signal(SIGUSR1, static_cast<int>(call));
}

void Asking::send(std::string_view what) {
  guest_->channel().queue(wire::Message("ask").set("what", what).set("number", calls.back()));
}

std::unique_ptr<Call> start_call(const std::shared_ptr<Pool>& pool, Exchange& exchange, CallLimits limits,
                                 Accounting accounting) {
  auto call = std::make_unique<Call>(pool, pool->take_descriptors().value(), exchange, limits, accounting);
  call->start();
  return call;
}

CallEnd wait_end(Call& call) {
  const core::Deadline patience = core::Deadline::after(std::chrono::minutes(2));
  for (;;) {
    if (auto end = call.poll()) return *std::move(end);
    pollfd item{call.fd(), POLLIN, 0};
    if (::poll(&item, 1, patience.poll_ms()) == 0 && patience.passed()) {
      ADD_FAILURE() << "a call that does not end";
      return call.abandon();
    }
  }
}

CallEnd call_once(const std::shared_ptr<Pool>& pool, const std::string& what, CallLimits limits) {
  Asking asking(what);
  return wait_end(*start_call(pool, asking, limits));
}

std::shared_ptr<Pool> make_pool(PoolOptions options, const std::string& program) {
  auto pool = Pool::create(make_host(), test_policy(), test_program(program), std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.error().message();
  return std::move(pool).value();
}

void kill_supervisors() {
  const std::vector<pid_t> all = test::descendants_named("heddle-");
  const std::vector<pid_t> supervisors = test::descendants_named("heddle-supervis");
  EXPECT_FALSE(supervisors.empty());
  for (const pid_t pid : supervisors) EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(test::ended_within(all, std::chrono::seconds(20)));
}

}  // namespace heddle::guest
