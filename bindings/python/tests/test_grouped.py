# SPDX-License-Identifier: Apache-2.0
"""Groups of rows, each with a matrix of its own; elements are small integers, so that products are exact."""

import pathlib
import runpy

import ml_dtypes
import numpy
import pytest
import tilejit

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "experts.py"
ROWS, K, L = 40, 16, 24
LISTS = [[0, 10, 20, 40], [0, 0, 40, 40], [3, 4, 30, 31]]


def expected(a, b, offsets, out):
    for g in range(len(b)):
        out[offsets[g]:offsets[g + 1]] = a[offsets[g]:offsets[g + 1]] @ b[g]
    return out


@pytest.mark.parametrize("offsets", LISTS)
@pytest.mark.parametrize("kind", ["list", "int32", "int64"])
def test_host_arrays(random, offsets, kind):
    a, b = random(ROWS, K), random(3, K, L)
    given = offsets if kind == "list" else numpy.array(offsets, kind)
    p = tilejit.matmul_grouped(a, b, given)
    assert numpy.array_equal(p, expected(a, b, offsets, numpy.zeros((ROWS, L), "f4")))
    out = random(ROWS, L)
    wanted = expected(a, b, offsets, out.copy())
    assert tilejit.matmul_grouped(a, b, given, out) is out and numpy.array_equal(out, wanted)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("offsets", LISTS)
def test_device_arrays(random, context, offsets, dtype):
    a, b, out = random(ROWS, K, dtype=dtype), random(3, L, K, dtype=dtype), random(ROWS, L, dtype=dtype)
    wanted = expected(a, b.transpose(0, 2, 1), offsets, out.copy())
    on_device, matrices = context.to_device(a), context.to_device(b.transpose(0, 2, 1).copy())
    for given in (offsets, context.to_device(numpy.array(offsets, "i4"))):
        result = context.to_device(out)
        assert tilejit.matmul_grouped(on_device, matrices, given, result) is result
        assert numpy.array_equal(result.numpy(), wanted)


def test_matrices_of_columns_and_one_for_all(random):
    a, b = random(ROWS, K), random(3, L, K)
    p = tilejit.matmul_grouped(a, b.transpose(0, 2, 1), LISTS[0])
    assert numpy.array_equal(p, expected(a, b.transpose(0, 2, 1), LISTS[0], numpy.zeros((ROWS, L), "f4")))
    same = numpy.broadcast_to(random(K, L), (3, K, L))
    assert numpy.array_equal(tilejit.matmul_grouped(a, same, LISTS[0]), a @ same[0])
    assert numpy.array_equal(tilejit.matmul_grouped(a, same[:1], [0, ROWS]), a @ same[0])


def test_no_rows(random):
    assert tilejit.matmul_grouped(random(0, K), random(3, K, L), [0, 0, 0, 0]).shape == (0, L)


@pytest.mark.parametrize("offsets, says", [([0, 20, 10, 40], "group 1 begins at row 20"), ([0, 10, 20, 41], "group 2 has the rows"),
                                           ([0, 10, 20], "pass 4 contiguous numbers"), ([0.0, 1.5, 2, 3], "int32 or int64")])
def test_offsets_that_are_wrong(random, offsets, says):
    given = numpy.array(offsets, "f4") if any(isinstance(x, float) for x in offsets) else offsets
    with pytest.raises(tilejit.InvalidArgument, match=says):
        tilejit.matmul_grouped(random(ROWS, K), random(3, K, L), given)


def test_arrays_that_do_not_go_together(random):
    with pytest.raises(tilejit.InvalidArgument, match="a is .rows, k. and b is"):
        tilejit.matmul_grouped(random(ROWS, K), random(K, L), [0, ROWS])
    with pytest.raises(tilejit.InvalidArgument, match="17 rows"):
        tilejit.matmul_grouped(random(ROWS, K), random(3, K + 1, L), LISTS[0])


@pytest.fixture(params=["host", "device"])
def place(request, context):
    if request.param == "host":
        return (lambda array: array), (lambda array: array)
    return context.to_device, (lambda array: array.numpy())


