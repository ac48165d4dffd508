# SPDX-License-Identifier: Apache-2.0
"""Products of host and device arrays, whose elements are small integers, so that they are exact."""

import ctypes
import threading

import ml_dtypes
import numpy
import pytest
import tilejit


def test_three_lines(random):
    a, b = random(33, 20), random(20, 47)
    p = tilejit.matmul(a, b)
    assert p.dtype == numpy.float32 and numpy.array_equal(p, a @ b)


@pytest.mark.parametrize("name, result", [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"), ("float64", "float64"),
                                          ("float8_e4m3fn", "float32"), ("float8_e5m2", "float32"), ("int8", "int32")])
def test_types(random, name, result):
    dtype = getattr(ml_dtypes, name, None) or numpy.dtype(name)
    a, b = random(16, 32).astype(dtype), random(32, 16).astype(dtype)
    p = tilejit.matmul(a, b)
    assert p.dtype == result and numpy.array_equal(p.astype("f4"), a.astype("f4") @ b.astype("f4"))


def test_types_that_go_together(random):
    a, b = random(16, 32, dtype="i1"), abs(random(32, 16, dtype="i1")).astype("u1")
    assert numpy.array_equal(tilejit.matmul(a, b), a.astype("i4") @ b.astype("i4"))
    with pytest.raises(tilejit.InvalidArgument, match="f32.*f64|f64.*f32"):
        tilejit.matmul(random(4, 4), random(4, 4, dtype="f8"))


def test_type_of_the_product(random):
    a, b = random(16, 16, dtype="f2"), random(16, 16, dtype="f2")
    p = tilejit.matmul(a, b, dtype="f32")
    assert p.dtype == numpy.float32 and numpy.array_equal(p, a.astype("f4") @ b.astype("f4"))
    out = numpy.empty((16, 16), "f4")
    assert tilejit.matmul(a, b, out) is out and numpy.array_equal(out, p)


def test_compute(random):
    a, b = random(16, 16), random(16, 16)
    assert numpy.array_equal(tilejit.matmul(a, b, compute="tf32"), a @ b)
    with pytest.raises(tilejit.InvalidArgument, match="tf33"):
        tilejit.matmul(a, b, compute="tf33")


# (shape of a, shape of b): everything that numpy.matmul takes
SHAPES = [((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 4, 5), (5,)), ((5,), (2, 5, 3)), ((2, 4, 5), (5, 3)), ((4, 5), (2, 5, 3)),
          ((2, 4, 5), (2, 5, 3)), ((2, 3, 4, 5), (3, 5, 2)), ((2, 1, 4, 5), (1, 3, 5, 2)), ((1, 4, 5), (7, 5, 3)), ((0, 4, 5), (5, 3)),
          ((0, 5), (5, 3)), ((4, 0), (0, 3)), ((2, 4, 5), (5, 0)), ((1, 1), (1, 1))]


@pytest.mark.parametrize("a_shape, b_shape", SHAPES)
def test_shapes(random, context, a_shape, b_shape):
    a, b = random(*a_shape), random(*b_shape)
    expected = numpy.matmul(a, b)
    on_host = tilejit.matmul(a, b)
    on_device = tilejit.matmul(context.to_device(a), context.to_device(b))
    assert on_host.shape == on_device.shape == expected.shape
    assert numpy.array_equal(on_host, expected) and numpy.array_equal(on_device.numpy(), expected)


@pytest.mark.parametrize("a_shape, b_shape", [((4, 5), (5, 3, 2)), ((2, 4, 5), (3, 5, 2)), ((), (5,)), ((4, 5), (4, 5))])
def test_shapes_that_do_not_go_together(random, a_shape, b_shape):
    with pytest.raises(tilejit.InvalidArgument, match="a is|no dimensions"):
        tilejit.matmul(random(*a_shape), random(*b_shape))


