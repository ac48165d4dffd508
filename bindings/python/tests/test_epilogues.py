# SPDX-License-Identifier: Apache-2.0
"""Expressions as epilogues: operands of every kind, on the host and on the device, in batches, and what is refused."""

import ml_dtypes
import numpy
import pytest
import tilejit


def relu(x):
    return numpy.maximum(x, 0)


@pytest.fixture(params=["host", "device"])
def place(request, context):
    """Where arrays lie, and how a product comes back."""
    if request.param == "host":
        return (lambda array: array), (lambda array: array)
    return context.to_device, (lambda array: array.numpy())


def test_bias_and_activation(random, place):
    to, back = place
    a, b, bias = random(33, 20), random(20, 47), random(47)
    p = back(tilejit.matmul(to(a), to(b), epilogue="relu(acc + bias[col])", bias=to(bias)))
    assert numpy.array_equal(p, relu(a @ b + bias))


def test_every_kind_of_operand(random, place):
    to, back = place
    a, b, gain, residual = random(33, 20), random(20, 47), random(33), random(33, 47).astype("f2")
    p = back(tilejit.matmul(to(a), to(b), epilogue="slope * acc * gain[row] + residual[row, col]", gain=to(gain), residual=to(residual), slope=0.5))
    assert numpy.array_equal(p, 0.5 * (a @ b) * gain[:, None] + residual)


def test_one_element_for_each_product(random, place):
    to, back = place
    a, b, factor = random(3, 4, 5), random(5, 6), numpy.array([[2], [-1], [0.5]], "f4")
    p = back(tilejit.matmul(to(a), to(b), epilogue="factor[0] * acc", factor=to(factor)))
    assert numpy.array_equal(p, factor[:, :, None] * (a @ b))
    p = back(tilejit.matmul(to(a), to(b), epilogue="factor[0] * acc", factor=to(factor[0])))
    assert numpy.array_equal(p, 2 * (a @ b))


def test_types_of_operands(random):
    a, b = random(16, 32).astype(ml_dtypes.bfloat16), random(32, 16).astype(ml_dtypes.bfloat16)
    bias = random(16).astype(ml_dtypes.bfloat16)
    p = tilejit.matmul(a, b, epilogue="acc + bias[col]", bias=bias, dtype="f32")
    assert numpy.array_equal(p, a.astype("f4") @ b.astype("f4") + bias.astype("f4"))
    with pytest.raises(tilejit.InvalidArgument, match="bias is of bf16, and the epilogue says f16"):
        tilejit.matmul(a, b, epilogue="acc + bias:f16[col]", bias=bias)


def test_gates_halve_the_columns(random, place):
    to, back = place
    a, b, out = random(5, 20), random(20, 48), numpy.zeros((5, 24), "f4")
    x = a @ b
    p = back(tilejit.matmul(to(a), to(b), epilogue="relu(acc[2*col]) * acc[2*col+1]"))
    assert p.shape == (5, 24) and numpy.array_equal(p, relu(x[:, ::2]) * x[:, 1::2])
    tilejit.matmul(a, b, out, epilogue="relu(acc[2*col]) * acc[2*col+1]")
    assert numpy.array_equal(out, p)
    with pytest.raises(tilejit.InvalidArgument, match="pairs of columns, and l is 47: give b an even number"):
        tilejit.matmul(a, b[:, :47], epilogue="acc[2*col] + acc[2*col+1]")


def test_alpha_beta_c(random, place):
    to, back = place
    a, b, c = random(8, 16), random(16, 12), random(8, 12)
    p = back(tilejit.matmul(to(a), to(b), epilogue="relu(alpha * acc + beta * c)", alpha=2, beta=0.5, c=to(c)))
    assert numpy.array_equal(p, relu(2 * (a @ b) + 0.5 * c))
    out = to(c.copy())
    assert tilejit.matmul(to(a), to(b), out, epilogue="acc - c") is out
    assert numpy.array_equal(back(out), a @ b - c)


def test_further_outputs(random, place):
    to, back = place
    a, b, bias, pre = random(8, 16), random(16, 12), random(12), to(numpy.zeros((8, 12), "f4"))
    p = back(tilejit.matmul(to(a), to(b), epilogue="pre[row, col] = acc + bias[col]; relu(acc + bias[col])", bias=to(bias), pre=pre))
    assert numpy.array_equal(back(pre), a @ b + bias) and numpy.array_equal(p, relu(a @ b + bias))


