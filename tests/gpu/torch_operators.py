# SPDX-License-Identifier: Apache-2.0
"""torch_operators.py: tilejit.torch on a GPU: values and gradients compared with PyTorch's in float64, CUDA graphs, streams, torch.compile,
and which products of a model are TileJIT's. The last lines are times, which judge nothing.
"""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

import tilejit
import tilejit.torch as tt

UNIT = {torch.float32: 2.0**-21, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float64: 2.0**-49}
passed = failed = 0


def expect(is_right, what):
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def close(what, found, expected):
    """Within the rounding of its type, several times over, in the norm."""
    expected = expected.double()
    error = ((found.double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()
    expect(found.shape == expected.shape and error <= 4 * UNIT[found.dtype], f"{what}: {error:.2e}")


def tensor(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, device="cuda", dtype=dtype).mul_(0.5).requires_grad_()


def compare(what, run, reference, inputs):
    """Values and gradients of a function with those of another in float64."""
    wide = [each.detach().double().requires_grad_() for each in inputs]
    found, expected = run(*inputs), reference(*wide)
    close(what, found, expected)
    gradient = torch.randn_like(found)
    for i, (mine, theirs) in enumerate(zip(torch.autograd.grad(found, inputs, gradient), torch.autograd.grad(expected, wide, gradient.double()))):
        close(f"{what}, gradient {i}", mine, theirs)


def values():
    for dtype in UNIT:
        for rows, k, out in ((1, 64, 64), (33, 100, 77), (512, 768, 768)):
            inputs = [tensor(rows, k, dtype=dtype), tensor(out, k, dtype=dtype), tensor(out, dtype=dtype)]
            compare(f"linear {dtype} {rows}x{k}x{out}", tt.linear, functional.linear, inputs)
    inputs = [tensor(2, 65, 256), tensor(512, 256), tensor(512), tensor(2, 65, 512)]
    for name, function in (("relu", torch.relu), ("gelu", functional.gelu), ("silu", functional.silu)):
        compare(name, lambda x, w, b, r: tt.linear(x, w, b, r, activation=name), lambda x, w, b, r: function(functional.linear(x, w, b)) + r, inputs)
    gate = lambda x, g, u: functional.silu(x @ g.t()) * (x @ u.t())
    compare("gated", lambda x, g, u: tt.gated_linear(x, tt.interleave(g, u)), gate, [tensor(65, 256), tensor(384, 256), tensor(384, 256)])
    bounds = [0, 3, 3, 40, 64]
    offsets = torch.tensor(bounds, device="cuda", dtype=torch.int32)
    each = lambda x, w: torch.cat([x[a:b] @ w[g].t() for g, (a, b) in enumerate(zip(bounds, bounds[1:]))])
    compare("experts", lambda x, w: tt.experts(x, w, offsets), each, [tensor(64, 256), tensor(4, 128, 256)])
    compare("matmul", tt.matmul, torch.matmul, [tensor(3, 1, 33, 64), tensor(2, 64, 40)])
    stored = torch.randint(0, 256, (256, 128), device="cuda", dtype=torch.uint8)
    wide = torch.stack((stored & 15, stored >> 4), -1).flatten(1).double()
    wide = torch.where(wide > 7, wide - 16, wide) / 8
    scale = torch.full((256, 2), 1 / 8, device="cuda", dtype=torch.bfloat16)
    compare("s4", lambda x: tt.quantized_linear(x, stored, scale, type="s4", group=128), lambda x: x @ wide.t(), [tensor(16, 256)])
    repacked = tilejit.repack(stored)
    compare("s4, repacked", lambda x: tt.quantized_linear(x, repacked, scale, type="s4", group=128, repacked=True), lambda x: x @ wide.t(),
            [tensor(16, 256)])
    eight = [torch.randn(shape, device="cuda").to(torch.float8_e4m3fn) for shape in ((64, 512), (256, 512))]
    scales = [torch.rand(shape, device="cuda") + 0.5 for shape in ((64, 4), (2, 4))]
    spread = [scale.repeat_interleave(rows, 0).repeat_interleave(128, 1).double() for scale, rows in zip(scales, (1, 128))]
    close("fp8 blocks", tt.scaled_linear(*eight, *scales), (eight[0].double() * spread[0]) @ (eight[1].double() * spread[1]).t())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768), nn.Linear(768, 50257, bias=False))

    def forward(self, x):
        return self.layers(x)


def models():
    model = Model().cuda().bfloat16()
    x, y = torch.randn(512, 768, device="cuda", dtype=torch.bfloat16), torch.randint(0, 50257, (512,), device="cuda")

    def step():
        model.zero_grad(set_to_none=False)
        loss = functional.cross_entropy(model(x).float(), y)
        loss.backward()
        return loss.detach()

    def gradients():
        return [parameter.grad.clone() for parameter in model.parameters()]

    expected, wanted = step(), gradients()
    for always in (True, False):
        with tt.replace_linear(model, always=always) as done:
            expect(len(done.replaced) == 3, f"replaced: {done}")
            close(f"loss, always={always}", step().bfloat16(), expected)
            for mine, theirs in zip(gradients(), wanted):
                close(f"gradients of a step, always={always}", mine, theirs)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = step()
            for parameter in model.parameters():
                parameter.grad.zero_()
            graph.replay()
            torch.cuda.synchronize()
            close("a graph's loss", loss.bfloat16(), expected)
            for mine, theirs in zip(gradients(), wanted):
                close("gradients of a graph", mine, theirs)
            # Detached: a result that keeps its autograd graph keeps the gradients' accumulators, which the next capture must not meet.
            close("torch.compile", torch.compile(model, fullgraph=True)(x).detach(), model(x).detach())
            with torch.autocast("cuda", dtype=torch.float16):
                expect(model(x.float()).dtype == torch.float16, "autocast")
            torch._dynamo.reset()


def host_us(call):
    """Microseconds of the host for one call: the median of 30 rounds of 100 calls, each round begun on an idle device."""
    times = []
    for _ in range(30):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            call()
        times.append((time.perf_counter() - begin) * 1e4)
    return statistics.median(times)


def times():
    x = torch.randn(16, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    theirs = nn.Linear(64, 64, device="cuda", dtype=torch.bfloat16)
    ours = nn.Sequential(nn.Linear(64, 64, device="cuda", dtype=torch.bfloat16))
    tt.replace_linear(ours, always=True)
    judged = nn.Sequential(nn.Linear(64, 64, device="cuda", dtype=torch.bfloat16))
    tt.replace_linear(judged)
    for name, module in (("nn.Linear", theirs), ("always", ours[0]), ("if faster", judged[0])):
        def both():
            module(x).backward(gradient)

        gradient = torch.randn(16, 64, device="cuda", dtype=torch.bfloat16)
        both()
        with torch.no_grad():
            forward = host_us(lambda: module(x))
        print(f"host, {name}: forward without gradients {forward:.2f} us, forward {host_us(lambda: module(x)):.2f} us, "
              f"forward and backward {host_us(both):.2f} us")


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    values()
    models()
    print(f"gpu/torch_operators: {passed} passed, {failed} failed on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    times()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
