# SPDX-License-Identifier: Apache-2.0
"""Numba, its own CUDA target or numba-cuda: a kernel, a product by shared memory, and a reduction."""

from client import expect, need, need_toolkit, operands

numpy = need("numpy")
need("numba")
need_toolkit()
cuda = need("numba.cuda")
float32 = need("numba").float32


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def multiply(m, n, p):
    a = cuda.shared.array((8, 8), float32)
    b = cuda.shared.array((8, 8), float32)
    row, column = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(0, m.shape[1], 8):
        a[tx, ty] = m[row, k + ty]
        b[tx, ty] = n[k + tx, column]
        cuda.syncthreads()
        for i in range(8):
            total += a[tx, i] * b[i, ty]
        cuda.syncthreads()
    p[row, column] = total


x, y, wanted = operands(numpy)
saxpy[8, 128](numpy.float32(3), x, y)
expect(numpy, "Numba, a kernel", y, wanted)

m, n = (numpy.arange(256, dtype=numpy.float32).reshape(16, 16) % k for k in (7, 5))
p = cuda.device_array((16, 16), numpy.float32)
multiply[(2, 2), (8, 8)](cuda.to_device(m), cuda.to_device(n), p)
expect(numpy, "Numba, a product", p.copy_to_host(), m @ n)

add = cuda.reduce(lambda a, b: a + b)
expect(numpy, "Numba, a reduction", add(x), x.sum())
