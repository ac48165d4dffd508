# SPDX-License-Identifier: Apache-2.0
"""The extension: compiled on first use, for the PyTorch that is there, and kept for the processes after this one.

PyTorch promises a binary interface only for a small part of its C++, which has no differentiation; so one binary cannot serve two
versions. CUDA's headers are not needed.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, List

import torch

from tilejit._binding import ffi, lib
from tilejit._context import Context, host_context

_HERE = pathlib.Path(__file__).resolve().parent
_SOURCES = ("library.h", "product.h", "operators.cpp")
_STANDARD = "-std=c++20"
_kept: List[Any] = []  # what the extension uses, until the process ends


def _include() -> pathlib.Path:
    """The folder of TileJIT's headers: that of the wheel, or of the sources that the package is linked to."""
    for folder in (pathlib.Path(__file__).parent.parent, *_HERE.parents):
        if (folder / "include/tilejit/tilejit.h").exists():
            return folder / "include"
    raise ImportError(f"tilejit.torch lacks its headers: {_HERE.parent} has no folder include/tilejit; install the package again")


def folder() -> pathlib.Path:
    """The folder of built extensions: $TILEJIT_TORCH_DIR, else torch/ in the folder of the store."""
    named = os.environ.get("TILEJIT_TORCH_DIR")
    if named:
        return pathlib.Path(named)
    store = os.environ.get("TILEJIT_CACHE_DIR")
    if store and store != "off":
        return pathlib.Path(store) / "torch"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "tilejit" / "torch"


def _compiler() -> str:
    named = os.environ.get("CXX")
    for name in (named,) if named else ("c++", "g++", "clang++"):
        found = shutil.which(name)
        if found:
            return found
    raise ImportError(f"tilejit.torch is compiled on first use, and there is no C++ compiler{f' {named} ($CXX)' if named else ''}: install g++ 11 "
                      "or newer, or clang++, or set $TILEJIT_TORCH_DIR to a folder with an extension that was built for this PyTorch elsewhere")


def _flags() -> List[str]:
    root = pathlib.Path(torch.__file__).resolve().parent
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    return [_STANDARD, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{_include()}",
            "-isystem", str(root / "include"), "-isystem", str(root / "include/torch/csrc/api/include"),
            f"-L{root / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]


def build() -> pathlib.Path:
    """Return the path of the extension, which is compiled if no process has done so for this PyTorch. Raises ImportError."""
    key = hashlib.sha256(f"{torch.__version__} {torch.version.git_version} {_STANDARD} {torch._C._GLIBCXX_USE_CXX11_ABI}".encode())
    for source in (*(_HERE / name for name in _SOURCES), *sorted((_include() / "tilejit").glob("*.h"))):
        key.update(source.read_bytes())
    path = folder() / f"tilejit_torch-{torch.__version__}-{key.hexdigest()[:16]}.so"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes that start at once, one compiles
        if path.exists():
            return path
        with tempfile.TemporaryDirectory(dir=path.parent) as working:
            made = pathlib.Path(working) / "extension.so"
            command = [_compiler(), str(_HERE / "operators.cpp"), "-o", str(made), *_flags()]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ImportError(f"tilejit.torch could not be compiled for PyTorch {torch.__version__} by {' '.join(command)}\n{done.stderr}")
            os.replace(made, path)
    return path


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)
def _get_context(is_on_host: int) -> int:
    """Called once for device memory, and once for host memory, from any thread."""
    context = host_context(None) if is_on_host else Context(check_pointers=False)
    _kept.append(context)
    return int(ffi.cast("uintptr_t", context._open()))


def load() -> None:
    """Build the extension if need be, load it, and bind it to the library of this package."""
    path = str(build())
    torch.ops.load_library(path)
    extension = ctypes.CDLL(path)
    extension.tilejit_torch_functions.restype = ctypes.POINTER(ctypes.c_char_p)
    names = extension.tilejit_torch_functions()
    addresses: List[int] = []
    while names[len(addresses)]:
        addresses.append(int(ffi.cast("uintptr_t", ffi.addressof(lib, names[len(addresses)].decode()))))
    extension.tilejit_torch_bind((ctypes.c_void_p * len(addresses))(*addresses), _get_context)
