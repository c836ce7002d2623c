# Counts single tests in ctest's LastTest.log: first line "PASSED FAILED SKIPPED", then one line for each skipped one.
# A GoogleTest program counts as its tests; anything else, and a program that died before its summary, counts as one.
function number(line) { match(line, /[0-9]+ test/); return substr(line, RSTART, RLENGTH - 5) + 0 }

# ctest's log calls a test without a program, and one that skipped itself, "Passed": the first has a line of its own
# before it, the second prints "skipped: reason" (and ends with its SKIP_RETURN_CODE).
/^Unable to find executable/ { absent = 1 }
/^[0-9]+\/[0-9]+ Testing: / { name = $3; ran = p = f = s = 0; reason = own_skip = "" }
/^\[==========\] [0-9]+ tests? from .* ran\./ { ran = 1 }
ran && /^\[  PASSED  \] [0-9]+ tests?\./ { p += number($0) }
ran && /^\[  FAILED  \] [0-9]+ tests?, listed below/ { f += number($0) }
ran && /^\[  SKIPPED \] [0-9]+ tests?, listed below/ { s += number($0) }
/: Skipped$/ { getline reason }
/^skipped: / { own_skip = substr($0, 10) }
/^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { skips[++n] = $4 ": " reason; reason = "" }
name != "" && /^Test (Passed|Failed)\.$/ {
  good = $2 == "Passed." && !absent
  if (ran) {
    passed += p; failed += f; skipped += s
    if (!good && f == 0) failed++
  } else if (good && own_skip != "") {
    skipped++; skips[++n] = name ": " own_skip
  } else if (good) passed++
  else failed++
  name = ""; absent = 0
}
END {
  printf "%d %d %d\n", passed, failed, skipped
  for (i = 1; i <= n; i++) printf "skipped: %s\n", skips[i]
}
