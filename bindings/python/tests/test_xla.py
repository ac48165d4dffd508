# SPDX-License-Identifier: Apache-2.0
"""The handler that XLA calls for a device, called as XLA does, on the emulator and without JAX: frames of xla.h are made here."""

import ctypes
import pathlib
import re

import cffi
import numpy
import pytest
import tilejit
from tilejit._binding import ffi, lib
from tilejit._context import xla_context

HEADER = pathlib.Path(__file__).resolve().parents[1] / "xla.h"
xla = cffi.FFI()
xla.cdef(re.sub(r"^#.*$", "", HEADER.read_text(), flags=re.MULTILINE))
METADATA, ARRAY, INITIALIZE, EXECUTE = 1, 1, 2, 3
INVALID_ARGUMENT, FAILED_PRECONDITION = 3, 9
P, WITH, WORKSPACE = lib.TJ_MATRIX_P, lib.TJ_OPERAND_WITH, -1


class Runtime:
    """XLA's part: it keeps errors, and hands out one stream."""

    def __init__(self, stream, ordinals=True, ordinal=0):
        self.errors, self.asked = [], []

        @xla.callback("xla_error *(xla_error_create_args *)")
        def error_create(args):
            self.errors.append((args.errc, xla.string(args.message).decode()))
            return xla.cast("xla_error *", 1)

        @xla.callback("xla_error *(xla_stream_get_args *)")
        def stream_get(args):
            self.asked.append("stream")
            args.stream = xla.cast("void *", stream)
            return xla.NULL

        @xla.callback("xla_error *(xla_device_ordinal_get_args *)")
        def device_ordinal_get(args):
            self.asked.append("ordinal")
            args.device_ordinal = ordinal
            return xla.NULL

        self.api = xla.new("xla_api *", {"struct_size": xla.sizeof("xla_api") if ordinals else xla.offsetof("xla_api", "device_ordinal_get"),
                                         "api_version": {"major_version": 0, "minor_version": 7}, "error_create": error_create, "stream_get": stream_get,
                                         "device_ordinal_get": device_ordinal_get})
        self.kept = [error_create, stream_get, device_ordinal_get]

    def call(self, stage, problem, arguments, results, place, *, operands=None, offset=None, extension=None, bytes_=None, api=True):
        """Call the handler with arrays of a device. Returns None, or the code and message of its error."""
        kept = []

        def listed(arrays):
            buffers = [xla.new("xla_buffer *", {"data": xla.cast("void *", address)}) for address in arrays]
            every = xla.new("void *[]", [xla.cast("void *", each) for each in buffers])
            types = xla.new("int[]", [1] * len(arrays))
            kept.extend((buffers, every, types))
            return {"size": len(arrays), "types": types, "each": every}

        given = [address for address, _ in arguments + results]
        content = {"problem": problem, "operands": operands or blank_operands(), "place": numpy.array(place, "i8").tobytes(),
                   "bytes": numpy.array(bytes_ or [size for _, size in arguments + results], "i8").tobytes(),
                   "offset": numpy.array(offset or [0] * len(given), "i8").tobytes()}
        names, arrays = [], []
        for name, value in sorted(content.items()):
            data, text = xla.from_buffer(value), xla.new("char[]", name.encode())
            size = len(value) if name in ("problem", "operands") else len(value) // 8
            names.append(xla.new("xla_span *", {"ptr": text, "len": len(name)}))
            arrays.append(xla.new("xla_array *", {"size": size, "data": data}))
            kept.extend((data, text, value))
        span, every = xla.new("xla_span *[]", names), xla.new("void *[]", [xla.cast("void *", each) for each in arrays])
        types = xla.new("int[]", [ARRAY] * len(names))
        frame = xla.new("xla_frame *", {"struct_size": xla.sizeof("xla_frame"), "api": self.api if api else xla.NULL, "stage": stage,
                                        "args": listed([address for address, _ in arguments]), "rets": listed([address for address, _ in results]),
                                        "attrs": {"size": len(names), "types": types, "names": span, "attrs": every}})
        if extension is not None:
            frame.extension_start = xla.cast("xla_extension *", extension)
        before = len(self.errors)
        failed = lib.tjpy_xla_on_device(ffi.cast("void *", int(xla.cast("uintptr_t", frame))))
        assert (failed == ffi.NULL) == (len(self.errors) == before)
        return self.errors[-1] if failed else None


def blank_operands():
    operands = ffi.new("tj_operands *", {"struct_size": ffi.sizeof("tj_operands"), "alpha": 1.0})
    return bytes(ffi.buffer(operands))


@pytest.fixture
def stream(context):
    made, error = ffi.new("struct CUstream_st **"), ffi.new("tj_error *")
    assert lib.tj_stream_create(xla_context(0), made, error) == 0
    yield int(ffi.cast("uintptr_t", made[0]))
    lib.tj_stream_destroy(xla_context(0), made[0])


def memory(array):
    return (array.address, array.numpy().nbytes)


@pytest.fixture
def product(context, random):
    """A problem of its own extents, so that no other test has its kernel, with its arrays."""
    def make(j, k=9, l=10):
        a, b, bias = random(j, k), random(k, l), random(l)
        device = [context.to_device(each) for each in (a, b, bias)]
        problem = tilejit.Problem(j, k, l, epilogue="acc + bias[col]")
        return problem._bytes(), device, context.empty((j, l)), a @ b + bias
    return make


