#include "heddle/jail/launch/control.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle::jail {
namespace {

using core::Errc;

core::FdPair sockets() {
  int raw[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw), 0);
  return {core::Fd(raw[0]), core::Fd(raw[1])};
}

core::Deadline soon() { return core::Deadline::after(std::chrono::seconds(10)); }

TEST(Control, CarriesASpawnRequestWhole) {
  SpawnPlan plan;
  plan.arguments = {"guest", "", "größe"};
  plan.environment = {"TZ=UTC"};
  plan.limits = {{RLIMIT_DATA, 1U << 20}, {RLIMIT_CORE, 0}, {RLIMIT_NPROC, UINT64_MAX}};
  plan.identity = 0x70000001;
  plan.notify = {NotifyOrder::required, 7, {2, 257}, true, true, true};
  plan.deadline = core::Deadline::at(core::TimePoint(std::chrono::nanoseconds(123'456'789'012)));
  const core::FdPair pair = sockets();
  const core::FdPair pipe = core::pipe_pair().value();
  ASSERT_TRUE(send_packet(pair.first, encode_spawn(plan), {&pipe.first, &pipe.second}).ok());
  const SpawnPlan read = decode_spawn(receive_packet(pair.second, soon()).value()).value();
  EXPECT_EQ(read.arguments, plan.arguments);
  EXPECT_EQ(read.environment, plan.environment);
  EXPECT_EQ(read.identity, plan.identity);
  EXPECT_EQ(read.notify.order, NotifyOrder::required);
  EXPECT_EQ(read.notify.quota, 7U);
  EXPECT_EQ(read.notify.observed, plan.notify.observed);
  EXPECT_TRUE(read.notify.one_program);
  EXPECT_TRUE(read.notify.births);
  EXPECT_TRUE(read.notify.held_ids);
  EXPECT_EQ(read.deadline.when(), plan.deadline.when());
  ASSERT_EQ(read.limits.size(), plan.limits.size());
  for (std::size_t i = 0; i < read.limits.size(); ++i) {
    EXPECT_EQ(read.limits[i].resource, plan.limits[i].resource);
    EXPECT_EQ(read.limits[i].value, plan.limits[i].value);
  }
  ASSERT_EQ(read.descriptors.size(), 1U);
  // The very pipe: program reads what the descriptor writes.
  ASSERT_TRUE(core::write_all(read.descriptors[0], "x").ok());
  char byte = 0;
  EXPECT_EQ(::read(read.program.get(), &byte, 1), 1);
  EXPECT_EQ(read.confinement, Confinement::guest);  // the default is the stronger one
}

TEST(Control, RefusesAnIncompleteOrStrangeRequest) {
  EXPECT_EQ(decode_spawn({wire::Message("spawn"), {}}).error().code, Errc::protocol);
  wire::Message extra("spawn");
  extra.set("confinement", "none");
  std::vector<core::Fd> program;
  program.push_back(core::pipe_pair().value().first);
  EXPECT_EQ(decode_spawn({std::move(extra), std::move(program)}).error().code, Errc::protocol);
}

TEST(Control, RefusesLimitsThatAreNone) {
  const auto answer = [](const std::string& limits) {
    wire::Message message = encode_spawn(SpawnPlan());
    message.set("limits", limits);
    std::vector<core::Fd> program;
    program.push_back(core::pipe_pair().value().first);
    const auto plan = decode_spawn({std::move(message), std::move(program)});
    return plan.ok() ? std::optional<Errc>() : plan.error().code;
  };
  EXPECT_EQ(answer(""), std::nullopt);
  EXPECT_EQ(answer("2 1 "), std::nullopt);
  std::string many;
  for (unsigned i = 0; i <= RLIM_NLIMITS; ++i) many += "2 1 ";
  for (const std::string& wrong :
       {std::string("2 1"), std::string("2 "), std::string("2 x "), std::string("x 1 "), std::string("-1 1 "),
        std::string("2,1 "), std::string("2  1 "), std::string("2 -1 "), std::string("2 18446744073709551616 "),
        std::to_string(RLIM_NLIMITS) + " 1 ", many}) {
    EXPECT_EQ(answer(wrong), Errc::protocol) << wrong;
  }
}

TEST(Control, CarriesAPrepareRequestWhole) {
  PrepareOrder order{{{Need::required, kUsualNamespaces, Root::empty}, {}}, 0x70000001};
  order.kind.group_limits.own_group = Need::required;
  const PrepareOrder read = decode_prepare(encode_prepare(order)).value();
  EXPECT_EQ(read.kind, order.kind);
  EXPECT_EQ(read.identity, order.identity);
  order.identity.reset();
  EXPECT_FALSE(decode_prepare(encode_prepare(order)).value().identity.has_value());
}

TEST(Control, CarriesAnEnding) {
  Ending ending;
  ending.state = Ending::State::ended;
  ending.signalled = true;
  ending.code = 31;
  ending.cpu_microseconds = 12;
  ending.peak_kib = 345;
  wire::Message message("status");
  encode_ending(ending, message);
  const Ending read = decode_ending(message).value();
  EXPECT_EQ(read.state, ending.state);
  EXPECT_TRUE(read.signalled);
  EXPECT_EQ(read.code, 31);
  EXPECT_EQ(read.cpu_microseconds, 12U);
  EXPECT_EQ(read.peak_kib, 345U);
}

TEST(Control, TellsAnEndFromATimeOut) {
  core::FdPair pair = sockets();
  EXPECT_EQ(receive_packet(pair.first, core::Deadline::at(core::Clock::now())).error().code, Errc::timed_out);
  pair.second.reset();
  EXPECT_EQ(receive_packet(pair.first, soon()).error().code, Errc::disconnected);
  EXPECT_EQ(send_packet(pair.first, wire::Message("x"), {}).error().code, Errc::disconnected);
}

TEST(Control, RefusesWhatIsTooLarge) {
  const core::FdPair pair = sockets();
  wire::Message message("spawn");
  message.set("arg.0", std::string(70'000, 'x'));
  EXPECT_EQ(send_packet(pair.first, message, {}).error().code, Errc::too_large);
}

}  // namespace
}  // namespace heddle::jail
