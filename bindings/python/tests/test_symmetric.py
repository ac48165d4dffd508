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


def random_complex(*shape, dtype, seed=1):
    return (random(*shape, dtype=np.float64, seed=seed) + 1j * random(*shape, dtype=np.float64, seed=seed + 100)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("transposed", [False, True])
def test_halves_of_a_hermitian_product_are_conjugates(dtype, transposed):
    x = random_complex(37, 21, dtype=dtype)
    product = tilejit.matmul(x.T, x, conj_a=True, symmetric="hermitian") if transposed else tilejit.matmul(x, x.T, conj_b=True, symmetric="hermitian")
    np.testing.assert_array_equal(product, product.conj().T)
    assert not np.diagonal(product).imag.any() and not np.signbit(np.diagonal(product).imag).any()
    np.testing.assert_allclose(product, x.conj().T @ x if transposed else x @ x.conj().T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype, name", [(np.complex64, "cherk"), (np.complex128, "zherk"), (np.complex64, "csyrk"), (np.complex128, "zsyrk")])
@pytest.mark.parametrize("transposed", [False, True])
def test_blas_computes_the_same_of_complex_numbers(dtype, name, transposed):
    blas = pytest.importorskip("scipy.linalg.blas")
    is_hermitian = name.endswith("herk")
    x = random_complex(*((30, 41) if transposed else (41, 30)), dtype=dtype)
    c = random_complex(41, 41, dtype=dtype, seed=3)  # BLAS and TileJIT read one triangle of it, and no imaginary part of a Hermitian diagonal
    alpha, beta = (1.5, -0.5) if is_hermitian else (1.5 - 2j, 0.5j)
    conjugated = {"conj_a" if transposed else "conj_b": is_hermitian}
    a, b = (x.T, x) if transposed else (x, x.T)
    for lower in (0, 1):
        wanted = getattr(blas, name)(alpha, x, beta, c, lower=lower, trans=(2 if is_hermitian else 1) * transposed)
        triangle = ("hermitian-" if is_hermitian else "") + ("lower" if lower else "upper")
        found = tilejit.matmul(a, b, c.copy(), symmetric=triangle, epilogue=tilejit.Epilogue(alpha=alpha, beta=beta), **conjugated)
        keep = np.tril if lower else np.triu
        np.testing.assert_allclose(keep(found), keep(wanted), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(found - keep(found), c - keep(c))
        if is_hermitian:
            assert not np.diagonal(found).imag.any()


def test_one_triangle_of_a_new_array_leaves_zeros():
    x = random_complex(9, 5, dtype=np.complex64)
    for which, keep in (("hermitian-lower", np.tril), ("hermitian-upper", np.triu)):
        np.testing.assert_allclose(tilejit.matmul(x, x.T, conj_b=True, symmetric=which), keep(x @ x.conj().T), rtol=1e-4, atol=1e-4)


def test_what_a_hermitian_product_is_not():
    x, z = random(8, 6), random_complex(8, 6, dtype=np.complex64)
    with pytest.raises(tilejit.InvalidArgument, match="out is Hermitian, and the product of f32 is real"):
        tilejit.matmul(x, x.T, symmetric="hermitian")
    with pytest.raises(tilejit.InvalidArgument, match="is conjugated, which makes out Hermitian.*use hermitian"):
        tilejit.matmul(z, z.T, conj_b=True, symmetric="both")
    with pytest.raises(tilejit.InvalidArgument, match="alpha has an imaginary part, and out is Hermitian"):
        tilejit.matmul(z, z.T, conj_b=True, symmetric="hermitian", epilogue=tilejit.Epilogue(alpha=1 + 1j))


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
    with pytest.raises(tilejit.InvalidArgument, match="use one of both, lower, upper, hermitian"):
        tilejit.matmul(x, x.T, symmetric="left")
    with pytest.raises(tilejit.InvalidArgument, match="symmetric, which is an argument of the call"):
        tilejit.matmul(x, x.T, epilogue="acc * symmetric", symmetric="both")
    problem = tilejit.Problem(8, 6, 8, layouts="rcr", symmetric="lower")
    assert str(problem) == "8x6x8 f32 rcr symmetric=lower"
    assert problem == tilejit.Problem.of(x, x.T, symmetric="lower") != tilejit.Problem.of(x, x.T)