def test_epilogues(random, place):
    """Every kind of operand, a further output, and columns in pairs; rows of no group stay."""
    to, back = place
    offsets, a, b = LISTS[2], random(ROWS, K), random(3, K, L)
    bias, gain, residual, out = random(L), random(ROWS), random(ROWS, L), random(ROWS, L)
    pre = to(out.copy())
    sums = expected(a, b, offsets, numpy.zeros((ROWS, L), "f4"))
    inside = slice(offsets[0], offsets[-1])
    wanted = out.copy()
    wanted[inside] = (numpy.maximum(sums + bias, 0) * gain[:, None] + 2 * residual)[inside]
    p = tilejit.matmul_grouped(to(a), to(b), offsets, to(out.copy()), bias=to(bias), gain=to(gain), residual=to(residual), factor=2, pre=pre,
                               epilogue="pre[row, col] = acc + bias[col]; relu(acc + bias[col]) * gain[row] + factor * residual[row, col]")
    assert numpy.array_equal(back(p), wanted)
    wanted = out.copy()
    wanted[inside] = (sums + bias)[inside]
    assert numpy.array_equal(back(pre), wanted)
    p = back(tilejit.matmul_grouped(to(a), to(b), LISTS[0], epilogue="relu(acc[2*col]) * acc[2*col+1]"))
    sums = expected(a, b, LISTS[0], numpy.zeros((ROWS, L), "f4"))
    assert numpy.array_equal(p, numpy.maximum(sums[:, ::2], 0) * sums[:, 1::2])


def test_alpha_beta_c_and_scales(random, place):
    to, back = place
    a, b, c = random(ROWS, K), random(3, K, L), random(ROWS, L)
    sums = expected(a, b, LISTS[0], numpy.zeros((ROWS, L), "f4"))
    p = tilejit.matmul_grouped(to(a), to(b), LISTS[0], epilogue=tilejit.Epilogue(alpha=2, beta=0.5, c=to(c)))
    assert numpy.array_equal(back(p), 2 * sums + 0.5 * c)
    p = tilejit.matmul_grouped(to(a), to(b), LISTS[0], to(c.copy()), epilogue="acc - c")
    assert numpy.array_equal(back(p), sums - c)
    group = numpy.searchsorted(LISTS[0][1:], numpy.arange(ROWS), side="right")
    for scales in (random(3, L), random(3, 1)):
        p = tilejit.matmul_grouped(to(a), to(b), LISTS[0], epilogue=tilejit.Epilogue(scale_n=to(scales)))
        assert numpy.array_equal(back(p), sums * scales[group])
    with pytest.raises(tilejit.InvalidArgument, match=r"scale_n is \(2, 24\).*pass one number, \(24,\) for all groups"):
        tilejit.matmul_grouped(a, b, LISTS[0], epilogue=tilejit.Epilogue(scale_n=random(2, L)))


@pytest.mark.parametrize("epilogue, operands, error, words", [
    ("gelu(acc", {}, tilejit.InvalidArgument, "expected"), ("acc + bias[col]", {}, tilejit.InvalidArgument, "names bias, which is not there"),
    ("acc + bias[col]", {"bias": numpy.zeros((3, L), "f4")}, tilejit.InvalidArgument, r"bias is \(3, 24\), and the epilogue asks for \(24,\)"),
    (None, {"bias": 1.0}, TypeError, "no argument bias")])
def test_epilogues_that_are_wrong(random, epilogue, operands, error, words):
    with pytest.raises(error, match=words):
        tilejit.matmul_grouped(random(ROWS, K), random(3, K, L), LISTS[0], epilogue=epilogue, **operands)


COUNTS = [[0, 13, 5], [13, 13, 13], [0, 0, 1]]


