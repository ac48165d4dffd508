#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What no file of the repository may hold, and what each must.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
complain() { echo "check_text: $*" >&2; status=1; }

files=$(git ls-files --cached --others --exclude-standard | grep -v -e '^LICENSE$' -e '^scripts/check_text.sh$')
bad=$(grep -nIE -e '\bTODO\b|\bFIXME\b' -e '/(work|root)/' -e 'pypi\.org|deb\.debian\.org|archive\.ubuntu' $files || true)
[ -z "$bad" ] || complain "not to be in the repository:"$'\n'"$bad"

for file in $(printf '%s\n' $files | grep -E '\.(c|h|sh|cmake)$|CMakeLists.txt$'); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file has no SPDX line"
done
bad=$(LC_ALL=C grep -nP '[^\x00-\x7F]' templates/*.cu templates/parts/*.cuh || true)
[ -z "$bad" ] || complain "templates are ASCII: NVRTC cuts a source at some other bytes:"$'\n'"$bad"
[ $status -eq 0 ] && echo "check_text: no complaint"
exit $status
