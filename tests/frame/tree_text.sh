#!/usr/bin/env bash
# tree_text.sh TREE: no file names a folder of one machine or the host of a package registry, none holds a note of
# unfinished work, a merge's mark or space at a line's end; each ends with a line feed.
set -euo pipefail
tree=$1
rc=0
files() {
  find "$tree" \( -path "$tree/build*" -o -path '*/.?*' ! -path "$tree/.ci*" ! -path "$tree/.clang*" \
    -o -path "$tree/fuzz/corpus" -o -path "$tree/tests/cases" -o -name LICENSE -o -name tree_text.sh \) -prune \
    -o -type f "$@" -print0
}
refuse() {  # WHAT PATTERN
  if files | xargs -0 grep -nIE -- "$2"; then echo "refused: $1" >&2; rc=1; fi
}
refuse "a folder of one machine" '(^|[^A-Za-z0-9_.])/(work|tmp/wt|tmp/nc|home/[a-z]+)(/|$)'
refuse "a registry's host name" 'registry\.(npmjs|yarnpkg)|npmjs\.(org|com)|(deb|security|snapshot)\.debian\.org|pypi\.org|crates\.io'
refuse "a note of unfinished work" '\b(TODO|FIXME|XXX|HACK)\b'
refuse "a merge's mark" '^(<<<<<<<|=======|>>>>>>>)( |$)'
refuse "space at a line's end" '[[:blank:]]$'
while IFS= read -r -d '' file; do
  if [[ -s $file && -n $(tail -c 1 "$file") ]]; then echo "$file: no line feed at its end" >&2; rc=1; fi
done < <(files -name '*.*')
exit "$rc"