def expected_masked(a, b, counts, out):
    for g, count in enumerate(counts):
        out[g, :count] = a[g, :count] @ b[g]
    return out


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("kind", ["list", "int32", "int64"])
def test_masked(random, place, counts, kind):
    to, back = place
    a, b, out = random(3, 13, K), random(3, K, L), random(3, 13, L)
    given = counts if kind == "list" else to(numpy.array(counts, kind)) if kind == "int32" else numpy.array(counts, kind)
    result = to(out.copy())
    assert tilejit.matmul_masked(to(a), to(b), given, result, expected=5) is result
    assert numpy.array_equal(back(result), expected_masked(a, b, counts, out.copy()))
    p = back(tilejit.matmul_masked(to(a), to(b), given))
    assert p.shape == (3, 13, L)
    for g, count in enumerate(counts):
        assert numpy.array_equal(p[g, :count], a[g, :count] @ b[g])


def test_masked_with_an_epilogue(random, place):
    to, back = place
    a, b, gain = random(3, 13, K), random(3, K, L), random(39)
    p = back(tilejit.matmul_masked(to(a), to(b), [13, 2, 0], to(numpy.zeros((3, 13, L), "f4")), epilogue="acc * gain[row]", gain=to(gain)))
    wanted = expected_masked(a, b, [13, 2, 0], numpy.zeros((3, 13, L), "f4")) * gain.reshape(3, 13, 1)
    assert numpy.array_equal(p, wanted)


def test_masked_arrays_that_do_not_go_together(random):
    a, b = random(3, 13, K), random(3, K, L)
    with pytest.raises(tilejit.InvalidArgument, match="a is .groups, room, k. and b is"):
        tilejit.matmul_masked(a[:2], b, [1, 2])
    with pytest.raises(tilejit.InvalidArgument, match="pass 3 contiguous numbers, the rows of each group"):
        tilejit.matmul_masked(a, b, [1, 2])
    with pytest.raises(tilejit.InvalidArgument, match="group 1 has 14 rows, and room for 0 to 13"):
        tilejit.matmul_masked(a, b, [1, 14, 2])


def test_masked_matrices_with_a_gap(random, context, foreign):
    wide = context.to_device(random(3, 14, K))
    with pytest.raises(tilejit.InvalidArgument, match="must follow each other without a gap"):
        tilejit.matmul_masked(foreign(wide, (3, 13, K), (14 * K, K, 1)), context.to_device(random(3, K, L)), [1, 2, 3])


@pytest.mark.parametrize("tokens", [7, 60])
def test_rows_by_an_index(random, place, tokens):
    to, back = place
    a, b, offsets = random(tokens, K), random(3, K, L), LISTS[1]
    index = (numpy.arange(ROWS, dtype="i4") * 5) % tokens
    index[3], index[20] = -1, tokens
    rows = numpy.where(((index >= 0) & (index < tokens))[:, None], a[index.clip(0, tokens - 1)], 0).astype("f4")
    p = tilejit.matmul_grouped(to(a), to(b), offsets, to(numpy.zeros((ROWS, L), "f4")), index=to(index))
    assert numpy.array_equal(back(p), expected(rows, b, offsets, numpy.zeros((ROWS, L), "f4")))


def test_an_index_keeps_the_stream_that_a_names(random, context, foreign, monkeypatch):
    a, b = context.to_device(random(7, K)), context.to_device(random(3, K, L))
    named = foreign(a, (7, K), None)
    named.__cuda_array_interface__["stream"] = 1
    streams = []
    monkeypatch.setattr("tilejit._matmul._queue", lambda *launch: streams.append(launch[-1]))
    for index in (None, context.to_device(numpy.zeros(7, "i4"))):
        tilejit.matmul_grouped(named, b, [0, 1, 2, 7], context.empty((7, L)), index=index, context=context)
    assert streams == [1, 1]


def test_an_index_that_is_wrong(random, context):
    a, b = random(7, K), random(3, K, L)
    with pytest.raises(tilejit.InvalidArgument, match="pass a row of a for each row"):
        tilejit.matmul_grouped(a, b, LISTS[0], index=numpy.zeros((ROWS, 2), "i4"))
    with pytest.raises(tilejit.InvalidArgument, match="pass contiguous numbers of int32"):
        tilejit.matmul_grouped(context.to_device(a), context.to_device(b), LISTS[0], index=context.to_device(numpy.zeros(ROWS, "f4")))


TOP = 3


