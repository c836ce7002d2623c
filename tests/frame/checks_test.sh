#!/usr/bin/env bash
# checks_test.sh LINK_LINE_PROGRAMS: shows each check something good, which it must accept, and something bad, which it
# must refuse with the right words.
set -uo pipefail
checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) programs=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rc=0

# expect ok|WORDS CHECK ARGUMENT…
expect() {
  local words=$1 output status=0
  shift
  output=$(bash "$checks/$1" "${@:2}" 2>&1) || status=$?
  if [[ $words == ok && $status -ne 0 ]] || [[ $words != ok && ($status -ne 1 || $output != *"$words"*) ]]; then
    printf 'wanted: %s\nfrom: %s\ngot status %d: %s\n\n' "$words" "$*" "$status" "$output" >&2
    rc=1
  fi
}

# put FILE TEXT: a file of a tree made up here
put() { mkdir -p "$(dirname "$scratch/$1")" && printf '%s\n' "$2" >"$scratch/$1"; }

expect ok link_line.sh static "$programs/heddle_link_line_none"
expect ok link_line.sh any "$programs/heddle_link_line_dynamic"
expect "sqlite3_open" link_line.sh any "$programs/heddle_link_line_sqlite"
expect "PQconnectdb" link_line.sh any "$programs/heddle_link_line_libpq"
expect "curl_easy_init" link_line.sh any "$programs/heddle_link_line_libcurl"
expect "curl_easy_init" link_line.sh any "$programs/heddle_link_line_imported"
expect "a forbidden library" link_line.sh any "$programs/heddle_link_line_imported"
expect "heddle::journal::touch" link_line.sh any "$programs/heddle_link_line_journal"
expect "heddle::effect::touch" link_line.sh any "$programs/heddle_link_line_effect"
expect "heddle::egress::touch" link_line.sh any "$programs/heddle_link_line_egress"
expect "needs a loader" link_line.sh static "$programs/heddle_link_line_dynamic"
expect "no RELRO" link_line.sh static "$programs/heddle_link_line_norelro"
expect "executable stack" link_line.sh static "$programs/heddle_link_line_execstack"
expect "not position independent" link_line.sh static "$programs/heddle_link_line_nopie"
expect "nothing is proven" link_line.sh static "$programs/heddle_link_line_stripped"
expect "no such program" link_line.sh static "$programs/no_such_program"

printf 'a::\nb: a:\nb/c: a: b\n' >"$scratch/modules.txt"
good='| module | one sentence | may include |
|---|---|---|
| `a` | A. | – |
| `b` | B. | `a` |
| `b/c` | C. | a |'
put README.md "$good"
expect ok module_table.sh "$scratch/README.md" "$scratch/modules.txt"
put README.md "${good/B. | \`a\`/B. | –}"
expect "differ" module_table.sh "$scratch/README.md" "$scratch/modules.txt"
put README.md "${good%$'\n'*}"
expect "differ" module_table.sh "$scratch/README.md" "$scratch/modules.txt"
put README.md "$good"$'\n''| `d` | D. | a, b |'
expect "differ" module_table.sh "$scratch/README.md" "$scratch/modules.txt"

boundary() { expect "$1" include_boundary.sh "$scratch/tree" "$scratch/modules.txt"; }
put tree/src/a/include/heddle/a/a.h ''
put tree/src/a/private.h ''
put tree/src/b/include/heddle/b/b.h '#include "heddle/a/a.h"'
put tree/src/b/own.h ''
put tree/src/b/b.cc $'#include "heddle/b/b.h"\n#include "own.h"\n#include <vector>'
put tree/src/b/c/c.cc '#include "heddle/a/a.h"'
put tree/src/b/c/c_test.cc '#include "heddle/b/b.h"'
put tree/tests/t.cc '#include "heddle/b/b.h"'
boundary ok
put tree/src/b/c/c.cc '#include "heddle/b/b.h"'
boundary "does not declare b"
put tree/src/b/c/c.cc '#include <heddle/b/b.h>'
boundary "does not declare b"
put tree/src/b/c/c.cc '#include "../own.h"'
boundary "out of the own folder"
put tree/src/b/c/c.cc '#include "own.h"'
boundary "private to b"
put tree/src/b/c/c.cc '#  include "private.h"'
boundary "private to a"
put tree/src/b/c/c.cc ''
put tree/src/b/b.cc '#include "c/hidden.h"'
put tree/src/b/c/hidden.h ''
boundary "private to b/c"
put tree/src/b/b.cc ''
put tree/tests/t.cc '#include "private.h"'
boundary "private to a"
put tree/tests/t.cc ''
put tree/src/d/d.cc '#include "heddle/a/a.h"'
boundary ok
put tree/src/d/CMakeLists.txt ''
boundary "belongs to no module"

put docs/README.md $'# A head\n[x](other.md#one-two) [y](#a-head) [z](https://example.org/x)'
put docs/other.md '## One, two'
expect ok doc_links.sh "$scratch/docs"
put docs/README.md '[x](missing.md)'
expect "no such file" doc_links.sh "$scratch/docs"
put docs/README.md '[x](other.md#three)'
expect "no such heading" doc_links.sh "$scratch/docs"
put docs/README.md '[x](other.md)'
put docs/a.h '// see docs/adr''/0009-missing.md'
expect "no such file" doc_links.sh "$scratch/docs"
put docs/docs/README.md "Named in the sources and not written yet: \`docs/adr""/0009-missing.md\`."
put docs/b.md '[a](other.md)'
expect ok doc_links.sh "$scratch/docs"
put docs/docs/adr""/0009-missing.md ''
expect "written by now" doc_links.sh "$scratch/docs"

text() { put text/file.cc "$2"; expect "$1" tree_text.sh "$scratch/text"; }
text ok 'int x;  // in docs/wo''rk/here'
text "a folder of one machine" 'see /wo''rk/main'
text "a registry's host name" "https://registry.np""mjs.org"
text "unfinished work" "// TO""DO: more"
text "space at a line's end" 'int x; '
printf 'int x;' >"$scratch/text/file.cc"
expect "no line feed" tree_text.sh "$scratch/text"

put cases/a.json '{}'
put same/a.json '{}'
put other/a.json '[]'
expect ok cases_equal.sh "$scratch/cases" "$scratch/same"
expect "diff" cases_equal.sh "$scratch/cases" "$scratch/other"
exit "$rc"
