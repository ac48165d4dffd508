#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_host.py: the host's time of nn.Linear and of tilejit.torch, without a GPU and without anything that multiplies.

PyTorch's kernels of addmm, mm and sum, and TileJIT's library, are replaced by functions that do nothing but allocate the result. So what
is timed is Python, dispatch, autograd and, for TileJIT, the statement of the problem; on a device the launch comes on top, and in PyTorch
cuBLASLt's descriptors and heuristic. A time is the least of many short rounds, so that other work of the machine hardly counts.
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

import tilejit.torch as tt
from tilejit.torch import _build

NOTHING = r"""
#include <ATen/ATen.h>
#include <torch/library.h>
using at::Tensor;

static Tensor addmm(const Tensor &, const Tensor &a, const Tensor &b, const at::Scalar &, const at::Scalar &)
{
    return at::empty({a.size(0), b.size(1)}, a.options());
}
static Tensor mm(const Tensor &a, const Tensor &b)
{
    return at::empty({a.size(0), b.size(1)}, a.options());
}
static Tensor sum(const Tensor &a, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>)
{
    return at::empty({a.size(1)}, a.options());
}
TORCH_LIBRARY_IMPL(aten, CPU, operators)
{
    operators.impl("addmm", addmm);
    operators.impl("mm", mm);
    operators.impl("sum.dim_IntList", sum);
}

static char memory[64];
extern "C" int tj_buffer_create(void *, size_t, void **buffer, void *) { *buffer = memory; return 0; }
extern "C" void *tj_buffer_address(void *) { return memory; }
extern "C" int does_nothing(void) { return 0; }
"""


def do_nothing():
    """Replace the kernels of PyTorch and the library of TileJIT in this process."""
    folder = tempfile.TemporaryDirectory()
    source, made = pathlib.Path(folder.name, "nothing.cpp"), pathlib.Path(folder.name, "nothing.so")
    source.write_text(NOTHING)
    subprocess.run([_build._compiler(), str(source), "-o", str(made), *_build._flags(), "-fvisibility=default"], check=True)
    torch.ops.load_library(str(made))
    nothing, extension = ctypes.CDLL(str(made)), ctypes.CDLL(str(_build.build()))
    extension.tilejit_torch_functions.restype = ctypes.POINTER(ctypes.c_char_p)
    names = extension.tilejit_torch_functions()
    real = {"tj_epilogue_parse", "tj_epilogue_find", "tj_type_name", "tj_type_parse"}
    addresses = []
    while names[len(addresses)]:
        name = names[len(addresses)].decode()
        if name in real:
            addresses.append(int(_build.ffi.cast("uintptr_t", _build.ffi.addressof(_build.lib, name))))
        else:
            function = getattr(nothing, name, None) if name in ("tj_buffer_create", "tj_buffer_address") else nothing.does_nothing
            addresses.append(ctypes.cast(function, ctypes.c_void_p).value)
    extension.tilejit_torch_bind((ctypes.c_void_p * len(addresses))(*addresses), _build._get_context)
    return folder, nothing


def least_us(call, rounds=400, calls=50):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6 / calls


def main():
    kept = do_nothing()
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}; us of the host, the least of 400 rounds of 50")
    for shape in ((16, 64), (4, 4, 64)):
        x, gradient = torch.ones(shape, requires_grad=True), torch.ones(*shape[:-1], 64)
        for name, always in (("nn.Linear", False), ("tilejit.torch", True)):
            module = nn.Sequential(nn.Linear(64, 64))
            if always:
                tt.replace_linear(module, always=True)
            module = module[0]
            with torch.no_grad():
                plain = least_us(lambda: module(x))
            forward = least_us(lambda: module(x))
            inputs = (x, *module.parameters())
            both = least_us(lambda: torch.autograd.grad(module(x), inputs, gradient))
            print(f"{'x'.join(map(str, shape))} {name}: forward without gradients {plain:.2f}, forward {forward:.2f}, forward and backward {both:.2f}")
    del kept


if __name__ == "__main__":
    main()