def sums_of(product, rows, factors):
    """Return the result of combine=, whose rows need not exist."""
    there = (rows >= 0) & (rows < len(product))
    picked = numpy.where(there[:, :, None], product[rows.clip(0, len(product) - 1)], 0)
    return (factors[:, :, None] * picked).sum(1).astype("f4")


@pytest.mark.parametrize("tokens", [1, 13, 60])
@pytest.mark.parametrize("gathers", [False, True])
def test_rows_that_are_added_up(random, place, tokens, gathers):
    to, back = place
    offsets, b, out = LISTS[2], random(3, K, L), random(tokens, L)
    a = random(7 if gathers else ROWS, K)
    index = (numpy.arange(ROWS, dtype="i4") * 5) % 7
    rows = numpy.random.default_rng(3).integers(-2, ROWS + 3, (tokens, TOP)).astype("i4")
    factors = random(tokens, TOP)
    product = expected(a[index] if gathers else a, b, offsets, numpy.zeros((ROWS, L), "f4"))  # rows of no group add nothing
    wanted = sums_of(product, rows, factors)
    given = {"index": to(index)} if gathers else {}
    result = to(out.copy())
    assert tilejit.matmul_grouped(to(a), to(b), offsets, result, combine=to(rows), factors=to(factors), **given) is result
    assert numpy.array_equal(back(result), wanted)
    p = back(tilejit.matmul_grouped(to(a), to(b), offsets, combine=to(rows), factors=to(factors), **given))
    assert p.shape == (tokens, L) and numpy.array_equal(p, wanted)
    result = to(out.copy())
    tilejit.matmul_grouped(to(a), to(b), offsets, result, combine=to(rows), factors=to(factors), epilogue=tilejit.Epilogue(alpha=2, beta=3), **given)
    assert numpy.array_equal(back(result), 2 * wanted + 3 * out)
    p = tilejit.matmul_grouped(to(a), to(b), offsets, combine=to(rows), factors=to(factors), epilogue=tilejit.Epilogue(beta=-1, c=to(out)), **given)
    assert numpy.array_equal(back(p), wanted - out)


def test_masked_rows_that_are_added_up_or_scattered(random, place):
    to, back = place
    a, b, counts = random(3, 13, K), random(3, K, L), [13, 2, 0]
    product = expected_masked(a, b, counts, numpy.zeros((3, 13, L), "f4")).reshape(39, L)
    rows, factors = (numpy.arange(8 * TOP, dtype="i4") * 7 % 39).reshape(8, TOP), random(8, TOP)
    p = tilejit.matmul_masked(to(a), to(b), counts, combine=to(rows), factors=to(factors))
    assert numpy.array_equal(back(p), sums_of(product, rows, factors))
    out, scatter = random(50, L), (numpy.arange(39, dtype="i4") * 7 % 50)
    wanted = out.copy()
    wanted[scatter[:15]] = product[:15]
    assert numpy.array_equal(back(tilejit.matmul_masked(to(a), to(b), counts, to(out), scatter=to(scatter))), wanted)


def test_rows_of_64_bits_on_the_host(random):
    """None of them wraps to a row that is there."""
    a, b, factors = random(ROWS, K), random(3, K, L), random(2, 2)
    rows = numpy.array([[5, 2**32 + 5], [-2**32 + 5, 2**40]])
    wanted = sums_of(expected(a, b, LISTS[0], numpy.zeros((ROWS, L), "f4")), rows, factors)
    assert numpy.array_equal(tilejit.matmul_grouped(a, b, LISTS[0], combine=rows, factors=factors), wanted) and not wanted[1].any()


