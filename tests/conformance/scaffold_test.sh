#!/usr/bin/env bash
# scaffold_test.sh BUILD CMAKE OPTION…: what `heddle plugin new sandbox` writes builds against an installed Heddle, passes
# the kit and the check; each claim that its engine does not keep fails at its own case; the check finds what breaks a rule.
# CNF-1, CNF-3, CNF-6, CNF-7, CNF-8, CNF-9, CNF-10
set -euo pipefail
build=$1 cmake=$2
shift 2
options=("$@")
source=$(realpath -- "$(dirname "${BASH_SOURCE[0]}")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || { cat "$scratch/install.log" >&2; exit 1; }
export CMAKE_PREFIX_PATH=$scratch/prefix PATH=$scratch/prefix/bin:$PATH XDG_STATE_HOME=$scratch/state
records=$XDG_STATE_HOME/heddle/conformance
mkdir "$scratch/empty"
cd "$scratch/empty"
fail() { echo "scaffold_test: $*" >&2; exit 1; }

# The two lines of the guide.
heddle plugin new sandbox demo
"$cmake" "$@" -S demo -B b >"$scratch/cmake.log" || { cat "$scratch/cmake.log" >&2; exit 1; }
"$cmake" --build b
ctest --test-dir b --output-on-failure
record_of() { echo "$records/$(sha256sum <"$1" | cut -d' ' -f1).json"; }
[[ -f $(record_of b/demo.so) ]] || fail "the kit left no record in the state folder"
[[ $(stat -c %a "$records" "$(record_of b/demo.so)") == $'700\n600' ]] || fail "others may read or write the records"
grep -q '"thrown_message": "the shuttle is empty"' "$(record_of b/demo.so)" || fail "the record does not hold the scripts"
! heddle plugin new sandbox demo 2>/dev/null || fail "an existing folder was written over"

# Each lie, and the cases that find it.
lie() {  # lie FROM TO CASE…
  cp demo/src/backend.cc "$scratch/honest.cc"
  sed -i "s/$1/$2/" demo/src/backend.cc
  ! cmp -s demo/src/backend.cc "$scratch/honest.cc" || fail "nothing to change: $1"
  "$cmake" --build b >/dev/null
  local code=0 what=$2
  shift 2
  heddle conformance --backend b/demo.so --fixtures demo/fixtures.json --case-timeout 60s >"$scratch/report" || code=$?
  [[ $code == 1 ]] || fail "$what: exit code $code, not 1"
  sed -nE 's/^(.{24})failed .*/\1/p' "$scratch/report" | sed 's/ *$//' >"$scratch/failed"
  diff "$scratch/failed" <(printf '%s\n' "$@") >&2 || { cat "$scratch/report" >&2; fail "$what: other cases than these failed"; }
  cp "$scratch/honest.cc" demo/src/backend.cc
}
lie 'declared.memory = false' 'declared.memory = true' 'allocation bomb' 'memory as asked'
lie 'declared.cpu = false' 'declared.cpu = true' 'cpu budget'
lie 'declared.fresh_per_run = false' 'declared.fresh_per_run = true' 'fresh per run'
lie 'Network::open' 'Network::none' 'no network, no escape'
lie 'WallClock::soft' 'WallClock::hard' 'aborted mid-run'

# The check: a record of another binary, none, a failed one, a copy of the interface.
broken() {  # broken RULE PATH
  ! heddle plugin check "$2" >"$scratch/check" || { cat "$scratch/check" >&2; fail "not found: $1"; }
  grep -q "^$1  *BROKEN" "$scratch/check" || { cat "$scratch/check" >&2; fail "not named: $1"; }
}
"$cmake" --build b >/dev/null
heddle plugin check b/demo.so
heddle plugin check b
strip -o b/other.so b/demo.so
broken 'its declaration is proven' b/other.so  # another binary
cp "$(record_of b/demo.so)" b/other.so.conformance.json
cp "$(record_of b/demo.so)" "$(record_of b/other.so)"
broken 'its declaration is proven' b/other.so  # another's record, beside it and under its name
rm b/other.so.conformance.json "$(record_of b/other.so)" b/other.so
mv "$records" "$scratch/elsewhere"
cp "$scratch/elsewhere/$(basename "$(record_of b/demo.so)")" b/demo.so.conformance.json
broken 'its declaration is proven' b/demo.so   # a record that the package brought
rm -r "$records" b/demo.so.conformance.json
mv "$scratch/elsewhere" "$records"
chmod 770 "$records"
broken 'its declaration is proven' b/demo.so   # a folder that others may write
chmod 700 "$records"
heddle plugin check b >/dev/null
cp "$(record_of b/demo.so)" "$scratch/honest.json"
sed -i 's/"cpu": false/"cpu": true/' "$(record_of b/demo.so)"
broken 'its declaration is proven' b/demo.so   # of another declaration than it has
cp "$scratch/honest.json" "$(record_of b/demo.so)"
heddle plugin check b >/dev/null

# Parts of Heddle's, as headers, as a library beside it, linked in and stripped.
mkdir -p b/vendor/heddle/sandbox/spi
cp "$scratch"/prefix/include/heddle/sandbox/spi/backend.h b/vendor/heddle/sandbox/spi/
broken 'brings no copy of it' b
rm b/vendor/heddle/sandbox/spi/backend.h
library=$(find "$scratch/prefix" -name 'libheddle_sandbox_spi.so.1' | head -1)
cp -L "$library" b/vendor/libother.so
broken 'brings no copy of it' b
rm -r b/vendor
# A library of the interface's that is not this Heddle's, found by the run path; the very same one is none.
mkdir "$scratch/theirs"
cp -L "$library" "$scratch/theirs/"
"$cmake" "${options[@]}" -S demo -B "$scratch/r" -DCMAKE_BUILD_RPATH="$scratch/theirs" >/dev/null
"$cmake" --build "$scratch/r" >/dev/null
heddle plugin check "$scratch/r/demo.so" >"$scratch/check" || :
grep -q '^brings no copy of it  *kept' "$scratch/check" || { cat "$scratch/check" >&2; fail "the same library is no copy"; }
echo >>"$scratch/theirs/$(basename "$library")"
broken 'brings no copy of it' "$scratch/r/demo.so"
rm -r "$scratch/r" "$scratch/theirs"
copies() {  # copies LINKED COMPILED SOURCE: the demo with a part of Heddle's in it
  cp -r demo "$scratch/copies"
  sed -i "s/PRIVATE heddle::sandbox_spi)/PRIVATE $1)/; s|MODULE src/backend.cc|MODULE src/backend.cc $2|" \
    "$scratch/copies/CMakeLists.txt"
  printf '%s\n' "$3" >>"$scratch/copies/src/backend.cc"
  "$cmake" "${options[@]}" -S "$scratch/copies" -B "$scratch/c" >/dev/null
  "$cmake" --build "$scratch/c" >/dev/null
  broken 'brings no copy of it' "$scratch/c/demo.so"
  strip "$scratch/c/demo.so"
  broken 'brings no copy of it' "$scratch/c/demo.so"
  rm -r "$scratch/copies" "$scratch/c"
}
copies 'heddle::sandbox_spi heddle::core' '' '#include "heddle/core/text.h"
bool used(const char* text) { return heddle::core::valid_utf8(text); }
__attribute__((visibility("default"))) bool (*keep)(const char*) = used;'
# The same without a symbol that tells: one source of the interface, its names hidden.
cp "$source"/src/sandbox/spi/{pending.cc,event.cc,event.h} "$scratch/"
sed -i '1i#include "heddle/sandbox/spi/version.h"\n#undef HEDDLE_SPI_EXPORT\n#define HEDDLE_SPI_EXPORT' "$scratch/pending.cc"
copies 'heddle::sandbox_spi' "$scratch/pending.cc $scratch/event.cc" ''
broken 'exports one backend' "$(echo "$scratch"/prefix/lib*/libheddle_sandbox_spi.so "$scratch"/prefix/lib*/*/libheddle_sandbox_spi.so |
  tr ' ' '\n' | grep -v '\*' | head -1)"
