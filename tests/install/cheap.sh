#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cheap.sh: stands in for tilejit, redis-server and srun while pages.sh runs the blocks of a page. It does what they do, on a machine with one
# pretended GPU and no time: shapes are smaller, a tuning tries one config, nothing runs until Ctrl-C, and the server has a port of its own.
set -euo pipefail

# An extent of 512 or more becomes one from 8 to 38, and so do the others of that shape.
shrink() {
    local shape=$1 j k l
    if [[ $shape =~ ^([0-9]+)x([0-9]+)x([0-9]+)$ ]]; then
        j=${BASH_REMATCH[1]} k=${BASH_REMATCH[2]} l=${BASH_REMATCH[3]}
        ((j < 512 && k < 512 && l < 512)) || shape=$((j % 31 + 8))x$((k % 31 + 8))x$((l % 31 + 8))
    fi
    printf '%s\n' "$shape"
}

run_tilejit() {
    local all=" $* " word words=()
    for word; do
        case $word in
        --watch) continue ;;
        --measure) [[ $all == " devices"* ]] && continue ;;
        0,1) word=0 ;;
        CLASS) word=$("$CHEAP_TILEJIT" fleet status --json | grep -oE '"class": *"[0-9a-f]+' | head -n 1 | grep -oE '[0-9a-f]+$') ;;
        esac
        words+=("$(shrink "$word")")
    done
    case $all in
    *" --import "* | *" --export "* | *" --merge "*) ;;
    " tune "*) words+=(--evaluations 1 --budget 2s) ;;
    *" fleet work --compile "*) words+=(--until-empty) ;;
    *" fleet work --device 0 "*) words+=(--evaluations 1 --budget 2s --threads 1 --family naive) ;;
    *" fleet work "*) exit 0 ;; # there is one GPU
    *" fleet "*) [ -e "$CHEAP_WORK/redis.pid" ] || [[ $all == *" key "* ]] || { echo fleet >>"$CHEAP_WORK/skipped"; exit 0; } ;;
    esac
    if [[ $all == " fleet"* && -e $CHEAP_WORK/redis.pid ]]; then
        export TILEJIT_REMOTE=${TILEJIT_REMOTE:-redis://:PASSWORD@127.0.0.1:$CHEAP_PORT}
    fi
    exec "$CHEAP_TILEJIT" "${words[@]}"
}

case $(basename "$0") in
tilejit) run_tilejit "$@" ;;
srun) exec "$@" ;;
redis-server)
    "$CHEAP_REDIS" "$1" --bind 127.0.0.1 --port "$CHEAP_PORT" --dir "$CHEAP_WORK" --requirepass PASSWORD --daemonize yes \
        --pidfile "$CHEAP_WORK/redis.pid" >/dev/null
    for _ in {1..50}; do (exec 3<>"/dev/tcp/127.0.0.1/$CHEAP_PORT") 2>/dev/null && [ -s "$CHEAP_WORK/redis.pid" ] && exit; sleep 0.1; done
    echo "redis-server does not answer on port $CHEAP_PORT" >&2
    exit 1
    ;;
esac
