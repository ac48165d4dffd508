# SPDX-License-Identifier: Apache-2.0
"""TileJIT as operators of PyTorch: dispatched and differentiated in C++, for eager mode, torch.compile and CUDA graphs.

    import tilejit.torch

    replacement = tilejit.torch.replace_linear(model)   # each linear module by TileJIT, where that is faster
    y = tilejit.torch.linear(x, weight, bias, activation="gelu")

The first import compiles a small extension for the PyTorch that is there (a quarter of a minute, once).
"""

try:
    import torch as _torch
except ImportError as _error:
    raise ImportError(f"tilejit.torch needs PyTorch 2.8 or newer, which cannot be imported ({_error}): pip install torch") from _error

if tuple(int(_part) for _part in _torch.__version__.split(".")[:2]) < (2, 8):
    raise ImportError(f"tilejit.torch needs PyTorch 2.8 or newer, and this is {_torch.__version__}: pip install --upgrade torch")

from tilejit.torch._build import load as _load

_load()

from tilejit.torch import _fake as _fake
from tilejit.torch._functions import (
    experts, gated_linear, gated_mlp, interleave, linear, matmul, quantized_linear, scaled_linear)
from tilejit.torch._modules import AlwaysLinear, Linear, Replacement, replace_linear

__all__ = ["AlwaysLinear", "Linear", "Replacement", "experts", "gated_linear", "gated_mlp", "interleave", "linear", "matmul",
           "quantized_linear", "replace_linear", "scaled_linear"]
