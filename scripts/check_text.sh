#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Check text that no file of the repository may hold, or that each must.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
complain() { echo "check_text: $*" >&2; status=1; }

files=$(git ls-files --cached --others --exclude-standard | grep -v -e '^LICENSE$' -e '^scripts/check_text.sh$')
bad=$(grep -nIE -e '\bTODO\b|\bFIXME\b' -e '/(work|root)/' -e 'pypi\.org|deb\.debian\.org|archive\.ubuntu' $files || true)
[ -z "$bad" ] || complain "not to be in the repository:"$'\n'"$bad"

for file in $(printf '%s\n' $files | grep -E '\.(c|h|cpp|hpp|sh|cmake|awk)$|CMakeLists.txt$'); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file has no SPDX line"
done
bad=$(LC_ALL=C grep -nP '[^\x00-\x7F]' templates/*/*.cu templates/*/*.cuh || true)
[ -z "$bad" ] || complain "templates are ASCII: NVRTC cuts a source at some other bytes:"$'\n'"$bad"
python3 scripts/check_templates.py --self-test && python3 scripts/check_templates.py || status=1
python3 scripts/check_trials.py || status=1
python3 scripts/device_report.py || status=1
# Markdown: lines end at 100 columns, but for tables and fenced code; a link leads to a file; README shows a kernel as it is.
pages=$(printf '%s\n' $files | grep '\.md$')
bad=$(awk 'FNR == 1 { fenced = 0 } /^```/ { fenced = !fenced } !fenced && length > 100 && !/^ *\|/ { print FILENAME ":" FNR }' $pages)
[ -z "$bad" ] || complain "Markdown lines end at 100 columns:"$'\n'"$bad"
for page in $pages; do
    for link in $(awk '/^ *```/ { fenced = !fenced } !fenced' "$page" | tr '\n' ' ' | grep -oE '\]\([^)# ]+' | cut -c3- | grep -v :); do
        [ -e "$(dirname "$page")/$link" ] || complain "$page points to $link, which is not there"
    done
done
kernel=tests/golden/tiled/rectangular.cu
awk '/^```/ { shown = /^```cuda/; next } shown' README.md | cmp -s - $kernel || complain "the kernel in README.md is not $kernel"
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
said=$(python3 bench/picture.py bench/results/programs.csv bench/results/programs_h200.csv "$drawn")
diff -r "$drawn" docs/pictures >&2 || complain "docs/pictures are not what bench/picture.py draws of bench/results"
case $(tr -s '\n ' ' ' <README.md) in *"alt=\"$said\""*) ;; *) complain "README.md does not say of its picture: $said" ;; esac
table=$(python3 bench/programs/table.py bench/results/programs.csv)
case $(cat bench/results/programs.md) in *"$table"*) ;; *) complain "bench/results/programs.md has not the table that bench/programs/table.py makes of programs.csv" ;; esac
# Prose (CONTRIBUTING.md, "Style"). Exempt: templates, golden files, and records of the past.
words() { awk -f scripts/check_words.awk "$@"; }
old='^(templates|tests/golden|bench/results)/|^CHANGELOG.md$'
bad=$(words $(printf '%s\n' $files | grep -E '\.(c|h|cpp|hpp|sh|cmake|py|awk|md)$|CMakeLists.txt$|^\.ci/run$' | grep -vE "$old"))
[ -z "$bad" ] || complain "not in plain order:"$'\n'"$bad"
# It can fail: each line with FAULT must be found, and no other.
planted=$drawn/planted
mkdir "$planted"
cat >"$planted/a.c" <<'END'
/* What a block reads. FAULT */
/*
 * Rows of M.
 *
 * Of these, one. FAULT
 */
int rows, beside, behind = 1; /* Who waits? */
int cols; // it is no number FAULT
const char *text = "/* beside"; /** What does a row hold, and
    which? */
int last; /* is no longer there; there is no `beside` */
END
cat >"$planted/a.sh" <<'END'
# One row
# beside the other. FAULT
true "# behind" # What it says. FAULT
END
cat >"$planted/a.md" <<'END'
## What it holds

- Who writes, reads. FAULT
- What is read?

The kernel
behind it. FAULT
```sh
# behind
```
END
cmp -s <(words "$planted"/* | cut -d: -f1,2) <(grep -n FAULT "$planted"/* | cut -d: -f1,2) || complain "check_words.awk does not find what is planted"
[ $status -eq 0 ] && echo "check_text: no complaint"
exit $status