! heddle plugin check demo/fixtures.json 2>/dev/null || fail "a text file is no plugin"

# A backend that ends its process costs the cases in which it does; the others have their results.
sed -i 's/if (script == "throw at length")/if (script == "throw at length") std::abort();\n    if (script == "never")/; s/#include <atomic>/#include <atomic>\n#include <cstdlib>/' demo/src/backend.cc
"$cmake" --build b >/dev/null
code=0
heddle conformance --backend b/demo.so --fixtures demo/fixtures.json >"$scratch/report" || code=$?
[[ $code == 1 ]] && grep -q '^composition  *failed .*ended by signal 6' "$scratch/report" &&
  grep -q '^echo  *passed' "$scratch/report" && grep -q ' passed, 1 failed, ' "$scratch/report" &&
  grep -q "^again, alone: .*--case 'composition'" "$scratch/report" ||
  { cat "$scratch/report" >&2; fail "a crash: exit code $code"; }
broken 'its declaration is proven' b/demo.so  # the record of a run that failed
before=$(cat "$(record_of b/demo.so)")
code=0
heddle conformance --backend b/demo.so --fixtures demo/fixtures.json --case composition --case echo >"$scratch/report" || code=$?
[[ $code == 1 && $(grep -cE '^.{24}(passed|failed|skipped) ' "$scratch/report") == 2 ]] ||
  { cat "$scratch/report" >&2; fail "two cases alone: exit code $code"; }
[[ $(cat "$(record_of b/demo.so)") == "$before" ]] || fail "a run of some cases wrote a record"
code=0
heddle conformance --case nonsense 2>"$scratch/stderr" || code=$?
[[ $code == 64 ]] && grep -q "'runaway loop'" "$scratch/stderr" || fail "no such case: exit code $code"
# Fixtures missing, a file that is none, a word that is none.
! heddle conformance --backend b/demo.so 2>"$scratch/stderr" || fail "no fixtures, and yet it passed"
grep -q 'fixtures' "$scratch/stderr" || fail "the refusal does not say what is missing"
! heddle conformance --backend b/none.so 2>/dev/null || fail "there is no such file"
code=0
heddle plugin frobnicate 2>/dev/null || code=$?
[[ $code == 64 ]] || fail "usage: exit code $code, not 64"
