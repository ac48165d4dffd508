#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# try_fresh_root.sh [SUITE [MIRROR]]: run both commands of the README in a minimal system made by debootstrap: bookworm (the
# default), trixie, jammy, noble, or any suite that debootstrap knows. Each runs twice, since both may be
# repeated. Takes root, debootstrap, the network and some 3 GB in $TMPDIR; KEEP=1 keeps the folder. Not part of .ci/run: it takes a
# quarter of an hour and depends on mirrors.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

suite=${1:-bookworm}
[ "$(id -u)" -eq 0 ] || { echo "try_fresh_root: chroot needs root: run this with sudo" >&2; exit 1; }
need_packages debootstrap:debootstrap
root=$(mktemp -d)
chmod 755 "$root" # for the tests that give up being root
clean() {
    local code=$?
    [ -n "${KEEP:-}" ] && echo "kept: $root" || rm -rf --one-file-system "$root"
    exit $code
}
trap clean EXIT

say "a minimal $suite"
# The mirror that this machine uses, if it has the suite; else the one that debootstrap knows.
mirror=${2:-$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n "s/^$suite //p" | head -n 1)}
scripts=/usr/share/debootstrap/scripts
script=$(readlink -f "$scripts/$suite") components=main
[ -e "$script" ] || [ "$suite" != noble ] || script=$scripts/gutsy # younger than many a debootstrap, and made as every Ubuntu is
if [ "$(basename "$script")" = gutsy ]; then
    components=main,universe
    mirror=${mirror:-$(sed -n 's/.*default_mirror \(http.*archive[.]ubuntu.*\)/\1/p' "$script" | head -n 1)}
fi
debootstrap --variant=minbase --components=$components "$suite" "$root" $mirror ${mirror:+"$script"} >"$root.log" || { tail "$root.log" >&2; exit 1; }
rm "$root.log"

# The proxies and indexes by which this machine reaches mirrors and packages.
apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/99machine" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc"
[ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc"
settings=(HOME=/srv/home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
    [ -z "${!name:-}" ] || settings+=("$name=${!name}")
done
certificates=${PIP_CERT:-${SSL_CERT_FILE:-}}
if [ -n "$certificates" ]; then
    cp -L "$certificates" "$root/etc/machine-certificates.crt"
    settings+=(PIP_CERT=/etc/machine-certificates.crt)
fi

mkdir "$root/srv/home"
copy_sources "$root/srv/tilejit"

# Mounts in a namespace of their own end with it, whatever happens.
in_root() {
    unshare --mount --pid --fork --kill-child bash -euc '
        mount --rbind /dev "$0/dev"
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/tmp"
        exec chroot "$0" env -i "$@"' "$root" "${settings[@]}" "$@"
}
for command in demo.sh demo.sh test.sh "test.sh -L check"; do
    say "./scripts/$command in a fresh $suite"
    in_root /srv/tilejit/scripts/$command
done
say "both commands of the README ran twice in a fresh $suite:"
in_root /bin/sh -euc '. /etc/os-release && echo "$PRETTY_NAME ($(cat /etc/debian_version)), $(uname -m), GCC $(cc -dumpfullversion), $(cmake --version | head -n 1), hiredis $(pkg-config --modversion hiredis)"'
