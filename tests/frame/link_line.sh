#!/usr/bin/env bash
# link_line.sh static|any PROGRAM: PROGRAM contains and imports nothing of the journal, of effects, of egress, of SQLite,
# libpq or libcurl; it is position independent, with full RELRO and no executable stack; static also: it has no loader.
set -euo pipefail
kind=$1 program=$2
rc=0
bad() { printf '%s: %s\n' "$program" "$*" >&2; rc=1; }

[[ -f $program ]] || { bad "no such program"; exit "$rc"; }
symbols=$(nm --format=posix "$program" 2>/dev/null | awk '{ print $1 }') || :
dynamic=$(nm --format=posix --dynamic "$program" 2>/dev/null | awk '{ print $1 }') || :
grep -qx main <<<"$symbols" || bad "its symbol table is gone, so nothing is proven"
found=$(printf '%s\n%s\n' "$symbols" "$dynamic" |
  grep -E '^(sqlite3_|PQ[a-z]|curl_)|6heddle(7journal|6effect|6egress)' | sort -u | head -n 20) || :
[[ -z $found ]] || bad "forbidden symbols:"$'\n'"$(c++filt <<<"$found")"

headers=$(readelf --wide --file-header --program-headers --dynamic "$program")
grep -qE '^ *Type: +DYN ' <<<"$headers" || bad "not position independent"
grep -q GNU_RELRO <<<"$headers" || bad "no RELRO"
grep -qE 'FLAGS.*(BIND_NOW|NOW)' <<<"$headers" || bad "symbols are bound lazily, so RELRO is partial"
grep -qE '^ *GNU_STACK .* RW +0x' <<<"$headers" || bad "an executable stack"
if [[ $kind == static ]]; then
  if grep -q INTERP <<<"$headers"; then bad "it needs a loader: not static"; fi
  if grep -q '(NEEDED)' <<<"$headers"; then bad "it needs shared libraries: not static"; fi
fi
# Libraries by name too: one may be linked without any symbol of it in use.
if grep -qE '\(NEEDED\).*\[lib(sqlite3|pq|curl)' <<<"$headers"; then bad "a forbidden library"; fi
exit "$rc"
