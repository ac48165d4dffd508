# SPDX-License-Identifier: Apache-2.0
"""A PyTorch operator, tilejit::matmul, that torch.compile and autograd understand: run this file to see it.

The product is TileJIT's; so are both products of the backward pass, which reads its operands transposed, as they lie.
"""

import torch

import tilejit


@torch.library.custom_op("tilejit::matmul", mutates_args=())
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b by the rules of torch.matmul, on the current stream."""
    return tilejit.matmul(a.detach(), b.detach())


@matmul.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The shape of the product, for torch.compile."""
    return a.new_empty(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1]))


def _setup(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx, gradient: torch.Tensor):
    a, b = ctx.saved_tensors
    gradient = gradient.contiguous()
    to_a = matmul(gradient, b.transpose(-2, -1)).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
    to_b = matmul(a.transpose(-2, -1), gradient).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
    return to_a, to_b


matmul.register_autograd(_backward, setup_context=_setup)


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    a = torch.rand(4, 16, 24, device=device, requires_grad=True)
    b = torch.rand(24, 8, device=device, requires_grad=True)
    product = matmul(a, b)
    product.square().sum().backward()
    found = [product.detach(), a.grad.clone(), b.grad.clone()]
    a.grad = b.grad = None
    product = torch.matmul(a, b)
    product.square().sum().backward()
    for mine, expected in zip(found, (product.detach(), a.grad, b.grad)):
        torch.testing.assert_close(mine, expected)
    torch.library.opcheck(matmul, (a.detach(), b.detach()), test_utils=("test_schema", "test_faketensor"))
    print(f"tilejit::matmul on {device}: the product and both gradients are those of torch.matmul")


if __name__ == "__main__":
    main()