def test_host_strides(random):
    a, b, out = random(40, 30), random(47, 20), numpy.zeros((47, 66), "f4")
    p = tilejit.matmul(a[::2, ::-3], b[:20, 5:15].T, out[:20:1, 1:41:2].T[:20].T)
    assert numpy.array_equal(p, a[::2, ::-3] @ b[:20, 5:15].T)
    assert not out[:, ::2].any(), "written between the columns of out"


def test_host_out_may_overlap(random):
    a, b = random(8, 8), random(8, 8)
    expected = a @ b
    assert numpy.array_equal(tilejit.matmul(a, b, out=a), expected)


def test_invariant_rows(random):
    """A row has the same bits alone and among others, and in a group."""
    a, b = random(40, 70), random(70, 50)
    together = tilejit.matmul(a, b, invariant="rows")
    assert numpy.array_equal(tilejit.matmul(a[7:8], b, invariant="rows")[0], together[7])
    assert numpy.array_equal(tilejit.matmul_grouped(a, numpy.stack([b, b]), [0, 13, 40], invariant="rows"), together)
    assert tilejit.Problem.of(a, b, invariant="rows") == tilejit.Problem(40, 70, 50, invariant="rows")
    with pytest.raises(tilejit.InvalidArgument, match="invariant is"):
        tilejit.matmul(a, b, invariant="cols")


def test_device_views(random, context, foreign):
    """A transposed, padded view of device memory, and an out of column-major rows: in place, without a copy."""
    host_a, host_b = random(20, 40), random(20, 50)
    a, b, out = context.to_device(host_a), context.to_device(host_b), context.empty((60, 48))
    out.write(numpy.zeros((60, 48), "f4"))
    loads = context.stats.loads
    view = foreign(out, (33, 47), (1, 48), offset=1)  # its columns are rows of out
    made = tilejit.matmul(foreign(a, (33, 20), (1, 40)), foreign(b, (20, 47), (50, 1), offset=3), view, context=context)
    assert made is view and context.stats.loads == loads + 1
    expected = host_a[:, :33].T @ host_b[:, 3:50]
    result = out.numpy()
    assert numpy.array_equal(result[:47, 1:34].T, expected)
    result[:47, 1:34] = 0
    assert not result.any(), "written outside out"


@pytest.mark.parametrize("a_strides, b_strides", [((0, 20, 0, 4, 1), (0, 15, 3, 1)), ((60, 0, 20, 4, 1), (15, 15, 3, 1))])
def test_device_batches(random, context, foreign, a_strides, b_strides):
    host_a, host_b = random(400), random(400)
    a_shape, b_shape = (2, 3, 2, 5, 3)[5 - len(a_strides):], (3, 2, 3, 3)[4 - len(b_strides):]
    a, b = context.to_device(host_a), context.to_device(host_b)
    p = tilejit.matmul(foreign(a, a_shape, a_strides), foreign(b, b_shape, b_strides), context.empty((2, 3, 2, 5, 3)), context=context)
    strided = numpy.lib.stride_tricks.as_strided
    assert numpy.array_equal(p.numpy(), strided(host_a, a_shape, [4 * each for each in a_strides]) @ strided(host_b, b_shape, [4 * each for each in b_strides]))


def test_a_shared_b_makes_one_product(random, context):
    a, b = context.to_device(random(6, 5, 7)), context.to_device(random(7, 3))
    problem = tilejit.Problem.of(a, b)
    assert problem.shape == (30, 7, 3) and problem.batch == 1


