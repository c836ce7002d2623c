#include "heddle/wire/hello.h"

#include <gtest/gtest.h>

namespace heddle::wire {
namespace {

using core::Errc;

Message read_back(const Message& message) { return Message::parse(message.text()).value(); }

TEST(Hello, ReadyOfOurVersionIsAccepted) {
  EXPECT_TRUE(accept_ready(read_back(ready_message()), "/opt/heddle-worker").ok());
}

// JAIL-11: the step that failed is named as the program names it.
TEST(Hello, AFailedStepIsTheError) {
  const core::Error told =
      accept_ready(read_back(failed_message("filter_load", EINVAL, "the context")), "/opt/heddle-worker").error();
  EXPECT_EQ(told.code, Errc::confinement);
  EXPECT_EQ(told.step, "filter_load");
  EXPECT_EQ(told.sys_errno, EINVAL);
  EXPECT_EQ(told.context, "the context");
}

// SBX-19: another release of a helper program is told apart, and what to do about it.
TEST(Hello, AnotherVersionIsRefusedByName) {
  for (const char* version : {"0.0.0-other", "", HEDDLE_VERSION "x"}) {
    const core::Error error =
        accept_ready(read_back(Message("ready").set("version", version)), "/opt/heddle-worker").error();
    EXPECT_EQ(error.code, Errc::untrusted_program);
    EXPECT_EQ(error.step, "start heddle-worker");
    EXPECT_NE(error.context.find("/opt/heddle-worker is of version " + std::string(version)), std::string::npos);
    EXPECT_NE(error.context.find(HEDDLE_VERSION), std::string::npos);
  }
}

// WIRE-2: whatever else is said ends who said it.
TEST(Hello, AnythingElseIsRefused) {
  const char* bad[] = {R"({"op":"ready"})",
                       R"({"op":"ready","version":1})",
                       R"({"op":"ready","version":")" HEDDLE_VERSION R"(","extra":true})",
                       R"({"op":"hello","version":")" HEDDLE_VERSION R"("})",
                       R"({"op":"failed","step":"x","errno":1})",
                       R"({"op":"failed","step":"x","errno":4096,"context":""})",
                       R"({"op":"failed","step":"x","errno":1,"context":"","extra":1})"};
  for (const char* text : bad) {
    EXPECT_EQ(accept_ready(Message::parse(text).value(), "worker").error().code, Errc::protocol) << text;
  }
  EXPECT_EQ(read_failed(ready_message()).code, Errc::protocol);
}

// SBX-6: a guest's text is bounded, and drives no terminal.
TEST(Hello, TextsAreBoundedAndPrintable) {
  const std::string wild = "\x1b[31m" + std::string(5000, 'x');
  const core::Error failed = read_failed(failed_message(wild, 1, wild));
  EXPECT_EQ(failed.step.size(), 128U);
  EXPECT_EQ(failed.context.size(), 512U);
  const core::Error other = accept_ready(Message("ready").set("version", wild), "worker").error();
  const core::Error unknown = accept_ready(Message(wild), "worker").error();
  for (const core::Error* error : {&failed, &other, &unknown}) {
    EXPECT_EQ(error->message().find('\x1b'), std::string::npos);
    EXPECT_LT(error->message().size(), 800U);
  }
}

TEST(Hello, PingAndPongCarryTheirNumber) {
  EXPECT_EQ(read_ping(read_back(ping_message(7))).value(), 7U);
  EXPECT_EQ(read_pong(read_back(pong_message(UINT32_MAX))).value(), UINT32_MAX);
  EXPECT_EQ(read_pong(ping_message(7)).error().code, Errc::protocol);
  EXPECT_EQ(read_pong(Message("pong").set("number", std::uint64_t{UINT32_MAX} + 1)).error().code, Errc::protocol);
}

}  // namespace
}  // namespace heddle::wire
