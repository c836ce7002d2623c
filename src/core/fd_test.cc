#include "heddle/core/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace heddle::core {
namespace {

bool is_open(int raw) { return ::fcntl(raw, F_GETFD) >= 0; }
bool closes_on_exec(const Fd& fd) { return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0; }

TEST(Fd, ClosesOnceAndMoves) {
  int raw = -1;
  {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = fd.get();
    Fd moved = std::move(fd);
    EXPECT_FALSE(fd.valid());  // NOLINT(bugprone-use-after-move): that is the point
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

// JAIL-10: nothing of ours can leak through an exec.
TEST(Fd, EveryMakerSetsCloseOnExec) {
  const FdPair sockets = stream_pair().value();
  const FdPair pipe = pipe_pair().value();
  const Fd memory = sealed_memory("test", "x").value();
  const Fd copy = memory.duplicate(60).value();
  EXPECT_GE(copy.get(), 60);
  for (const Fd* fd : {&sockets.first, &sockets.second, &pipe.first, &pipe.second, &memory, &copy}) {
    EXPECT_TRUE(closes_on_exec(*fd));
  }
}

TEST(Fd, SealedMemoryCannotChange) {
  const Fd memory = sealed_memory("test", "filter").value();
  EXPECT_EQ(read_all(memory, 100).value(), "filter");
  EXPECT_EQ(::pwrite(memory.get(), "X", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory.get(), 0), -1);
  EXPECT_EQ(::mmap(nullptr, 6, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0), MAP_FAILED);
}

TEST(Fd, ReadAllHoldsItsCeilingToTheByte) {
  const Fd memory = sealed_memory("test", std::string(100000, 'a')).value();
  EXPECT_EQ(read_all(memory, 100000).value().size(), 100000U);
  ASSERT_EQ(::lseek(memory.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(memory, 99999).error().code, Errc::too_large);
}

TEST(Fd, WriteAllReportsAFullDevice) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_EQ(write_all(full, "x").error().sys_errno, ENOSPC);
}

}  // namespace
}  // namespace heddle::core
