#!/usr/bin/env bash
# tally_test.sh TALLY: the counts that ./dev prints, from a log as ctest writes it: nothing that failed may vanish.
set -uo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/gtest" <<'LOG'
#!/bin/sh
echo 'file.cc:3: Skipped'; echo 'no such kernel'; echo '[  SKIPPED ] A.C (0 ms)'
echo '[==========] 5 tests from 2 test suites ran. (1 ms total)'
echo '[  PASSED  ] 3 tests.'; echo '[  SKIPPED ] 1 test, listed below:'; echo '[  SKIPPED ] A.C'
echo '[  FAILED  ] 1 test, listed below:'; echo '[  FAILED  ] A.B'; exit 1
LOG
cat >"$scratch/late" <<'LOG'
#!/bin/sh
echo '[==========] 2 tests from 1 test suite ran. (1 ms total)'; echo '[  PASSED  ] 2 tests.'; kill -SEGV $$
LOG
chmod +x "$scratch/gtest" "$scratch/late"
cat >"$scratch/CTestTestfile.cmake" <<LOG
add_test(plain /bin/true)
add_test(broken /bin/false)
add_test(crash /bin/sh -c "kill -SEGV \$\$")
add_test(hang /bin/sleep 30)
set_tests_properties(hang PROPERTIES TIMEOUT 1)
add_test(skip /bin/sh -c "echo 'skipped: not here'; exit 77")
set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)
add_test(absent "$scratch/no-such-program")
add_test(gtest "$scratch/gtest")
add_test(late "$scratch/late")
LOG
ctest --test-dir "$scratch" >"$scratch/out" 2>&1
got=$(awk -f "$1" "$scratch/Testing/Temporary/LastTest.log")
want='6 6 2
skipped: skip: not here
skipped: A.C: no such kernel'
[[ $got == "$want" ]] || { printf 'wanted\n%s\ngot\n%s\n' "$want" "$got" >&2; cat "$scratch/Testing/Temporary/LastTest.log"; exit 1; }
