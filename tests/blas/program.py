# SPDX-License-Identifier: Apache-2.0
"""A program in Python that multiplies by a fake of cuBLAS from two places. With "locked" it keeps the interpreter's lock meanwhile."""
import ctypes
import os
import sys
import threading

cuda = ctypes.CDLL(os.environ["TILEJIT_EMULATOR"])
blas = (ctypes.PyDLL if "locked" in sys.argv else ctypes.CDLL)("libcublas.so.13")
context, handle, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
one, zero = ctypes.c_float(1), ctypes.c_float(0)
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) and not cuda.cuCtxSetCurrent(context)
assert not cuda.cuMemAlloc_v2(ctypes.byref(memory), 1 << 16) and not blas.cublasCreate_v2(ctypes.byref(handle))


def multiply():
    a, b, c = (ctypes.c_void_p(memory.value + i * 4096) for i in range(3))
    assert not cuda.cuCtxSetCurrent(context)
    assert not blas.cublasSgemm_v2(handle, 0, 0, 16, 16, 16, ctypes.byref(one), a, 16, b, 16, ctypes.byref(zero), c, 16)


def first():
    multiply()


def second():
    multiply()


for i in range(6):
    first()
others = [threading.Thread(target=second) for _ in range(3)]
for other in others:
    other.start()
for other in others:
    other.join()
