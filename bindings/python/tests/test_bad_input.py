# SPDX-License-Identifier: Apache-2.0
"""Each bad input gets an exception that names the argument, its value and the remedy."""

import os

import ml_dtypes
import numpy
import pytest
import tilejit
from tilejit._binding import ffi, lib


def test_what_is_no_array(random):
    with pytest.raises(TypeError, match="b is a builtins.list"):
        tilejit.matmul(random(2, 2), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("dtype, words", [("G", "clongdouble|complex256"), ("i8", "int64"), (">f4", "other order"), ("?", "bool"), ("O", "object")])
def test_types(dtype, words):
    with pytest.raises(TypeError, match=words):
        tilejit.matmul(numpy.zeros((2, 2), dtype), numpy.zeros((2, 2), dtype))
    with pytest.raises(TypeError, match="dtype is"):
        tilejit.matmul(numpy.zeros((2, 2)), numpy.zeros((2, 2)), dtype="int64")


def test_multiprocessors(random):
    a, b = random(4, 3), random(3, 5)
    numpy.testing.assert_allclose(tilejit.matmul(a, b, multiprocessors=24), a @ b, rtol=1e-5)
    assert tilejit.Problem.of(a, b, multiprocessors=24) == tilejit.Problem(4, 3, 5, multiprocessors=24)
    for wrong, words in ((0, 'multiprocessors is "0": write a whole number from 1'), (133, "multiprocessors is 133, and .* has 132: use 1 to 132")):
        with pytest.raises(tilejit.InvalidArgument, match=words):
            tilejit.matmul(a, b, multiprocessors=wrong)


def test_places(random, context):
    with pytest.raises(tilejit.InvalidArgument, match="a is on cuda and b is on the host: move one"):
        tilejit.matmul(context.to_device(random(2, 2)), random(2, 2))
    with pytest.raises(tilejit.InvalidArgument, match="out is on cuda"):
        tilejit.matmul(random(2, 2), random(2, 2), context.empty((2, 2)))


@pytest.mark.parametrize("strides", [(8, 2), (-4, 1), (0, 1), (2, 1), (1, 0)])
def test_strides_that_no_leading_dimension_expresses(random, context, foreign, strides):
    a, b = context.to_device(random(100)), context.to_device(random(4, 4))
    with pytest.raises(tilejit.InvalidArgument, match=r"a has a matrix of 4 x 4 with strides of .*contiguous copy"):
        tilejit.matmul(foreign(a, (4, 4), strides, offset=20), b, context.empty((4, 4)), context=context)
    with pytest.raises(tilejit.InvalidArgument, match="out has a matrix"):
        tilejit.matmul(b, b, foreign(a, (4, 4), strides, offset=20), context=context)


def test_out(random, context, foreign):
    a, b = context.to_device(random(4, 4)), context.to_device(random(4, 4))
    wide = context.empty((8, 8))
    for out, words in ((context.empty((4, 5)), "out is .4, 5. and the product is .4, 4."), (foreign(wide, (4, 4), None, read_only=True), "read-only"),
                       (a, "overwrite|overlap"), (foreign(a, (4, 4), None), "overwrite|overlap")):
        with pytest.raises(tilejit.InvalidArgument, match=words):
            tilejit.matmul(a, b, out, context=context)
    batch = context.to_device(random(3, 4, 4))
    with pytest.raises(tilejit.InvalidArgument, match="same memory"):
        tilejit.matmul(batch, b, foreign(wide, (3, 4, 4), (0, 4, 1)), context=context)
    host = numpy.zeros((4, 4), "f4")
    host.flags.writeable = False
    with pytest.raises(tilejit.InvalidArgument, match="read-only"):
        tilejit.matmul(random(4, 4), random(4, 4), host)
    with pytest.raises(tilejit.InvalidArgument, match="dtype is f16 and out is of f32"):
        tilejit.matmul(random(4, 4), random(4, 4), numpy.zeros((4, 4), "f4"), dtype="f16")
    with pytest.raises(TypeError, match="pass out="):
        tilejit.matmul(foreign(a, (4, 4), None), b, context=context)


def test_freed_memory(random, context, foreign):
    a, b = context.to_device(random(4, 4)), context.to_device(random(4, 4))
    with pytest.raises(tilejit.InvalidArgument, match="a has no memory: it was freed"):
        tilejit.matmul(foreign(a, (4, 4), None, address=0), b, context.empty((4, 4)), context=context)
    b.free()
    with pytest.raises(tilejit.InvalidArgument, match="b has no memory: it was freed"):
        tilejit.matmul(a, b)
    with pytest.raises(tilejit.InvalidArgument, match="freed"):
        b.numpy()


def test_foreign_memory(random, context, foreign):
    """An address that the driver does not know."""
    a = context.to_device(random(4, 4))
    with pytest.raises(tilejit.Error, match="a host address or was freed"):
        tilejit.matmul(foreign(a, (4, 4), None, address=64), a, context.empty((4, 4)), context=context)
    with pytest.raises(TypeError, match="masked"):
        tilejit.matmul(foreign(a, (4, 4), None, mask=a), a, context.empty((4, 4)), context=context)


def test_streams(random):
    with pytest.raises(TypeError, match="stream is a str"):
        tilejit.matmul(random(2, 2), random(2, 2), stream="0")


def test_closed_context(random):
    with tilejit.Context(driver="emulator") as context:
        a = context.to_device(random(2, 2))
        a.free()
    with pytest.raises(tilejit.InvalidArgument, match="closed"):
        tilejit.matmul(random(2, 2), random(2, 2), context=context)
    context.close()


def test_options():
    with pytest.raises(tilejit.InvalidArgument, match="log_level is 'loud'"):
        tilejit.Context(log_level="loud")
    with pytest.raises(TypeError, match="list of paths"):
        tilejit.Context(packs="a.tjpack")
    with pytest.raises(tilejit.NoDriver, match="nowhere"):
        tilejit.Context(driver="/nowhere/libcuda.so.1").device
    with pytest.raises(tilejit.NoCompiler, match="nowhere"):
        tilejit.prepare(tilejit.Problem(2, 2, 2), context=tilejit.Context(driver="emulator", nvrtc="/nowhere/libnvrtc.so"))


def test_problems():
    for arguments, words in (((0, 1, 1), "j"), ((1, 1, 2**31), "l"), ((4, 4, 4, "f32", ), None)):
        if words:
            with pytest.raises(tilejit.InvalidArgument, match=words):
                tilejit.Problem(*arguments)
    with pytest.raises(tilejit.InvalidArgument, match="layouts"):
        tilejit.Problem(4, 4, 4, layouts="rrx")
    with pytest.raises(TypeError, match="f31"):
        tilejit.Problem(4, 4, 4, "f31")


def test_every_status_has_an_exception():
    for number in range(1, 64):
        name = ffi.string(lib.tj_status_name(number)).decode()
        if name == "TJ_ERR_UNKNOWN":
            break
        from tilejit._errors import failure

        error = failure(number, "why")
        assert type(error) is not tilejit.Error and error.status == name and str(error) == "why"
    assert number > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_told(random, context):
    tilejit.matmul(random(2, 2), random(2, 2))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            tilejit.matmul(numpy.ones((2, 2), "f4"), numpy.ones((2, 2), "f4"))
            os.write(writer, b"no error")
        except tilejit.Forked as error:
            os.write(writer, b"Forked" if 'the start method "spawn"' in str(error) else str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 64) == b"Forked"


def test_contexts_that_are_none(random):
    a = random(2, 2)
    for call in (lambda: tilejit.matmul(a, a, context=5), lambda: tilejit.prepare(tilejit.Problem(2, 2, 2), context=5),
                 lambda: tilejit.matmul_grouped(a, random(1, 2, 2), [0, 2], context=5)):
        with pytest.raises(TypeError, match="context is 5: pass a tilejit.Context"):
            call()


class Interface:
    """Says of itself what a test wants."""

    def __init__(self, **members):
        self.__dict__.update(members)


@pytest.mark.parametrize("about", [None, 5, {}, {"data": 3}, {"data": (0, False), "typestr": "<f4", "shape": ("x",)}, {"data": (0, 0), "typestr": "?!", "shape": ()}])
def test_interfaces_that_cannot_be_read(random, about):
    with pytest.raises(TypeError, match="b.__cuda_array_interface__ is .*, which cannot be read"):
        tilejit.matmul(random(2, 2), Interface(__cuda_array_interface__=about))


@pytest.mark.parametrize("members", [{}, {"__dlpack_device__": lambda: ("x", None)}, {"__dlpack_device__": lambda: None}, {"__dlpack_device__": lambda: ()}])
def test_devices_of_dlpack_that_cannot_be_read(random, members):
    with pytest.raises(TypeError, match="b.__dlpack_device__.. does not return two numbers"):
        tilejit.matmul(random(2, 2), Interface(__dlpack__=lambda **_: None, **members))


def test_streams_that_cannot_be(random, context):
    a = random(2, 2)
    for stream in (-1, 2**64):
        for array in (a, context.to_device(a)):
            with pytest.raises(tilejit.InvalidArgument, match=f"stream is {stream}, which is not a cudaStream_t"):
                tilejit.matmul(array, array, stream=stream)
    for call in (lambda: tilejit.matmul(a, a, stream=12345), lambda: tilejit.matmul_grouped(a, random(1, 2, 2), [0, 2], stream=12345)):
        with pytest.raises(tilejit.InvalidArgument, match="stream is 12345, and the arrays are on the host"):
            call()


@pytest.mark.parametrize("strides", [(0, 4), (4, 4), (8, 4), (4, 0)])
def test_host_out_that_overlaps_itself(random, strides):
    memory = numpy.zeros(84, "f4")
    out = numpy.lib.stride_tricks.as_strided(memory, (12, 7), strides)
    with pytest.raises(tilejit.InvalidArgument, match="out is .12, 7. with strides of .*: its rows or columns share memory"):
        tilejit.matmul(random(12, 5), random(5, 7), out)
    assert not memory.any()


@pytest.mark.parametrize("dtype, words", [
    ("i8", "int64, .*int8 or uint8, whose sums are exact in int32, or to float32"), ("i4", "int32, which only a product has: convert it to int8"),
    ("G", "complex256, .*convert it to complex64 or complex128"), ("U3", "text, "), ("f2,f4", "a struct, "), ("O", "of objects"),
    (ml_dtypes.int4, 'int4.*pack it: .*arrays of uint8 with n_dtype="s4": two in a byte'), (ml_dtypes.uint4, 'uint4.*pack it: .*n_dtype="u4"'),
    *([(ml_dtypes.float4_e2m1fn, 'float4_e2m1fn.*pack it: .*n_dtype="e2m1"')] if hasattr(ml_dtypes, "float4_e2m1fn") else []),
    *([(ml_dtypes.float8_e4m3, "float8_e4m3, .*convert it to float8_e4m3fn or")] if hasattr(ml_dtypes, "float8_e4m3") else [])])
def test_types_and_the_remedy(dtype, words):
    with pytest.raises(TypeError, match=f"the type of a is {words}"):
        tilejit.matmul(numpy.zeros((2, 2), dtype), numpy.zeros((2, 2), dtype))


def test_names_of_types(random):
    for n_dtype, words in (("uint4", "n_dtype is uint4: pack it"), ("int4", "n_dtype is int4: pack it"), (ml_dtypes.int4, "n_dtype is int4")):
        with pytest.raises(TypeError, match=words):
            tilejit.matmul(random(2, 2), numpy.zeros((2, 1), "u1"), n_dtype=n_dtype)
    for dtype, words in (("fp16", "did you mean f16"), (5, "5, which is not an element type: use float32"), (None, "None, which is not an element type")):
        with pytest.raises(TypeError, match=words):
            tilejit.Problem(2, 2, 2, dtype)


def test_masked_arrays(random):
    a = random(2, 2)
    for masked in (numpy.ma.masked_array(a, a > 0), numpy.ma.masked_array(a)):
        with pytest.raises(TypeError, match=r"b is masked: pass b.filled\(0\), or b.data"):
            tilejit.matmul(a, masked)


def test_messages_of_calls_name_their_arguments(random, context):
    a = random(4, 4)
    with pytest.raises(tilejit.InvalidArgument, match="^a is f32 but b is f64: "):
        tilejit.matmul(a, a.astype("f8"))
    with pytest.raises(tilejit.InvalidArgument, match="^a and b are f32 but out is s8: such an out may be"):
        tilejit.matmul(a, a, a.astype("i1"))
    there = context.to_device(a)
    with pytest.raises(tilejit.InvalidArgument) as raised:
        tilejit.matmul(there, there, there)
    assert "out" in str(raised.value) and " P " not in f" {raised.value} "
    for epilogue in (tilejit.Epilogue(scale_n=numpy.ones((2, 4), "f4")), tilejit.Epilogue(scale_n=numpy.ones(4, "f4"))):
        with pytest.raises(tilejit.InvalidArgument) as raised:
            tilejit.matmul(a.astype("f8"), a.astype("f8"), epilogue=epilogue)
        assert "TJ_" not in str(raised.value)


def test_operands_with_the_names_of_arguments(random):
    a, b, v = random(4, 4), random(4, 4), random(4)
    for name in ("out", "epilogue", "stream", "dtype", "compute", "context", "n_dtype"):
        with pytest.raises(tilejit.InvalidArgument, match=f"the epilogue names {name}, which is an argument of the call"):
            tilejit.matmul(a, b, **{"epilogue": f"acc + {name}[col]", **({} if name == "epilogue" else {name: v})})
        epilogue = tilejit.Epilogue(expression=f"acc + {name}[col]", operands={name: v})
        assert numpy.array_equal(tilejit.matmul(a, b, epilogue=epilogue), a @ b + v)
    for name in ("offsets", "index"):
        with pytest.raises(tilejit.InvalidArgument, match=f"the epilogue names {name}, which is an argument of the call"):
            tilejit.matmul_grouped(a, b[None], [0, 4], epilogue=f"acc + {name}[col]")
    for name in ("counts", "expected"):
        with pytest.raises(tilejit.InvalidArgument, match=f"the epilogue names {name}, which is an argument of the call"):
            tilejit.matmul_masked(a[None], b[None], [4], epilogue=f"acc + {name}[col]")
    assert numpy.array_equal(tilejit.matmul(a, b, epilogue="acc + a[col] * b[col]", a=v, b=v), a @ b + v * v)
