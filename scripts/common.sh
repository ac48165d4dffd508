# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: installing what is missing, and finding NVRTC. Asks no questions and is safe to repeat.

say() { printf '\n== %s\n' "$*"; }

# need_packages COMMAND-OR-FILE:PACKAGE ...   installs the packages whose command or file is missing.
need_packages() {
    local pair missing=() sudo=
    for pair in "$@"; do
        local probe=${pair%%:*} package=${pair#*:}
        case $probe in
            /*) compgen -G "$probe" >/dev/null || missing+=("$package") ;;
            *) command -v "$probe" >/dev/null || missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "installing ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "missing: ${missing[*]}; install them, or run this as root" >&2; return 1; }
        sudo=sudo
    fi
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

need_build_tools() {
    need_packages cc:gcc cmake:cmake ninja:ninja-build pkg-config:pkg-config \
        /usr/include/jansson.h:libjansson-dev /usr/include/xxhash.h:libxxhash-dev python3:python3
}

# Where a private copy of NVRTC and NumPy goes when the machine has none. The library looks here too.
tilejit_home=${XDG_DATA_HOME:-$HOME/.local/share}/tilejit

# private_python PACKAGE ...   a virtual environment that has them; sets $python.
private_python() {
    python=python3
    local wanted=() package
    for package in "$@"; do
        "$python" -c "import ${package%%:*}" 2>/dev/null || wanted+=("${package#*:}")
    done
    [ ${#wanted[@]} -eq 0 ] && return 0
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /nonexistent:python3-venv
    [ -x "$tilejit_home/python/bin/python" ] || python3 -m venv "$tilejit_home/python"
    python=$tilejit_home/python/bin/python
    wanted=()
    for package in "$@"; do
        "$python" -c "import ${package%%:*}" 2>/dev/null || wanted+=("${package#*:}")
    done
    [ ${#wanted[@]} -eq 0 ] && return 0
    say "installing ${wanted[*]} into $tilejit_home/python"
    "$python" -m pip install --quiet --disable-pip-version-check "${wanted[@]}"
}

# need_nvrtc TILEJIT-COMMAND   makes sure that NVRTC can be found; fetches the wheel of it otherwise.
need_nvrtc() {
    "$1" compile 1x1x1 --arch sm_90 --no-cache --emit cubin -o /dev/null >/dev/null 2>&1 && return 0
    say "NVRTC is not on this machine: fetching its wheel"
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /nonexistent:python3-venv
    [ -x "$tilejit_home/python/bin/python" ] || python3 -m venv "$tilejit_home/python"
    "$tilejit_home/python/bin/python" -m pip install --quiet --disable-pip-version-check nvidia-cuda-nvrtc
    TILEJIT_NVRTC=$(compgen -G "$tilejit_home/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*" | grep -v alt | tail -n 1)
    export TILEJIT_NVRTC
    "$1" compile 1x1x1 --arch sm_90 --no-cache --emit cubin -o /dev/null >/dev/null
}
