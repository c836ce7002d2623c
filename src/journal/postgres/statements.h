// The SQL of the journal in PostgreSQL (docs/formats/journal.md).
#pragma once

#include "heddle/journal/core/sql.h"

namespace heddle::journal::pg {

inline constexpr Sql kServerIsSafe =
    "SELECT (current_setting('fsync') = 'on')::int::bigint, (current_setting('server_encoding') = 'UTF8')::int::bigint,"
    " (to_regclass('heddle.journal') IS NOT NULL)::int::bigint";

// Two programs that make the tables at the same time take turns.
inline constexpr Sql kMakeLock = "SELECT pg_advisory_xact_lock(5209424974101663306)::text";
inline constexpr Sql kMakeSchema = "CREATE SCHEMA IF NOT EXISTS heddle";
inline constexpr Sql kMakeFact =
    "CREATE TABLE IF NOT EXISTS heddle.fact (sequence bigint PRIMARY KEY, ordinal bigint NOT NULL,"
    " checksum bytea NOT NULL, schema text NOT NULL, time bigint NOT NULL, flow text NOT NULL, effect text NOT NULL,"
    " kind text NOT NULL, payload text NOT NULL, body_digest bytea, body text)";
inline constexpr Sql kMakeBody =
    "CREATE TABLE IF NOT EXISTS heddle.body (digest bytea PRIMARY KEY, text text NOT NULL)";
inline constexpr Sql kMakeFlow = "CREATE TABLE IF NOT EXISTS heddle.flow (id text PRIMARY KEY, facts bigint NOT NULL)";
inline constexpr Sql kMakeIndex = "CREATE INDEX IF NOT EXISTS fact_flow ON heddle.fact (flow, sequence)";
// Last: where it is, everything is.
inline constexpr Sql kMakeJournal =
    "CREATE TABLE IF NOT EXISTS heddle.journal (id integer PRIMARY KEY CHECK (id = 1), schema text NOT NULL,"
    " last bigint NOT NULL, checksum bytea NOT NULL)";
inline constexpr Sql kMakeHead =
    "INSERT INTO heddle.journal (id, schema, last, checksum) VALUES (1, $1::text, 0, $2::bytea) ON CONFLICT DO NOTHING";

// Of the session that writes. What a write sends in one go is a transaction without a BEGIN, of the kind that these
// make it. Somebody else who is writing is waited for where that wait is the caller's (kAwaitLock), not here. No plan
// depends on the values, and looking for a better one takes longer than running it.
inline constexpr Sql kWriter =
    "SELECT set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('default_transaction_read_only', 'off', false), set_config('lock_timeout', '1ms', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)";
inline constexpr Sql kAwaitLock = "SET LOCAL lock_timeout = 0";

inline constexpr Sql kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
inline constexpr Sql kBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
inline constexpr Sql kCommit = "COMMIT";
inline constexpr Sql kRollback = "ROLLBACK";

inline constexpr Sql kReadHead = "SELECT schema, last, checksum FROM heddle.journal WHERE id = 1";
inline constexpr Sql kLockHead = "SELECT schema, last, checksum FROM heddle.journal WHERE id = 1 FOR UPDATE";
// Takes the lock and moves the head on, if nobody else has appended since; a division by zero otherwise.
inline constexpr Sql kSetHead =
    "UPDATE heddle.journal SET schema = $1::text, checksum = $3::bytea, last = CASE WHEN schema = $4::text AND"
    " last = $5::bigint AND checksum = $6::bytea THEN $2::bigint ELSE 1 / (id - 1) END WHERE id = 1";
inline constexpr Sql kReadFlow = "SELECT facts FROM heddle.flow WHERE id = $1::text";
inline constexpr Sql kAddFlow =
    "INSERT INTO heddle.flow (id, facts) VALUES ($1::text, $2::bigint)"
    " ON CONFLICT (id) DO UPDATE SET facts = excluded.facts";
inline constexpr Sql kSetFlow = "UPDATE heddle.flow SET facts = $2::bigint WHERE id = $1::text";
inline constexpr Sql kSetFlows =
    "INSERT INTO heddle.flow (id, facts) SELECT * FROM unnest($1::text[], $2::bigint[])"
    " ON CONFLICT (id) DO UPDATE SET facts = excluded.facts";
inline constexpr Sql kInsertFact =
    "INSERT INTO heddle.fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest, "
    "body)"
    " VALUES ($1::bigint, $2::bigint, $3::bytea, $4::text, $5::bigint, $6::text, $7::text, $8::text, $9::text,"
    " $10::bytea, $11::text)";
// From $1 on, what is the same for all of them, and the rest column by column.
inline constexpr Sql kInsertFacts =
    "INSERT INTO heddle.fact (sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest, "
    "body)"
    " SELECT $1::bigint + n - 1, ordinal, checksum, $2::text, $3::bigint, flow, effect, kind, payload, body_digest, "
    "body"
    " FROM unnest($4::bigint[], $5::bytea[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::text[])"
    " WITH ORDINALITY AS row (ordinal, checksum, flow, effect, kind, payload, body_digest, body, n)";
inline constexpr Sql kInsertBody =
    "INSERT INTO heddle.body (digest, text) VALUES ($1::bytea, $2::text) ON CONFLICT (digest) DO NOTHING";
inline constexpr Sql kReadBody = "SELECT text FROM heddle.body WHERE digest = $1::bytea";
inline constexpr Sql kChecksumOf = "SELECT checksum FROM heddle.fact WHERE sequence = $1::bigint";

inline constexpr Sql kScan =
    "SELECT sequence, ordinal, time, schema, flow, effect, kind, payload, checksum, body_digest, body FROM heddle.fact"
    " WHERE sequence >= $1::bigint ORDER BY sequence LIMIT 500";
inline constexpr Sql kByFlow =
    "SELECT f.sequence, f.ordinal, f.time, f.schema, f.flow, f.effect, f.kind, f.payload, f.checksum, f.body_digest,"
    " f.body, p.checksum FROM heddle.fact AS f LEFT JOIN heddle.fact AS p ON p.sequence = f.sequence - 1"
    " WHERE f.flow = $2::text AND f.sequence >= $1::bigint ORDER BY f.sequence LIMIT 500";
inline constexpr Sql kBeforeInFlow =
    "SELECT coalesce(max(sequence), 0)::bigint FROM heddle.fact WHERE flow = $2::text AND sequence < $1::bigint";
inline constexpr int kRowsAtOnce = 500;

}  // namespace heddle::journal::pg
