#!/usr/bin/env bash
# include_boundary.sh TREE MODULES: each source below TREE/src includes the public headers of its own module and of those
# that it declares (tests: of those that they declare, too, and, like benchmarks, what another module has for tests in
# testing/) and the private headers of its own; sources elsewhere include
# public headers and files of their own folder, fuzz targets also the private header of what they fuzz. Most of this does not compile either; a relative path would.
set -euo pipefail
tree=$1
declare -A uses tests
names=()
while IFS=: read -r name libraries test_libraries; do
  names+=("$name") uses[$name]=" $name $libraries " tests[$name]=" $test_libraries "
done <"$2"

# The longest module name that is `path` or a folder above it.
module_of() {
  local name best=''
  for name in "${names[@]}"; do
    if [[ $1/ == "$name"/* && ${#name} -gt ${#best} ]]; then best=$name; fi
  done
  echo "$best"
}

# Whether a folder below src is part of the build: it, or one above it, has a CMakeLists.txt.
built() {
  local folder=$1
  while [[ $folder != "$tree/src" ]]; do
    [[ ! -e $folder/CMakeLists.txt ]] || return 0
    folder=$(dirname "$folder")
  done
  return 1
}

rc=0 count=0
bad() { printf '%s: %s\n' "$1" "$2" >&2; rc=1; }
while IFS=: read -r file line include; do
  count=$((count + 1))
  include=$(sed -E 's/^[^"<]*["<]([^">]*)[">].*/\1/' <<<"$include")
  where=${file#"$tree"/}:$line
  from=''
  if [[ $file == "$tree"/src/* ]]; then
    from=$(module_of "$(dirname "${file#"$tree"/src/}")")
    if [[ -z $from ]]; then
      built "$(dirname "$file")" && bad "$where" "this file belongs to no module"
      continue
    fi
  fi
  if [[ $include == heddle/* ]]; then
    to=$(module_of "$(dirname "${include#heddle/}")")
    [[ -n $to ]] || { bad "$where" "$include belongs to no module"; continue; }
    [[ -n $from && ${uses[$from]} != *" $to "* ]] || continue
    [[ ! ( $file == *_test.cc && ${tests[$from]} == *" $to "* ) ]] || continue
    bad "$where" "$from includes $include but does not declare $to"
  elif [[ $include == *..* || $include == /* ]]; then
    bad "$where" "a path out of the own folder: $include"
  elif [[ -e $(dirname "$file")/$include ]]; then
    to=$(module_of "$(dirname "$(dirname "${file#"$tree"/src/}")/$include")")
    [[ -z $from || $to == "$from" ]] || bad "$where" "$include is private to $to"
  elif [[ ( $file == *_test.cc || $file == *_bench.cc ) && $include == testing/* ]]; then
    continue
  elif [[ $file == "$tree"/fuzz/*_fuzz.cc ]]; then
    continue  # a decoder may be private to its module; FOLDERS in fuzz/CMakeLists.txt says whose
  elif found=$(find "$tree/src" -path '*/include' -prune -o -path "*/$include" -print -quit) && [[ -n $found ]]; then
    to=$(module_of "$(dirname "${found#"$tree"/src/}")")
    [[ -n $from && $to == "$from" ]] || bad "$where" "$include is private to $to"
  fi
done < <(find "$tree" \( -path "$tree/build*" -o -path '*/.?*' -o -path "$tree/tests/install/consumer" \) -prune -o \
  \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print0 |
  xargs -0 grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<heddle/)')
[[ $count -gt 0 ]] || bad "$tree" "no include was found: is this the tree?"
exit "$rc"
