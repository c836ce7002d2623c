// The SQL of the journal in PostgreSQL (docs/formats/journal.md).
#pragma once

#include "heddle/journal/core/sql.h"

namespace heddle::journal::pg {

inline constexpr Sql kServerIsSafe =
    "SELECT (current_setting('fsync') = 'on')::int::bigint, (current_setting('server_encoding') = 'UTF8')::int::bigint,"
    " (to_regclass('heddle.journal') IS NOT NULL)::int::bigint,"
    " (to_regclass('heddle.flow_index') IS NOT NULL)::int::bigint";

// The first thing that a journal's schema does not have: another relation than its tables and their keys, one that is
// not durable or not read whole, and whatever runs something of its owner's when we insert. Empty when there is none.
inline constexpr Sql kStrangeThing =
    "SELECT coalesce(min(what), '') FROM ("
    "SELECT 'relation ' || c.relname AS what FROM pg_class AS c WHERE c.relnamespace = to_regnamespace('heddle') AND"
    " (c.relname || ' ' || c.relkind::text NOT IN ('journal r', 'fact r', 'body r', 'flow r', 'flow_index r',"
    " 'journal_pkey i', 'fact_pkey i', 'body_pkey i', 'flow_pkey i', 'flow_index_pkey i') OR c.relpersistence <> 'p'"
    " OR c.relrowsecurity OR c.relhassubclass OR c.relispartition)"
    " UNION ALL SELECT 'trigger ' || t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = to_regnamespace('heddle')"
    " UNION ALL SELECT 'rule ' || r.rulename FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class"
    " WHERE c.relnamespace = to_regnamespace('heddle') AND c.relkind = 'r'"
    " UNION ALL SELECT 'default of ' || c.relname FROM pg_attrdef AS d JOIN pg_class AS c ON c.oid = d.adrelid"
    " WHERE c.relnamespace = to_regnamespace('heddle')"
    " UNION ALL SELECT 'constraint ' || k.conname FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid"
    " WHERE c.relnamespace = to_regnamespace('heddle') AND k.contype NOT IN ('p', 'n') AND k.conname <> "
    "'journal_id_check') AS strange";

// Two programs that make the tables at the same time take turns.
inline constexpr Sql kMakeLock = "SELECT pg_advisory_xact_lock(5209424974101663306)::text";
inline constexpr Sql kMakeSchema = "CREATE SCHEMA IF NOT EXISTS heddle";
inline constexpr Sql kMakeFact =
    "CREATE TABLE IF NOT EXISTS heddle.fact (sequence bigint PRIMARY KEY, ordinal bigint NOT NULL,"
    " checksum bytea NOT NULL, schema text NOT NULL, time bigint NOT NULL, flow text NOT NULL, effect text NOT NULL,"
    " kind text NOT NULL, payload text NOT NULL, body_digest bytea, body text)";
inline constexpr Sql kMakeBody =
    "CREATE TABLE IF NOT EXISTS heddle.body (digest bytea PRIMARY KEY, text text NOT NULL)";
inline constexpr Sql kMakeFlow =
    "CREATE TABLE IF NOT EXISTS heddle.flow (id text COLLATE \"C\" PRIMARY KEY, facts bigint NOT NULL)";
inline constexpr Sql kMakeFlowIndex =
    "CREATE TABLE IF NOT EXISTS heddle.flow_index (flow text COLLATE \"C\", last bigint, sequences bytea NOT NULL,"
    " PRIMARY KEY (flow, last))";
// Last: where it is, everything is.
inline constexpr Sql kMakeJournal =
    "CREATE TABLE IF NOT EXISTS heddle.journal (id integer PRIMARY KEY CHECK (id = 1), schema text NOT NULL,"
    " last bigint NOT NULL, checksum bytea NOT NULL, indexed bigint NOT NULL)";
inline constexpr Sql kMakeHead =
    "INSERT INTO heddle.journal (id, schema, last, checksum, indexed) VALUES (1, $1::text, 0, $2::bytea, 0)"
    " ON CONFLICT DO NOTHING";

// Of the session that writes. What a write sends up to its `finish` is a transaction without a BEGIN, of the kind that
// these make it. The server looks after half a minute whether a silent writer is still there: one that vanished in the
// middle holds the lock. Somebody else who is writing is waited for where that wait is the caller's (kAwaitLock), not
// here. No plan depends on the values, and looking for a better one takes longer than running it.
inline constexpr Sql kWriter =
    "SELECT set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('default_transaction_read_only', 'off', false), set_config('lock_timeout', '1ms', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false), set_config('tcp_keepalives_idle', '15', false),"
    " set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false),"
    " set_config('tcp_user_timeout', '30000', false)";
inline constexpr Sql kAwaitLock = "SET LOCAL lock_timeout = 0";

inline constexpr Sql kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
inline constexpr Sql kBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
inline constexpr Sql kCommit = "COMMIT";
inline constexpr Sql kRollback = "ROLLBACK";

// Schema, last fact and its checksum, end of the index; and whether the fact is there that was the last one when the
// row of table journal was written.
inline constexpr Sql kReadHead =
    "SELECT j.schema, coalesce(e.sequence, 0)::bigint, coalesce(e.checksum, j.checksum), j.indexed,"
    " (j.last = 0 OR (b.checksum IS NOT NULL AND b.checksum = j.checksum))::int::bigint FROM heddle.journal AS j"
    " LEFT JOIN (SELECT sequence, checksum FROM heddle.fact ORDER BY sequence DESC LIMIT 1) AS e ON true"
    " LEFT JOIN heddle.fact AS b ON b.sequence = j.last WHERE j.id = 1";
// Who appends holds this lock until the end of the transaction, so that sequences are committed in their order. Its
// key: "HDLJappd". A row whose sequence is taken already is a unique violation: somebody else has appended.
inline constexpr Sql kLock = "SELECT pg_advisory_xact_lock(5207370951493185636)::text";
inline constexpr Sql kInsertFact =
    "INSERT INTO heddle.fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest,"
    " body) SELECT $1::bigint, $2::bigint, $3::bytea, $4::text, $5::bigint, $6::text, $7::text, $8::text, $9::text,"
    " $10::bytea, $11::text FROM pg_advisory_xact_lock(5207370951493185636)";
// From $1 on, what is the same for all of them, and the rest column by column. Functions that give many values are in
// step with each other here, and no table of theirs is made as there would be in FROM.
inline constexpr Sql kInsertFacts =
    "INSERT INTO heddle.fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest,"
    " body) SELECT generate_series($1::bigint, $1::bigint + cardinality($4::bigint[]) - 1), unnest($4::bigint[]),"
    " unnest($5::bytea[]), $2::text, $3::bigint, unnest($6::text[]), unnest($7::text[]), unnest($8::text[]),"
    " unnest($9::text[]), unnest($10::bytea[]), unnest($11::text[]) FROM pg_advisory_xact_lock(5207370951493185636)";
inline constexpr Sql kIndexFacts =
    "INSERT INTO heddle.flow_index (flow, last, sequences) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])";
inline constexpr Sql kSetFlows =
    "INSERT INTO heddle.flow (id, facts) SELECT * FROM unnest($1::text[], $2::bigint[])"
    " ON CONFLICT (id) DO UPDATE SET facts = excluded.facts";
inline constexpr Sql kSetHead =
    "UPDATE heddle.journal SET schema = $1::text, last = $2::bigint, checksum = $3::bytea, indexed = $4::bigint"
    " WHERE id = 1";
inline constexpr Sql kInsertBody =
    "INSERT INTO heddle.body (digest, text) VALUES ($1::bytea, $2::text) ON CONFLICT (digest) DO NOTHING";
inline constexpr Sql kReadBody = "SELECT text FROM heddle.body WHERE digest = $1::bytea";
inline constexpr Sql kChecksumOf = "SELECT checksum FROM heddle.fact WHERE sequence = $1::bigint";

inline constexpr Sql kReadSchema = "SELECT schema FROM heddle.journal WHERE id = 1";
inline constexpr Sql kReadFlow = "SELECT facts FROM heddle.flow WHERE id = $1::text";
// Is the fact at the border $1 in the index?
inline constexpr Sql kReadBorder =
    "SELECT EXISTS (SELECT 1 FROM heddle.fact AS f JOIN heddle.flow_index AS i ON i.flow = f.flow AND"
    " i.last = f.sequence WHERE f.sequence = $1::bigint)::int::bigint";
// Of flow $1 in the index: the end of its last row before fact $2, how many facts it has; and whether the index has the
// fact at the border $3.
inline constexpr Sql kReadIndex =
    "SELECT (SELECT coalesce(max(last), 0) FROM heddle.flow_index WHERE flow = $1::text AND last < $2::bigint)::bigint,"
    " coalesce((SELECT facts FROM heddle.flow WHERE id = $1::text), 0)::bigint,"
    " EXISTS (SELECT 1 FROM heddle.fact AS f JOIN heddle.flow_index AS i ON i.flow = f.flow AND i.last = f.sequence"
    " WHERE f.sequence = $3::bigint)::int::bigint";
// Its rows from the one on that ends with $2 or later.
inline constexpr Sql kIndexOfFlow =
    "SELECT last, sequences FROM heddle.flow_index WHERE flow = $1::text AND last >= $2::bigint ORDER BY last LIMIT "
    "500";

inline constexpr Sql kScan =
    "SELECT sequence, ordinal, time, schema, flow, effect, kind, payload, checksum, body_digest, body FROM heddle.fact"
    " WHERE sequence >= $1::bigint ORDER BY sequence LIMIT 500";
// Facts by their sequences, each with the checksum of the one before it in the journal.
inline constexpr Sql kFactsAt =
    "SELECT f.sequence, f.ordinal, f.time, f.schema, f.flow, f.effect, f.kind, f.payload, f.checksum, f.body_digest,"
    " f.body, p.checksum FROM heddle.fact AS f LEFT JOIN heddle.fact AS p ON p.sequence = f.sequence - 1"
    " WHERE f.sequence = ANY ($1::bigint[]) ORDER BY f.sequence";
inline constexpr int kRowsAtOnce = 500;

// The whole index from row ($1, $2) on, and all counts from flow $1 on, which has $2 facts.
inline constexpr Sql kIndexFrom =
    "SELECT flow, last, sequences FROM heddle.flow_index WHERE (flow, last) >= ($1::text, $2::bigint)"
    " ORDER BY flow, last LIMIT 500";
inline constexpr Sql kFlowsFrom =
    "SELECT id, facts FROM heddle.flow WHERE (id, facts) >= ($1::text, $2::bigint) ORDER BY id LIMIT 500";
// How many of these facts are there and of these flows?
inline constexpr Sql kCountFacts =
    "SELECT count(*) FROM unnest($1::bigint[], $2::text[]) AS i (sequence, flow) JOIN heddle.fact AS f"
    " ON f.sequence = i.sequence AND f.flow = i.flow";

// What Store::erase takes away: of facts $1 to $2, and then bodies that no fact has any more.
inline constexpr Sql kErase =
    "UPDATE heddle.fact SET payload = '', body_digest = NULL, body = NULL"
    " WHERE sequence BETWEEN $1::bigint AND $2::bigint";
inline constexpr Sql kEraseBodies =
    "DELETE FROM heddle.body AS b WHERE NOT EXISTS (SELECT 1 FROM heddle.fact AS f WHERE f.body_digest = b.digest AND "
    "f.body IS NULL)";

}  // namespace heddle::journal::pg
