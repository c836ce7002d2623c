#!/usr/bin/env bash
# doc_links.sh TREE: each relative link of a Markdown file leads to a file, each `#anchor` to a heading, and each file
# that a comment or text names as docs/… exists or stands in the line "Named in the sources and not written yet" of
# docs/README.md, which names no file that does exist.
set -euo pipefail
tree=$1
rc=0 count=0
bad() { printf '%s\n' "$*" >&2; rc=1; }
anchors() { sed -nE 's/^#+ +(.*)$/\1/p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'; }
files() { find "$tree" \( -path "$tree/build*" -o -path '*/.?*' \) -prune -o -type f "$@" -print0; }

while IFS= read -r -d '' file; do
  while IFS= read -r link; do
    count=$((count + 1))
    [[ ! $link =~ ^[a-z]+: ]] || continue
    target=$file
    [[ ${link%%#*} == '' ]] || target=$(dirname "$file")/${link%%#*}
    if [[ ! -e $target ]]; then
      bad "${file#"$tree"/}: no such file: $link"
    elif [[ $link == *#* ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
      bad "${file#"$tree"/}: no such heading: $link"
    fi
  done < <(sed -E 's/`[^`]*`//g' "$file" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/')
done < <(files -name '*.md')

pending=$(sed -n '/^Named in the sources and not written yet:/,/^$/p' "$tree/docs/README.md" 2>/dev/null || :)
while IFS=: read -r file mention; do
  count=$((count + 1))
  if [[ $pending == *"\`$mention\`"* ]]; then
    [[ ! -e $tree/$mention ]] || bad "docs/README.md: written by now, so not to be listed as missing: $mention"
    continue
  fi
  compgen -G "$tree/$mention*" >/dev/null || bad "${file#"$tree"/}: no such file: $mention"
done < <(files | xargs -0 grep -HoIE '\bdocs/(adr|formats|guide)/[A-Za-z0-9_./-]*[A-Za-z0-9]' | sort -u)
[[ $count -gt 0 ]] || bad "$tree: no link was found: is this the tree?"
exit "$rc"
