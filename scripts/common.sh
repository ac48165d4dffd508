# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: install missing packages, find NVRTC, copy the sources. Asks no questions and is safe to repeat.

say() { printf '\n== %s\n' "$*"; }

# copy_sources FOLDER   copies the files that git tracks or would track, as they are now, without build outputs.
copy_sources() {
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$1" -xf -
}

# need_packages COMMAND-OR-FILE:PACKAGE ...   installs the packages whose command or file is missing.
need_packages() {
    local pair tool missing=() sudo=
    for pair in "$@"; do
        local probe=${pair%%:*} package=${pair#*:}
        case $probe in
            /*) compgen -G "$probe" >/dev/null || missing+=("$package") ;;
            *) command -v "$probe" >/dev/null || missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "installing ${missing[*]}"
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    for tool in $sudo apt-get; do
        command -v $tool >/dev/null || {
            echo "$tool is not here to install them: install ${missing[*]} (or what your system calls them), and run this again" >&2
            return 1
        }
    done
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The packages that a build and the tests need, beyond those that every Debian has.
build_tools=(cc:gcc /usr/include/stdio.h:libc6-dev cmake:cmake ninja:ninja-build pkg-config:pkg-config
    /usr/include/xxhash.h:libxxhash-dev python3:python3
    /usr/include/hiredis/hiredis.h:libhiredis-dev /usr/include/sodium.h:libsodium-dev)
test_tools=('/usr/include/criterion/criterion.h:libcriterion-dev' /usr/include/jansson.h:libjansson-dev g++:g++ redis-server:redis-server)

test_modules=(numpy:numpy cffi:cffi ml_dtypes:ml_dtypes pytest:pytest mypy:mypy)
more_modules=(jax:jax) # the tests of tilejit.jax are skipped without it

need_build_tools() {
    need_packages "${build_tools[@]}"
    need_cmake
}

# narrow_path FOLDER [PACKAGE ...]   sets PATH to a folder of links to the programs of the packages above, of those named, and of those
# that every Debian has: other programs are not found then, as in a fresh system. Without dpkg PATH stays as it is, and 1 is returned.
narrow_path() {
    local folder=$1 packages programs=() file target tool linker=
    command -v dpkg-query >/dev/null && command -v apt-cache >/dev/null || { echo "there is no dpkg here: PATH stays as it is" >&2; return 1; }
    packages=("${@:2}")
    for tool in "${build_tools[@]}" "${test_tools[@]}"; do packages+=("${tool#*:}"); done
    packages+=($(dpkg-query -W -f '${db:Status-Abbrev}${Essential} ${Priority} ${Package}\n' | awk '/^ii/ && ($2 == "yes" || $3 == "required") { print $4 }'))
    packages=($(apt-cache depends --recurse --installed --no-{recommends,suggests,conflicts,breaks,replaces,enhances} "${packages[@]}" | grep '^[a-z0-9]' | sort -u))
    rm -rf "$folder"
    mkdir -p "$folder"
    for file in $(dpkg -L "${packages[@]}" 2>/dev/null | grep -E '^(/usr)?/s?bin/.'); do [ ! -x "$file" ] || programs+=("$file"); done
    ln -sf "${programs[@]}" "$folder"
    for file in /etc/alternatives/*; do # cc, awk: names that packages give to their programs
        target=$(readlink -f "$file")
        [[ ! $target =~ ^(/usr)?/s?bin/ || ! -e $folder/${target##*/} ]] || ln -sf "$file" "$folder"
    done
    # Programs that this machine has from elsewhere, and the launcher and linker that the caller names for the compiler.
    [[ ! ${LDFLAGS:-} =~ -fuse-ld=([a-z]+) ]] || linker=ld.${BASH_REMATCH[1]}
    for tool in "${build_tools[@]%%:*}" "${test_tools[@]%%:*}" ctest ${CMAKE_C_COMPILER_LAUNCHER:-} $linker; do
        [[ $tool == /* || -e $folder/$tool ]] || ln -sf "$(command -v "$tool")" "$folder"
    done
    PATH=$folder
}

# The folder of private copies of missing packages: NVRTC, NumPy, CMake. The library looks for NVRTC here too.
tilejit_home=${XDG_DATA_HOME:-$HOME/.local/share}/tilejit

# fetch PACKAGE ...   installs Python packages into a virtual environment of our own.
fetch() {
    local environment=$tilejit_home/python
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /nonexistent:python3-venv
    "$environment/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv "$environment"
    say "installing $* into $environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# The presets need a CMake of 3.22 or newer. An older one stays installed: ours comes before it in PATH, for this run.
need_cmake() {
    local needed=3.22 ours=$tilejit_home/cmake
    is_new_enough() { printf '%s\n' "$needed" "$("$1" --version | sed -n '1s/.* //p')" | sort -CV; }
    is_new_enough cmake && return 0
    mkdir -p "$ours"
    is_new_enough "$ours/cmake" 2>/dev/null || {
        say "CMake is older than $needed"
        fetch cmake
        ln -sf "$tilejit_home"/python/bin/{cmake,ctest} "$ours"
    }
    PATH=$ours:$PATH
}

# private_python MODULE:PACKAGE ...   sets $python to a Python that has the modules.
private_python() {
    local pair missing
    for python in python3 "$tilejit_home/python/bin/python"; do
        missing=()
        for pair in "$@"; do
            "$python" -c "import ${pair%%:*}" 2>/dev/null || missing+=("${pair#*:}")
        done
        [ ${#missing[@]} -eq 0 ] && return 0
    done
    fetch "${missing[@]}"
}

# need_nvrtc TILEJIT-COMMAND   makes sure that NVRTC can be found; otherwise fetches its wheel, of the release with which the kernels
# were measured and the tests' counts were made. Other releases compile the same source to other instructions.
need_nvrtc() {
    "$1" compile 1x1x1 --arch sm_90 --no-cache --emit cubin -o /dev/null >/dev/null 2>&1 && return 0
    say "NVRTC is not on this machine"
    fetch 'nvidia-cuda-nvrtc==13.0.*'
    TILEJIT_NVRTC=$(compgen -G "$tilejit_home/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*" | grep -v alt | tail -n 1)
    export TILEJIT_NVRTC
    "$1" compile 1x1x1 --arch sm_90 --no-cache --emit cubin -o /dev/null >/dev/null
}

# keep_kernels TILEJIT-COMMAND   the tests of all builds compile much the same kernels: from here on each of them once, by an NVRTC that
# keeps what it made.
keep_kernels() {
    local real kept=$PWD/build/kept
    real=$({ "$1" doctor 2>/dev/null || true; } | sed -n 's/^OK *nvrtc .* at //p')
    [ -n "$real" ] || return 0
    rm -rf "$kept"
    mkdir -p "$kept/kernels"
    cc -D_GNU_SOURCE -O2 -fvisibility=hidden -shared -fPIC -o "$kept/$(basename "$real")" tests/kept/kept_nvrtc.c -ldl -lpthread
    ln -s "$(dirname "$(realpath "$real")")"/libnvrtc-builtins.so* "$kept"
    export TILEJIT_NVRTC=$kept/$(basename "$real") KEPT_NVRTC=$real KEPT_NVRTC_FOLDER=$kept/kernels
}

# tidy_sources [OPTION ...]   runs clang-tidy on all sources but tests; its warnings are errors. Needs the preset clang, configured.
tidy_sources() {
    git ls-files {base,problem,generator,analysis,reference,src,tuner,cli,fleet,bench,emulator}/'*.c' ':!emulator/tests' |
        xargs -P "$(nproc)" -n 4 clang-tidy -p build/clang --quiet --warnings-as-errors='*' "$@" 2>/dev/null
}
