#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change; cost: 15
# sessions.sh BUILD_FOLDER [PAGE...]: run the sessions that pages show, blocks with the mark "console", on the emulator, and compare what the
# commands say with what the page says.
#
#     $ COMMAND          run by bash, in an empty folder; the tilejit in it is that of the build
#     any other line     what the command prints, on stdout or stderr; "..." stands for any text, and on a line of its own for lines
#
# A command of which nothing is shown must succeed.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "sessions: $*" >&2; exit 1; }

export PATH=$build:$PATH TILEJIT_DRIVER=emulator TILEJIT_CACHE_DIR=$work/cache
unset TILEJIT_PACKS TILEJIT_CAPTURE TILEJIT_REMOTE # as for a reader who has set none
mkdir "$work/empty"
if ! tilejit compile 128x128x128 --dtype bf16 --family wgmma --arch sm_90 -o "$work/kernel.ptx" >"$work/output" 2>&1; then
    [ -z "${TILEJIT_REQUIRE_NVRTC:-}" ] || fail "$(cat "$work/output")"
    echo "SKIPPED, not tested: $(cat "$work/output")"
    exit 0
fi

# Is SAID as SHOWN, whose "..." stand for any text? Both get a first and a last byte of their own, so the parts need only follow each other.
is_as_shown() { # SHOWN SAID
    local shown=$'\x02'$1$'\x03' said=$'\x02'$2$'\x03' part
    while [[ $shown == *...* ]]; do
        part=${shown%%...*} shown=${shown#*...}
        [[ $said == *"$part"* ]] || return 1
        said=${said#*"$part"}
    done
    [[ $said == *"$shown" ]]
}

# The sessions of a page, one after the other: a command, the lines shown after it, and a separator.
sessions() {
    awk '
        /^ *```console$/ { inside = 1; next }
        /^ *```$/ { if (inside && begun) printf "\036"; inside = begun = 0; next }
        !inside { next }
        /^\$ / { if (begun) printf "\036"; begun = 1; print substr($0, 3); next }
        !begun { print "false # output without a command: " $0; begun = 1; next }
        { print }' "$1"
}

# Run all of a page; 1 and a message at the first that differs.
check_page() {
    local session command shown said
    while IFS= read -r -d $'\036' session; do
        command=${session%%$'\n'*} shown=${session#*$'\n'} status=0
        said=$(cd "$work/empty" && bash -c "set -o pipefail; $command" 2>&1 </dev/null) || status=$?
        ran=$((ran + 1))
        if [ -z "$shown" ]; then
            [ $status = 0 ] && continue
        elif is_as_shown "${shown%$'\n'}" "$said"; then
            continue
        fi
        printf '%s: "%s" says, with exit code %d,\n%s\nand the page shows\n%s\n' "$1" "$command" "$status" "$said" "$shown"
        return 1
    done < <(sessions "$1")
}

# It can fail.
ran=0
planted() { printf '```console\n$ printf "one\\ntwo\\n"\n%b\n```\n' "$1" >"$work/planted.md"; check_page "$work/planted.md" >/dev/null; }
for right in 'one\ntwo' '...\ntwo' 'o...e\n...o' '...'; do planted "$right" || fail "\"$right\" does not pass"; done
for wrong in 'one' 'two' 'two\n...\none' '...\none' 'one\ntwo\n...' 'one\n...x'; do ! planted "$wrong" || fail "\"$wrong\" passes"; done

ran=0
for page in ${2:+"${@:2}"} $([ $# -gt 1 ] || grep -lE '^ *```console$' README.md docs/*.md docs/*/*.md); do
    check_page "$page" >"$work/difference" || fail "$(cat "$work/difference")"
done
echo "sessions: $ran commands say what the pages show"