@pytest.mark.parametrize("rows_of_out", [5, 60])
def test_scattered_rows(random, place, context, foreign, rows_of_out):
    to, back = place
    offsets, a, b, out = LISTS[2], random(ROWS, K), random(3, K, L), random(rows_of_out, L)
    scatter = numpy.arange(ROWS, dtype="i4") * 7 % 61 - 1  # here and there no row of out
    product, wanted = expected(a, b, offsets, numpy.zeros((ROWS, L), "f4")), out.copy()
    for i in range(offsets[0], offsets[-1]):
        if 0 <= scatter[i] < rows_of_out:
            wanted[scatter[i]] = product[i]
    assert numpy.array_equal(back(tilejit.matmul_grouped(to(a), to(b), offsets, to(out.copy()), scatter=to(scatter))), wanted)
    if to is context.to_device:  # rows of out that lie apart
        wide = to(numpy.pad(out, ((0, 0), (0, 3))))
        tilejit.matmul_grouped(to(a), to(b), offsets, foreign(wide, out.shape, (L + 3, 1)), scatter=to(scatter))
        assert numpy.array_equal(wide.numpy(), numpy.pad(wanted, ((0, 0), (0, 3))))
    p = back(tilejit.matmul_grouped(to(a), to(b), offsets, to(numpy.zeros((ROWS, L), "f4")), scatter=to(numpy.arange(ROWS, dtype="i4")[::-1].copy())))
    assert numpy.array_equal(p, product[::-1])


FP8 = {"dtype": "e4m3", "n_dtype": "e4m3", "scale_m": "f32:1x128:row-by-row", "scale_n": "f32:128x128:row-by-row"}
HOWS = ["f32:1x32:row-by-row", "e8m0:1x32:row-by-row", "each"]


def quantised(product, scales, a, b, how):
    """Check rows of a product and their scales against the single product of the same rows, whose sums are exact."""
    wanted, own = tilejit.matmul(a, b, dtype="e4m3", epilogue=tilejit.Epilogue(expression="relu(acc)", scale_p=how))
    assert numpy.array_equal(product.view("u1"), wanted.view("u1")) and scales.dtype == own.dtype and numpy.array_equal(scales, own)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("offsets", LISTS)
@pytest.mark.parametrize("gathers", [False, True])
def test_a_text_makes_the_array_of_scales(random, place, offsets, how, gathers):
    to, back = place
    a, b = random(7 if gathers else ROWS, K), random(3, K, 40)
    index = numpy.arange(ROWS, dtype="i4") * 5 % 7
    rows, given = (a[index], {"index": to(index)}) if gathers else (a, {})
    p, scales = tilejit.matmul_grouped(to(a), to(b), offsets, dtype="e4m3", epilogue=tilejit.Epilogue(expression="relu(acc)", scale_p=how), **given)
    assert type(scales) is type(p) and scales.shape == ((ROWS,) if how == "each" else (ROWS, 2))
    for g, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        quantised(back(p)[begin:end], back(scales)[begin:end], rows[begin:end], b[g], how)
    if to(a) is a:
        outside = numpy.r_[0:offsets[0], offsets[-1]:ROWS]
        assert not p[outside].view("u1").any() and not scales[outside].any()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("groups, room, counts", [(3, 13, [0, 13, 5]), (1, 5, [2]), (3, 1, [1, 0, 1])])
def test_scales_of_masked_rows_have_their_dimensions(random, place, groups, room, counts, how):
    to, back = place
    a, b = random(groups, room, K), random(groups, K, 40)
    p, scales = tilejit.matmul_masked(to(a), to(b), counts, dtype="e4m3", epilogue=tilejit.Epilogue(expression="relu(acc)", scale_p=how))
    assert scales.shape == ((groups, room) if how == "each" else (groups, room, 2))
    for g, count in enumerate(counts):
        quantised(back(p)[g, :count], back(scales)[g, :count], a[g, :count], b[g], how)
        assert to(a) is not a or not scales[g, count:].any()
    for shape in (scales.shape, (groups * room, *scales.shape[2:])):
        own = to(numpy.zeros(shape, scales.dtype))
        tilejit.matmul_masked(to(a), to(b), counts, dtype="e4m3", epilogue=tilejit.Epilogue(expression="relu(acc)", scale_p=own))
        for g, count in enumerate(counts):
            assert numpy.array_equal(back(own).reshape(scales.shape)[g, :count], back(scales)[g, :count])