def test_epilogue(random, context):
    a, b, c = random(2, 4, 5), random(2, 5, 3), random(4, 3)
    expected = 3 * (a @ b) - 2 * c
    assert numpy.array_equal(tilejit.matmul(a, b, epilogue=tilejit.Epilogue(alpha=3, beta=-2, c=c)), expected)
    on_device = tilejit.matmul(context.to_device(a), context.to_device(b), epilogue=tilejit.Epilogue(alpha=3, beta=-2, c=context.to_device(c)))
    assert numpy.array_equal(on_device.numpy(), expected)
    for out, read in ((c.copy(), lambda array: array), (context.to_device(c), lambda array: array.numpy())):
        one, other = (a[0], b[0]) if isinstance(out, numpy.ndarray) else (context.to_device(a[0]), context.to_device(b[0]))
        tilejit.matmul(one, other, out, epilogue=tilejit.Epilogue(beta=2))
        assert numpy.array_equal(read(out), a[0] @ b[0] + 2 * c)
    with pytest.raises(tilejit.InvalidArgument, match="nothing to add"):
        tilejit.matmul(a, b, epilogue=tilejit.Epilogue(beta=2))
    for wrong, words in ((random(4, 4), "product is"), (random(4, 3, dtype="f8"), "same type"), (random(3, 1, 4, 3), "product is")):
        with pytest.raises(tilejit.InvalidArgument, match=words):
            tilejit.matmul(a, b, epilogue=tilejit.Epilogue(c=wrong))


def test_scales(random):
    a, b = random(4, 5), random(5, 3)
    rows, one = abs(random(4)) + 1, numpy.array([0.5], "f4")
    assert numpy.array_equal(tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_m=rows, scale_n=one)), rows[:, None] * (a @ b) / 2)
    with pytest.raises(tilejit.InvalidArgument, match="scale_n.*3 contiguous"):
        tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_n=rows))


