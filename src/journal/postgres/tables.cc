#include "tables.h"

#include "heddle/core/text.h"
#include "reading.h"
#include "statements.h"

namespace heddle::journal::pg {
namespace {

using core::Errc;

core::Result<void> make_tables(Session& session, const Wait& wait) {
  const std::string schema = kSchema.text();
  const Digest none;
  const auto run = [&](Sql sql, std::initializer_list<Parameter> parameters = {}) -> core::Result<void> {
    const auto done = session.run(sql, parameters, wait);
    if (!done.ok()) return done.error();
    return {};
  };
  HEDDLE_TRY(run(kBegin));
  for (const Sql& sql : {kMakeLock, kMakeSchema, kMakeFact, kMakeBody, kMakeFlow, kMakeFlowIndex, kMakeJournal}) {
    HEDDLE_TRY(run(sql));
  }
  HEDDLE_TRY(run(kMakeHead, {Parameter::text(schema), Parameter::bytes(none.raw())}));
  return run(kCommit);
}

}  // namespace

core::Result<void> open_tables(Session& session, PostgresMode mode, const Wait& wait) {
  HEDDLE_ASSIGN(const Rows rows, session.run(kServerIsSafe, {}, wait));
  HEDDLE_ASSIGN(const std::int64_t fsync, rows.number_at(0, 0));
  HEDDLE_ASSIGN(const std::int64_t utf8, rows.number_at(0, 1));
  HEDDLE_ASSIGN(const std::int64_t there, rows.number_at(0, 2));
  HEDDLE_ASSIGN(const std::int64_t indexed, rows.number_at(0, 3));
  const auto unsupported = [](std::string_view what) {
    return core::make_error(Errc::unsupported, "open the journal", what);
  };
  if (fsync == 0) return unsupported("the server runs with fsync=off, so nothing would be durable; turn it on");
  if (utf8 == 0) return unsupported("the database's encoding is not UTF8; make one with ENCODING 'UTF8'");
  if (there == 0) {
    if (mode != PostgresMode::create) {
      return core::make_error(Errc::not_found, "open the journal",
                              "the database has no schema heddle; is it the right one?");
    }
    HEDDLE_TRY(make_tables(session, wait));
  }
  HEDDLE_ASSIGN(const Rows version, session.run(kReadSchema, {}, wait));
  if (version.count() == 1) {
    const auto readable = readable_schema(version.bytes_at(0, 0));
    if (!readable.ok()) return readable.error();
  }
  if (there != 0 && indexed == 0) return made_before_release("the schema heddle of the database");
  HEDDLE_ASSIGN(const Rows strange, session.run(kStrangeThing, {}, wait));
  if (const std::string_view what = strange.bytes_at(0, 0); !what.empty()) {
    return core::make_error(
        Errc::damaged, "open the journal",
        "the schema heddle has what no journal has: " + core::printable_line(core::bound_text(what, 80)) +
            "; move it to another schema, or restore the journal from a copy");
  }
  const auto head = head_of(session.run(kReadHead, {}, wait));
  if (!head.ok()) return head.error();
  return {};
}

}  // namespace heddle::journal::pg
