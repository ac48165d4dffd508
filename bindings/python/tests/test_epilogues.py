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
