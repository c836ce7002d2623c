#!/usr/bin/env bash
# http_test.sh BUILD SOURCE CMAKE OPTION…: the example of a remote sandbox builds against an installed Heddle and passes the
# kit while its service runs; without the service it fails, so it is the service that ran the scripts.
# CNF-1, CNF-2, SBX-7
set -euo pipefail
build=$1 source=$2 cmake=$3
shift 3
scratch=$(mktemp -d)
server=
cleanup() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || :
  rm -rf "$scratch"
}
trap cleanup EXIT
fail() { echo "http_test: $*" >&2; exit 1; }
"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || { cat "$scratch/install.log" >&2; exit 1; }
export PATH=$scratch/prefix/bin:$PATH XDG_STATE_HOME=$scratch/state
"$cmake" "$@" -S "$source" -B "$scratch/b" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$scratch/b"
"$scratch/b/heddle-eval-server" 0 >"$scratch/url" &
server=$!
for _ in $(seq 200); do
  [[ ! -s $scratch/url ]] || break
  sleep 0.05
done
export HEDDLE_EVAL_URL
HEDDLE_EVAL_URL=$(cat "$scratch/url")
[[ -n $HEDDLE_EVAL_URL ]] || fail "the service does not say where it is"
heddle conformance --backend "$scratch/b/http-backend.so"
heddle plugin check "$scratch/b/http-backend.so"
kill "$server"
wait "$server" 2>/dev/null || :
server=
code=0
heddle conformance --backend "$scratch/b/http-backend.so" >"$scratch/report" || code=$?
[[ $code == 1 ]] || fail "without its service: exit code $code, not 1"
grep -q '^echo .*failed .*the service failed 3 times' "$scratch/report" || { cat "$scratch/report" >&2; fail "it does not say why"; }
