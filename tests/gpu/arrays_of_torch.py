# SPDX-License-Identifier: Apache-2.0
"""arrays_of_torch.py: the installed package multiplies PyTorch's tensors in place, on their stream, compared with torch.matmul.

Each product is compared with a product in float64; its bound is that of a sum of k products in f32, rounded once to the type of P.
CuPy's arrays are tried too, where CuPy is installed. The last lines are times, which judge nothing.
"""
import importlib.util
import os
import statistics
import sys
import time

import numpy
import torch

import tilejit

ROUNDING = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float64: 2.0**-53}
passed = failed = 0


def expect(is_right, what):
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def judge(what, a, b, found, expected=None, size=None):
    """Is found a @ b, or expected, whose terms add up to size in absolute values, within the bound?"""
    a, b = a.double(), b.double()
    expected = a @ b if expected is None else expected
    size = a.abs() @ b.abs() if size is None else size
    unit = ROUNDING[found.dtype]
    bound = (a.shape[-1] + 8) * min(2.0**-24, unit) * size + 1.01 * unit * expected.abs() + 2.0**-25
    ratio = ((found.double() - expected).abs() / bound).max().item()
    expect(found.shape == expected.shape and ratio <= 1, f"{what}: {tuple(found.shape)}, {ratio:.3f} of the bound")


def draw(*shape, dtype=torch.float32):
    return (torch.rand(*shape, device="cuda", dtype=torch.float64) * 2 - 1).to(dtype)


def products():
    for dtype in ROUNDING:
        for j, k, l in ((512, 300, 700), (33, 65, 129), (1, 4096, 512), (256, 256, 256)):
            a, b = draw(j, k, dtype=dtype), draw(k, l, dtype=dtype)
            judge(f"{dtype} {j}x{k}x{l}", a, b, tilejit.matmul(a, b))
            b = draw(l, k, dtype=dtype).T
            out = torch.full((j, l), float("nan"), device="cuda", dtype=dtype)
            expect(tilejit.matmul(a, b, out=out) is out, "out is what is returned")
            judge(f"{dtype} {j}x{k}x{l}, b transposed, out", a, b, out)
    a, b = draw(5, 3, 40, 56, dtype=torch.float16), draw(3, 56, 72, dtype=torch.float16)
    judge("batches that are broadcast", a, b, tilejit.matmul(a, b))
    a = draw(64, 200, dtype=torch.bfloat16)[:, 32:160]
    b = draw(128, 96, dtype=torch.bfloat16)
    judge("a slice of columns", a, b, tilejit.matmul(a, b))


def streams():
    """A product waits for what its stream does before, and for nothing else has the host to wait."""
    stream = torch.cuda.Stream()
    a, b = draw(640, 512, dtype=torch.bfloat16), draw(512, 384, dtype=torch.bfloat16)
    tilejit.matmul(a, b)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # some 0.1 s
        written = a * 2
        product = tilejit.matmul(written, b)
        still_at_work = not stream.query()
    stream.synchronize()
    expect(still_at_work, "the call returned before its stream had come to the product")
    judge("behind an operation of a stream", written, b, product)
    named = tilejit.matmul(a, b, stream=stream)
    stream.synchronize()
    judge("on a stream by name", a, b, named)

    graph, source = torch.cuda.CUDAGraph(), a.clone()
    with torch.cuda.graph(graph):
        captured = tilejit.matmul(source, b)
    for _ in range(3):
        source.copy_(draw(640, 512, dtype=torch.bfloat16))
        graph.replay()
        torch.cuda.synchronize()
        judge("a replayed graph", source, b, captured)


def epilogues():
    a, b, bias = draw(256, 512, dtype=torch.bfloat16), draw(512, 384, dtype=torch.bfloat16), draw(384, dtype=torch.bfloat16)
    size = a.double().abs() @ b.double().abs() + bias.double().abs()
    before = a.double() @ b.double() + bias.double()
    found = tilejit.matmul(a, b, epilogue="gelu(acc + bias[col])", bias=bias)
    judge("gelu with a bias", a, b, found, torch.nn.functional.gelu(before), 1.2 * size)
    first, second = before[:, 0::2] - bias.double()[0::2], before[:, 1::2] - bias.double()[1::2]
    found = tilejit.matmul(a, b, epilogue="silu(acc[2*col]) * acc[2*col+1]")
    widest = (size[:, 0::2] * (1.1 * second.abs() + 1) + size[:, 1::2] * (first.abs() + 1))
    judge("a silu gate", a, b, found, torch.nn.functional.silu(first) * second, widest)
    peak = torch.empty(256, device="cuda")
    found = tilejit.matmul(a, b, dtype="f32", epilogue="peak[row] = max(abs(acc)); acc", peak=peak)
    expect(torch.equal(peak, found.abs().amax(1)), "the largest of each row is that of what is stored")


