#include "heddle/sandbox/conformance/record_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "heddle/sandbox/conformance/plugin_check.h"

namespace heddle::sandbox::conformance {
namespace {

namespace fs = std::filesystem;

Record example(const std::string& binary, CaseStatus last = CaseStatus::passed) {
  Record record{std::string(kKitVersion), effect::ContentAddress::of(binary), fixtures_json(javascript_fixtures()), {}};
  record.report.declaration.language = "model";
  for (std::size_t i = 0; i < kCaseCount; ++i) record.report.cases.push_back({static_cast<CaseId>(i), last, "", {}});
  return record;
}

class RecordStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string scratch = testing::TempDir() + "/record-store-XXXXXX";
    ASSERT_NE(::mkdtemp(scratch.data()), nullptr);
    base = scratch;
    ::setenv("XDG_STATE_HOME", (base + "/state").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_STATE_HOME");
    fs::remove_all(base);
  }
  [[nodiscard]] std::string folder() const { return base + "/state/heddle/conformance"; }
  [[nodiscard]] std::string file(const std::string& binary) const {
    return folder() + "/" + effect::ContentAddress::of(binary).hex() + ".json";
  }
  std::string base;
};

// CNF-10: what was kept is found by its binary, in a folder for this user alone; a later run replaces it.
TEST_F(RecordStoreTest, KeepsAndFinds) {
  const auto store = RecordStore::open().value();
  EXPECT_EQ(store.path(), folder());
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(base + "/state/heddle").permissions(), fs::perms::owner_all);
  EXPECT_EQ(store.find(effect::ContentAddress::of("one")).error().code, core::Errc::not_found);
  ASSERT_TRUE(store.keep(example("one")).ok());
  EXPECT_TRUE(store.find(effect::ContentAddress::of("one")).value().report.passed());
  EXPECT_FALSE(store.find(effect::ContentAddress::of("two")).ok());
  ASSERT_TRUE(store.keep(example("one", CaseStatus::failed)).ok());
  EXPECT_FALSE(store.find(effect::ContentAddress::of("one")).value().report.passed());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 1);
}

// CNF-10: a folder or file that somebody else may have written is not believed.
TEST_F(RecordStoreTest, BelievesNothingThatOthersMayWrite) {
  ASSERT_TRUE(RecordStore::open().value().keep(example("one")).ok());
  const auto address = effect::ContentAddress::of("one");
  const auto found = [&] {
    const auto store = RecordStore::open();
    return store.ok() && store.value().find(address).ok();
  };
  ASSERT_TRUE(found());
  for (const std::string& place : {folder(), base + "/state/heddle"}) {
    ASSERT_EQ(::chmod(place.c_str(), 0770), 0);
    EXPECT_FALSE(found()) << place;
    ASSERT_EQ(::chmod(place.c_str(), 0700), 0);
  }
  ASSERT_EQ(::chmod(file("one").c_str(), 0620), 0);
  EXPECT_FALSE(found());
  ASSERT_EQ(::chmod(file("one").c_str(), 0600), 0);
  ASSERT_TRUE(found());
  ASSERT_EQ(::link(file("one").c_str(), (base + "/second").c_str()), 0);
  EXPECT_FALSE(found());
  fs::remove(base + "/second");
  ASSERT_TRUE(found());
  fs::rename(file("one"), base + "/elsewhere");
  fs::create_symlink(base + "/elsewhere", file("one"));
  EXPECT_FALSE(found());
  fs::remove(file("one"));
  ASSERT_EQ(::mkfifo(file("one").c_str(), 0600), 0);
  EXPECT_FALSE(found());  // and does not wait for a writer
  fs::remove(file("one"));
  fs::rename(base + "/state/heddle", base + "/moved");
  fs::create_directory_symlink(base + "/moved", base + "/state/heddle");
  EXPECT_FALSE(RecordStore::open().ok());
  fs::remove(base + "/state/heddle");
  if (::geteuid() == 0) {
    fs::rename(base + "/moved", base + "/state/heddle");
    ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
    EXPECT_FALSE(RecordStore::open().ok());
  }
}

// CNF-10: the name of a record is not believed either.
TEST_F(RecordStoreTest, ReadsWhatARecordIsOf) {
  const auto store = RecordStore::open().value();
  ASSERT_TRUE(store.keep(example("one")).ok());
  fs::copy_file(file("one"), file("two"));
  ASSERT_EQ(::chmod(file("two").c_str(), 0600), 0);
  EXPECT_EQ(store.find(effect::ContentAddress::of("two")).error().code, core::Errc::malformed);
}

// CNF-10: no record, no backend: of this binary, of this kit, and passed.
TEST_F(RecordStoreTest, IsWhatAHostDemands) {
  const std::string path = base + "/backend.so";
  std::ofstream(path) << "binary";
  const auto backend = plugin::BackendFile::open(path).value();
  const auto message = [&] { return find_proof(backend).error().message(); };
  EXPECT_NE(message().find("there is no record of this very binary"), std::string::npos) << message();
  EXPECT_FALSE(load_backend(backend, Proof::demanded).ok());
  EXPECT_FALSE(start_backend({"/proc/self/exe", {}}, backend, Proof::demanded).ok());
  const auto store = RecordStore::open().value();
  Record record = example("binary");
  record.kit_version = "1.0.0";
  ASSERT_TRUE(store.keep(record).ok());
  EXPECT_NE(message().find("of kit 1.0.0"), std::string::npos) << message();
  ASSERT_TRUE(store.keep(example("binary", CaseStatus::failed)).ok());
  EXPECT_NE(message().find("the kit failed"), std::string::npos) << message();
  ASSERT_TRUE(store.keep(example("binary")).ok());
  EXPECT_TRUE(find_proof(backend).ok());
  // A record that lies beside the binary, as packages would bring it, is not looked for.
  fs::rename(file("binary"), path + ".conformance.json");
  EXPECT_FALSE(find_proof(backend).ok());
}

// A home that is none of an absolute path is passed over, as XDG has it.
TEST_F(RecordStoreTest, FindsTheStateFolder) {
  ::setenv("XDG_STATE_HOME", "relative", 1);
  const char* before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  ::setenv("HOME", base.c_str(), 1);
  EXPECT_EQ(RecordStore::open().value().path(), base + "/.local/state/heddle/conformance");
  if (before != nullptr) ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace heddle::sandbox::conformance
