# SPDX-License-Identifier: Apache-2.0
"""tilejit.jax on the CPU platform, whose handler computes on the emulator: products, derivatives, batches, and what XLA makes of them."""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest
import tilejit

jax = pytest.importorskip("jax", reason="SKIPPED, not tested: JAX is not installed")
pytest.importorskip("jax.ffi", reason="SKIPPED, not tested: this JAX is older than 0.5")

import jax.numpy as jnp
import ml_dtypes
import tilejit.jax

matmul = tilejit.jax.matmul


def close(found, wanted, tolerance=1e-5):
    found, wanted = jnp.asarray(found), jnp.asarray(wanted)
    assert found.shape == wanted.shape
    numpy.testing.assert_allclose(numpy.asarray(found, "f8"), numpy.asarray(wanted, "f8"), rtol=tolerance,
                                  atol=tolerance * float(jnp.max(jnp.abs(wanted.astype("f4")), initial=1)))


@pytest.fixture
def normal():
    generator = numpy.random.default_rng(3)
    return lambda *shape, dtype="f4": jnp.asarray(generator.standard_normal(shape), dtype)


@pytest.mark.parametrize("shapes", [((5, 7), (7, 3)), ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((2, 5, 7), (7, 3)), ((5, 7), (2, 7, 3)),
                                    ((2, 5, 7), (2, 7, 3)), ((3, 2, 5, 7), (2, 7, 3)), ((3, 1, 5, 7), (2, 7, 3)), ((0, 7), (7, 3)), ((5, 0), (0, 3))])
def test_rules_of_matmul(normal, shapes):
    a, b = (normal(*shape) for shape in shapes)
    close(jax.jit(matmul)(a, b), jnp.matmul(a, b))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
def test_types(random, dtype):
    a, b = jnp.asarray(random(6, 16)).astype(dtype), jnp.asarray(random(16, 8)).astype(dtype)
    p = matmul(a, b, dtype="f32") if dtype.startswith("float8") else matmul(a, b)
    assert p.dtype == (jnp.int32 if "int" in dtype else jnp.float32 if "8" in dtype else dtype)
    close(p, jnp.matmul(a.astype("f4"), b.astype("f4")))


@pytest.mark.parametrize("swap", list(itertools.product((False, True), repeat=2)))
def test_transposes_are_not_copied(normal, swap):
    a, b = normal(*((7, 5) if swap[0] else (5, 7))), normal(*((3, 7) if swap[1] else (7, 3)))
    call = jax.jit(lambda a, b: matmul(a, b, transpose_a=swap[0], transpose_b=swap[1])).lower(a, b).compile()
    close(call(a, b), (a.T if swap[0] else a) @ (b.T if swap[1] else b))
    assert call.as_text().count(" custom-call(") == 1 and not any(word in call.as_text() for word in (" transpose(", " copy(", " fusion("))


def test_a_formula_is_one_operation(normal):
    a, b, c = normal(5, 7), normal(7, 3), normal(5, 3)
    call = jax.jit(lambda a, b, c: matmul(a, b, epilogue=tilejit.Epilogue(alpha=2, c=c, beta=-0.5))).lower(a, b, c).compile()
    close(call(a, b, c), 2 * a @ b - c / 2)
    assert call.as_text().count(" custom-call(") == 1 and "j5 k7 l3" in call.as_text()
    close(matmul(a, b, epilogue="alpha * acc + beta * c", alpha=3, beta=1, c=c), 3 * a @ b + c)
    close(matmul(a[0], b, epilogue=tilejit.Epilogue(c=c[0])), a[0] @ b + c[0])
    close(matmul(a, b[:, 0], epilogue=tilejit.Epilogue(c=c[:, 0])), a @ b[:, 0] + c[:, 0])


def test_operands(normal):
    a, b, bias, gain, rest, factor = normal(2, 5, 8), normal(8, 6), normal(6), normal(5), normal(2, 5, 6), normal(1)
    p = jax.jit(lambda *x: matmul(x[0], x[1], epilogue="tanh(acc * factor[0] + bias[col]) * gain[row] + slope * rest[row, col]", bias=x[2], gain=x[3],
                                  rest=x[4], factor=x[5], slope=0.25))(a, b, bias, gain, rest, factor)
    close(p, jnp.tanh(a @ b * factor[0] + bias) * gain[:, None] + rest / 4)
    close(matmul(a, b, epilogue="silu(acc[2*col]) * acc[2*col+1]"), jax.nn.silu((a @ b)[..., 0::2]) * (a @ b)[..., 1::2])


