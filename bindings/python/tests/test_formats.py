# SPDX-License-Identifier: Apache-2.0
"""Formats: the arrays of quantisers, as they wrote them."""

import ml_dtypes
import numpy
import pytest
import tilejit

E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def quantize(values, rows, k):
    """Return values as e4m3, and a scale for each block of rows by k."""
    scales = numpy.array([[abs(values[r:r + rows, c:c + k]).max() / 448 for c in range(0, values.shape[1], k)]
                          for r in range(0, values.shape[0], rows)], "f4")
    spread = scales.repeat(rows, 0).repeat(k, 1)[:values.shape[0], :values.shape[1]]
    return (values / spread).astype(ml_dtypes.float8_e4m3fn), scales, spread


def pack(numbers):
    """Return bytes of two numbers of 4 bits, neighbours of a row."""
    return (numbers[:, ::2] | numbers[:, 1::2] << 4).astype("u1")


@pytest.fixture
def numbers():
    return numpy.random.default_rng(3)


@pytest.mark.parametrize("format, rows", [("fp8_block", 128), ("fp8_block_1d", 1)])
def test_fp8_has_scales_of_blocks(numbers, format, rows):
    x, wx, sx = quantize(numbers.standard_normal((5, 300)), 1, 128)
    w, ww, sw = quantize(numbers.standard_normal((140, 300)), rows, 128)
    scales = tilejit.Epilogue(scale_m=wx, scale_n=ww)
    expected = (x.astype("f8") * sx) @ (w.astype("f8") * sw).T
    product = tilejit.matmul(x, w.T, format=format, epilogue=scales, dtype="f32")
    assert abs(product - expected).max() < 0.02 * abs(expected).max()  # tensor cores add with 13 bits
    bytes_of = tilejit.matmul(x.view("u1"), w.view("u1").T, format=format, epilogue=scales)
    assert bytes_of.dtype == ml_dtypes.bfloat16 and abs(bytes_of.astype("f8") - expected).max() < 0.02 * abs(expected).max()


def test_weights_of_4_bits_have_powers_of_two_or_zero_points(numbers):
    a, codes = numbers.standard_normal((3, 320)).astype("f2"), numbers.integers(0, 16, (140, 320))
    exponents = numbers.integers(120, 130, (140, 10)).astype("u1")
    weights = E2M1[codes] * numpy.exp2(exponents.astype("f8") - 127).repeat(32, 1)
    product = tilejit.matmul(a, pack(codes).T, format="mxfp4", epilogue=tilejit.Epilogue(scale_n=exponents), dtype="f32")
    numpy.testing.assert_allclose(product, a.astype("f8") @ weights.T, atol=1e-3)

    scales, zero = numbers.random((10, 140)).astype("f2"), numbers.integers(0, 16, (10, 140))
    weights = (codes - zero.T.repeat(32, 1)) * scales.T.astype("f8").repeat(32, 1)
    product = tilejit.matmul(a, pack(codes).T, format="w4g32z", epilogue=tilejit.Epilogue(scale_n=scales, zero_n=pack(zero)), dtype="f32")
    numpy.testing.assert_allclose(product, a.astype("f8") @ weights.T, atol=1e-2)


def test_nvfp4_has_one_number_for_all(numbers):
    a, codes = numbers.standard_normal((3, 64)).astype("f2"), numbers.integers(0, 16, (8, 64))
    scales, whole = numbers.random((8, 4)).astype(ml_dtypes.float8_e4m3fn), numpy.array([0.25], "f4")
    weights = E2M1[codes] * scales.astype("f8").repeat(16, 1) * 0.25
    product = tilejit.matmul(a, pack(codes).T, format="nvfp4", epilogue=tilejit.Epilogue(scale_n=scales, whole_n=whole), dtype="f32")
    numpy.testing.assert_allclose(product, a.astype("f8") @ weights.T, atol=1e-3)


def test_scales_may_be_said_by_fields(numbers):
    x, wx, sx = quantize(numbers.standard_normal((4, 96)), 1, 32)
    w, ww, sw = quantize(numbers.standard_normal((40, 96)), 16, 32)
    fields = {"scale_m": "f32:1x32:row-by-row", "scale_n": "f32:16x32"}
    product = tilejit.matmul(x, w.T, format=fields, epilogue=tilejit.Epilogue(scale_m=wx, scale_n=ww.T.copy()), dtype="f32")
    numpy.testing.assert_allclose(product, (x.astype("f8") * sx) @ (w.astype("f8") * sw).T, atol=1e-3)


@pytest.mark.parametrize("change, words", [
    ({"scale_n": None}, "the format fp8_block has epilogue.scale_n: pass 2 x 3 elements of f32"),
    ({"scale_n": numpy.ones((1, 3), "f4")}, r"epilogue.scale_n is \(1, 3\) .* the format fp8_block takes \(2, 3\)"),
    ({"scale_n": numpy.ones((2, 3), "f2")}, "epilogue.scale_n is of f16, and the format fp8_block takes f32"),
    ({"zero_n": numpy.ones((2, 3), "u1")}, "the format fp8_block has no epilogue.zero_n: leave it out"),
    ({"scale_k": 128}, "epilogue.scale_k is 128, and the format fp8_block says it"),
])
def test_scales_that_do_not_fit_are_named(numbers, change, words):
    x = numpy.ones((5, 300), ml_dtypes.float8_e4m3fn)
    w = numpy.ones((140, 300), ml_dtypes.float8_e4m3fn)
    given = {"scale_m": numpy.ones((5, 3), "f4"), "scale_n": numpy.ones((2, 3), "f4"), **change}
    with pytest.raises(tilejit.InvalidArgument, match=words):
        tilejit.matmul(x, w.T, format="fp8_block", epilogue=tilejit.Epilogue(**given))


