#include "heddle/sandbox/protocol/protocol.h"

#include <gtest/gtest.h>

namespace heddle::sandbox::protocol {
namespace {

using core::Errc;
using wire::Message;

Message again(const Message& message) { return Message::parse(message.text()).value(); }

TEST(Protocol, EachMessageReadsBackAsItWasWritten) {
  const RunOrder order = read_run(again(to_message(RunOrder{9, 1, 2, 3, 4, 5}))).value();
  EXPECT_EQ(order.run, 9U);
  EXPECT_EQ(order.console_bytes, 5U);
  EXPECT_EQ(order.script_bytes + 10 * order.input_bytes + 100 * order.memory_bytes + 1000 * order.output_bytes, 4321U);

  for (const Ending ending : {Ending::ok, Ending::threw, Ending::memory, Ending::output, Ending::input_too_large,
                              Ending::stopped, Ending::fault}) {
    const Done done = read_done(again(to_message(Done{3, ending, 5, "N", "m", 1, 2, "h", "n"}))).value();
    EXPECT_EQ(done.hint + done.note, "hn");
    EXPECT_EQ(done.ending, ending);
    EXPECT_EQ(done.value_bytes, ending == Ending::ok ? 5U : 0U);
    EXPECT_EQ(done.name.has_value(), ending == Ending::threw);
    EXPECT_EQ(done.column, ending == Ending::threw ? 2U : 0U);
  }
  for (std::uint32_t level = 0; level < 5; ++level) {
    const auto piece = read_console(again(to_message(ConsolePiece{4, level, "t\n", level == 1, level == 2}))).value();
    EXPECT_EQ(piece.run, 4U);
    EXPECT_EQ(piece.level, level);
    EXPECT_EQ(piece.text, "t\n");
    EXPECT_EQ(piece.more, level == 1);
    EXPECT_EQ(piece.cut, level == 2);
  }
}

// WIRE-2: a worker that says anything else is ended.
TEST(Protocol, ReadsStrictly) {
  const auto refused = [](const char* text) {
    const auto done = read_done(Message::parse(text).value());
    return !done.ok() && done.error().code == Errc::protocol;
  };
  EXPECT_FALSE(refused(R"({"op":"done","run":1,"ending":"memory"})"));
  EXPECT_TRUE(refused(R"({"op":"ready","run":1,"ending":"memory"})"));
  EXPECT_TRUE(refused(R"({"op":"done","ending":"memory"})"));
  EXPECT_TRUE(refused(R"({"op":"done","run":4294967296,"ending":"memory"})"));
  EXPECT_TRUE(refused(R"({"op":"done","run":1,"ending":"great"})"));
  EXPECT_TRUE(refused(R"({"op":"done","run":1,"ending":"ok"})"));
  EXPECT_TRUE(refused(R"({"op":"done","run":1,"ending":"memory","message":"x"})"));
  EXPECT_TRUE(refused(R"({"op":"done","run":1,"ending":"threw","message":"x","line":1})"));
  const char* const console = R"({"op":"console","run":1,"level":"log","text":"x","more":false,"cut":false})";
  EXPECT_TRUE(read_console(Message::parse(console).value()).ok());
  for (const char* text : {R"({"op":"console","run":1,"level":"loud","text":"x","more":false,"cut":false})",
                           R"({"op":"console","run":1,"level":"log","text":7,"more":false,"cut":false})",
                           R"({"op":"console","run":1,"level":"log","text":"x","more":false})",
                           R"({"op":"console","run":1,"level":"log","text":"x","more":false,"cut":false,"x":1})"}) {
    EXPECT_FALSE(read_console(Message::parse(text).value()).ok()) << text;
  }
}

}  // namespace
}  // namespace heddle::sandbox::protocol
