# SPDX-License-Identifier: Apache-2.0
"""The command tilejit, which the wheel holds as a program: it takes the place of this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tilejit._nvrtc import find_nvrtc


def main() -> None:
    """Run the command with the arguments of this process, and NVRTC's wheel where nothing else is named."""
    program = Path(__file__).parent / "bin" / "tilejit"
    if not program.exists():
        sys.exit(f"tilejit: {program} is not there: this copy of the package was not installed from a wheel")
    nvrtc = find_nvrtc()
    if nvrtc is not None and not os.environ.get("TILEJIT_NVRTC"):
        os.environ["TILEJIT_NVRTC"] = nvrtc
    os.execv(program, ["tilejit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