def test_arrays_of_other_types_are_named():
    with pytest.raises(tilejit.InvalidArgument, match="a is of f32, and the format fp8_block takes e4m3, or its bytes as uint8"):
        tilejit.matmul(numpy.ones((2, 4), "f4"), numpy.ones((4, 2), "u1"), format="fp8_block")
    with pytest.raises(tilejit.InvalidArgument, match='format is "fp9": use one of fp8_block'):
        tilejit.matmul(numpy.ones((2, 4), "f4"), numpy.ones((4, 2), "f4"), format="fp9")
    with pytest.raises(tilejit.InvalidArgument, match="epilogue.zero_n goes with a format that has it"):
        tilejit.matmul(numpy.ones((2, 4), "f4"), numpy.ones((4, 2), "f4"), epilogue=tilejit.Epilogue(zero_n=numpy.ones(1, "f4")))


def test_a_problem_has_a_format():
    problem = tilejit.Problem(16, 256, 384, format="fp8_block")
    assert str(problem) == "16x256x384 e4m3->bf16 rcr f32_fp8 scale_m=f32:1x128:row-by-row scale_n=f32:128x128:row-by-row"
    assert tilejit.Problem(16, 256, 384, "f16", format="w4g32z").n_dtype == "u4"
    x, w = numpy.ones((16, 256), ml_dtypes.float8_e4m3fn), numpy.ones((384, 256), ml_dtypes.float8_e4m3fn)
    scales = tilejit.Epilogue(scale_m=numpy.ones((16, 2), "f4"), scale_n=numpy.ones((3, 2), "f4"))
    assert tilejit.Problem.of(x, w.T, format="fp8_block", epilogue=scales) == problem


def test_groups_have_scales_of_their_own(numbers):
    offsets = [0, 3, 3, 9]
    x, wx, sx = quantize(numbers.standard_normal((9, 200)), 1, 128)
    experts = [quantize(numbers.standard_normal((140, 200)), 128, 128) for _ in range(3)]
    w, ww = numpy.stack([each[0] for each in experts]), numpy.stack([each[1] for each in experts])
    expected = numpy.concatenate([(x[first:last].astype("f8") * sx[first:last]) @ (each[0].astype("f8") * each[2]).T
                                  for first, last, each in zip(offsets, offsets[1:], experts)])
    product = tilejit.matmul_grouped(x, w.transpose(0, 2, 1), offsets, format="fp8_block", epilogue=tilejit.Epilogue(scale_m=wx, scale_n=ww),
                                     dtype="f32")
    assert abs(product - expected).max() < 0.02 * abs(expected).max()
    room = tilejit.matmul_masked(x.reshape(3, 3, 200), w.transpose(0, 2, 1), [3, 0, 2], format="fp8_block",
                                 epilogue=tilejit.Epilogue(scale_m=wx.reshape(3, 3, 2), scale_n=ww), dtype="f32")
    alone = tilejit.matmul(x[6:8], w[2].T, format="fp8_block", epilogue=tilejit.Epilogue(scale_m=wx[6:8], scale_n=ww[2]), dtype="f32")
    assert abs(room[2, :2] - alone).max() < 0.02 * abs(alone).max()


@pytest.mark.parametrize("rows", [1, 20])
def test_repacked_weights_give_the_same_product(numbers, rows):
    x = numbers.standard_normal((rows, 384)).astype(ml_dtypes.bfloat16)
    w, scales = numbers.integers(0, 256, (72, 192), "u1"), numbers.integers(120, 130, (72, 12), "u1")
    repacked = tilejit.repack(w)
    halves = numpy.stack((w & 15, w >> 4), -1).reshape(72, 12, 4, 8).swapaxes(2, 3).reshape(72, 192, 2)
    assert (repacked == halves[..., 0] | halves[..., 1] << 4).all() and (tilejit.repack(repacked, undo=True) == w).all()
    expected = tilejit.matmul(x, w.T, format="mxfp4", epilogue=tilejit.Epilogue(scale_n=scales), dtype="f32")
    product = tilejit.matmul(x, repacked.T, format={"format": "mxfp4", "repacked_n": True}, epilogue=tilejit.Epilogue(scale_n=scales), dtype="f32")
    assert abs(product - expected).max() <= 1e-5 * abs(expected).max()


def test_weights_are_repacked_where_they_lie(numbers):
    w = numbers.integers(0, 256, (3, 40, 64), "u1")
    assert (tilejit.repack(tilejit.default_context().to_device(w)).numpy() == tilejit.repack(w)).all()


@pytest.mark.parametrize("weights, words", [
    (numpy.zeros((4, 24), "u1"), "rows of 24 bytes"), (numpy.zeros((4, 32), "u1").T, "row-major"), (numpy.zeros((4, 32), "f4"), "f32"),
])
def test_repack_names_what_it_does_not_take(weights, words):
    with pytest.raises(tilejit.InvalidArgument, match=words):
        tilejit.repack(weights)
