#!/usr/bin/env bash
# shell_syntax.sh TREE: every shell script parses and can be run.
set -euo pipefail
rc=0 count=0
while IFS= read -r file; do
  count=$((count + 1))
  bash -n "$file" || rc=1
done < <(grep -rlI --exclude-dir='build*' --exclude-dir=.git '^#!/usr/bin/env bash' "$1")
[[ $count -gt 3 && -x $1/dev && -x $1/.ci/run ]] || { echo "$1: scripts are missing or not executable" >&2; rc=1; }
exit "$rc"