def test_reductions(random, place):
    to, back = place
    a, b, bias = random(33, 20), random(20, 47), random(47)
    peak, total = to(numpy.zeros(33, "f4")), to(numpy.zeros(47, "f4"))
    p = back(tilejit.matmul(to(a), to(b), epilogue="peak[row] = max(abs(acc + bias[col])); total[col] = sum(acc); relu(acc + bias[col])",
                            bias=to(bias), peak=peak, total=total))
    assert numpy.array_equal(p, relu(a @ b + bias))
    assert numpy.array_equal(back(peak), abs(a @ b + bias).max(1)) and numpy.array_equal(back(total), (a @ b).sum(0))


# All products of a batch share b, so that they might be taken for one of more rows: whose columns would have one sum.
def test_reductions_of_batches(random, place):
    to, back = place
    a, b, sums, rows = random(3, 4, 5), random(5, 6), to(numpy.zeros((3, 6), ml_dtypes.bfloat16)), to(numpy.zeros((3, 4), "f4"))
    tilejit.matmul(to(a), to(b), epilogue="sums[col] = sum(acc); acc", sums=sums)
    assert numpy.array_equal(back(sums), (a @ b).sum(1).astype(ml_dtypes.bfloat16))
    tilejit.matmul(to(a), to(b), epilogue="rows[row] = max(-acc); acc", rows=rows)
    assert numpy.array_equal(back(rows), (-(a @ b)).max(2))


def test_reductions_that_cannot_be(random):
    a, b, peak = random(4, 5), random(5, 6), numpy.zeros(4, "f4")
    with pytest.raises(tilejit.InvalidArgument, match=r"the operand peak is \(4,\), and the epilogue asks for \(6,\)"):
        tilejit.matmul(a, b, epilogue="peak[col] = max(acc); acc", peak=peak)
    with pytest.raises(tilejit.InvalidArgument, match="needs memory for every product"):
        tilejit.matmul(random(3, 4, 5), b, epilogue="peak[row] = max(acc); acc", peak=peak)
    with pytest.raises(tilejit.InvalidArgument, match=r"the product is \(4, 0\): it needs a row and a column"):
        tilejit.matmul(a, b[:, :0], epilogue="peak[row] = max(acc); acc", peak=peak)
    with pytest.raises(tilejit.InvalidArgument, match="column 13: an output for each row reduces it"):
        tilejit.matmul(a, b, epilogue="peak[row] = acc; acc", peak=peak)


# (a, b, operand, its index): what stands ahead of an operand's own dimensions is the batch, as far as there is one
BATCHES = [((3, 4, 5), (5, 6), (6,), "[col]"), ((3, 4, 5), (5, 6), (4,), "[row]"), ((3, 4, 5), (5, 6), (3, 4, 6), "[row, col]"),
           ((3, 4, 5), (3, 5, 6), (4, 6), "[row, col]"), ((2, 3, 4, 5), (3, 5, 6), (3, 6), "[col]"), ((2, 1, 4, 5), (3, 5, 6), (2, 1, 4), "[row]"),
           ((4, 5), (3, 5, 6), (3, 4, 6), "[row, col]"), ((1, 5), (5, 6), (6,), "[col]")]


@pytest.mark.parametrize("a_shape, b_shape, shape, index", BATCHES)
def test_batches(random, place, a_shape, b_shape, shape, index):
    to, back = place
    a, b, x = random(*a_shape), random(*b_shape), random(*shape)
    expected = a @ b + (x[..., None] if index == "[row]" else x[..., None, :] if index == "[col]" else x)
    assert numpy.array_equal(back(tilejit.matmul(to(a), to(b), epilogue=f"acc + x{index}", x=to(x))), expected)


def test_rows_of_each_product(random):
    a, b = random(3, 4, 5), random(5, 6)
    assert numpy.array_equal(tilejit.matmul(a, b, epilogue="acc + row"), a @ b + numpy.arange(4)[:, None])


def test_strided_operands(random, context):
    a, b, residual = random(8, 16), random(16, 12), random(8, 20)
    p = tilejit.matmul(a, b, epilogue="acc + residual[row, col]", residual=residual[:, 4:16])
    assert numpy.array_equal(p, a @ b + residual[:, 4:16])


def test_problem_names_its_epilogue(random):
    problem = tilejit.Problem(33, 20, 47, "f16", epilogue="relu(bias:f16[col] + acc)")
    assert "relu(acc + bias:f16[col])" in str(problem)
    a, b, bias = random(33, 20, dtype="f2"), random(20, 47, dtype="f2"), random(47, dtype="f2")
    assert str(tilejit.Problem.of(a, b, epilogue="relu(acc + bias[col])", bias=bias)) == str(problem)
    with pytest.raises(tilejit.InvalidArgument, match="leave the arguments out"):
        tilejit.Problem(4, 4, 4, epilogue="acc", alpha=True)


