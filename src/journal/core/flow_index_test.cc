#include "heddle/journal/core/flow_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "heddle/journal/core/store_parts.h"

namespace heddle::journal {
namespace {

using Sequences = std::vector<std::uint64_t>;

constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool is_refused(std::string_view packed, std::int64_t last) {
  const auto sequences = unpack_sequences(packed, last);
  if (sequences.ok()) return false;
  EXPECT_EQ(sequences.error().code, core::Errc::damaged) << sequences.error().message();
  return true;
}

// JRN-1: as docs/formats/journal.md has it.
TEST(FlowIndexRow, IsPackedAsTheFormatSays) {
  EXPECT_EQ(pack_sequences(Sequences{2, 3, 5, 133, 300}), std::string("\x02\x01\x02\x80\x01\xa7\x01", 7));
  EXPECT_EQ(pack_sequences(Sequences{kMost}).size(), 9U);
}

TEST(FlowIndexRow, ComesBackAsItWas) {
  std::mt19937_64 random(5);  // NOLINT(cert-msc51-cpp): the same rows every time
  for (int row = 0; row < 2000; ++row) {
    Sequences sequences;
    std::uint64_t sequence = 0;
    for (std::uint64_t left = 1 + random() % 40; left > 0; --left) {
      const std::uint64_t more = 1 + (random() >> (random() % 63 + 1));
      if (more > kMost - sequence) break;
      sequences.push_back(sequence += more);
    }
    if (sequences.empty()) continue;
    const auto back = unpack_sequences(pack_sequences(sequences), static_cast<std::int64_t>(sequences.back()));
    ASSERT_TRUE(back.ok()) << back.error().message();
    ASSERT_EQ(back.value(), sequences);
  }
}

// JRN-5: bytes that are no row's are one error and no sequences.
TEST(FlowIndexRow, IsRefusedWhenItMakesNoSense) {
  const std::string good = pack_sequences(Sequences{7, 200, 90000});
  ASSERT_FALSE(is_refused(good, 90000));
  EXPECT_TRUE(is_refused(good, 90001));
  EXPECT_TRUE(is_refused(good, -1));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(is_refused(std::string_view(good).substr(0, size), 90000)) << size;
  }
  EXPECT_TRUE(is_refused(std::string("\x07\x00", 2), 7));  // the same fact twice
  EXPECT_TRUE(is_refused(std::string("\x00", 1), 0));
  const std::string nine = pack_sequences(Sequences{kMost});
  ASSERT_FALSE(is_refused(nine, static_cast<std::int64_t>(kMost)));
  EXPECT_TRUE(is_refused(nine + '\x01', static_cast<std::int64_t>(kMost)));
  EXPECT_TRUE(is_refused(nine + '\x01', std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(is_refused(std::string(9, '\xff') + '\x01', -1));
  EXPECT_TRUE(is_refused(std::string(400, '\x80') + '\x01', 1));
}

// What is fed to the check: of facts 1 to 6 f has 1 2 4 6, g has 3 and 5.
struct Row {
  std::string flow;
  Sequences sequences;
};

bool agrees(const std::vector<Row>& rows, const std::vector<std::pair<std::string, std::int64_t>>& counts) {
  IndexCheck check(6);
  for (const Row& row : rows) {
    const auto taken =
        check.take_row(row.flow, static_cast<std::int64_t>(row.sequences.back()), pack_sequences(row.sequences));
    if (!taken.ok()) return false;
    EXPECT_EQ(taken.value(), row.sequences);
  }
  for (const auto& [flow, facts] : counts) {
    if (!check.take_count(flow, facts).ok()) return false;
  }
  return check.finish().ok();
}

// JRN-5: nothing is there twice, nothing is missing, and the counts are right.
TEST(FlowIndexCheck, FindsWhatIsTooMuchOrTooLittle) {
  EXPECT_TRUE(agrees({{"f", {1, 2}}, {"f", {4, 6}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 4}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {2, 6}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 4}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {6}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 3}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {4, 7}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 4}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {4, 6}}, {"g", {3, 5}}}, {{"g", 3}, {"f", 3}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {4, 6}}, {"g", {3, 5}}}, {{"f", 4}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {4, 6}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 4}, {"h", 0}}));
  EXPECT_FALSE(agrees({{"f", {1, 2}}, {"f", {4, 6}}, {"g", {3, 5}}}, {{"g", 2}, {"f", 4}, {"f", 4}}));
}

// JRN-5: what a failed batch has numbered does not get into the index with the next one.
TEST(Sequencer, TakesBackWhatWasNotCommitted) {
  const Draft draft{"f", "a", Kind::intent, "{}", std::nullopt};
  Sequencer sequencer;
  HeadRow end{kSchema, {}, 0};
  const auto batch = [&] {
    if (sequencer.begin(end, Time())) sequencer.learn({});
    Job job;
    job.drafts = std::span<const Draft>(&draft, 1);
    job.body_digests.resize(1);
    const auto numbered = sequencer.number(
        job, [](const std::string&) { return core::Result<std::uint64_t>(0U); },
        [](const NewRow&) { return core::Result<void>(); });
    EXPECT_TRUE(numbered.ok());
  };
  batch();
  sequencer.committed();
  end.head = sequencer.head();
  batch();
  batch();
  const std::vector<FlowTail> tails = sequencer.flow_tails();
  ASSERT_EQ(tails.size(), 1U);
  EXPECT_EQ(tails[0].facts, 2U);
  EXPECT_EQ(Sequences(tails[0].sequences.begin(), tails[0].sequences.end()), (Sequences{1, 2}));
}

}  // namespace
}  // namespace heddle::journal
