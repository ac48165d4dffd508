# SPDX-License-Identifier: Apache-2.0
"""Families of the application's own: launched, tuned, proven, stored; and what goes wrong becomes an exception."""

import gc
import importlib.util
import pathlib
import sys
import threading

import ml_dtypes
import numpy
import pytest
import tilejit
from tilejit import Argument, Param

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "softmax.py"

SCALE = """constexpr int LENGTH = 1;  //@ length
extern "C" __global__ void
scale(
    const float *x, float *y, float factor)
{
    //@ if order_forward
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    //@ else
    //@| const int i = LENGTH - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);
    //@ end
    if (i >= 0 && i < LENGTH)
        #include "store.cuh"
}
"""


def reference(extents, x, y, factor):
    y[...] = factor * x


def scale(name="scale", store="y[i] = x[i] * factor;\n", **changes):
    stated = dict(
        extents=["length"],
        arguments=[Argument("x", "in", "f32", "length"), Argument("y", "out", "f32", "length"), Argument("factor", "scalar", "f32", trial=2.5)],
        params=[Param("threads", (32, 1024), 64, "of a block", tried=[32, 64, 128]), Param("order", ("forward", "backward"), "forward", role="order")],
        constraints=["threads % 32 == 0"], grid="ceil_div(length, threads)", block="threads", reference=reference)
    return tilejit.Family(name, {"scale.cu": SCALE, "store.cuh": store}, **{**stated, **changes})


@pytest.fixture(scope="module")
def family():
    return scale()


def test_device_arrays_in_place(random, context, family):
    x = random(100)
    there, out = context.to_device(x), context.empty(100)
    assert family(there, out, 3) is out and numpy.array_equal(out.numpy(), 3 * x)
    made = family(there, factor=-1)
    assert isinstance(made, tilejit.DeviceArray) and numpy.array_equal(made.numpy(), -x)
    assert numpy.array_equal(family(x=there, factor=2, config={"order": "backward", "threads": 32}).numpy(), 2 * x)


def test_foreign_arrays_on_their_stream(random, context, foreign, family):
    x = random(100)
    out = context.empty(100)
    family(foreign(context.to_device(x), (100,), None), foreign(out, (100,), None), factor=3, context=context, stream=0)
    assert numpy.array_equal(out.numpy(), 3 * x)
    with pytest.raises(TypeError, match="memory of y: pass it"):
        family(foreign(out, (100,), None), factor=3, context=context)
    with pytest.raises(tilejit.InvalidArgument, match="contiguous copy"):
        family(foreign(out, (50,), (2,)), context.empty(50), 1)


def test_host_arrays(random, family):
    x, out = random(200)[::2], numpy.zeros(100, "f4")
    assert numpy.array_equal(family(x, factor=2), 2 * x)
    assert family(x, out, 5) is out and numpy.array_equal(out, 5 * x)