def test_scales_of_groups_have_the_columns_of_out(random, place):
    """Pairs of columns halve them, and the bytes of e2m1 do not."""
    to, back = place
    a, b = random(ROWS, K), random(3, K, 128)
    p, scales = tilejit.matmul_grouped(to(a), to(b), LISTS[0], dtype="e4m3", epilogue=tilejit.Epilogue(
        expression="relu(acc[2*col]) * acc[2*col+1]", scale_p="f32:1x32:row-by-row"))
    assert p.shape == (ROWS, 64) and scales.shape == (ROWS, 2)
    out = to(numpy.zeros((ROWS, 64), "u1"))
    p, scales = tilejit.matmul_grouped(to(a), to(b), LISTS[0], out, dtype="e2m1", epilogue=tilejit.Epilogue(scale_p="e8m0:1x32:row-by-row"))
    assert p is out and scales.shape == (ROWS, 4)
    for g, (begin, end) in enumerate(zip(LISTS[0], LISTS[0][1:])):
        wanted, own = tilejit.matmul(a[begin:end], b[g], dtype="e2m1", epilogue=tilejit.Epilogue(scale_p="e8m0:1x32:row-by-row"))
        assert numpy.array_equal(back(p)[begin:end], wanted) and numpy.array_equal(back(scales)[begin:end], own)


@pytest.mark.parametrize("is_masked", [False, True])
def test_the_next_layer_takes_a_product_and_its_scales(random, place, is_masked):
    to, back = place
    e4m3, groups, cols = ml_dtypes.float8_e4m3fn, 3, 160
    a, up, down = random(*((groups, 8, K) if is_masked else (24, K))).astype(e4m3), random(groups, cols, K).astype(e4m3), random(groups, L, cols).astype(e4m3)
    one_of_a, one_of_n, ends = numpy.ones((*a.shape[:-1], 1), "f4"), numpy.ones((groups, 2, 1), "f4"), [8, 8, 8] if is_masked else [0, 8, 16, 24]
    multiply = tilejit.matmul_masked if is_masked else tilejit.matmul_grouped
    hidden, scales = multiply(to(a.view("u1")), to(up.view("u1").transpose(0, 2, 1).copy()), ends, dtype="e4m3", format=FP8,
                              epilogue=tilejit.Epilogue(scale_m=to(one_of_a), scale_n=to(one_of_n), scale_p="f32:1x128:row-by-row"))
    p = back(multiply(hidden, to(down.view("u1").transpose(0, 2, 1).copy()), ends, format=FP8, dtype="f32",
                      epilogue=tilejit.Epilogue(scale_m=scales, scale_n=to(numpy.ones((groups, 1, 2), "f4")))))
    values = back(hidden).astype("f4") * back(scales).repeat(128, -1)[..., :cols]
    wanted = values.reshape(groups, 8, cols) @ down.astype("f4").transpose(0, 2, 1)
    assert scales.shape == (*a.shape[:-1], 2) and numpy.allclose(p.reshape(groups, 8, L), wanted, rtol=1e-5, atol=1e-2)
    exact = a.astype("f4").reshape(groups, 8, K) @ up.astype("f4").transpose(0, 2, 1)
    assert numpy.allclose(values.reshape(groups, 8, cols), exact, rtol=0.07, atol=0.5)


def test_scales_of_other_rows_are_refused(random):
    a, b, epilogue = random(ROWS, K), random(3, K, L), tilejit.Epilogue(scale_p="each")
    rows, factors = numpy.zeros((4, 2), "i4"), numpy.zeros((4, 2), "f4")
    with pytest.raises(tilejit.InvalidArgument, match="scale_p is set, and an index scatters the rows"):
        tilejit.matmul_grouped(a, b, LISTS[0], dtype="e4m3", epilogue=epilogue, scatter=numpy.arange(ROWS, dtype="i4"))
    with pytest.raises(tilejit.InvalidArgument, match="sums with factors are of f32"):
        tilejit.matmul_grouped(a, b, LISTS[0], dtype="e4m3", epilogue=epilogue, combine=rows, factors=factors)
    with pytest.raises(tilejit.InvalidArgument, match="out has a matrix for each group"):
        tilejit.matmul_along_k(a.T, random(ROWS, L), LISTS[0], epilogue=epilogue)
    with pytest.raises(tilejit.InvalidArgument, match="nonsense"):
        tilejit.matmul_grouped(a, b, LISTS[0], dtype="e4m3", epilogue=tilejit.Epilogue(scale_p="nonsense"))


