#!/usr/bin/env bash
# scaffold_test.sh BUILD CMAKE OPTION…: what `heddle plugin new sandbox` writes builds against an installed Heddle, passes
# the kit and the check; each claim that its engine does not keep fails at its own case; the check finds what breaks a rule.
# CNF-1, CNF-3, CNF-6, CNF-7, CNF-8
set -euo pipefail
build=$1 cmake=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || { cat "$scratch/install.log" >&2; exit 1; }
export CMAKE_PREFIX_PATH=$scratch/prefix PATH=$scratch/prefix/bin:$PATH
mkdir "$scratch/empty"
cd "$scratch/empty"
fail() { echo "scaffold_test: $*" >&2; exit 1; }

# The two lines of the guide.
heddle plugin new sandbox demo
"$cmake" "$@" -S demo -B b >"$scratch/cmake.log" || { cat "$scratch/cmake.log" >&2; exit 1; }
"$cmake" --build b
ctest --test-dir b --output-on-failure
[[ -f b/demo.so.conformance.json ]] || fail "the kit left no record"
! heddle plugin new sandbox demo 2>/dev/null || fail "an existing folder was written over"

# Each lie, and the case that finds it.
lie() {  # lie FROM TO CASE
  cp demo/src/backend.cc "$scratch/honest.cc"
  sed -i "s/$1/$2/" demo/src/backend.cc
  ! cmp -s demo/src/backend.cc "$scratch/honest.cc" || fail "nothing to change: $1"
  "$cmake" --build b >/dev/null
  local code=0
  heddle conformance --backend b/demo.so --fixtures demo/fixtures.json --case-timeout 4s >"$scratch/report" || code=$?
  [[ $code == 1 ]] || fail "$2: exit code $code, not 1"
  [[ $(grep -cE '^.{24}failed ' "$scratch/report") == 1 ]] || { cat "$scratch/report" >&2; fail "$2: not one failed case"; }
  grep -q "^$3  *failed" "$scratch/report" || { cat "$scratch/report" >&2; fail "$2: not found by: $3"; }
  cp "$scratch/honest.cc" demo/src/backend.cc
}
lie 'declared.memory = false' 'declared.memory = true' 'allocation bomb'
lie 'declared.cpu = false' 'declared.cpu = true' 'cpu budget'
lie 'declared.fresh_per_run = false' 'declared.fresh_per_run = true' 'fresh per run'
lie 'Network::open' 'Network::none' 'no network, no escape'
lie 'WallClock::soft' 'WallClock::hard' 'aborted mid-run'

# The check: a record of another binary, none, a failed one, a copy of the interface.
broken() {  # broken RULE PATH
  ! heddle plugin check "$2" >"$scratch/check" || { cat "$scratch/check" >&2; fail "not found: $1"; }
  grep -q "^$1  *BROKEN" "$scratch/check" || { cat "$scratch/check" >&2; fail "not named: $1"; }
}
broken 'its declaration is proven' b/demo.so  # its record is of the last lie
"$cmake" --build b >/dev/null
heddle conformance --backend b/demo.so --fixtures demo/fixtures.json >/dev/null
heddle plugin check b/demo.so
heddle plugin check b
strip -o b/other.so b/demo.so
broken 'its declaration is proven' b/other.so
cp b/demo.so.conformance.json b/other.so.conformance.json
broken 'its declaration is proven' b/other.so
rm b/other.so b/other.so.conformance.json
mkdir -p b/vendor/heddle/sandbox/spi
cp "$scratch"/prefix/include/heddle/sandbox/spi/backend.h b/vendor/heddle/sandbox/spi/
broken 'brings no copy of it' b
rm -r b/vendor
broken 'exports one backend' "$(echo "$scratch"/prefix/lib*/libheddle_sandbox_spi.so "$scratch"/prefix/lib*/*/libheddle_sandbox_spi.so |
  tr ' ' '\n' | grep -v '\*' | head -1)"
! heddle plugin check demo/fixtures.json 2>/dev/null || fail "a text file is no plugin"

# A backend that ends its process ends the child, and only the child says so.
sed -i 's/if (script == "loop") return loop(request);/if (script == "loop") std::abort();/; s/#include <atomic>/#include <atomic>\n#include <cstdlib>/' demo/src/backend.cc
"$cmake" --build b >/dev/null
code=0
heddle conformance --backend b/demo.so --fixtures demo/fixtures.json >/dev/null 2>"$scratch/stderr" || code=$?
[[ $code == 15 ]] && grep -q 'ended by signal 6' "$scratch/stderr" || { cat "$scratch/stderr" >&2; fail "a crash: exit code $code"; }
# Fixtures missing, a file that is none, a word that is none.
! heddle conformance --backend b/demo.so 2>"$scratch/stderr" || fail "no fixtures, and yet it passed"
grep -q 'fixtures' "$scratch/stderr" || fail "the refusal does not say what is missing"
! heddle conformance --backend b/none.so 2>/dev/null || fail "there is no such file"
code=0
heddle plugin frobnicate 2>/dev/null || code=$?
[[ $code == 64 ]] || fail "usage: exit code $code, not 64"
