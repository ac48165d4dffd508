#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# completions.sh SHARE: the installed scripts complete the tilejit of PATH, in each shell that is here; bash always is.
set -euo pipefail
share=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
touch M.npy

# expect SHELL ANSWERS WORDS: the answers, in the order of sort, each with a blank after it.
expect() {
    local answer
    answer=$(complete_in_$1 "${@:3}" | LC_ALL=C sort | grep . | tr '\n' ' ' || true)
    [ "$answer" = "$2" ] || { echo "completions: $1 completes \"${*:3}\" to \"$answer\", not \"$2\"" >&2; exit 1; }
}

complete_in_bash() {
    bash --norc -uc '
        . "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _tilejit tilejit
        printf "%s\n" "${COMPREPLY[@]}"' "$share/bash-completion/completions/tilejit" "$@"
}

# Beyond a terminal zsh has no completion: what its functions would be given is what is tested.
complete_in_zsh() {
    zsh -fc '
        script=$1
        shift
        words=("$@") CURRENT=$# PREFIX=${@[-1]}
        compdef() { }
        compset() { PREFIX=${PREFIX#*=} }
        _files() { print -l -- $PREFIX*(N) }
        _describe() { local each; for each in "${(@P)2}"; do [[ $each != $PREFIX* ]] || print -r -- "${each%%:*}"; done }
        . $script
        _tilejit' zsh "$share/zsh/site-functions/_tilejit" "$@"
}

complete_in_fish() {
    HOME=$work fish --no-config -c "source $share/fish/vendor_completions.d/tilejit.fish; complete -C '$*'" | cut -f 1
}

for shell in bash zsh fish; do
    command -v $shell >/dev/null || { echo "completions: $shell is not here, so its script is not tried"; continue; }
    expect $shell "matmul " tilejit mat
    expect $shell "clear explain list path stats verify " tilejit cache ""
    expect $shell "tune " tilejit help tu
    expect $shell "bash fish zsh " tilejit completion ""
    expect $shell "--layout-m --layout-n --layout-p " tilejit run --lay
    expect $shell "--damaged " tilejit cache clear --dam
    expect $shell "f16 f32 f64 " tilejit run 8x8x8 --dtype f
    expect $shell "mma naive planes simt skinny small_batch strip tcgen05 thin tiled wgmma wgmma_planes " tilejit generate --family ""
    expect $shell "broadcast pointers pointers16 " tilejit run --stride-m ""
    expect $shell "M.npy " tilejit matmul M
    expect $shell "M.npy " tilejit matmul M.npy -o M
    expect $shell "" tilejit nonsense --x
    case $shell in
        bash) expect bash "col row " tilejit run --layout-m = "" ;; # readline makes three words of it
        zsh) expect zsh "col row " tilejit run --layout-m= ;;
        fish) expect fish "--layout-m=col --layout-m=row " tilejit run --layout-m= ;;
    esac
done