@pytest.mark.parametrize("offsets", [[0, 5, 5, 33], [2, 9, 20, 30]])
@pytest.mark.parametrize("transposed", [False, True])
def test_groups_along_k(random, place, foreign, offsets, transposed):
    to, back = place
    tokens, gradients = random(33, K), random(33, L)
    is_host = to(tokens) is tokens
    a = to(tokens.T.copy()) if not transposed else tokens.T if is_host else foreign(to(tokens), (K, 33), (1, K))
    wanted = numpy.stack([tokens[begin:end].T @ gradients[begin:end] for begin, end in zip(offsets, offsets[1:])])
    fresh = () if is_host or not transposed else (to(numpy.empty((3, K, L), "f4")),)  # nobody knows how to make one like a foreign array
    assert numpy.array_equal(back(tilejit.matmul_along_k(a, to(gradients), offsets, *fresh)), wanted)
    out = random(3, K, L)
    given = numpy.array(offsets, "i8") if is_host else to(numpy.array(offsets, "i4"))
    p = tilejit.matmul_along_k(a, to(gradients), given, to(out.copy()), epilogue=tilejit.Epilogue(alpha=2, beta=1))
    assert numpy.array_equal(back(p), 2 * wanted + out)
    bias = random(L)
    assert numpy.array_equal(back(tilejit.matmul_along_k(a, to(gradients), offsets, *fresh, epilogue="acc + bias[col]", bias=to(bias))), wanted + bias)


@pytest.mark.parametrize("more, says", [
    ({"combine": numpy.zeros((4, 2), "i4")}, "combine is given alone"), ({"factors": numpy.zeros((4, 2), "f4")}, "factors is given alone"),
    ({"combine": numpy.zeros((4, 2), "i4"), "factors": numpy.zeros((4, 3), "f4")}, "a factor for each number of combine"),
    ({"combine": numpy.zeros(8, "i4"), "factors": numpy.zeros(8, "f4")}, "for each row of out, .tokens, top_k"),
    ({"combine": numpy.zeros((4, 33), "i4"), "factors": numpy.zeros((4, 33), "f4")}, "33.*1 to 32"),
    ({"combine": numpy.zeros((4, 2), "f4"), "factors": numpy.zeros((4, 2), "f4")}, "combine is .4, 2. of f32"),
    ({"scatter": numpy.zeros(ROWS - 1, "i4")}, "the row of out for each of the 40 rows"),
    ({"scatter": numpy.zeros(ROWS, "i4"), "combine": numpy.zeros((4, 2), "i4"), "factors": numpy.zeros((4, 2), "f4")}, "leave one of them out"),
    ({"combine": numpy.zeros((4, 2), "i4"), "factors": numpy.zeros((4, 2), "f4"), "out": numpy.zeros((5, L), "f4")}, "out has a row for each row of"),
])
def test_rows_of_out_that_are_wrong(random, place, more, says):
    to, _ = place
    with pytest.raises(tilejit.InvalidArgument, match=says):
        tilejit.matmul_grouped(to(random(ROWS, K)), to(random(3, K, L)), LISTS[0], **{name: to(array) for name, array in more.items()})


def test_groups_along_k_that_are_wrong(random):
    with pytest.raises(tilejit.InvalidArgument, match="a is .j, k. and b is"):
        tilejit.matmul_along_k(random(3, K, 5), random(5, L), [0, 5])
    with pytest.raises(tilejit.InvalidArgument, match="where each group begins"):
        tilejit.matmul_along_k(random(K, 5), random(5, L), [5])
    with pytest.raises(tilejit.InvalidArgument, match="there are only those from 0 up to k = 5"):
        tilejit.matmul_along_k(random(K, 5), random(5, L), [0, 6])


def test_the_example(capsys, monkeypatch):
    """A whole layer of a mixture of experts."""
    monkeypatch.setattr("sys.argv", [str(EXAMPLE)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert ended.value.code == 0 and "the same bits in a second run" in capsys.readouterr().out
