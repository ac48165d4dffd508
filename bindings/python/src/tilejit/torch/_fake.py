# SPDX-License-Identifier: Apache-2.0
"""The shapes and types of what the operators return, for torch.compile: fake tensors, whose extents may be symbols."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

register = torch.library.register_fake


def _like(input: Tensor, last: Any, dtype: Optional[torch.dtype] = None) -> Tensor:
    return input.new_empty((*input.shape[:-1], last), dtype=dtype or input.dtype)


def _of(a: Tensor, b: Tensor) -> torch.dtype:
    """Return the type of a product: float32 for a tensor of 16 bits and one of float32."""
    return torch.promote_types(a.dtype, b.dtype)


@register("tilejit::linear")
def _(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, residual: Optional[Tensor] = None, offsets: Optional[Tensor] = None, *,
      activation: str = "", gated: bool = False, if_faster: bool = False) -> Tensor:
    return _like(input, weight.shape[-2] // (2 if gated else 1), _of(input, weight))


@register("tilejit::_linear_saving")
def _(input: Tensor, weight: Tensor, bias: Optional[Tensor], residual: Optional[Tensor], offsets: Optional[Tensor], *, activation: str,
      gated: bool) -> Tuple[Tensor, Tensor, Tensor]:
    out, dtype = weight.shape[-2] // (2 if gated else 1), _of(input, weight)
    return _like(input, out, dtype), _like(input, out, dtype), _like(input, out, dtype) if gated else input.new_empty((0,), dtype=dtype)


@register("tilejit::matmul")
def _(a: Tensor, b: Tensor, *, if_faster: bool = False) -> Tensor:
    return _like(a, b.shape[-1], _of(a, b))


@register("tilejit::grouped")
def _(a: Tensor, b: Tensor, offsets: Tensor) -> Tensor:
    return _like(a, b.shape[-1], _of(a, b))


@register("tilejit::along_k")
def _(a: Tensor, b: Tensor, offsets: Tensor) -> Tensor:
    return a.new_empty((offsets.shape[0] - 1, a.shape[1], b.shape[1]), dtype=_of(a, b))


@register("tilejit::linear_epilogue")
def _(input: Tensor, weight: Tensor, expression: str, names: List[str], arrays: List[Tensor], numbers: List[float]) -> Tensor:
    return _like(input, weight.shape[0] // (2 if "acc[" in expression.replace(" ", "") else 1), _of(input, weight))


@register("tilejit::scaled_linear")
def _(input: Tensor, weight: Tensor, scale_input: Tensor, scale_weight: Tensor, bias: Optional[Tensor] = None, *,
      dtype: torch.dtype) -> Tensor:
    return _like(input, weight.shape[0], dtype)


@register("tilejit::quantized_linear")
def _(input: Tensor, weight: Tensor, scale: Tensor, zero: Optional[Tensor] = None, whole: Optional[Tensor] = None,
      bias: Optional[Tensor] = None, *, type: str, group: int = 0, repacked: bool = False) -> Tensor:
    return _like(input, weight.shape[0])


@register("tilejit::_dequantize")
def _(input: Tensor, weight: Tensor, scale: Tensor, zero: Optional[Tensor], whole: Optional[Tensor], *, type: str, group: int,
      repacked: bool) -> Tensor:
    return input.new_empty((weight.shape[0], input.shape[-1]), dtype=torch.float32)
