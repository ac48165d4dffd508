# SPDX-License-Identifier: Apache-2.0
"""The operators as functions of Python: what torch.ops.tilejit takes, with the defaults of torch's own functions."""

from __future__ import annotations

from numbers import Real
from typing import Any, List, Optional

import torch
from torch import Tensor

_ops = torch.ops.tilejit


def linear(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, residual: Optional[Tensor] = None, *, activation: str = "",
           epilogue: Optional[str] = None, **operands: Any) -> Tensor:
    """Return activation(input @ weight.T + bias) + residual, in one kernel.

    input: (..., in). weight: (out, in), contiguous or a transposed view. bias: (out,). residual: the shape of the result. The two have one
        type; or one has 16 bits and the other is float32, as a router's weight next to bfloat16: the result is float32 then, and as accurate.
    activation: "relu", "gelu", "gelu_tanh", "silu", or "" for none.
    epilogue: any other expression of docs/epilogues.md in place of bias, residual and activation, such as
        ``"gelu(acc + bias[col]) * gain[row]"``, with its operands, tensors and numbers, by name. It has no gradient.
    """
    if epilogue is None:
        if operands:
            raise TypeError(f"linear has no argument {next(iter(operands))}, unless an operand of its epilogue has that name")
        return _ops.linear(input, weight, bias, residual, activation=activation)
    operands.update((name, value) for name, value in (("bias", bias), ("residual", residual)) if value is not None)
    if activation:
        raise TypeError(f"activation is {activation!r}, and the epilogue says it: leave it out")
    arrays = {name: value for name, value in operands.items() if isinstance(value, Tensor)}
    numbers = {name: float(value) for name, value in operands.items() if isinstance(value, Real)}
    for name in operands:
        if name not in arrays and name not in numbers:
            raise TypeError(f"{name} is a {type(operands[name]).__qualname__}: operands are tensors and numbers")
    return _ops.linear_epilogue(input, weight, epilogue, [*arrays, *numbers], list(arrays.values()), list(numbers.values()))


def interleave(gate: Tensor, up: Tensor) -> Tensor:
    """Return the rows of two weights, or the elements of two biases, in turns: what ``gated_linear`` takes. (..., out, in) twice gives
    (..., 2 * out, in).
    """
    rows = -1 if gate.dim() == 1 else -2
    return torch.stack((gate, up), dim=gate.dim() + rows + 1).flatten(gate.dim() + rows, gate.dim() + rows + 1)


def gated_linear(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, residual: Optional[Tensor] = None, *,
                 activation: str = "silu") -> Tensor:
    """Return activation(input @ gate.T) * (input @ up.T) + residual, in one kernel. weight: interleave(gate, up); so is bias."""
    return _ops.linear(input, weight, bias, residual, activation=activation, gated=True)


def gated_mlp(input: Tensor, gate_up: Tensor, down: Tensor, residual: Optional[Tensor] = None, *, activation: str = "silu") -> Tensor:
    """Return the gated MLP of Llama and its relatives, (activation(input @ gate.T) * (input @ up.T)) @ down.T + residual, in two kernels.

    gate_up: interleave(gate, up).
    """
    return _ops.linear(gated_linear(input, gate_up, activation=activation), down, None, residual)


def experts(input: Tensor, weight: Tensor, offsets: Tensor, *, activation: str = "", gated: bool = False) -> Tensor:
    """Multiply groups of rows, each by the weight of its own, in one launch.

    input: (rows, in). weight: (groups, out, in); with ``gated`` interleave(gate, up).
    offsets: groups + 1 numbers of int32 or int64 on input's device, which the host does not read: group g has the rows offsets[g] to
        offsets[g + 1] - 1. Rows of no group are zeros.
    """
    return _ops.linear(input, weight, None, None, offsets, activation=activation, gated=gated)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b by the rules of torch.matmul."""
    if a.dim() == 1:
        return matmul(a.unsqueeze(0), b).squeeze(-2)
    if b.dim() == 1:
        return matmul(a, b.unsqueeze(1)).squeeze(-1)
    if b.dim() == 2:  # one matrix for all: its rows are those of one product
        return _ops.matmul(a.flatten(0, -2), b).reshape(*a.shape[:-1], b.shape[-1])
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    flat: List[Tensor] = [each.expand(*batch, *each.shape[-2:])
                          .reshape(batch.numel(), *each.shape[-2:]) for each in (a, b)]
    return _ops.matmul(*flat).reshape(*batch, a.shape[-2], b.shape[-1])


def scaled_linear(input: Tensor, weight: Tensor, scale_input: Tensor, scale_weight: Tensor, bias: Optional[Tensor] = None, *,
                  dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Return (input * scale_input) @ (weight * scale_weight).T + bias of 8-bit floats. It has no gradient.

    scales: float32, and one number; or one for each row, (rows,); or for 128 elements of each row, (rows, parts); or for 128 x 128. Or
        float8_e8m0fnu for 32 elements of each row.
    """
    return _ops.scaled_linear(input, weight, scale_input, scale_weight, bias, dtype=dtype)


def quantized_linear(input: Tensor, weight: Tensor, scale: Tensor, zero: Optional[Tensor] = None, whole: Optional[Tensor] = None,
                     bias: Optional[Tensor] = None, *, type: str, group: int = 0, repacked: bool = False) -> Tensor:
    """Return input @ (scale * (weight - zero) * whole).T + bias. input and bias have gradients; the weights are constants.

    type: of the weights: "s4", "u4", "e2m1" (two in each uint8, the first in its lower half: (out, in / 2)), "s8", "u8", "e4m3".
    scale: (out, parts), one for each ``group`` elements of a row; group 0: one for a row. uint8 and float8_e8m0fnu are powers of two.
    zero: zero points like the scales; with "u4" two in a byte. whole: one float32 for all weights (NVFP4).
    repacked: weight is ``tilejit.repack(weight)``, of 4 bits: an order from which tensor cores take it with fewer instructions.
    """
    return _ops.quantized_linear(input, weight, scale, zero, whole, bias, type=type, group=group, repacked=repacked)
