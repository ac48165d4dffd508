# SPDX-License-Identifier: Apache-2.0
"""Products of complex numbers, whose parts are small integers, so that they are exact, next to those of NumPy and SciPy's BLAS."""

import numpy
import pytest
import tilejit


@pytest.fixture
def numbers(random):
    """Random complex numbers of whole parts."""
    return lambda *shape, dtype="c8": (random(*shape) + 1j * random(*shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
def test_products(numbers, dtype, order):
    a, b = numpy.asarray(numbers(33, 20, dtype=dtype), order=order[0]), numpy.asarray(numbers(20, 47, dtype=dtype), order=order[1])
    p = tilejit.matmul(a, b)
    assert p.dtype == dtype and numpy.array_equal(p, a @ b)


@pytest.mark.parametrize("conj_a, conj_b", [(True, False), (False, True), (True, True)])
def test_conjugates(numbers, context, conj_a, conj_b):
    a, b = numbers(5, 17, 20), numbers(5, 20, 9)
    wanted = (a.conj() if conj_a else a) @ (b.conj() if conj_b else b)
    assert numpy.array_equal(tilejit.matmul(a, b, conj_a=conj_a, conj_b=conj_b), wanted)
    there = [context.to_device(each) for each in (a, b)]
    p = tilejit.matmul(*there, conj_a=conj_a, conj_b=conj_b, context=context)
    assert numpy.array_equal(p.numpy(), wanted)
    assert numpy.array_equal(tilejit.matmul(*there, context=context).numpy(), a @ b)  # another request, though the arrays are the same


def test_epilogue(numbers):
    a, b, c = numbers(16, 20), numbers(20, 24), numbers(16, 24)
    p = tilejit.matmul(a, b, epilogue=tilejit.Epilogue(alpha=2 - 3j, c=c, beta=1j))
    assert numpy.array_equal(p, (2 - 3j) * (a @ b) + 1j * c)
    out = c.copy()
    assert tilejit.matmul(a, b, out, epilogue=tilejit.Epilogue(beta=-1)) is out and numpy.array_equal(out, a @ b - c)


def test_hermitian_products_of_scipy(numbers):
    blas = pytest.importorskip("scipy.linalg.blas")
    a = numbers(24, 40, dtype="c16")
    p = tilejit.matmul(a, a.T, conj_b=True)
    herk = blas.zherk(1.0, a)
    assert numpy.array_equal(numpy.triu(p), herk) and numpy.array_equal(p, p.conj().T)
    syrk = blas.csyrk(2 - 1j, a.astype("c8"))
    assert numpy.array_equal(numpy.triu(tilejit.matmul(a.astype("c8"), a.T.astype("c8"), epilogue=tilejit.Epilogue(alpha=2 - 1j))), syrk)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_few_rows_of_scipy(numbers, dtype):
    blas = pytest.importorskip("scipy.linalg.blas")
    gemm = blas.cgemm if dtype == "complex64" else blas.zgemm
    for j, k, l in ((1, 200, 77), (5, 64, 130), (150, 72, 4), (33, 96, 16)):
        a, b, c = numbers(j, k, dtype=dtype), numbers(k, l, dtype=dtype), numbers(j, l, dtype=dtype)
        p = tilejit.matmul(a, b, epilogue=tilejit.Epilogue(alpha=1 - 2j, c=c, beta=1))
        assert numpy.array_equal(p, gemm(1 - 2j, a, b, 1, c))
        assert numpy.array_equal(tilejit.matmul(a, b.conj(), conj_a=True), gemm(1, a, b).conj())


@pytest.mark.parametrize("compute", ["tf32", "f32_split"])
@pytest.mark.parametrize("shape", [(33, 70, 45), (128, 64, 64)])
def test_tensor_cores(compute, shape):
    j, k, l = shape
    draw = numpy.random.default_rng(7).standard_normal
    a, b = ((draw(s) + 1j * draw(s)).astype("c8") for s in ((j, k), (k, l)))
    wanted = a.astype("c16").conj() @ b.astype("c16")
    p = tilejit.matmul(a, b, compute=compute, conj_a=True)
    error = numpy.abs(p - wanted).max() / (numpy.abs(a) @ numpy.abs(b)).max()
    assert p.dtype == numpy.complex64 and error < (2e-3 if compute == "tf32" else 1e-6)


def test_groups(numbers):
    a, b = numbers(30, 16), numbers(3, 16, 20)
    p = tilejit.matmul_grouped(a, b, [0, 7, 19, 30])
    assert numpy.array_equal(p, numpy.concatenate([a[:7] @ b[0], a[7:19] @ b[1], a[19:] @ b[2]]))
    along = tilejit.matmul_along_k(a.T, numbers(30, 8), [0, 7, 30])
    assert along.shape == (2, 16, 8) and along.dtype == numpy.complex64


def test_problems(numbers):
    problem = tilejit.Problem(64, 32, 48, "c64", conj_m=True, alpha=True)
    assert problem.dtype == problem.out_dtype == "c64" and "conj_m=1" in str(problem)
    assert problem != tilejit.Problem(64, 32, 48, "complex64", alpha=True)
    made = tilejit.Problem.of(numbers(4, 4), numbers(4, 4), epilogue=tilejit.Epilogue(alpha=1j))
    assert made == tilejit.Problem(4, 4, 4, numpy.complex64, alpha=True)


def test_bad_input(random, numbers):
    a, b = numbers(4, 4), numbers(4, 4)
    for words, call in (
            ("a is conjugated and holds f32, which are real: leave conjugated 0, or use c64", lambda: tilejit.matmul(random(4, 4), random(4, 4), conj_a=True)),
            ("a is f32 but b is c64: give both one type", lambda: tilejit.matmul(random(4, 4), b)),
            ("the epilogue is an expression, and out is c64", lambda: tilejit.matmul(a, b, epilogue="relu(acc)")),
            ("the epilogue takes pairs of columns, and out is c64", lambda: tilejit.matmul(a, b, epilogue="acc[2*col] * acc[2*col+1]")),
            ("alpha has an imaginary part, and the product of f32 is real",
             lambda: tilejit.matmul(random(4, 4), random(4, 4), epilogue=tilejit.Epilogue(alpha=1j))),
            ("compute is tf32 but a and b are c128: use f64", lambda: tilejit.matmul(numbers(4, 4, dtype="c16"), numbers(4, 4, dtype="c16"), compute="tf32"))):
        with pytest.raises(tilejit.InvalidArgument, match=words):
            call()