def test_outputs_are_returned(normal):
    a, b = normal(5, 8), normal(8, 6)
    p, pre, peak = jax.jit(lambda a, b: matmul(a, b, epilogue="pre:bf16[row, col] = acc; peak[row] = max(abs(acc)); relu(acc)"))(a, b)
    close(p, jax.nn.relu(a @ b))
    assert pre.dtype == jnp.bfloat16
    close(pre, a @ b, 1e-2)
    close(peak, jnp.max(jnp.abs(a @ b), axis=1))


def test_scales_and_formats(random):
    a, b = jnp.asarray(random(4, 128)).astype("float8_e4m3fn"), jnp.asarray(random(128, 64)).astype("float8_e4m3fn")
    scale_m, scale_n = jnp.asarray([0.5, 1, 2, 4], "f4"), jnp.arange(1, 65).astype("f4")
    p = jax.jit(lambda *x: matmul(x[0], x[1], epilogue=tilejit.Epilogue(scale_m=x[2], scale_n=x[3]), dtype="f32"))(a, b, scale_m, scale_n)
    close(p, a.astype("f4") @ b.astype("f4") * scale_m[:, None] * scale_n)
    p, scales = matmul(a, b, epilogue=tilejit.Epilogue(scale_p="f32:1x64:row-by-row"), dtype="e4m3")
    close(p.astype("f4") * scales, a.astype("f4") @ b.astype("f4"), 0.1)
    with pytest.raises(TypeError, match="cannot be differentiated"):
        jax.grad(lambda b: jnp.sum(matmul(jnp.ones((4, 128)), b, epilogue=tilejit.Epilogue(scale_n=scale_n))))(b.astype("f4"))


def same_gradients(ours, theirs, *arrays, tolerance=1e-4):
    """Expect the gradients of all arrays to be those of JAX's own products; of functions with several results, by fixed weights."""
    def total(function):
        def sum_up(*arrays):
            results = function(*arrays)
            return sum(jnp.sum(jnp.sin(0.1 + jnp.arange(x.size).reshape(x.shape)) * x.astype("f4")) for x in jax.tree.leaves(results))
        return sum_up
    every = tuple(range(len(arrays)))
    for found, wanted in zip(jax.jit(jax.grad(total(ours), every))(*arrays), jax.grad(total(theirs), every)(*arrays)):
        assert found.dtype == wanted.dtype
        close(found, wanted, tolerance)


def test_complex(normal):
    a, b, c = ((normal(*shape) + 1j * normal(*shape)).astype("c8") for shape in ((5, 7), (7, 3), (5, 3)))
    epilogue = tilejit.Epilogue(alpha=2 - 1j, beta=1j)

    def ours(a, b, c):
        return tilejit.jax.matmul(a, b, epilogue=tilejit.Epilogue(alpha=epilogue.alpha, c=c, beta=epilogue.beta))

    def theirs(a, b, c):
        return epilogue.alpha * (a @ b) + epilogue.beta * c

    product, pull = jax.vjp(ours, a, b, c)
    wanted, pull_theirs = jax.vjp(theirs, a, b, c)
    for got, want in zip((product, *pull(c)), (wanted, *pull_theirs(c))):
        assert got.dtype == want.dtype and numpy.allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shapes", [((5, 7), (7, 3)), ((7,), (7, 3)), ((5, 7), (7,)), ((4, 5, 7), (7, 3)), ((5, 7), (2, 7, 3)), ((3, 1, 5, 7), (2, 7, 3))])
def test_gradients_of_products(normal, shapes):
    same_gradients(matmul, jnp.matmul, *(normal(*shape) for shape in shapes))