@pytest.mark.parametrize("epilogue, operands, error, message", [
    ("gelu(acc + bias[col]", {}, tilejit.InvalidArgument, "expected .* in the arguments of gelu"),
    ("acc + bias[col]", {}, tilejit.InvalidArgument, "names bias, which is not there: pass bias="),
    ("acc", {"bias": 1.0}, tilejit.InvalidArgument, "has no operand bias"),
    ("acc + bias[col]", {"bias": 2.0}, tilejit.InvalidArgument, "bias is a number and the epilogue indexes it"),
    ("acc + bias[col]", {"bias": numpy.zeros(11, "f4")}, tilejit.InvalidArgument, r"bias is \(11,\), and the epilogue asks for \(12,\)"),
    ("acc + bias", {"bias": numpy.zeros(12, "f4")}, tilejit.InvalidArgument, r"takes it for a number: .*bias\[col\]"),
    ("acc + bias[col]", {"bias": numpy.zeros(12, "f8")}, tilejit.InvalidArgument, "bias is f64, and the expression computes in f32"),
    ("acc + c", {}, tilejit.InvalidArgument, "reads c, and there is none"),
    (None, {"bias": 1.0}, TypeError, "matmul has no argument bias"),
    (3, {}, TypeError, "epilogue is a int"),
])
def test_refused(random, context, epilogue, operands, error, message):
    a, b = random(8, 16), random(16, 12)
    with pytest.raises(error, match=message):
        tilejit.matmul(a, b, epilogue=epilogue, **operands)


