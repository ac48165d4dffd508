# SPDX-License-Identifier: Apache-2.0
"""TileJIT: matrix products by CUDA kernels that are written, at run time, for exactly the product you ask for.

    import numpy, tilejit
    p = tilejit.matmul(numpy.ones((512, 300), "f4"), numpy.ones((300, 700), "f4"))

Arrays of PyTorch, CuPy and JAX are multiplied in place, on their stream. Shapes count elements, times are in microseconds.
"""

from tilejit._arrays import DeviceArray
from tilejit._binding import ffi as _ffi
from tilejit._binding import lib as _lib
from tilejit._context import Context, Device, EmulatorWarning, Finding, Stats, default_context
from tilejit._errors import (
    Cancelled,
    CaptureError,
    CheckFailed,
    CompileError,
    DeviceLost,
    DeviceMemory,
    DriverError,
    Error,
    FileError,
    Forked,
    InternalError,
    InvalidArgument,
    NoCompiler,
    NoDriver,
    NotFound,
    OutOfMemory,
    Spills,
    Unsupported,
)
from tilejit._explain import Explanation, explain
from tilejit._family import Family, Kernel, Proof
from tilejit._grouped import matmul_along_k, matmul_grouped, matmul_masked
from tilejit._matmul import matmul, prepare, warm_up
from tilejit._pack import pack
from tilejit._problem import Epilogue, Problem
from tilejit._repack import repack
from tilejit._spec import Argument, Param
from tilejit._tune import Progress, Tuning, tune

__version__: str = _ffi.string(_lib.tj_version()).decode()

__all__ = [
    "Argument", "Cancelled", "CaptureError", "CheckFailed", "CompileError", "Context", "Device", "DeviceArray", "DeviceLost", "DeviceMemory", "DriverError",
    "EmulatorWarning", "Epilogue", "Error", "Explanation", "Family", "FileError", "Finding", "Forked", "InternalError", "InvalidArgument", "Kernel",
    "NoCompiler",
    "NoDriver", "NotFound", "OutOfMemory", "Param", "Problem", "Progress", "Proof", "Spills", "Stats", "Tuning", "Unsupported", "default_context", "explain", "matmul",
    "matmul_along_k", "matmul_grouped", "matmul_masked", "pack", "prepare", "repack", "tune", "warm_up",
]
