#!/usr/bin/env bash
# The table fails when it must: each case below spoils one thing in what two kernels said.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# says NAME: what a kernel on which all holds says.
says() {
  local who
  printf 'kernel\t%s.0-test\n' "$1"
  for who in root user; do
    printf 'claim\t%s\tone\tyes\tABI 2\n' "$who"
    printf 'claim\t%s\ttwo\trefused\tno Landlock here at all\n' "$who"
    printf 'program\t%s\theddle-kernel-claims\texit 0\nleft\t%s\theddle-kernel-claims\t0\n' "$who" "$who"
  done
  echo 'done'
}

# table STATUS PATTERN [REQUIRE]: the table of what lies in the scratch folder.
table() {
  local rc=0 text
  text=$(awk -v out="$scratch" -v names="a b" -v required="${3:-}" -f "$here/table.awk" "$scratch/claims") || rc=$?
  if [[ $rc != "$1" ]] || ! grep -qE -- "$2" <<<"$text"; then
    printf 'expected status %s and "%s", got %s and:\n%s\n' "$1" "$2" "$rc" "$text" >&2
    failures=$((failures + 1))
  fi
}

fresh() {
  rm -f "$scratch"/*
  printf 'one\tJAIL-2\tThe first\ntwo\tJAIL-3\tThe second\n' >"$scratch/claims"
  says a >"$scratch/a.result"
  says b >"$scratch/b.result"
}

fresh
table 0 '^The first +JAIL-2 +ABI 2 +ABI 2 *$'
table 0 '^The second +JAIL-3 +refused +refused *$'
table 0 '^refused: no Landlock here at all$'

fresh; sed -i 's/root\tone\tyes\tABI 2/root\tone\tFAIL\tit does not hold/' "$scratch/b.result"
table 1 '^FAIL b, root, one: it does not hold$'
table 1 '^The first +JAIL-2 +ABI 2 +FAIL/ABI 2'

fresh; sed -i '/user\ttwo/d' "$scratch/a.result"
table 1 '^FAIL a, user, two: no answer$'

fresh; sed -i '/^done/d' "$scratch/a.result"
table 1 '^FAIL a: cut off'

fresh; : >"$scratch/a.result"
table 1 '^FAIL a: the kernel did not come up'

fresh; sed -i 's/^left\tuser\theddle-kernel-claims\t0/left\tuser\theddle-kernel-claims\t3/' "$scratch/a.result"
table 1 '^FAIL a, user: 3 processes left behind'

fresh; sed -i 's/^program\troot\theddle-kernel-claims\texit 0/program\troot\theddle-kernel-claims\tsignal 11/' "$scratch/a.result"
table 1 '^FAIL a, root: .* signal 11'

fresh; rm "$scratch/a.result"; echo "no mirror" >"$scratch/a.skip"
table 0 '^skipped: kernel a: no mirror$'
table 0 '^The first +JAIL-2 +skipped +ABI 2'
table 1 '^FAIL a: required' "other kernel-a"
table 1 '^FAIL a: required' kernels
table 0 '^SKIPPED: kernel a: no mirror' kernel-b

fresh; rm "$scratch"/*.result; echo "no qemu" >"$scratch/a.skip"; echo "no qemu" >"$scratch/b.skip"
table 77 '^skipped: kernel a: no qemu; kernel b: no qemu$'
table 1 '^FAIL b: required' kernels

exit "$((failures > 0))"
