#!/usr/bin/env bash
# A kernel that is there is not downloaded again; one that cannot be had is said to be so, and leaves nothing half done.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache
# Nothing listens on the discard port here: whoever tries to download fails at once.
export HEDDLE_DEBIAN_MIRROR=http://127.0.0.1:9/debian
failures=0

expect() {  # PATTERN NAME…
  local pattern=$1 text
  shift
  text=$("$here/fetch" "$@" 2>/dev/null) || text="status $?"
  if ! grep -qE -- "$pattern" <<<"$text"; then
    printf 'fetch %s: expected "%s", got "%s"\n' "$*" "$pattern" "$text" >&2
    failures=$((failures + 1))
  fi
}

expect '^5.10 - .+' 5.10
expect '^9.9 - no such line' 9.9
expect '^\. - no such line' .
mkdir -p "$XDG_CACHE_HOME/heddle/kernels/6.1"
echo kernel >"$XDG_CACHE_HOME/heddle/kernels/6.1/vmlinuz"
expect "^6.1 $XDG_CACHE_HOME/heddle/kernels/6.1/vmlinuz\$" 6.1
left=$(ls "$XDG_CACHE_HOME/heddle/kernels")
[[ $left == $'6.1\nlock' ]] || { printf 'left in the cache: %s\n' "$left" >&2; failures=$((failures + 1)); }

exit "$((failures > 0))"
