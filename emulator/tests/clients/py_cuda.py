# SPDX-License-Identifier: Apache-2.0
"""PyCUDA: a module from a buffer, arrays of the device, and prepared calls."""

from client import PTX, expect, need, operands

numpy = need("numpy")
driver = need("pycuda.driver")
need("pycuda.autoinit")

kernel = driver.module_from_buffer(PTX.encode()).get_function("saxpy")
x, y, wanted = operands(numpy)
on_device = [driver.mem_alloc(x.nbytes) for _ in range(2)]
for to, from_ in zip(on_device, (x, y)):
    driver.memcpy_htod(to, from_)
kernel.prepare("fPPi")
kernel.prepared_call((8, 1), (128, 1, 1), 3.0, on_device[0], on_device[1], x.size)
driver.memcpy_dtoh(y, on_device[1])
expect(numpy, "PyCUDA", y, wanted)
