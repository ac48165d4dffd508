#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_builds.sh [PART ...]: build and ship TileJIT in the ways that take minutes (docs/embedding.md), each from a clean folder. Parts:
# subproject, cross, packages, wheel. Installs missing packages, and uses the network only for that.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_build_tools
for part in ${*:-subproject cross packages wheel}; do
    say "$part"
    case $part in
        subproject) tests/install/subproject.sh build ;;
        cross) tests/install/cross.sh ;;
        packages) tests/install/packages.sh ;;
        wheel) tests/install/wheel.sh ;;
        *) echo "check_builds: no part is called $part" >&2; exit 2 ;;
    esac
done
