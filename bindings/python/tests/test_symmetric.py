# SPDX-License-Identifier: Apache-2.0
"""Products of which one triangle is computed, next to those of NumPy and of BLAS."""
import numpy as np
import pytest

import tilejit


def random(*shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("transposed", [False, True])
def test_both_triangles_hold_the_product_and_have_equal_bits(dtype, transposed):
    x = random(37, 45, dtype=dtype)
    a, b = (x.T, x) if transposed else (x, x.T)
    product = tilejit.matmul(a, b, symmetric="both")
    np.testing.assert_array_equal(product, product.T)
    np.testing.assert_allclose(product, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-2 if dtype == np.float16 else 1e-4, atol=1e-4)


@pytest.mark.parametrize("which, keep", [("lower", np.tril), ("upper", np.triu)])
def test_one_triangle_is_written_and_the_other_stays(which, keep):
    x, c = random(33, 20), random(33, 33, seed=2)
    new = tilejit.matmul(x, x.T, symmetric=which)
    np.testing.assert_allclose(new, keep(x @ x.T), rtol=1e-4, atol=1e-4)
    out = c.copy()
    tilejit.matmul(x, x.T, out, symmetric=which, epilogue=tilejit.Epilogue(alpha=2, beta=-1))
    wanted = keep(2 * x @ x.T - c) + (c - keep(c))
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype, name", [(np.float32, "ssyrk"), (np.float64, "dsyrk")])
def test_blas_computes_the_same(dtype, name):
    blas = pytest.importorskip("scipy.linalg.blas")
    x, c = random(41, 30, dtype=dtype), random(41, 41, dtype=dtype, seed=3)
    c = c + c.T
    for lower in (0, 1):
        wanted = getattr(blas, name)(1.5, x, 0.5, c, lower=lower)
        found = tilejit.matmul(x, x.T, c.copy(), symmetric="lower" if lower else "upper", epilogue=tilejit.Epilogue(alpha=1.5, beta=0.5))
        keep = np.tril if lower else np.triu
        np.testing.assert_allclose(keep(found), keep(wanted), rtol=1e-4, atol=1e-4)


def test_a_batch_and_the_step_of_newton_and_schulz():
    x = random(3, 40, 24) / 5
    gram = tilejit.matmul(x, x.transpose(0, 2, 1), symmetric="both")
    np.testing.assert_allclose(gram, x @ x.transpose(0, 2, 1), rtol=1e-4, atol=1e-4)
    step = tilejit.matmul(gram, gram, symmetric="both", epilogue="b * c + a * acc", a=2.0315, b=-4.7750, c=gram)
    np.testing.assert_array_equal(step, step.transpose(0, 2, 1))
    np.testing.assert_allclose(step, -4.7750 * gram + 2.0315 * gram @ gram, rtol=1e-3, atol=1e-3)


def test_what_a_symmetric_product_is_not():
    x = random(8, 6)
    with pytest.raises(tilejit.InvalidArgument, match="8 x 5, and a symmetric out is square|8 x 5, and a symmetric P is square"):
        tilejit.matmul(x, random(6, 5), symmetric="both")
    with pytest.raises(tilejit.InvalidArgument, match="use one of both, lower, upper"):
        tilejit.matmul(x, x.T, symmetric="left")
    with pytest.raises(tilejit.InvalidArgument, match="symmetric, which is an argument of the call"):
        tilejit.matmul(x, x.T, epilogue="acc * symmetric", symmetric="both")
    problem = tilejit.Problem(8, 6, 8, layouts="rcr", symmetric="lower")
    assert str(problem) == "8x6x8 f32 rcr symmetric=lower"
    assert problem == tilejit.Problem.of(x, x.T, symmetric="lower") != tilejit.Problem.of(x, x.T)
