# SPDX-License-Identifier: Apache-2.0
"""cuda.core: a program to PTX, its kernel, and a launch on buffers of the device's memory."""

from client import CUDA, expect, need, operands

numpy = need("numpy")
core = need("cuda.core")
if not hasattr(core, "Device"):
    core = need("cuda.core.experimental")
driver = need("cuda.bindings.driver")

device = core.Device()
device.set_current()
stream = device.create_stream()
options = core.ProgramOptions(arch="sm_80")
kernel = core.Program(CUDA, code_type="c++", options=options).compile("ptx").get_kernel("saxpy")

x, y, wanted = operands(numpy)
buffers = [device.allocate(x.nbytes, stream=stream) for _ in range(2)]
for buffer, array in zip(buffers, (x, y)):
    assert int(driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)[0]) == 0
core.launch(
    stream,
    core.LaunchConfig(grid=8, block=128),
    kernel,
    numpy.float32(3),
    buffers[0],
    buffers[1],
    numpy.int32(x.size),
)
stream.sync()
assert int(driver.cuMemcpyDtoH(y.ctypes.data, int(buffers[1].handle), y.nbytes)[0]) == 0
expect(numpy, "cuda.core", y, wanted)