def test_what_xla_asks_when_it_registers(stream):
    runtime = Runtime(stream)
    for has_api in (True, False):
        metadata = xla.new("xla_metadata *")
        extension = xla.new("xla_metadata_extension *", {"extension_base": {"type": METADATA}, "metadata": metadata})
        assert runtime.call(EXECUTE, b"", [], [], [], extension=extension, api=has_api) is None
        assert (metadata.api_version.major_version, metadata.api_version.minor_version, metadata.traits) == (0, 1, 1)


@pytest.mark.parametrize("ordinals", [True, False])
def test_a_product_in_the_stream_of_xla(context, stream, product, ordinals):
    problem, (a, b, bias), p, wanted = product(6 + ordinals)
    runtime, before = Runtime(stream, ordinals), context.stats.compiles
    buffers = ([memory(a), memory(b), memory(bias)], [memory(p), memory(context.empty(64, "u8"))])
    place = [0, 1, WITH, P, WORKSPACE]
    assert runtime.call(INITIALIZE, problem, *buffers, place) is None
    assert context.stats.compiles == before + 1 and "stream" not in runtime.asked and ("ordinal" in runtime.asked) == ordinals
    assert runtime.call(EXECUTE, problem, *buffers, place) is None
    context.synchronize(stream)
    assert context.stats.compiles == before + 1 and "stream" in runtime.asked
    assert (p.numpy() == wanted).all()


def test_offsets_are_launches(context, stream, product):
    problem, (a, b, bias), p, wanted = product(8)
    twice = context.empty((2, *p.shape))
    size = p.numpy().nbytes
    assert Runtime(stream).call(EXECUTE, problem, [memory(a), memory(b), memory(bias)], [memory(twice)], [0, 1, WITH, P],
                                offset=[0, 0, 0, 0, 0, 0, 0, size]) is None
    context.synchronize(stream)
    assert (twice.numpy() == wanted).all()


def test_a_graph_takes_what_was_initialized(context, stream, product):
    emulator = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "libcuda_emulator" in line))
    problem, (a, b, bias), p, wanted = product(11)
    runtime, handle = Runtime(stream), ctypes.c_void_p(stream)
    primary, graph, ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert emulator.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0) == 0 and emulator.cuCtxPushCurrent_v2(primary) == 0
    call = ([memory(a), memory(b), memory(bias)], [memory(p)], [0, 1, WITH, P])
    assert emulator.cuStreamBeginCapture_v2(handle, 0) == 0
    code, message = runtime.call(EXECUTE, problem, *call)
    assert code == FAILED_PRECONDITION and "is being captured" in message
    assert runtime.call(INITIALIZE, problem, *call) is None
    assert runtime.call(EXECUTE, problem, *call) is None
    assert emulator.cuStreamEndCapture(handle, ctypes.byref(graph)) == 0
    assert emulator.cuGraphInstantiateWithFlags(ctypes.byref(ready), graph, ctypes.c_ulonglong(0)) == 0
    p.write(numpy.zeros_like(wanted))
    assert emulator.cuGraphLaunch(ready, handle) == 0
    context.synchronize(stream)
    assert (p.numpy() == wanted).all()
    assert emulator.cuGraphExecDestroy(ready) == 0 and emulator.cuGraphDestroy(graph) == 0
    assert emulator.cuCtxPopCurrent_v2(ctypes.byref(primary)) == 0 and emulator.cuDevicePrimaryCtxRelease_v2(0) == 0


def test_frames_that_cannot_be(context, stream, product):
    problem, (a, b, bias), p, _ = product(6)
    runtime, arrays = Runtime(stream), ([memory(a), memory(b), memory(bias)], [memory(p)])
    place = [0, 1, WITH, P]
    for ordinal in (-1, 99):
        assert "no context for this device" in Runtime(stream, ordinal=ordinal).call(EXECUTE, problem, *arrays, place)[1]
    for wanted, call in (
            ("newer TileJIT", lambda: runtime.call(EXECUTE, problem + b"more", *arrays, place)),
            ("newer TileJIT", lambda: runtime.call(EXECUTE, problem, *arrays, place, operands=blank_operands() + b"more")),
            ("do not match its buffers", lambda: runtime.call(EXECUTE, problem, *arrays, place[:3])),
            ("do not match its buffers", lambda: runtime.call(EXECUTE, problem, *arrays, place, offset=[0] * 3)),
            ("do not match its buffers", lambda: runtime.call(EXECUTE, problem, *arrays, place, bytes_=[1])),
            ("do not match its buffers", lambda: runtime.call(EXECUTE, problem, [], [], [])),
            ("no place among", lambda: runtime.call(EXECUTE, problem, *arrays, [0, 1, 99, P])),
            ("no place among", lambda: runtime.call(EXECUTE, problem, *arrays, [0, 1, -2, P])),
            ("bias is NULL", lambda: runtime.call(EXECUTE, problem, arrays[0][:2], arrays[1], [0, 1, P])),
            ("j is 0", lambda: runtime.call(EXECUTE, problem[:8] + bytes(8) + problem[16:], *arrays, place))):
        code, message = call()
        assert code == INVALID_ARGUMENT and wanted in message, message