@pytest.mark.parametrize("each", [None, 30])
def test_scales_along_k(random, each):
    a, b = random(5, 96), numpy.arange(96 * 7).reshape(96, 7).astype("i1")
    parts = -(-96 // (each or 32))
    scales = random(parts, 7) / 8
    wide = b.astype("f4") * numpy.repeat(scales, each or 32, axis=0)[:96]
    product = tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_n=scales, scale_k=each))
    assert numpy.allclose(product, a @ wide, rtol=1e-4, atol=1e-3)
    assert numpy.allclose(tilejit.matmul(b.T, a.T, epilogue=tilejit.Epilogue(scale_m=scales, scale_k=each)), product.T, rtol=1e-4, atol=1e-3)
    with pytest.raises(tilejit.InvalidArgument, match=f"scales of {parts} parts of k, which is 96, and scale_k is 7"):
        tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_n=scales, scale_k=7))
    with pytest.raises(tilejit.InvalidArgument, match="scale_k is 32 and no scales lie along k"):
        tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_k=32))
    of_floats = tilejit.matmul(a, b.astype("f4"), epilogue=tilejit.Epilogue(scale_n=scales, scale_k=each))
    assert numpy.allclose(of_floats, product, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_by_f32(random, context, name):
    """The product is f32 whichever of the two is, and its sums are as accurate."""
    half = numpy.dtype(name) if name == "float16" else pytest.importorskip("ml_dtypes").bfloat16
    a, b = random(5, 96).astype(half), random(64, 96)
    exact = a.astype("f8") @ b.T.astype("f8")
    for product in (tilejit.matmul(a, b.T), tilejit.matmul(b, a.T).T, tilejit.matmul(context.to_device(a), context.to_device(numpy.ascontiguousarray(b.T))).numpy()):
        assert product.dtype == numpy.float32
        assert numpy.abs(product - exact).max() < 96 * 2e-7


_OF_E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@pytest.mark.parametrize("k", [64, 65])
@pytest.mark.parametrize("n_dtype, values", [("s4", (numpy.arange(16) ^ 8) - 8), ("u4", numpy.arange(16)), ("e2m1", _OF_E2M1)])
def test_weights_of_4_bits(random, context, k, n_dtype, values):
    a, nibbles = random(5, k), (numpy.arange(k * 6).reshape(k, 6) * 7 % 16).astype("u1")
    weights = values[nibbles]
    by_rows = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    columns = numpy.vstack([nibbles, numpy.full((k % 2, 6), 9, "u1")]).T
    by_columns = numpy.ascontiguousarray(columns[:, 0::2] | columns[:, 1::2] << 4)  # (l, half of k)
    scales = random(1, 6)[0]
    for b in (by_rows, by_columns.T):
        assert numpy.allclose(tilejit.matmul(a, b, n_dtype=n_dtype), a @ weights, rtol=1e-4, atol=1e-3)
        assert numpy.allclose(tilejit.matmul(a, b, n_dtype=n_dtype, epilogue=tilejit.Epilogue(scale_n=scales)), a @ weights * scales, rtol=1e-4, atol=1e-3)
    there = context.to_device(by_rows)
    assert numpy.allclose(tilejit.matmul(context.to_device(a), there, n_dtype=n_dtype).numpy(), a @ weights, rtol=1e-4, atol=1e-3)
    with pytest.raises(tilejit.InvalidArgument, match="columns must be contiguous"):
        tilejit.matmul(a, numpy.ascontiguousarray(by_columns.T), n_dtype=n_dtype)
    with pytest.raises(tilejit.InvalidArgument, match="matrices of .* are arrays of uint8"):
        tilejit.matmul(a, weights.astype("i1"), n_dtype=n_dtype)
    with pytest.raises(tilejit.InvalidArgument, match="leave it out, b says its type"):
        tilejit.matmul(a, by_rows, n_dtype="u8")
    with pytest.raises(tilejit.InvalidArgument, match="a has .* columns and b has"):
        tilejit.matmul(a, by_rows[:9], n_dtype=n_dtype)
    with pytest.raises(TypeError, match="an array has no elements of"):
        context.empty((4, 4), n_dtype)
    assert str(tilejit.Problem(4, k, 6, "bf16", n_dtype=n_dtype)) == f"4x{k}x6 bf16*{n_dtype} rrr"
    with pytest.raises(tilejit.InvalidArgument, match="weights of 4 bits are b"):
        tilejit.matmul(_Pairs(context.to_device(nibbles), n_dtype), context.to_device(a))


class _Pairs:
    """A tensor of DLPack, two numbers in a byte."""

    CODES = {"s4": 0, "u4": 1, "e2m1": 17}

    def __init__(self, array, name):
        self.array, self.name = array, name

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        capsule = self.array.__dlpack__(**options)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        kind = ctypes.cast(pointer(capsule, b"dltensor") + 20, ctypes.POINTER(ctypes.c_uint8))  # code, bits, lanes
        kind[0], kind[1], kind[2] = self.CODES[self.name], 4, 2
        return capsule


@pytest.mark.parametrize("name", _Pairs.CODES)
def test_pairs_of_dlpack_say_their_type(random, context, name):
    a, b = context.to_device(random(5, 64)), context.to_device(numpy.arange(64 * 6, dtype="i4").astype("u1").reshape(64, 6))
    assert (tilejit.matmul(a, _Pairs(b, name)).numpy() == tilejit.matmul(a, b, n_dtype=name).numpy()).all()


def test_threads_share_a_context(random, context):
    operands = [(random(n, 20), random(20, 9)) for n in range(1, 5)]
    wrong = []

    def work():
        for _ in range(5):
            for a, b in operands:
                if not numpy.array_equal(tilejit.matmul(a, b), a @ b):
                    wrong.append(a.shape)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_steady_calls_compile_nothing(random, context):
    a, b = context.to_device(random(12, 10)), context.to_device(random(10, 6))
    tilejit.matmul(a, b)
    before = context.stats
    for _ in range(3):
        tilejit.matmul(a, b)
    assert context.stats == before


def test_plans_are_made_ahead_and_leave():
    with tilejit.Context(max_plans=2, quick=True) as context:
        problems = [tilejit.Problem(8 + i, 6, 4) for i in range(3)]
        assert tilejit.warm_up(problems, threads=2, context=context) == 3
        stats = context.stats
        assert stats.compiles == 3 and stats.plans <= 2 and stats.evictions >= 1 and stats.plan_bytes > 0
        context.trim()
        assert context.stats.plans == 0
        with pytest.raises(tilejit.InvalidArgument, match="threads is -1"):
            tilejit.warm_up(problems, threads=-1, context=context)
