# SPDX-License-Identifier: Apache-2.0
"""replace_linear: the linear modules of a model computed by TileJIT, and back."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Dict, Optional, Type

import torch
from torch import Tensor, nn

_linear = torch.ops.tilejit.linear.default
_FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


class Linear(nn.Linear):
    """torch.nn.Linear by TileJIT. Each product, forward and backward, is PyTorch's own where that is faster: on the first call of a shape
    both are timed. Tensors in host memory are left to PyTorch.
    """

    def forward(self, input: Tensor) -> Tensor:
        return _linear(input, self.weight, self.bias, if_faster=True) if type(input) is Tensor else super().forward(input)


class AlwaysLinear(nn.Linear):
    """torch.nn.Linear by TileJIT, whatever is faster; tensors in host memory too."""

    def forward(self, input: Tensor) -> Tensor:
        return _linear(input, self.weight, self.bias)


def _conv1d(original: Type[nn.Module], if_faster: bool) -> Type[nn.Module]:
    """A subclass of Conv1D of transformers, a linear module whose weight is (in, out)."""

    def forward(self: Any, input: Tensor) -> Tensor:
        return _linear(input, self.weight.t(), self.bias, if_faster=if_faster)

    return type(original.__name__, (original,), {"forward": forward, "__module__": original.__module__})


class Replacement:
    """The modules that replace_linear replaced. ``undo()`` gives each the class that it had; ``with`` does so at its end.

    replaced: their names. left: the names of linear modules that stay as they were, and why.
    """

    def __init__(self) -> None:
        self.replaced: Dict[str, nn.Module] = {}
        self.left: Dict[str, str] = {}
        self._classes: Dict[str, Type[nn.Module]] = {}

    def undo(self) -> None:
        """Give each module its class again, unless somebody changed it since. A second call does nothing."""
        for name, module in self.replaced.items():
            before, ours = self._classes.pop(name, None), type(module)
            if before is not None and ours.__mro__[1] is before:
                module.__class__ = before

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.undo()

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} linear modules by TileJIT"]
        return "\n".join(lines + [f"{name or 'the model'} stays: {why}" for name, why in self.left.items()])

    def _replace(self, name: str, module: nn.Module, to: Type[nn.Module]) -> None:
        self.replaced[name], self._classes[name] = module, type(module)
        module.__class__ = to


def _objection(module: Any) -> Optional[str]:
    """Why a module stays as it is."""
    weight = module._parameters.get("weight")
    if weight is None:
        return "its weight is not a parameter"
    if type(weight) is not nn.Parameter or type(weight.data) is not Tensor:
        return f"its weight is a {type(weight.data).__qualname__}"
    if weight.dtype not in _FLOATS:
        return f"its weight is of {weight.dtype}"
    if "forward" in module.__dict__:
        return "it has a forward of its own"
    return None


def replace_linear(model: nn.Module, *, always: bool = False) -> Replacement:
    """Let TileJIT compute the linear modules of a model, in place. Returns what was done, which can undo it.

    Modules of exactly ``torch.nn.Linear``, and ``Conv1D`` of transformers, get another class and stay the objects that they are: parameters,
    hooks, tied weights and state dicts do not change. Subclasses of ``torch.nn.Linear`` stay as they are, since they may compute something
    else, and are listed in ``left``.

    always: compute every product by TileJIT, even where PyTorch is faster, and tensors in host memory too.
    """
    done = Replacement()
    others: Dict[Type[nn.Module], Type[nn.Module]] = {}
    for name, module in model.named_modules():
        kind = type(module)
        is_conv1d = kind.__name__ == "Conv1D" and kind.__module__ == "transformers.pytorch_utils"
        if kind in (Linear, AlwaysLinear) or not (isinstance(module, nn.Linear) or is_conv1d):
            continue
        objection = _objection(module) if kind is nn.Linear or is_conv1d else f"it is a {kind.__module__}.{kind.__qualname__}, a subclass"
        if objection:
            done.left[name] = objection
        elif is_conv1d:
            others.setdefault(kind, _conv1d(kind, not always))
            done._replace(name, module, others[kind])
        else:
            done._replace(name, module, AlwaysLinear if always else Linear)
    return done
