#!/usr/bin/env bash
# cases_equal.sh OURS THEIRS: the cases that our tests replay are the ones that were handed to us, where those are here.
set -euo pipefail
if [[ ! -d $2 ]]; then
  echo "skipped: no folder $2 to compare with"
  exit 77
fi
diff -r "$1" "$2"