@pytest.mark.parametrize("swap", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("batch", [(), (2,)])
def test_gradients_of_transposes(normal, swap, batch):
    a, b = normal(*batch, *((7, 5) if swap[0] else (5, 7))), normal(*((3, 7) if swap[1] else (7, 3)))
    turn = lambda x, is_turned: jnp.swapaxes(x, -1, -2) if is_turned else x
    same_gradients(lambda a, b: matmul(a, b, transpose_a=swap[0], transpose_b=swap[1]), lambda a, b: turn(a, swap[0]) @ turn(b, swap[1]), a, b)


EXPRESSIONS = {
    "relu(acc + bias[col])": lambda acc, bias, gain, rest, factor: jax.nn.relu(acc + bias),
    "gelu(acc + bias[col])": lambda acc, bias, gain, rest, factor: jax.nn.gelu(acc + bias, approximate=False),
    "gelu_tanh(acc) * gain[row]": lambda acc, bias, gain, rest, factor: jax.nn.gelu(acc) * gain[:, None],
    "silu(acc) + rest[row, col]": lambda acc, bias, gain, rest, factor: jax.nn.silu(acc) + rest,
    "select(acc < factor[0], slope * acc, exp(-abs(acc)))": lambda acc, bias, gain, rest, factor: jnp.where(acc < factor[0], 0.1 * acc, jnp.exp(-jnp.abs(acc))),
    "log(1 + acc * acc) / sqrt(2 + tanh(acc)) - erf(acc) * rsqrt(1 + sigmoid(acc))": lambda acc, bias, gain, rest, factor:
        jnp.log(1 + acc * acc) / jnp.sqrt(2 + jnp.tanh(acc)) - jax.lax.erf(acc) * jax.lax.rsqrt(1 + jax.nn.sigmoid(acc)),
    "max(acc, rest[row, col]) + min(acc, bias[col]) * (row + 2 * col)": lambda acc, bias, gain, rest, factor:
        jnp.maximum(acc, rest) + jnp.minimum(acc, bias) * (jnp.arange(5)[:, None] + 2 * jnp.arange(6)),
    "pre[row, col] = acc + bias[col]; total[row] = sum(acc * acc); peak[col] = max(acc); tanh(acc + bias[col])": lambda acc, bias, gain, rest, factor:
        (jnp.tanh(acc + bias), acc + bias, jnp.sum(acc * acc, axis=1), jnp.max(acc, axis=0)),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradients_of_expressions(normal, expression):
    names = [name for name in ("bias", "gain", "rest", "factor") if name + "[" in expression]
    given = {"bias": normal(6), "gain": normal(5), "rest": normal(5, 6), "factor": normal(1)}
    numbers = {"slope": 0.1} if "slope" in expression else {}
    ours = lambda a, b, *x: matmul(a, b, epilogue=expression, **dict(zip(names, x)), **numbers)
    theirs = lambda a, b, *x: EXPRESSIONS[expression](a @ b, **{**given, **dict(zip(names, x))})
    arrays = (normal(5, 8), normal(8, 6), *(given[name] for name in names))
    jax.tree.map(close, ours(*arrays), theirs(*arrays))
    same_gradients(ours, theirs, *arrays)


def test_gradients_of_pairs_and_of_sums_without_room(normal):
    a, b = normal(5, 8), normal(8, 6)
    gate = lambda a, b: jax.nn.silu((a @ b)[..., 0::2]) * (a @ b)[..., 1::2]
    same_gradients(lambda a, b: matmul(a, b, epilogue="silu(acc[2*col]) * acc[2*col+1]"), gate, a, b)
    many = [normal(6) for _ in range(8)]  # as many operands as an expression may have: the sum is computed again
    expression = "tanh(acc)" + "".join(f" * x{i}[col]" for i in range(8))
    same_gradients(lambda a, b, *x: matmul(a, b, epilogue=expression, **{f"x{i}": each for i, each in enumerate(x)}),
                   lambda a, b, *x: jnp.tanh(a @ b) * jnp.prod(jnp.stack(x), axis=0), a, b, *many)


def test_gradients_of_narrow_types(random):
    a, b, c = (jnp.asarray(random(*shape)).astype("bfloat16") for shape in ((4, 8), (8, 6), (4, 6)))
    same_gradients(lambda a, b, c: matmul(a, b, epilogue=tilejit.Epilogue(alpha=0.5, c=c)), lambda a, b, c: a @ b / 2 + c, a, b, c, tolerance=0.02)
    weights = jnp.asarray(random(8, 6)).astype("int8")
    close(jax.grad(lambda a: jnp.sum(matmul(a, weights) ** 2))(a.astype("f4")), jax.grad(lambda a: jnp.sum((a @ weights.astype("f4")) ** 2))(a.astype("f4")))
    eights = a.astype("float8_e4m3fn")
    found = jax.grad(lambda a: jnp.sum(matmul(a, b.astype("float8_e4m3fn"), dtype="f32")))(eights)
    assert found.dtype == eights.dtype
    close(found.astype("f4"), jnp.broadcast_to(jnp.sum(b.astype("f4"), axis=1), (4, 8)), 0.1)


def test_second_derivatives(normal):
    a, b = normal(3, 4), normal(4, 5)
    ours = lambda a: jnp.sum(matmul(a, b, epilogue="tanh(acc)") ** 2)
    theirs = lambda a: jnp.sum(jnp.tanh(a @ b) ** 2)
    twice = lambda function: jax.grad(lambda a: jnp.sum(jax.grad(function)(a) ** 2))(a)
    close(twice(ours), twice(theirs), 1e-4)


def test_vmap(normal):
    a, b, bias, rest = normal(4, 5, 8), normal(4, 8, 6), normal(4, 6), normal(4, 2, 5, 6)
    layer = lambda a, b, bias: matmul(a, b, epilogue="relu(acc + bias[col])", bias=bias)
    plain = lambda a, b, bias: jax.nn.relu(a @ b + bias)
    for axes in itertools.product((0, None), repeat=3):
        if any(axis == 0 for axis in axes):
            given = [x if axis == 0 else x[0] for x, axis in zip((a, b, bias), axes)]
            close(jax.jit(jax.vmap(layer, axes))(*given), jax.vmap(plain, axes)(*given))
    close(jax.vmap(layer, (2, 1, 1))(a.transpose(1, 2, 0), b.transpose(1, 0, 2), bias.T), jax.vmap(plain)(a, b, bias))
    wide = lambda a, rest: matmul(a, b[0], epilogue="acc + rest[row, col]", rest=rest)  # its own batch is that of the operand
    close(jax.vmap(lambda a, rest: wide(jnp.stack([a, a]), rest))(a, rest), (a @ b[0])[:, None] + rest)
    close(jax.vmap(jax.vmap(matmul, (0, None)), (None, 0))(a, b), a[None] @ b[:, None])
    close(jax.vmap(matmul, (0, None))(a[:, 0], b[0]), a[:, 0] @ b[0])
    gradient = lambda function: jax.vmap(jax.grad(lambda a, b, bias: jnp.sum(function(a, b, bias) ** 2), (0, 1, 2)))(a, b, bias)
    jax.tree.map(close, gradient(layer), gradient(plain))
    total = lambda function: jax.grad(lambda b: jnp.sum(jax.vmap(function, (0, None, None))(a, b, bias[0])))(b[0])
    close(total(layer), total(plain))


def test_within_loops_and_checkpoints(normal):
    x, weights = normal(3, 8), normal(4, 8, 8)
    body = lambda function: lambda x: jax.lax.scan(lambda x, w: (jax.checkpoint(function)(x, w), None), x, weights)[0]
    ours, theirs = body(lambda x, w: matmul(x, w, epilogue="tanh(acc)")), body(lambda x, w: jnp.tanh(x @ w))
    close(ours(x), theirs(x))
    same_gradients(ours, theirs, x)


def test_refusals(normal):
    a, b = normal(5, 7), normal(7, 3)
    for error, message, call in (
            (tilejit.InvalidArgument, "a has 7 columns and b has 5 rows", lambda: jax.jit(matmul)(a, a)),
            (tilejit.InvalidArgument, "batch dimensions of 2 and 3", lambda: matmul(normal(2, 5, 7), normal(3, 7, 3))),
            (tilejit.InvalidArgument, "no dimensions", lambda: matmul(a, 2.0)),
            (tilejit.InvalidArgument, "the epilogue names bias", lambda: matmul(a, b, epilogue="acc + bias[col]")),
            (tilejit.InvalidArgument, "the operand bias is", lambda: matmul(a, b, epilogue="acc + bias[col]", bias=normal(4))),
            (tilejit.InvalidArgument, "which is returned", lambda: matmul(a, b, epilogue="pre[row, col] = acc; acc", pre=normal(5, 3))),
            (tilejit.InvalidArgument, r"gelu\(acc", lambda: matmul(a, b, epilogue="gelu(acc")),
            (tilejit.InvalidArgument, "pass c", lambda: matmul(a, b, epilogue="acc + beta * c", beta=1)),
            (TypeError, "which TileJIT does not multiply", lambda: matmul(a.astype("int16"), b.astype("int16"))),
            (TypeError, "matmul has no argument stream", lambda: matmul(a, b, stream=0)),
            (TypeError, "is an array", lambda: matmul(a, b, epilogue=tilejit.Epilogue(scale_p=normal(5))))):
        with pytest.raises(error, match=message):
            call()


PROGRAM = """import sys
import jax, jax.numpy as jnp, numpy, tilejit.jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
p = jax.jit(lambda a, b: tilejit.jax.matmul(a, b, epilogue="relu(acc) + 1"))(jnp.full((5, 7), 0.5), jnp.full((7, 3), 2.0))
assert (p == 8).all()
"""


def test_a_program_that_xla_kept(tmp_path):
    """A call has all that it needs in its attributes: another process runs what this one compiled."""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        programs = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("jit__lambda") and not path.name.endswith("-atime"))
        assert len(programs) == 1


def test_the_header_of_xla(tmp_path):
    """Each structure of xla.h has its members where the header of this jaxlib has them."""
    here = pathlib.Path(__file__).resolve().parents[1]
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    members = {"Extension_Base": "struct_size type next", "Api_Version": "struct_size extension_start major_version minor_version",
               "Metadata": "struct_size api_version traits", "Metadata_Extension": "extension_base metadata",
               "Buffer": "struct_size extension_start dtype data rank dims", "ByteSpan": "ptr len", "Array": "dtype size data",
               "Args": "struct_size extension_start size types args=each", "Rets": "struct_size extension_start size types rets=each",
               "Attrs": "struct_size extension_start size types names attrs", "Error_Create_Args": "struct_size extension_start message errc",
               "Stream_Get_Args": "struct_size extension_start ctx stream", "DeviceOrdinal_Get_Args": "struct_size extension_start ctx device_ordinal",
               "CallFrame": "struct_size extension_start api ctx stage args rets attrs",
               "Api": "struct_size api_version XLA_FFI_Error_Create=error_create XLA_FFI_Stream_Get=stream_get XLA_FFI_DeviceOrdinal_Get=device_ordinal_get"}
    ours = {"Extension_Base": "extension", "Api_Version": "version", "Metadata_Extension": "metadata_extension", "ByteSpan": "span", "Args": "buffers",
            "Rets": "buffers", "Error_Create_Args": "error_create_args", "Stream_Get_Args": "stream_get_args",
            "DeviceOrdinal_Get_Args": "device_ordinal_get_args", "CallFrame": "frame"}
    lines = ["#include <xla/ffi/api/c_api.h>", '#include "xla.h"', "#define SAME(name, text) _Static_assert(name, text)"]
    header = pathlib.Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
    if "XLA_FFI_DeviceOrdinal_Get" not in header:  # an older version: its API ends before
        del members["DeviceOrdinal_Get_Args"]
        members["Api"] = members["Api"].rpartition(" ")[0]
    for name, list_ in members.items():
        for member in list_.split():
            theirs, _, own = member.partition("=")
            where = f"offsetof(struct XLA_FFI_{name}, {theirs}) == offsetof(xla_{ours.get(name, name.lower())}, {own or theirs})"
            lines.append(f'SAME({where}, "{name}.{theirs}");')
    for ours_, theirs in (("MAJOR", "API_MAJOR"), ("METADATA", "Extension_Metadata"), ("IS_BUFFER", "ArgType_BUFFER"), ("IS_BUFFER", "RetType_BUFFER"),
                          ("IS_ARRAY", "AttrType_ARRAY"), ("INITIALIZE", "ExecutionStage_INITIALIZE"), ("EXECUTE", "ExecutionStage_EXECUTE"),
                          ("MAY_BE_CAPTURED", "HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"), ("INVALID_ARGUMENT", "Error_Code_INVALID_ARGUMENT"),
                          ("RESOURCE_EXHAUSTED", "Error_Code_RESOURCE_EXHAUSTED"), ("FAILED_PRECONDITION", "Error_Code_FAILED_PRECONDITION"),
                          ("UNIMPLEMENTED", "Error_Code_UNIMPLEMENTED"), ("INTERNAL", "Error_Code_INTERNAL")):
        lines.append(f'SAME((int)XLA_{ours_} == (int)XLA_FFI_{theirs}, "{theirs}");')
    (tmp_path / "same.c").write_text("\n".join(lines) + "\n")
    subprocess.run([compiler, "-std=c17", "-fsyntax-only", f"-I{jax.ffi.include_dir()}", f"-I{here}", str(tmp_path / "same.c")], check=True)
