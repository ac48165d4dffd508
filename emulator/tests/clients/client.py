# SPDX-License-Identifier: Apache-2.0
"""Shared by the clients: a skip that says why, and kernels as text. A client prints what was right, or fails."""

import importlib
import os
import sys

SKIPPED = 77

CUDA = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<5>;
    ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra END;
    mul.wide.u32 %d3, %r5, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4]; ld.global.f32 %f3, [%d5]; fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%d5], %f4;
END:
    ret;
}
"""


def need(name):
    """The module, or the end of this client with the reason."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


def need_toolkit():
    """A toolkit with NVVM, or the end of this client."""
    if not os.path.isdir(os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "nvvm")):
        print("skipped: no toolkit with NVVM in CUDA_HOME")
        sys.exit(SKIPPED)


def operands(numpy, n=1000):
    """x, y and what 3 x + y is."""
    x = numpy.arange(n, dtype=numpy.float32)
    y = numpy.linspace(0, 1, n, dtype=numpy.float32)
    return x, y, numpy.float32(3) * x + y


def expect(numpy, name, got, wanted):
    numpy.testing.assert_allclose(got, wanted, rtol=1e-6)
    print(f"{name}: right")
