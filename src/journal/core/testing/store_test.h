// A store of the backend that is under test, and what its tests need of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/journal/core/facts.h"
#include "testing/backend.h"

namespace heddle::journal::testing {

class StoreTest : public ::testing::Test {
 protected:
  static Draft draft(std::string flow, std::string effect, Kind kind = Kind::intent, std::string payload = "{}") {
    return Draft{std::move(flow), std::move(effect), kind, std::move(payload), std::nullopt};
  }
  static Wait soon() { return Wait{{}, core::Deadline::after(std::chrono::seconds(20))}; }

  std::vector<Fact> all(Store& store, std::size_t page_size = 1000) {
    std::vector<Fact> facts;
    Query query;
    query.limit = page_size;
    for (;;) {
      Page page = store.read(query, soon()).value();
      for (Fact& fact : page.facts) facts.push_back(std::move(fact));
      if (page.at_end) return facts;
      query.from = page.next;
    }
  }

  // A fact as another build of Heddle writes it after `head`.
  void insert_fact(const Head& head, std::uint64_t ordinal, const SchemaVersion& schema, std::string_view flow) {
    const std::uint64_t sequence = head.sequence + 1;
    const Digest checksum = chain(head.checksum, {sequence, ordinal, Time(std::chrono::microseconds(5)), schema, flow,
                                                  "a", "TELEPORTED", R"({"to":"mars"})"});
    backend_->run_sql(
        "INSERT INTO fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload) VALUES (" +
        std::to_string(sequence) + ", " + std::to_string(ordinal) + ", " + backend_->blob(checksum.raw()) + ", '" +
        schema.text() + "', 5, '" + std::string(flow) + "', 'a', 'TELEPORTED', '{\"to\":\"mars\"}')");
    backend_->run_sql("UPDATE journal SET last = " + std::to_string(sequence) + ", schema = '" + schema.text() +
                      "', checksum = " + backend_->blob(checksum.raw()));
  }

  std::unique_ptr<Backend> backend_ = make_backend();
};

}  // namespace heddle::journal::testing
