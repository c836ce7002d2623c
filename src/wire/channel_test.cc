#include "heddle/wire/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace heddle::wire {
namespace {

using core::Deadline;
using core::Errc;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Ends {
  Channel channel;
  core::Fd peer;
};

Ends make_ends() {
  core::FdPair pair = core::stream_pair().value();
  return {Channel::adopt(std::move(pair.first)).value(), std::move(pair.second)};
}

void send_raw(const core::Fd& socket, std::string_view bytes) {
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

TEST(Channel, CarriesMessagesAndLargeDataBothWays) {
  core::FdPair pair = core::stream_pair().value();
  Channel host = Channel::adopt(std::move(pair.first)).value();
  Channel guest = Channel::adopt(std::move(pair.second)).value();
  const std::string body(5'000'000, 'b');
  std::thread far([&] {
    guest.grant(body.size());
    std::string got;
    EXPECT_EQ(as_message(guest.wait_frame(Deadline::after(seconds(20))).value()).value().op(), "run");
    while (got.size() < body.size()) got += guest.wait_frame(Deadline::after(seconds(20))).value().payload;
    EXPECT_EQ(got, body);
    guest.queue(Message("done"));
    EXPECT_TRUE(guest.wait_flushed(Deadline::after(seconds(20))).ok());
  });
  host.queue(Message("run"));
  host.queue_data(body);
  EXPECT_TRUE(host.has_output());
  EXPECT_EQ(as_message(host.wait_frame(Deadline::after(seconds(20))).value()).value().op(), "done");
  EXPECT_FALSE(host.has_output());
  far.join();
}

// WIRE-4: a peer that never reads costs the host a deadline, not a thread.
TEST(Channel, NeverBlocksOnAPeerThatDoesNotRead) {
  Ends ends = make_ends();
  ends.channel.queue_data(std::string(8'000'000, 'x'));
  EXPECT_FALSE(ends.channel.flush().value());
  EXPECT_EQ(ends.channel.wait_flushed(Deadline::after(milliseconds(50))).error().code, Errc::timed_out);
  EXPECT_EQ(ends.channel.wait_frame(Deadline::after(milliseconds(50))).error().code, Errc::timed_out);
}

// WIRE-3, WIRE-4: writing to a peer that is gone is an error value, never SIGPIPE (which would end this test program).
TEST(Channel, ADisconnectIsAValue) {
  Ends ends = make_ends();
  send_raw(ends.peer, encode_header(FrameType::control, 13, 0) + R"({"op":"last"})");
  ends.peer.reset();
  ends.channel.queue(Message("run"));
  EXPECT_EQ(ends.channel.flush().error().code, Errc::disconnected);
  EXPECT_TRUE(ends.channel.receive().value().has_value());  // what came before the end is delivered
  EXPECT_EQ(ends.channel.receive().error().code, Errc::disconnected);
}

// WIRE-3
TEST(Channel, AnEndWithinAFrameSaysSo) {
  Ends ends = make_ends();
  send_raw(ends.peer, encode_header(FrameType::control, 12, 0) + "{");
  ends.peer.reset();
  const auto result = ends.channel.receive();
  EXPECT_NE(result.error().context.find("within a frame"), std::string::npos);
}

// WIRE-2: a descriptor that comes along is closed and ends the guest.
TEST(Channel, RefusesDescriptors) {
  core::FdPair pipe = core::pipe_pair().value();
  const std::string bytes = encode_header(FrameType::control, 2, 0) + "{}";
  for (const int count : {1, 4, 8}) {  // 8 do not fit the receiver's buffer: MSG_CTRUNC
    Ends fresh = make_ends();
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<std::size_t>(count));
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = SOL_SOCKET;
    message->cmsg_type = SCM_RIGHTS;
    message->cmsg_len = CMSG_LEN(sizeof(int) * static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const int raw = pipe.second.get();
      std::memcpy(CMSG_DATA(message) + static_cast<std::size_t>(i) * sizeof raw, &raw, sizeof raw);
    }
    ASSERT_EQ(::sendmsg(fresh.peer.get(), &header, 0), static_cast<ssize_t>(bytes.size()));
    const auto result = fresh.channel.receive();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Errc::protocol);
  }
  // No copy of the write end is left: the reader sees the end once ours is closed.
  pipe.second.reset();
  char byte = 0;
  EXPECT_EQ(::read(pipe.first.get(), &byte, 1), 0);
}

// WIRE-2: a violation ends this connection; another one goes on.
TEST(Channel, AViolationStaysWithItsConnection) {
  Ends bad = make_ends();
  Ends good = make_ends();
  send_raw(bad.peer, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(bad.channel.receive().error().code, Errc::protocol);
  send_raw(good.peer, encode_header(FrameType::control, 10, 0) + R"({"op":"a"})");
  EXPECT_EQ(as_message(*good.channel.receive().value()).value().op(), "a");
}

}  // namespace
}  // namespace heddle::wire
