#include "group_text.h"

#include <gtest/gtest.h>

namespace heddle::jail {
namespace {

// JAIL-9
TEST(GroupText, FindsOurOwnGroup) {
  EXPECT_EQ(unified_path("0::/\n"), "/");
  EXPECT_EQ(unified_path("8:pids:/x\n1:name=systemd:/y\n0::/user.slice/a b.scope\n"), "/user.slice/a b.scope");
  EXPECT_EQ(unified_path("8:pids:/x\n"), std::nullopt);
  EXPECT_EQ(unified_path("10::/x\n"), std::nullopt);
  EXPECT_EQ(unified_path(""), std::nullopt);
}

// JAIL-9
TEST(GroupText, FindsTheMount) {
  const std::string other = "30 24 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
  const auto whole =
      group_mount(other + "33 24 0:29 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:9 - cgroup2 none rw\n");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->root, "/");
  EXPECT_EQ(whole->point, "/sys/fs/cgroup/uni fied");
  const auto part = group_mount("33 24 0:29 /a /one rw - cgroup2 none rw\n34 24 0:29 / /two rw - cgroup2 none rw\n");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->point, "/two");
  EXPECT_FALSE(group_mount(other));
  EXPECT_FALSE(group_mount("cgroup2\n - cgroup\n"));
}

// JAIL-9
TEST(GroupText, MapsAGroupToItsFolder) {
  EXPECT_EQ(below_mount({"/", "/g"}, "/"), "/g");
  EXPECT_EQ(below_mount({"/", "/g"}, "/a/b"), "/g/a/b");
  EXPECT_EQ(below_mount({"/a", "/g"}, "/a"), "/g");
  EXPECT_EQ(below_mount({"/a", "/g"}, "/a/b"), "/g/b");
  EXPECT_EQ(below_mount({"/a", "/g"}, "/ab"), std::nullopt);
  EXPECT_EQ(below_mount({"/a", "/g"}, "/"), std::nullopt);
  EXPECT_EQ(below_mount({"/", "/g"}, "/../x"), std::nullopt);  // outside our cgroup namespace
  EXPECT_EQ(below_mount({"/..", "/g"}, "/"), std::nullopt);
}

// JAIL-9
TEST(GroupText, ReadsControlFiles) {
  EXPECT_TRUE(has_word("cpu memory pids\n", "memory"));
  EXPECT_TRUE(has_word("memory", "memory"));
  EXPECT_FALSE(has_word("hugetlb memory_x\n", "memory"));
  EXPECT_FALSE(has_word("", "memory"));
  const std::string events = "low 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 4\n";
  EXPECT_EQ(keyed_number(events, "oom_kill"), 1U);
  EXPECT_EQ(keyed_number(events, "oom"), 2U);
  EXPECT_EQ(keyed_number(events, "oom_"), std::nullopt);
  EXPECT_EQ(keyed_number("max max\n", "max"), std::nullopt);
  EXPECT_EQ(single_number("4096\n"), 4096U);
  EXPECT_EQ(single_number("max\n"), std::nullopt);
  EXPECT_EQ(single_number(""), std::nullopt);
}

// JAIL-12: a name that holds spaces and parentheses shifts nothing.
TEST(GroupText, ReadsWhenAProcessStarted) {
  const std::string tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n";
  EXPECT_EQ(start_time("42 (a)" + tail), 777U);
  EXPECT_EQ(start_time("42 (a) S ) 9 (b)" + tail), 777U);
  EXPECT_EQ(start_time("42 (a) S 1 2"), std::nullopt);
  EXPECT_EQ(start_time("nothing"), std::nullopt);
}

// JAIL-12: only what a supervisor named is ever swept.
TEST(GroupText, NamesTheOwner) {
  const auto owner = parse_owner(owner_name(GroupOwner{42, 777}));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->pid, 42U);
  EXPECT_EQ(owner->start, 777U);
  for (const char* strange :
       {"", "-", "42", "42-", "-777", "x-1", "42-777x", "42-777-1", "0-1", "99999999999-1", " 42-777"}) {
    EXPECT_FALSE(parse_owner(strange)) << strange;
  }
}

}  // namespace
}  // namespace heddle::jail
