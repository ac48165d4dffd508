# SPDX-License-Identifier: Apache-2.0
"""jax_products.py: tilejit.jax on a GPU: products and gradients compared with sums in f32 of JAX's, batches, loops, and every other device.
With XLA_FLAGS of docs/python.md XLA records the same calls into CUDA graphs. MOST=24 makes all extents small, for the emulator.
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy

import tilejit
import tilejit.jax

MOST = int(os.environ.get("MOST", 1 << 20))
UNIT = {"float32": 2.0**-18, "float16": 2.0**-9, "bfloat16": 2.0**-6}
matmul = tilejit.jax.matmul
passed = failed = 0
keys = iter(jax.random.split(jax.random.PRNGKey(0), 1000))


def expect(is_right, what):
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def close(what, found, wanted, tolerance):
    """Within a tolerance of the largest number."""
    found, wanted = numpy.asarray(found, "f8"), numpy.asarray(wanted, "f8")
    error = numpy.abs(found - wanted).max() / max(numpy.abs(wanted).max(), 1e-30)
    expect(found.shape == wanted.shape and error <= tolerance, f"{what}: {found.shape}, an error of {error:.1e}, and {tolerance:.1e} is allowed")


def draw(*shape, dtype="float32"):
    return jax.random.normal(next(keys), tuple(min(each, MOST) for each in shape), "float32").astype(dtype)


def exact(a, b):
    return jnp.matmul(a.astype("float32"), b.astype("float32"), precision="highest")


def products():
    for dtype, unit in UNIT.items():
        for j, k, l in ((1, 768, 3072), (16, 4096, 4096), (77, 300, 517), (512, 1024, 2048), (2048, 768, 50257), (64, 65536, 512)):
            a, b = draw(j, k, dtype=dtype), draw(k, l, dtype=dtype)
            call = jax.jit(matmul)
            for _ in range(3):  # XLA records what it runs again
                close(f"{j}x{k}x{l} {dtype}", call(a, b), exact(a, b), unit)
        a, b = draw(3, 96, 200, dtype=dtype), draw(64, 96, dtype=dtype)
        close(f"transposes {dtype}", jax.jit(lambda a, b: matmul(a, b, transpose_a=True, transpose_b=True))(a, b),
              exact(jnp.swapaxes(a, 1, 2), b.T), unit)


def derivatives():
    x, w, bias = draw(4, 128, 768, dtype="bfloat16"), draw(768, 3072, dtype="bfloat16") / 27, draw(3072, dtype="bfloat16")

    def layer(x, w, bias):
        return matmul(x, w, epilogue="gelu(acc + bias[col])", bias=bias)

    def plain(x, w, bias):
        return jax.nn.gelu(exact(x, w) + bias.astype("float32"), approximate=False)

    def gradients(function):
        return jax.jit(jax.grad(lambda *given: (function(*given).astype("float32") ** 2).mean(), (0, 1, 2)))

    close("a layer", jax.jit(layer)(x, w, bias), plain(x, w, bias), UNIT["bfloat16"])
    close("a layer by vmap", jax.jit(jax.vmap(layer, (0, None, None)))(x, w, bias), plain(x, w, bias), UNIT["bfloat16"])
    ours, theirs = gradients(layer), gradients(plain)
    for _ in range(3):
        for name, found, wanted in zip(("x", "w", "bias"), ours(x, w, bias), theirs(x, w, bias)):
            close(f"the gradient by {name}", found, wanted, 2 * UNIT["bfloat16"])


def order():
    """Products that follow each other wait for each other, within a program and between programs."""
    x = draw(64, 64) / 8
    loop = jax.jit(lambda y: jax.lax.fori_loop(0, 100, lambda i, y: matmul(y, x, epilogue="tanh(acc)") + y / 2, y))
    same = jax.jit(lambda y: jax.lax.fori_loop(0, 100, lambda i, y: jnp.tanh(exact(y, x)) + y / 2, y))
    close("a loop", loop(x), same(x), 1e-3)
    one, other, y, z = jax.jit(lambda y: matmul(y, x, epilogue="tanh(acc)")), jax.jit(lambda y: jnp.tanh(exact(y, x))), x, x
    for _ in range(50):
        y, z = one(y) + x, other(z) + x
    close("programs in a row", y, z, 1e-3)


def devices():
    for device in jax.devices()[1:]:
        a, b = (jax.device_put(array, device) for array in (draw(64, 96), draw(96, 80)))
        close(f"on {device}", jax.jit(matmul)(a, b), exact(a, b), UNIT["float32"])


def refusals():
    try:
        matmul(draw(5, 7), draw(5, 7))
        expect(False, "shapes that do not go together are taken")
    except tilejit.InvalidArgument:
        expect(True, "")


products()
derivatives()
order()
devices()
refusals()
print(f"gpu/jax_products: {passed} passed, {failed} failed on {jax.devices()[0].device_kind}, JAX {jax.__version__}, {len(jax.devices())} devices")
sys.exit(failed != 0)
