#!/usr/bin/env bash
# module_table.sh README MODULES: the table of modules in README ("| `name` | sentence | includes |") lists exactly the
# modules of the build, in its order, each with exactly the modules that it declares. MODULES is written by CMake.
set -euo pipefail
readme=$1 modules=$2
table=$(awk -F'|' '/^\| module \|/ { on = 1; next } on && !/^\|/ { on = 0 } on && $2 ~ /`/ {
  gsub(/[ `]/, "", $2); gsub(/[`,–]/, " ", $4); n = split($4, list, " "); line = ""
  for (i = 1; i <= n; i++) line = line " " list[i]
  print $2 ":" line }' "$readme")
sorted() {  # each line's includes in one order, since only the set matters
  local line name word
  while IFS= read -r line; do
    name=${line%%:*} line=${line#*:}
    printf '%s:' "$name"
    for word in ${line%%:*}; do echo "$word"; done | sort -u | while read -r word; do printf ' %s' "$word"; done
    echo
  done
}
if ! diff -u --label "$readme" --label "the build's declarations" <(sorted <<<"$table") <(sorted <"$modules"); then
  echo "The table of modules and heddle_module(… PUBLIC … PRIVATE …) differ: change the one that is wrong." >&2
  exit 1
fi
