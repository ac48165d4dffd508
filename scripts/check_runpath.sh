#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# check_runpath.sh FOLDER ...: every program and library in the folders looks for libraries next to itself ($ORIGIN) or in folders of the
# system: never in the current folder, which an empty element means too, and never in a build tree by its path.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
status=0 count=0
complain() { echo "check_runpath: $1 looks for libraries in \"$2\": $3" >&2; status=1; }

# check_element FILE ELEMENT FOLDER
check_element() {
    case $2 in
        '$ORIGIN' | '$ORIGIN/'*) ;;
        "") complain "$1" "$2" "empty, which is the current folder" ;;
        "$repository" | "$repository"/* | "$3" | "$3"/*) complain "$1" "$2" "only there is it right" ;;
        /*) ;;
        *) complain "$1" "$2" "relative to the current folder" ;;
    esac
}

for folder in "$@"; do
    folder=$(cd "$folder" && pwd)
    while IFS= read -r -d '' file; do
        entries=$(readelf -d "$file" 2>/dev/null) || continue
        count=$((count + 1))
        while IFS= read -r path; do
            path=$path:
            while [ -n "$path" ]; do
                check_element "$file" "${path%%:*}" "$folder"
                path=${path#*:}
            done
        done < <(sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]$/\2/p' <<<"$entries")
    done < <(find "$folder" -name CMakeFiles -prune -o -type f \( -perm /111 -o -name '*.so*' \) -print0)
done
[ $count -gt 0 ] || { echo "check_runpath: no program and no library in $*" >&2; exit 1; }
[ $status -eq 0 ] && echo "check_runpath: $count programs and libraries look for libraries in the right places"
exit $status
