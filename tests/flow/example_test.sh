#!/usr/bin/env bash
# example_test.sh EXAMPLE: the example's flow, killed with SIGKILL after each of its steps and in the middle of one, and
# continued by the same command. What the killed run had is not run again; the ledger gets exactly one line.
# EFF-3, EFF-6, JRN-5
set -euo pipefail
example=$1
data=/usr/share/iso-codes/json/iso_3166-1.json
[[ -r $data ]] || { echo "skipped: $data is not there (Debian: iso-codes)"; exit 77; }
scratch=$(mktemp -d)
child=''
trap '[[ -z $child ]] || kill -KILL "$child" 2>/dev/null || :; rm -rf "$scratch"' EXIT

fail() { echo "$1" >&2; for log in "$scratch"/*.log; do echo "-- $log" >&2; cat "$log" >&2; done; exit 1; }

# One run with nothing in its way: all that it is meant to show.
mkdir "$scratch/whole"
"$example" "$scratch/whole" >"$scratch/whole.log" 2>&1 || fail "the example does not run"
for shown in "have countries-1/3 scriptError" "have countries-1/4 effectDenied" "EFFECT_DENIED  mail.send no mail" \
  "OUTCOME        file.publish error" "OUTCOME        file.publish success" "FLOW_ENDED     success"; do
  grep -qF -- "$shown" "$scratch/whole.log" || fail "not shown: $shown"
done
[[ $(grep -c '^run  countries-1/5 ' "$scratch/whole.log") == 2 ]] || fail "nothing was tried again"

# Killed when LINE has been printed for the COUNT-th time.
killed_at() {
  local folder=$scratch/$1 line=$2 count=$3 status=0 key
  mkdir "$folder"
  "$example" "$folder" --pause 200 >"$folder.first.log" 2>&1 &
  child=$!
  for ((i = 0; i < 3000; i++)); do
    [[ $(grep -c "^$line" "$folder.first.log" || :) -lt $count ]] || break
    kill -0 "$child" 2>/dev/null || fail "$1: it ended by itself"
    sleep 0.01
  done
  kill -KILL "$child"
  wait "$child" 2>/dev/null || :
  child=''
  if grep -q FLOW_ENDED "$folder.first.log"; then fail "$1: it was killed too late"; fi

  "$example" "$folder" >"$folder.second.log" 2>&1 || status=$?
  if [[ $status == 3 ]]; then  # in doubt: the ledger says whether it was done
    grep -q 'inDoubt: file.append (effect 6)' "$folder.second.log" || fail "$1: something else is in doubt"
    if [[ -s $folder/ledger.txt ]]; then verdict=done; else verdict=again; fi
    "$example" "$folder" --resolve 6 "$verdict" >"$folder.resolve.log" 2>&1 || fail "$1: it cannot be resolved"
    status=0
    "$example" "$folder" >"$folder.third.log" 2>&1 || status=$?
  fi
  [[ $status == 0 ]] || fail "$1: the same command gave $status"
  for key in $(awk '/^have/ { print $2 }' "$folder.first.log"); do
    if grep -q "^run  $key " "$folder".second.log; then fail "$1: $key was run again"; fi
  done
  [[ $(cat "$folder/ledger.txt") == "countries-1 published" ]] || fail "$1: the ledger has $(cat "$folder/ledger.txt")"
  cmp -s "$folder/report.json" "$scratch/whole/report.json" || fail "$1: the report differs"
}

for have in 1 2 4 5 6; do killed_at "after-$have" have "$have"; done
for run in 1 2 4 5 7; do killed_at "within-$run" "run " "$run"; done
