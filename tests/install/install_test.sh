#!/usr/bin/env bash
# install_test.sh BUILD CMAKE OPTION…: what `cmake --install` leaves can be found, linked and run by a project that knows
# nothing of our tree; nobody but the owner can write to it, even when the installer's umask would let others.
set -euo pipefail
build=$1 cmake=$2 source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

(umask 000 && "$cmake" --install "$build" --prefix "$prefix" >"$scratch/install.log") ||
  { cat "$scratch/install.log" >&2; exit 1; }
writable=$(find "$prefix" ! -type l -perm /022)
[[ -z $writable ]] || { printf 'others can write to\n%s\n' "$writable" >&2; exit 1; }
while IFS= read -r program; do
  [[ $(stat -c %a "$program") == 755 ]] || { echo "$program: mode $(stat -c %a "$program"), not 755" >&2; exit 1; }
done < <(find "$prefix"/bin "$prefix"/libexec -type f 2>/dev/null)
for file in LICENSE SECURITY.md; do
  [[ -f $prefix/share/doc/heddle/$file ]] || { echo "not installed: $file" >&2; exit 1; }
done

# From another folder after a move: nothing in it may name the place it was installed to, or our tree.
mv "$prefix" "$scratch/moved"
"$cmake" "$@" -S "$source/consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$scratch/moved" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$scratch/consumer" --parallel 2
"$scratch/consumer/frames"
"$scratch/consumer/script"
"$scratch/moved/bin/heddle" --version
[[ $("$scratch/moved/bin/heddle" run <(echo 'input + 1') --input-json 41) == 42 ]] ||
  { echo "the moved command does not find its helper programs" >&2; exit 1; }
leaks=$(grep -rlF -e "$(cd "$source/../.." && pwd)/" "$scratch/moved/lib/cmake" "$scratch/moved/include") || :
[[ -z $leaks ]] || { printf 'names our tree:\n%s\n' "$leaks" >&2; exit 1; }
