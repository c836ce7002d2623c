#include "heddle/jail/unsafe/program_policy.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace heddle::jail {
namespace {

core::Result<std::string> loader_at(const char* path) {
  return loader_of(core::Fd(::open(path, O_RDONLY | O_CLOEXEC)), path);
}

// JAIL-2: the loader is what is granted execute beside the program; a script says what to start instead.
TEST(Loader, IsWhatTheProgramNames) {
  const auto own = loader_at("/proc/self/exe");
  ASSERT_TRUE(own.ok()) << own.error().message();
  EXPECT_EQ(own.value().front(), '/');
  const auto text = loader_at("/etc/passwd");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, core::Errc::invalid_argument);
}

}  // namespace
}  // namespace heddle::jail
