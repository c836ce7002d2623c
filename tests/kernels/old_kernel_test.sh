#!/usr/bin/env bash
# JAIL-3, JAIL-11, JAIL-13: this machine as an older kernel would be: one newer call after the other answers ENOSYS (or,
# for an option or a flag, EINVAL), in Heddle and all that it starts. Each has a fallback, which is run, or a refusal that
# names it; a script never runs with less than its policy says. Usage: old_kernel_test.sh BUILD_FOLDER
set -euo pipefail
build=$1 status=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
echo '6 * 7' >"$scratch/job.js"
without=$build/tests/libexec/heddle-test-without

bad() { echo "FAILED: without $1: $2"; status=1; }

# works CALL…: a script runs without it.
works() {
  local call out
  for call; do
    out=$("$without" "$call" -- "$build/bin/heddle" run "$scratch/job.js" 2>&1) || true
    [[ $out == 42 ]] && echo "without $call: runs" || bad "$call" "$out"
  done
}

# refused CALL WORDS: no script runs, and the error has WORDS.
refused() {
  local out error rc=0
  out=$("$without" "$1" -- "$build/bin/heddle" run "$scratch/job.js" 2>"$scratch/error") || rc=$?
  error=$(<"$scratch/error")
  if [[ $rc == 15 && -z $out && $error == *"$2"* ]]; then
    echo "without $1: refused"
  else
    bad "$1" "status $rc, output '$out', error '$error'"
  fi
}

# suite CALL PROGRAM FILTER: the tests of PROGRAM that do not use the call themselves pass without it.
suite() {
  local log=$scratch/log
  if "$without" "$1" -- "$build/tests/$2" --gtest_filter="$3" >"$log" 2>&1 && grep -q '\[  PASSED  \] [1-9]' "$log"; then
    echo "without $1: $2: $(grep -o '\[  PASSED  \].*' "$log")"
  else
    grep -E 'FAILED|Failure|: error' -A 6 "$log" | head -40 || true
    bad "$1" "$2"
  fi
}

# The control: without a call that nothing uses.
works reboot
works clone3 openat2 faccessat2 statx rseq process_vm_readv pidfd_getfd
works fsopen fsconfig fsmount move_mount pivot_root unshare  # namespaces: not there, and reported
works seccomp:8                                              # SECCOMP_FILTER_FLAG_NEW_LISTENER
works seccomp:32                                             # SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
works prctl:65                                               # PR_SET_MDWE
refused landlock_create_ruleset "no Landlock"
refused landlock_add_rule landlock_rule
refused landlock_restrict_self landlock_restrict
refused close_range close_others
refused pidfd_open pidfd_open
refused execveat execute
refused seccomp "system call filter"
refused memfd_create memfd_create
refused getrandom getrandom

# The attacks use the missing calls themselves, so their controls fail by design.
not_the_attacks='-Attack.ControlTheyWorkWithoutAJail:*AreRefusedUnderTheScriptPolicy*'
suite clone3 heddle_jail_process_test "*$not_the_attacks"
suite prctl:65 heddle_jail_process_test "Verify*:Spawn*:Steps.*"
suite fsopen heddle_jail_process_test "Namespaces.*:Verify*:Notifications.*:Spawn*"
suite unshare heddle_jail_process_test "Namespaces.*:Verify*:Spawn*"
suite openat2 heddle_jail_process_test "Verify*:Spawn*:Namespaces.*"
suite seccomp:8 heddle_pool_test "*-Pool.ExplainsARun:Pool.SaysThatARunUsedUpItsDenials"
suite seccomp:32 heddle_jail_process_test "Notifications.*:Verify*"
suite clone3 heddle_pool_test "*"
exit "$status"
