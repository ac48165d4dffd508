#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py [--csv FILE]: products of known programs, by PyTorch and by TileJIT, as Markdown or CSV.

Nothing is tuned: TileJIT launches what it chooses at the first call. Both libraries read and write the same tensors, in bf16 unless
the row says f32, as torch.nn.Linear stores them. Each time is the device's: a CUDA graph of many calls, between two events, the
median of 21 rounds in which both take turns. Calls rotate through tensors of 192 MiB together, so that the L2 cache is cold. Both
results are compared with a float64 product: a row is printed only if TileJIT's error is at most twice PyTorch's.

Needs a GPU, PyTorch and the installed package.
"""
import argparse
import csv
import statistics
import sys

import tilejit
import torch

COLD_BYTES = 192 << 20
ROUNDS = 21
bf16, f32 = torch.bfloat16, torch.float32


def draw(*shape, dtype=bf16, scale=1.0):
    return ((torch.rand(*shape, device="cuda") * 2 - 1) * scale).to(dtype)


class Linear:
    """y = x @ w.T, with x of rows x k and w of l x k."""

    def __init__(self, rows, k, l, dtype=bf16):
        self.x, self.w = draw(rows, k, dtype=dtype), draw(l, k, dtype=dtype)
        self.by_torch, self.by_tilejit = (torch.empty(rows, l, device="cuda", dtype=dtype) for _ in range(2))

    def torch(self):
        torch.mm(self.x, self.w.T, out=self.by_torch)

    def tilejit(self):
        tilejit.matmul(self.x, self.w.T, out=self.by_tilejit)

    def exact(self):
        return self.x.double() @ self.w.T.double()


class Product(Linear):
    """y = a @ b, with a as stored transposed or not: the backward products of Linear."""

    def __init__(self, a_shape, b_shape, a_transposed=False):
        a = draw(*(reversed(a_shape) if a_transposed else a_shape))
        self.x, self.w = (a.T if a_transposed else a), draw(*b_shape).T
        self.by_torch, self.by_tilejit = (torch.empty(a_shape[0], b_shape[1], device="cuda", dtype=bf16) for _ in range(2))


class Batch(Linear):
    """Q @ K.T for each head, of rows x k."""

    def __init__(self, heads, rows, k):
        self.x, self.w = draw(heads, rows, k), draw(heads, rows, k)
        self.by_torch, self.by_tilejit = (torch.empty(heads, rows, rows, device="cuda", dtype=bf16) for _ in range(2))

    def torch(self):
        torch.bmm(self.x, self.w.mT, out=self.by_torch)

    def tilejit(self):
        tilejit.matmul(self.x, self.w.mT, out=self.by_tilejit)

    def exact(self):
        return self.x.double() @ self.w.mT.double()


class BiasRelu(Linear):
    """relu(x @ w.T + bias): one kernel here, addmm and relu there."""

    def __init__(self, rows, k, l, dtype):
        super().__init__(rows, k, l, dtype)
        self.bias = draw(l, dtype=dtype)

    def torch(self):
        torch.addmm(self.bias, self.x, self.w.T, out=self.by_torch)
        self.by_torch.relu_()

    def tilejit(self):
        tilejit.matmul(self.x, self.w.T, out=self.by_tilejit, epilogue="relu(acc + bias[col])", bias=self.bias)

    def exact(self):
        return torch.relu(super().exact() + self.bias.double())


class LlamaMlp:
    """(silu(x @ gate.T) * (x @ up.T)) @ down.T + x: two kernels here, with the columns of gate and up interleaved."""

    def __init__(self, rows, width=4096, hidden=14336):
        self.x, self.both = draw(rows, width), draw(2 * hidden, width, scale=0.02)
        self.gate, self.up = self.both[0::2].contiguous(), self.both[1::2].contiguous()
        self.down = draw(width, hidden, scale=0.02)
        self.inner = torch.empty(rows, hidden, device="cuda", dtype=bf16)
        self.by_torch, self.by_tilejit = (torch.empty(rows, width, device="cuda", dtype=bf16) for _ in range(2))

    def torch(self):
        inner = torch.nn.functional.silu(self.x @ self.gate.T) * (self.x @ self.up.T)
        torch.addmm(self.x, inner, self.down.T, out=self.by_torch)

    def tilejit(self):
        tilejit.matmul(self.x, self.both.T, out=self.inner, epilogue="silu(acc[2*col]) * acc[2*col+1]")
        tilejit.matmul(self.inner, self.down.T, out=self.by_tilejit, epilogue="acc + residual[row, col]", residual=self.x)

    def exact(self):
        inner = torch.nn.functional.silu(self.x.double() @ self.gate.T.double()) * (self.x.double() @ self.up.T.double())
        return inner @ self.down.T.double() + self.x.double()


# In the order of the table and of the picture: (program, product, how to make one set of its operands).
PRODUCTS = [
    *(("GPT-2", f"vocabulary, {rows} row{'s' * (rows > 1)}", lambda rows=rows: Linear(rows, 768, 50257)) for rows in (1, 64, 1024)),
    ("GPT-2", "vocabulary gradient, weights", lambda: Product((50257, 1024), (1024, 768), a_transposed=True)),
    ("GPT-2", "vocabulary gradient, input", lambda: Product((1024, 50257), (50257, 768))),
    *(("Llama", f"MLP, {rows} row{'s' * (rows > 1)}", lambda rows=rows: LlamaMlp(rows)) for rows in (1, 16, 64, 512, 2048)),
    *(("Llama", f"QKV, {rows} row{'s' * (rows > 1)}", lambda rows=rows: Linear(rows, 4096, 6144)) for rows in (1, 2048)),
    ("attention", "Q by K, 64 heads", lambda: Batch(64, 1024, 64)),
    ("f32 layer", "2048x367x513, bias, relu", lambda: BiasRelu(2048, 367, 513, f32)),
]


def bytes_of(case):
    return sum(t.numel() * t.element_size() for t in vars(case).values())


def record(cases, call):
    """A CUDA graph of some calls, through all cases in turn."""
    for case in cases[:2]:
        call(case)  # outside of the capture: whatever is made once is made now
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    count = max(len(cases), 8)
    with torch.cuda.graph(graph):
        for i in range(count):
            call(cases[i % len(cases)])
    return graph, count


def sample(graph, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / count


def error(case, result):
    exact = case.exact()
    return ((result.double() - exact).norm() / exact.norm()).item()


def race(make):
    """Microseconds of PyTorch and of TileJIT."""
    cases = [make()]
    cases += [make() for _ in range(min(COLD_BYTES // bytes_of(cases[0]), 64))]
    graphs = [record(cases, call) for call in (lambda c: c.torch(), lambda c: c.tilejit())]
    for graph in graphs:
        sample(*graph)
    times = [[sample(*graph) for graph in graphs] for _ in range(ROUNDS)]
    for case in cases[:1]:
        theirs, ours = error(case, case.by_torch), error(case, case.by_tilejit)
        if not ours <= 2 * theirs + 1e-12:
            raise SystemExit(f"a wrong product: the error is {ours:.3g} where PyTorch's is {theirs:.3g}")
    return [statistics.median(column) for column in zip(*times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", metavar="FILE", help="write a CSV here, for bench/picture.py")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("programs.py: PyTorch finds no GPU")
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, TileJIT {tilejit.__version__}\n")
    print("| program | product | PyTorch, us | TileJIT, us | ratio |\n| --- | --- | --: | --: | --: |")
    rows = []
    for program, product, make in PRODUCTS:
        theirs, ours = race(make)
        rows.append([program, product, f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.3f}"])
        print("|", " | ".join(rows[-1]), "|", flush=True)
        torch.cuda.empty_cache()
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["program", "product", "torch_us", "tilejit_us", "ratio"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
