#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write seeds for fuzz_npy into a folder: npy_seeds.py FOLDER. Needs no NumPy."""
import struct
import sys
from pathlib import Path

HEADERS = {
    "f32": ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24),
    "f64-big-fortran": ("{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }\n", 48),
    "f16-batch": ("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2, 3), }\n", 24),
    "bf16": ("{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }\n", 12),
    "empty": ("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }\n", 0),
    "compact": ('{"shape":(2L,3L,),"fortran_order":False,"descr":"f4"}', 24),
    "int64": ("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1), }\n", 8),
    "structured": ("{'descr': [('x', '<f4'), ('y', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }\n", 16),
    "huge": ("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 8),
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (header, data_bytes) in HEADERS.items():
        for version in (1, 2, 3):
            length = struct.pack("<H" if version == 1 else "<I", len(header))
            content = b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + bytes(range(data_bytes))
            (folder / f"{name}-v{version}").write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
