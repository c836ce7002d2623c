#!/usr/bin/env python3
"""read_journal.py FILE: checks a journal of Heddle's in SQLite and prints its facts, from docs/formats/journal.md alone."""
import hashlib
import json
import pathlib
import sqlite3
import struct
import sys


def text(value):
    return struct.pack(">Q", len(value)) + value


def sequences(packed):
    numbers, number, shift = [0], 0, 0
    for byte in packed:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(numbers[-1] + number)
            number, shift = 0, 0
    if shift or len(numbers) == 1:
        sys.exit("a row of table flow_index is no list of sequences")
    return numbers[1:]


def main(path):
    # Somebody else's file is not believed: no trigger or view of it runs, since it may have none.
    db = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    db.text_factory = bytes  # what was written, byte for byte
    if db.execute("PRAGMA application_id").fetchone()[0] != 0x48444C4A:
        sys.exit(f"{path}: no journal")
    tables = {(type, name) for type, name in db.execute("SELECT type, name FROM sqlite_schema LIMIT 100")}
    names = [b"journal", b"fact", b"body", b"flow", b"flow_index"]
    known = {(b"table", name) for name in names} | {(b"index", b"sqlite_autoindex_body_1")}
    if tables - known:
        sys.exit(f"{path}: it has what no journal has: {sorted(tables - known)[0]}")
    schema = db.execute("SELECT schema FROM journal").fetchone()[0]
    if int(schema.split(b".")[0]) > 1:
        sys.exit(f"{path}: schema {schema.decode()}, and this program reads 1.x")
    if (b"table", b"flow_index") not in tables:
        sys.exit(f"{path}: a build from before the first release made this journal")
    last, newest, border = db.execute("SELECT last, checksum, indexed FROM journal").fetchone()
    before, ordinals, count = bytes(32), {}, 0
    gone, said = set(), set()
    index = {}
    for sequence, ordinal, checksum, version, time, flow, effect, kind, payload, digest, body in db.execute(
        "SELECT sequence, ordinal, checksum, schema, time, flow, effect, kind, payload, body_digest, body"
        " FROM fact ORDER BY sequence"
    ):
        count += 1
        ordinals[flow] = ordinals.get(flow, 0) + 1
        covered = before + struct.pack(">QQq", sequence, ordinal, time)
        covered += struct.pack(">III", *map(int, version.split(b".")))
        covered += text(flow) + text(effect) + text(kind) + text(payload) + (digest or b"")
        if not payload and not digest and sequence < last:  # what it said was pruned; the fact after it vouches for it
            gone.add(sequence)
            covered = None
        if sequence != count or ordinal != ordinals[flow] or covered and hashlib.sha256(covered).digest() != checksum:
            sys.exit(f"{path}: fact {sequence} is not what was written")
        if digest and body is None:
            body = db.execute("SELECT text FROM body WHERE digest = ?", (digest,)).fetchone()[0]
        if digest and hashlib.sha256(body).digest() != digest:
            sys.exit(f"{path}: the body of fact {sequence} is not what was written")
        if kind == b"PRUNED":
            said.update(number for first, end in json.loads(body) for number in range(first, min(end, sequence) + 1))
        if sequence <= border:
            index.setdefault(flow, []).append(sequence)
        print(sequence, kind.decode(), ascii(flow.decode()), ascii(effect.decode()))
        before = checksum
    if gone != said:
        sys.exit(f"{path}: facts {sorted(gone ^ said)[:9]} were pruned without a word, or should have been")
    if count != last or before != newest:
        sys.exit(f"{path}: the last fact is missing")
    listed = {}
    for flow, end, packed in db.execute("SELECT flow, last, sequences FROM flow_index ORDER BY flow, last"):
        listed.setdefault(flow, []).extend(sequences(packed))
        if listed[flow][-1] != end:
            sys.exit(f"{path}: a row of table flow_index does not end with fact {end}")
    if listed != index or border > last:
        sys.exit(f"{path}: table flow_index does not have the facts up to {border}")
    if dict(db.execute("SELECT id, facts FROM flow")) != {flow: len(facts) for flow, facts in index.items()}:
        sys.exit(f"{path}: table flow does not count the facts up to {border}")
    print("checksum", before.hex())


main(sys.argv[1])