def block_scales(values, columns, largest):
    """The scales that the library finds, by its formula in f32."""
    rows, cols = values.shape
    parts = -(-cols // columns)
    peaks = numpy.array([[numpy.abs(values[r, p * columns:(p + 1) * columns]).max() for p in range(parts)] for r in range(rows)], "f4")
    return numpy.where(peaks == 0, numpy.float32(1), peaks / numpy.float32(largest))


@pytest.mark.parametrize("columns", [32, 64, 128])
@pytest.mark.parametrize("dtype, largest", [(ml_dtypes.float8_e4m3fn, 448), (numpy.int8, 127)])
def test_a_quantised_product_has_its_scales(place, columns, dtype, largest):
    to, back = place
    a = numpy.arange(-33 * 8, 33 * 8).reshape(33, 16).astype("f4")  # whole numbers, so that sums are exact
    b = (numpy.arange(16 * 150).reshape(16, 150) % 7).astype("f4")
    scales = to(numpy.full((33, -(-150 // columns)), 9, "f4"))
    p = back(tilejit.matmul(to(a), to(b), dtype=dtype, epilogue=tilejit.Epilogue(scale_p=scales)))
    wanted = block_scales(a @ b, columns, largest)
    assert numpy.array_equal(back(scales), wanted)
    values = (a @ b) * numpy.repeat(1 / wanted, columns, 1)[:, :150]
    assert numpy.array_equal(p, (numpy.rint(values) if dtype is numpy.int8 else values).astype(dtype))


def test_scales_of_rows_by_columns_and_powers_of_two(random):
    a, b = random(16, 32), random(32, 96)
    rows, by_cols, powers = numpy.zeros(16, "f4"), numpy.zeros((3, 16), "f4").T, numpy.zeros((16, 3), "u1")
    for scales in rows, by_cols, powers:
        p = tilejit.matmul(a, b, dtype="e4m3", epilogue=tilejit.Epilogue(expression="relu(acc)", scale_p=scales))
        factor = numpy.exp2(scales.astype("f4") - 127) if scales is powers else scales
        restored = p.astype("f4") * (factor[:, None] if factor.ndim == 1 else numpy.repeat(factor, 32, 1))
        assert numpy.allclose(restored, relu(a @ b), rtol=0.07, atol=0.02)
        assert (factor > 0).all()


@pytest.mark.parametrize("how, columns, number", [("f32:1x128:row-by-row", 128, "f4"), ("e8m0:1x32:row-by-row", 32, "u1"), ("each", None, "f4")])
def test_a_text_makes_the_array_of_scales(place, random, how, columns, number):
    to, back = place
    a, b = random(33, 32), random(32, 150)
    p, scales = tilejit.matmul(to(a), to(b), dtype="e4m3", epilogue=tilejit.Epilogue(scale_p=how))
    own = to(numpy.zeros((33, -(-150 // columns)) if columns else 33, number))
    q = tilejit.matmul(to(a), to(b), dtype="e4m3", epilogue=tilejit.Epilogue(scale_p=own))
    assert type(scales) is type(own) and back(scales).dtype == number
    assert numpy.array_equal(back(scales), back(own))
    assert numpy.array_equal(back(p), back(q))


@pytest.mark.parametrize("scale", ["f4", "u1"])
@pytest.mark.parametrize("columns", [32, 128])
def test_a_product_of_4_bits_is_rounded_as_ml_dtypes_does(place, scale, columns):
    to, back = place
    a = numpy.arange(-33 * 8, 33 * 8).reshape(33, 16).astype("f4")  # whole numbers, so that sums are exact
    b = (numpy.arange(16 * 150).reshape(16, 150) % 7).astype("f4") - 3
    scales, out = to(numpy.zeros((33, -(-150 // columns)), scale)), to(numpy.zeros((33, 75), "u1"))
    packed = back(tilejit.matmul(to(a), to(b), out, dtype="e2m1", epilogue=tilejit.Epilogue(scale_p=scales)))
    found = back(scales)
    if scale == "f4":
        assert numpy.array_equal(found, block_scales(a @ b, columns, 6))
    factor = found if scale == "f4" else numpy.exp2(found.astype("f4") - 127)
    values = ((a @ b) * numpy.repeat(1 / factor, columns, 1)[:, :150]).astype(ml_dtypes.float4_e2m1fn).view("u1")
    assert numpy.array_equal(packed, values[:, ::2] | values[:, 1::2] << 4)
    own, _ = tilejit.matmul(to(a), to(b), dtype="e2m1", epilogue=tilejit.Epilogue(scale_p=("f32" if scale == "f4" else "e8m0") + f":1x{columns}:row-by-row"))
    assert numpy.array_equal(back(own), packed)


def test_a_product_of_4_bits_has_an_even_number_of_columns(random):
    with pytest.raises(tilejit.InvalidArgument, match="two columns share a byte, and has 95 columns: give it an even number"):
        tilejit.matmul(random(16, 32), random(32, 95), dtype="e2m1", epilogue=tilejit.Epilogue(scale_p="each"))
    with pytest.raises(tilejit.InvalidArgument, match="such an out may be"):
        tilejit.matmul(random(16, 32), random(32, 96), dtype="e2m1")


def test_a_text_takes_the_columns_of_the_product(random):
    gated, scales = tilejit.matmul(random(8, 32), random(32, 128), dtype="e4m3",
                                   epilogue=tilejit.Epilogue(expression="silu(acc[2*col]) * acc[2*col+1]", scale_p="f32:1x64:row-by-row"))
    assert gated.shape == (8, 64) and scales.shape == (8, 1)
    packed = numpy.full((16, 16), 0x21, "u1")
    q, scales = tilejit.matmul(random(8, 32).astype("f2"), packed.T, n_dtype="s4", dtype="s8", epilogue=tilejit.Epilogue(scale_p="f32:1x32:row-by-row"))
    assert q.shape == (8, 16) and scales.shape == (8, 1)


@pytest.mark.parametrize("how, words", [
    ("f32:1x128", "a new array lies row by row, so write f32:1x128:row-by-row"), ("f16:1x128:row-by-row", "the scales of out are of f32 or e8m0"),
    ("f32:1x48:row-by-row", "for 32, 64 or 128 columns of a row"), ("nonsense", "nonsense"),
])
def test_other_texts_for_scales_are_refused(random, how, words):
    with pytest.raises(tilejit.InvalidArgument, match=words):
        tilejit.matmul(random(16, 32), random(32, 96), dtype="e4m3", epilogue=tilejit.Epilogue(scale_p=how))
    with pytest.raises(tilejit.InvalidArgument, match="the product has the shape"):
        tilejit.matmul(random(2, 16, 32), random(32, 96), dtype="e4m3", epilogue=tilejit.Epilogue(scale_p="each"))


def test_wrong_arrays_for_scales_are_refused(random):
    a, b = random(16, 32), random(32, 96)
    read_only = numpy.zeros(16, "f4")
    read_only.flags.writeable = False
    for scales, words in ((numpy.zeros((16, 4), "f4"), r"scale_p is \(16, 4\) and out has 16 rows of 96 columns: pass an array of \(16,\), or of \(16, 1\)"),
                          (numpy.zeros((15, 3), "f4"), "out has 16 rows"), (numpy.zeros((16, 3), "f2"), "scale_p is of f16: the scales of out are"),
                          (read_only, "scale_p is read-only")):
        with pytest.raises(tilejit.InvalidArgument, match=words):
            tilejit.matmul(a, b, dtype="e4m3", epilogue=tilejit.Epilogue(scale_p=scales))
    with pytest.raises(tilejit.InvalidArgument, match="and out is f32: the kernel finds scales for a"):
        tilejit.matmul(a, b, epilogue=tilejit.Epilogue(scale_p=numpy.zeros(16, "f4")))
    with pytest.raises(tilejit.InvalidArgument, match="receives the scales of one matrix"):
        tilejit.matmul(random(2, 16, 32), b, dtype="e4m3", epilogue=tilejit.Epilogue(scale_p=numpy.zeros(16, "f4")))