class DlpackOnly:
    """A host array that offers nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.array.__dlpack__()


def test_dlpack(random, family):
    x = random(64)
    assert numpy.array_equal(family(DlpackOnly(x), factor=2), 2 * x)


def test_an_argument_serves_every_extent(random, context, monkeypatch):
    """rows is passed to the kernel, so a second number of rows compiles nothing."""
    spec = importlib.util.spec_from_file_location("softmax", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with tilejit.Context(driver="emulator") as own:
        for rows in (7, 3, 11):
            n = random(rows, 100)
            p = example.softmax(n, scale=0.5, context=own)
            assert abs(p - example.reference(None, n, None, rows, 0.5)).max() < 1e-6
        assert own.stats.compiles == 1
        kernel = example.softmax.load(rows=4, cols=64, context=own)
        assert kernel.extents == {"rows": 4, "cols": 64} and "threads=128" in kernel.config and "COLS = 64" in kernel.source
        n = own.to_device(random(4, 64))
        assert abs(kernel(n, scale=1.0).numpy().sum(axis=1) - 1).max() < 1e-6
        with pytest.raises(tilejit.InvalidArgument, match="was made for cols 64, and not for 65"):
            kernel(own.to_device(random(4, 65)), scale=1.0)
    with pytest.raises(tilejit.InvalidArgument, match="freed|closed"):
        kernel(random(4, 64), scale=1.0)
    monkeypatch.setattr(sys, "argv", ["softmax.py", "5", "70"])
    example.main()


CONSTANTS = """constexpr int LENGTH = 1;  //@ length
constexpr int TAPS = 1;  //@ taps
extern "C" __constant__ float F[2 * TAPS + 1];
extern "C" __global__ void
smooth(
    float *x, double *y)
{
    const int i = threadIdx.x;
    float sum = 0;
    for (int t = -TAPS; t <= TAPS; ++t)
        sum += i + t >= 0 && i + t < LENGTH ? F[t + TAPS] * x[i + t] : 0;
    __syncthreads();
    x[i] = sum;
    y[i] = sum;
}
"""


def test_constants_and_outputs_in_place(random, context):
    """A constant from the host, an argument that is read and written, two outputs, an extent that no array has for a dimension."""
    smooth = tilejit.Family("smooth", CONSTANTS, extents=["length", "taps"], block="length", arguments=[
        Argument("x", "inout", "f32", "length"), Argument("F", "constant", "f32", "2 * taps + 1"), Argument("y", "out", "f64", ("length",))],
        reference=lambda extents, x, F, y: (numpy.convolve(x, F[::-1], "same"),) * 2, absolute=1e-6)
    x, f = random(64), random(3)
    wanted = numpy.convolve(x, f[::-1], "same")
    there = context.to_device(x)
    first, second = smooth(there, f, taps=1)
    assert first is there and numpy.array_equal(there.numpy(), wanted) and numpy.array_equal(second.numpy(), wanted)
    host = x.copy()
    smooth(host, context.to_device(f), taps=1)
    assert numpy.array_equal(host, wanted)
    assert smooth.prove(length=64, taps=2).elements == 128
    kernel = smooth.load(length=64, taps=1)
    with pytest.raises(TypeError, match="constant F, which was never set"):
        kernel(x.copy())
    kernel(x.copy(), f)
    assert numpy.array_equal(kernel(x.copy())[0], wanted)
    with pytest.raises(TypeError, match="needs F, the constant"):
        smooth(x.copy(), taps=1)
    with pytest.raises(TypeError, match="needs the extent taps"):
        smooth(x.copy(), f)
    with pytest.raises(tilejit.InvalidArgument, match=r"F is \(3,\), and must be \(5,\)"):
        smooth(x.copy(), f, taps=2)


def test_types_of_elements(random):
    text = SCALE.split("    //@ if")[0].replace("const float *x, float *y, float factor", "const unsigned short *x, unsigned short *y") + """
    if (threadIdx.x < LENGTH)
        y[threadIdx.x] = x[threadIdx.x] ^ 0x8000;
}
"""
    negate = tilejit.Family("scale", text, extents=["length"], block="length", reference=lambda extents, x, y: -x,
                            arguments=[Argument("x", "in", "bf16", "length"), Argument("y", "out", "bf16", "length")])
    x = random(40).astype(ml_dtypes.bfloat16)
    assert numpy.array_equal(negate(x), -x)
    assert negate.prove(length=40).elements == 40
    with pytest.raises(tilejit.InvalidArgument, match="x is of f32, and scale takes bf16"):
        negate(random(40))


def test_tuned_proven_stored(tmp_path):
    family, told = scale(fill=lambda extents, name: numpy.full(extents["length"], 3, "f4") if name == "x" else None), []
    with tilejit.Context(driver="emulator", cache_dir=tmp_path) as own:
        tuning = family.tune(length=100, seconds=60, progress=told.append, context=own)
        assert tuning.is_emulated and tuning.evaluations == 6 and tuning.wrong == tuning.refused == 0 and tuning.config.startswith("scale:")
        assert told and told[-1].evaluations == 6
        assert family.prove(length=100, context=own).was_known  # by the tuning
        assert not family.prove(length=100, again=True, context=own).was_known
        assert family.prove(length=100, config="scale:threads=32,order=backward", context=own).elements == 100
    with tilejit.Context(driver="emulator", cache_dir=tmp_path) as own:
        family(numpy.ones(100, "f4"), factor=1, context=own)
        assert own.stats.compiles == 0 and own.stats.store_hits == 1


def test_a_wrong_kernel(context):
    wrong = scale(store="y[i] = x[i] + factor;\n")
    for config in (None, {"threads": 128}):
        with pytest.raises(tilejit.CheckFailed, match="element 0 of y is"):
            wrong.prove(length=100, config=config)
    with pytest.raises(tilejit.CheckFailed, match="no config of 6 of family scale that were tried is right"):
        wrong.tune(length=100)


class Mine(Exception):
    pass


def test_what_callbacks_raise(random, tmp_path):
    """It reaches the caller, and nothing is kept: the kernel is launched as before."""
    def raises(extents, x, y, factor):
        raise Mine("in the reference")

    def fill(extents, name):
        raise Mine("in fill")

    def progress(_):
        raise Mine("in progress")

    with tilejit.Context(driver="emulator", cache_dir=tmp_path) as own:
        for family, words in ((scale(reference=raises), "in the reference"), (scale(fill=fill), "in fill")):
            for call in (family.prove, family.tune):
                with pytest.raises(Mine, match=words):
                    call(length=100, context=own)
        with pytest.raises(Mine, match="in progress"):
            scale().tune(length=100, progress=progress, context=own)
        assert numpy.array_equal(family(numpy.ones(100, "f4"), factor=2, context=own), numpy.full(100, 2, "f4"))
        for returned, words in ((lambda e, x, y, factor: y[:3], r"y by the reference of scale is \(3,\), and must be \(100,\)"),
                                (lambda e, x, y, factor: (x, y), "returned 2 arrays, and the kernel writes 1")):
            with pytest.raises(tilejit.InvalidArgument, match=words):
                scale(reference=returned).prove(length=100, again=True, context=own)
        with pytest.raises(tilejit.InvalidArgument, match="has no reference"):
            scale(reference=None).prove(length=100, again=True, context=own)


def test_a_callback_may_keep_its_arrays_and_call_the_library(context):
    kept = []

    def calls(extents, x, y, factor):
        kept.append((x, y))
        inner.prove(length=extents["length"])
        y[...] = factor * x

    inner = tilejit.Family("copy", SCALE.replace("scale", "copy").split("    //@ if")[0] + "y[0] = x[0];\n}\n", extents=["length"],
                           arguments=[Argument("x", "in", "f32", 1), Argument("y", "out", "f32", 1), Argument("factor", "scalar")],
                           reference=lambda extents, x, y, factor: x)
    scale(reference=calls).prove(length=50)
    gc.collect()
    assert numpy.array_equal(kept[0][1], numpy.float32(2.5) * kept[0][0])


def test_faults_have_a_place():
    with pytest.raises(tilejit.InvalidArgument, match=r"(?s)store.cuh:2:\d+: .*what.*\n.*\^"):
        scale(store="y[i] = 1;\n//@ what\n").generate(length=3)
    with pytest.raises(tilejit.InvalidArgument, match=r"(?s)spec.grid\[0\], column 18.*\n.*\^"):
        scale(grid="ceil_div(length, )")
    with pytest.raises(tilejit.InvalidArgument, match="threads % 32 == 0"):
        scale().generate(length=3, config={"threads": 33})
    with pytest.raises(tilejit.CompileError, match="(?s)undefined_name"):
        scale(store="y[i] = undefined_name;\n").load(length=3)


@pytest.mark.parametrize("changes, words", [
    (dict(extents=["length", "length"]), "something else is called too"), (dict(extents=[]), "extent_count"), (dict(block=["1"] * 4), "4 dimensions"),
    (dict(arguments=[Argument("x", "input", "f32", "length")]), "kind of x is 'input': it is one of in, out"),
    (dict(arguments=[Argument("x", "in", "f32")]), "x has no shape"), (dict(arguments=[Argument("x", "in", "f32", "length")]), "writes nothing"),
    (dict(params=[Param("threads", (1, 2, 3), 1)]), "pass .least, most., or words"), (dict(params=[Param("threads", (32, 64), 128)]), "standard is 128"),
    (dict(params=[Param("order", ("a", "b"), "c")]), "not one of its words"), (dict(params=[Param("threads", (32, 64), 32, role="x")]), "role of threads"),
    (dict(needs=["wings"]), "needs has 'wings'.*mma_bf16"), (dict(absolute=-1), "absolute is below 0"), (dict(store="a\0b"), "NUL"),
    (dict(name="tiled"), "family of the library")])
def test_specs_that_are_wrong(changes, words):
    with pytest.raises(tilejit.InvalidArgument, match=words):
        scale(**changes)


def test_types_that_are_wrong():
    for changes, words in ((dict(extents="length"), "list of texts"), (dict(arguments=[Argument("x", "in", "U3", "length")]), "dtype of x"),
                           (dict(constraints=[1]), r"constraints\[0\] is 1")):
        with pytest.raises(TypeError, match=words):
            scale(**changes)


@pytest.mark.parametrize("arrays, named, error, words", [
    ((), {"factor": 1}, TypeError, "needs x, the in argument"), ((numpy.ones(3, "f4"),), {}, TypeError, "needs factor"),
    ((1, 2, 3, 4), {}, TypeError, "takes 3 arguments .x, y, factor., and 4"), ((numpy.ones(3, "f4"),), {"x": 1}, TypeError, "got x twice"),
    ((numpy.ones(3, "f4"),), {"fact": 1}, TypeError, "no argument fact"), ((numpy.ones(3, "f4"), None, "two"), {}, TypeError, "factor is 'two'"),
    ((numpy.ones(3, "f4"), numpy.ones(4, "f4"), 1), {}, tilejit.InvalidArgument, "length is 3 by x of .3,. and 4 by y"),
    ((numpy.ones((3, 1), "f4"),), {"factor": 1, "length": 3}, tilejit.InvalidArgument, r"x is \(3, 1\), and must be \(3,\): .length."),
    ((numpy.ones(3, "f4"),), {"factor": 1, "length": 1.5}, TypeError, "length is 1.5: it is a whole number"),
    ((numpy.ones(0, "f4"),), {"factor": 1}, tilejit.InvalidArgument, "extent length is 0"),
    ((numpy.ones(3, "f4"),), {"factor": 1, "length": 2**70}, tilejit.InvalidArgument, "length"),
    ((numpy.broadcast_to(numpy.ones(1, "f4"), (3,)), numpy.broadcast_to(numpy.ones(1, "f4"), (3,)), 1), {}, tilejit.InvalidArgument, "y is read-only"),
    (([1.0], None, 1), {}, TypeError, "x is a builtins.list"),
])
def test_calls_that_are_wrong(family, arrays, named, error, words):
    with pytest.raises(error, match=words):
        family(*arrays, **named)


def test_places_and_freed_memory(random, context, family):
    with pytest.raises(tilejit.InvalidArgument, match="move one"):
        family(context.to_device(random(4)), numpy.zeros(4, "f4"), 1)
    freed = context.to_device(random(4))
    freed.free()
    with pytest.raises(tilejit.InvalidArgument, match="x has no memory: it was freed"):
        family(freed, factor=1)
    with pytest.raises(TypeError, match="has no extent width"):
        family.load(width=3)
    with pytest.raises(tilejit.InvalidArgument, match="threads"):
        family.load(length=3, config={"threads": 7})


def test_threads(random, context):
    family, x = scale(), random(1000)
    there, wrong = context.to_device(x), []

    def work(factor):
        for _ in range(5):
            if not numpy.array_equal(family(there, factor=factor).numpy(), factor * x):
                wrong.append(factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    del family
    gc.collect()


@pytest.mark.parametrize("arguments", [
    [tilejit.Argument("x", "in", "f32", "n")], [tilejit.Argument("x", "out", "f32", "n"), tilejit.Argument("a", "scalar", "bf16")],
    [tilejit.Argument("x", "out", "f32", "n"), tilejit.Argument("rows", "extent")]])
def test_messages_have_no_names_of_c(arguments):
    with pytest.raises(tilejit.InvalidArgument) as raised:
        tilejit.Family("faulty", "", extents=["n"], arguments=arguments)
    assert "argument" in str(raised.value) and "TJ_" not in str(raised.value)