def weights():
    a = draw(16, 512, dtype=torch.bfloat16)
    quantised = torch.randint(-128, 128, (512, 768), device="cuda", dtype=torch.int8)
    scales = torch.rand(768, device="cuda") + 0.5
    found = tilejit.matmul(a, quantised, epilogue=tilejit.Epilogue(scale_n=scales))
    judge("weights of s8", a, quantised.double() * scales.double(), found)
    packed = torch.randint(0, 256, (512, 384), device="cuda", dtype=torch.uint8)
    nibbles = torch.stack((packed & 15, packed >> 4), -1).reshape(512, 768).to(torch.int16)
    judge("weights of s4", a, torch.where(nibbles > 7, nibbles - 16, nibbles), tilejit.matmul(a, packed, n_dtype="s4"))


def groups():
    tokens, experts = draw(300, 256, dtype=torch.bfloat16), draw(4, 256, 320, dtype=torch.bfloat16)
    offsets = torch.tensor([0, 17, 17, 200, 300], device="cuda", dtype=torch.int32)
    found = tilejit.matmul_grouped(tokens, experts, offsets)
    for group, (first, last) in enumerate(((0, 17), (17, 17), (17, 200), (200, 300))):
        if last > first:
            judge(f"group {group}", tokens[first:last], experts[group], found[first:last])


def family():
    """The softmax of the examples, a kernel of one's own, on tensors and in the stream of a tensor."""
    folder = os.environ.get("TILEJIT_EXAMPLES")
    if folder is None:
        print("SKIPPED: TILEJIT_EXAMPLES does not name bindings/python/examples")
        return
    load = importlib.util.spec_from_file_location("softmax", os.path.join(folder, "softmax.py"))
    module = importlib.util.module_from_spec(load)
    load.loader.exec_module(module)
    rows = draw(4096, 1000)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        found = module.softmax(rows, scale=0.5)
    stream.synchronize()
    expect(torch.allclose(found, torch.softmax(0.5 * rows, 1), rtol=1e-5, atol=1e-7), "softmax by a family of one's own")


def refusals():
    a, b = draw(8, 8), draw(8, 8)
    for what, call in (("one tensor on the host", lambda: tilejit.matmul(a, b.cpu())),
                       ("shapes that do not go together", lambda: tilejit.matmul(a, draw(9, 8))),
                       ("every second column", lambda: tilejit.matmul(draw(8, 16)[:, ::2], draw(8, 16)[:, ::2])),
                       ("out over a", lambda: tilejit.matmul(a, b, out=a)),
                       ("a gradient", lambda: tilejit.matmul(a.clone().requires_grad_(), b))):
        try:
            call()
            expect(False, f"{what} was taken")
        except (tilejit.Error, TypeError) as error:
            expect(str(error) != "", what)


def cupy_arrays():
    try:
        import cupy
    except ImportError:
        print("SKIPPED: no CuPy")
        return
    a, b = cupy.random.rand(200, 300, dtype="f4"), cupy.random.rand(300, 100, dtype="f4")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        product = tilejit.matmul(a, b)
        stream.synchronize()
    expect(isinstance(product, cupy.ndarray), "a CuPy array comes back")
    judge("CuPy", torch.as_tensor(a), torch.as_tensor(b), torch.as_tensor(product))


def microseconds(call, repeats):
    """Host time of one call, and time from its start to its end where many follow one another."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    host = time.perf_counter()
    torch.cuda.synchronize()
    return (host - start) / repeats * 1e6, (time.perf_counter() - start) / repeats * 1e6


def times():
    print("| product of bf16 | tilejit.matmul, us | torch.matmul, us | tilejit, host us | torch, host us |\n| --- | --: | --: | --: | --: |")
    for j, k, l in ((16, 4096, 4096), (1024, 1024, 1024), (4096, 4096, 4096), (2039, 2039, 2039)):
        a, b = draw(j, k, dtype=torch.bfloat16), draw(k, l, dtype=torch.bfloat16)
        out = torch.empty(j, l, device="cuda", dtype=torch.bfloat16)
        ours, theirs = lambda: tilejit.matmul(a, b, out=out), lambda: torch.matmul(a, b, out=out)
        samples = ([], [])
        for _ in range(9):
            for call, kept in ((ours, samples[0]), (theirs, samples[1])):
                call()
                kept.append(microseconds(call, 200))
        median = [[statistics.median(each[i] for each in kept) for kept in samples] for i in (0, 1)]
        print(f"| {j} x {k} x {l} | {median[1][0]:.1f} | {median[1][1]:.1f} | {median[0][0]:.1f} | {median[0][1]:.1f} |")


def main():
    if not torch.cuda.is_available():
        print("SKIPPED, not tested: PyTorch sees no GPU")
        return 77
    torch.manual_seed(7)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, tilejit {tilejit.__version__}, NumPy {numpy.__version__}")
    for test in (products, streams, epilogues, weights, groups, family, refusals, cupy_arrays):
        try:
            test()
        except Exception as error:  # what one test meets must not hide what the others find
            expect(False, f"{test.__name__}: {type(error).__name__}: {error}")
    if "--times" in sys.argv:
        times()
    print(f"gpu/arrays_of_torch: {passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


sys.exit(main())
