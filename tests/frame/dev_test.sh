#!/usr/bin/env bash
# dev_test.sh TREE: how ./dev answers wrong use and missing packages, without installing or building anything.
set -uo pipefail
tree=$1 rc=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A copy whose folder has a space, reached through a link from elsewhere; its tools are few: bash's and these.
mkdir -p "$scratch/a tree" "$scratch/debian" "$scratch/other"
cp "$tree/dev" "$scratch/a tree/"
ln -s "a tree/dev" "$scratch/link"
for tool in bash env readlink dirname realpath nproc sed stat mkdir rm tail tr; do
  ln -s "$(command -v "$tool")" "$scratch/other/$tool"
done
cp -P "$scratch"/other/* "$scratch/debian/"
printf '#!/bin/sh\nexit 1\n' >"$scratch/debian/dpkg-query"
printf '#!/bin/sh\necho "apt-get must not run" >&2\nexit 1\n' >"$scratch/debian/apt-get"
chmod +x "$scratch"/debian/{dpkg-query,apt-get}

# expect STATUS WORDS SYSTEM ARGUMENT…
expect() {
  local want=$1 words=$2 system=$3 output status=0
  shift 3
  output=$(cd / && PATH=$scratch/$system "$scratch/link" "$@" 2>&1 </dev/null) || status=$?
  if [[ $status -ne $want || $output != *"$words"* || $output == *"must not run"* ]]; then
    printf 'wanted %s with %s\nfrom: dev %s on %s\ngot %s: %s\n\n' "$want" "$words" "$*" "$system" "$status" "$output" >&2
    rc=1
  fi
}

expect 0 "everything that proves the product" debian --help
expect 64 "no such command" debian
expect 64 "no such command: 'tset'" debian tset
expect 64 "unknown option --fast" debian test --fast
expect 64 "what is 'twice'" debian test twice
expect 64 "whole seconds" debian fuzz soon
expect 69 "missing packages: g++ cmake ninja-build" debian build --no-install
expect 69 "iso-codes" debian demo --no-install
expect 69 "libgtest-dev" debian --no-install test
expect 69 "clang-tidy-14" debian check --no-install
expect 69 "Needed, by their Debian names" other test
expect 1 "failed: cmake --preset dev" other test --no-install  # goes on without
exit "$rc"
