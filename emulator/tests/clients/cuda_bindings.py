# SPDX-License-Identifier: Apache-2.0
"""cuda-bindings: NVRTC to PTX, a module, memory, a stream, a launch and events, function by function."""

import ctypes

from client import CUDA, expect, need, operands

numpy = need("numpy")
driver = need("cuda.bindings.driver")
nvrtc = need("cuda.bindings.nvrtc")


def ok(answer):
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))
program = ok(nvrtc.nvrtcCreateProgram(CUDA.encode(), b"saxpy.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_80"]))
ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
ok(nvrtc.nvrtcGetPTX(program, ptx))
module = ok(driver.cuModuleLoadData(ptx))
kernel = ok(driver.cuModuleGetFunction(module, b"saxpy"))

x, y, wanted = operands(numpy)
on_device = [ok(driver.cuMemAlloc(x.nbytes)) for _ in range(2)]
stream = ok(driver.cuStreamCreate(0))
start, end = (ok(driver.cuEventCreate(0)) for _ in range(2))
for to, from_ in zip(on_device, (x, y)):
    ok(driver.cuMemcpyHtoDAsync(to, from_.ctypes.data, x.nbytes, stream))
ok(driver.cuEventRecord(start, stream))
values = (3.0, int(on_device[0]), int(on_device[1]), x.size)
types = (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
ok(driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, (values, types), 0))
ok(driver.cuEventRecord(end, stream))
ok(driver.cuMemcpyDtoHAsync(y.ctypes.data, on_device[1], y.nbytes, stream))
ok(driver.cuStreamSynchronize(stream))
assert ok(driver.cuEventElapsedTime(start, end)) >= 0
expect(numpy, "cuda.bindings", y, wanted)
