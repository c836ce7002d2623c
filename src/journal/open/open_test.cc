#include "heddle/journal/open/open.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace heddle::journal {
namespace {

using core::Errc;

class Open : public ::testing::Test {
 protected:
  Open() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-open-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  ~Open() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_, before_;
};

const Draft kDraft{"f", "a", Kind::intent, "{}", std::nullopt};

// JRN-2: a name that is no URI is a file's, whatever SQLite would make of it: none gives a journal in memory.
TEST_F(Open, AFileIsAFile) {
  for (const char* name : {"journal", ":memory:", "file:journal?mode=memory", "file::memory:", "./with blank"}) {
    EXPECT_EQ(open(name, Access::read).error().code, Errc::not_found) << name;
    {
      const auto store = open(name, Access::append);
      ASSERT_TRUE(store.ok()) << name << store.error().message();
      ASSERT_TRUE(store.value()->append_one(kDraft).ok());
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
    const auto store = open(name, Access::read);
    ASSERT_TRUE(store.ok()) << name;
    EXPECT_EQ(store.value()->head({}).value().sequence, 1U);
    EXPECT_EQ(store.value()->append_one(kDraft).error().code, Errc::invalid_argument);
  }
}

TEST_F(Open, WhatCannotBeAJournalIsAnError) {
  EXPECT_EQ(open("", Access::append).error().code, Errc::invalid_argument);
  EXPECT_EQ(open(".", Access::append).error().code, Errc::invalid_argument);
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  EXPECT_EQ(open("pipe", Access::read).error().code, Errc::invalid_argument);
  EXPECT_EQ(open("/dev/null", Access::append).error().code, Errc::invalid_argument);
  EXPECT_EQ(open("no/such/folder", Access::append).error().sys_errno, ENOENT);
}

// JRN-2: a URI goes to libpq, and its password goes into no message.
TEST_F(Open, AUriIsADatabase) {
  for (const char* name : {"postgresql://nobody:secret@%2Fnowhere/x", "postgres://nobody:secret@%2Fnowhere/x"}) {
    const auto refused = open(name, Access::append).error();
    EXPECT_EQ(refused.code, Errc::disconnected) << refused.message();
    EXPECT_EQ(refused.message().find("secret"), std::string::npos) << refused.message();
  }
  for (const char* name : {"postgresql://u:secret@host:port/x", "postgresql://u:secret@/x?secret",
                           "postgresql://[secret", "postgresql://u:secret%zz@/x", "postgresql://u:secret@[::1"}) {
    const auto refused = open(name, Access::append).error();
    EXPECT_EQ(refused.message().find("secret"), std::string::npos) << refused.message();
  }
}

// JRN-9: what libpq would take apart in another place than its writer is refused before libpq names a part of it.
TEST_F(Open, APasswordThatIsNotEscapedIsRefusedAndNotPrinted) {
  for (const char* name :
       {"postgresql://u:se/cret@host/db", "postgresql://u:12/secret@host/db", "postgresql://u:x@secret@host/db",
        "postgresql://u:se/x@secret:5/db", "postgresql://u:secret", "postgresql://u:secret/db",
        "postgresql://[::1]:secret/db", "postgresql://a:1,b:secret/db", "postgresql://u:1/x?secret@host/db"}) {
    const auto refused = open(name, Access::append).error();
    EXPECT_EQ(refused.code, Errc::invalid_argument) << name << refused.message();
    EXPECT_EQ(refused.message().find("cret"), std::string::npos) << refused.message();
    EXPECT_EQ(shown_name(name).find("cret@"), std::string::npos) << shown_name(name);
  }
  // The control: escaped, it gets as far as the network.
  for (const char* name :
       {"postgresql://u:se%2Fcret@%2Fnowhere/db", "postgresql://u:x%40secret@%2Fnowhere:5/db",
        "postgresql://u:sec?ret@%2Fnowhere/db", "postgresql://[::1]:1/db", "postgresql:///db?host=/nowhere&user=a@b"}) {
    const auto refused = open(name, Access::append).error();
    EXPECT_EQ(refused.code, Errc::disconnected) << name << refused.message();
    EXPECT_EQ(refused.message().find("cret"), std::string::npos) << refused.message();
  }
}

// JRN-9: what somebody meant for a connection string is no file's name and is not repeated.
TEST_F(Open, WhatLooksLikeAConnectionIsNotPrinted) {
  for (const char* name :
       {"POSTGRESQL://u:secret@host/db", "PostgreSQL://u:secret@host/db", "Postgres://u:secret@host/db",
        " postgresql://u:secret@host/db", "postgresql:/u:secret@host/db", "postgres:u:secret@host",
        "mysql://u:secret@h/d", "jdbc+x://u:secret@h", "host=h password=secret dbname=d", "dbname=d PASSWORD = secret",
        "password='secret'"}) {
    for (const Access access : {Access::append, Access::read}) {
      const auto refused = open(name, access).error();
      EXPECT_EQ(refused.code, Errc::invalid_argument) << name;
      EXPECT_EQ(refused.message().find("secret"), std::string::npos) << refused.message();
    }
    EXPECT_EQ(shown_name(name).find("secret"), std::string::npos) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  // The control: with a folder it is a file's name.
  for (const char* name : {"./password=x", "./postgresql:x"}) EXPECT_TRUE(open(name, Access::append).ok()) << name;
  EXPECT_EQ(shown_name("./password=x"), "./password=x");
}

TEST(ShownName, HasNoPassword) {
  EXPECT_EQ(shown_name("dir/journal"), "dir/journal");
  EXPECT_EQ(shown_name("postgresql://host/db"), "postgresql://host/db");
  EXPECT_EQ(shown_name("postgresql://me@host:1/db"), "postgresql://me@host:1/db");
  EXPECT_EQ(shown_name("postgresql://me:secret@host:1/db"), "postgresql://me:…@host:1/db");
  EXPECT_EQ(shown_name("postgresql://me:sec@ret@host/db"), "postgresql://me:…@host/db");
  EXPECT_EQ(shown_name("postgresql:///db?user=me&password=secret&host=/run"),
            "postgresql:///db?user=me&password=…&host=/run");
  EXPECT_EQ(shown_name("postgresql:///db?pass%77ord=secret&sslpassword=secret&port=5"),
            "postgresql:///db?…=…&…=…&port=5");
  EXPECT_EQ(shown_name("postgresql://u:s/e?c@h/db"), "postgresql://u:…@h/db");
}

}  // namespace
}  // namespace heddle::journal
