# SPDX-License-Identifier: Apache-2.0
"""Find NVRTC in the wheel nvidia-cuda-nvrtc. As a program, which the build of the wheel runs: print its path."""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional


def find_nvrtc() -> Optional[str]:
    """Return the libnvrtc of the wheel nvidia-cuda-nvrtc in this Python, or None: the library then searches by itself."""
    try:
        import nvidia
    except ImportError:
        return None
    found: List[Path] = []
    for folder in nvidia.__path__:
        found += [path for path in Path(folder).glob("*/lib/libnvrtc.so.*") if ".alt" not in path.name]
    return str(max(found, key=lambda path: int(path.name.split(".")[2]))) if found else None


if __name__ == "__main__":
    print(find_nvrtc() or "")
