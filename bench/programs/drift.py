#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why do the losses of two runs of a training step drift apart? GPT-2 of transformers learns one batch by heart; prints its losses.

Products of the forward and of the backward pass are computed by one of:

    cublas    as PyTorch does, or TileJIT under `tilejit with`
    tilejit   by tilejit.matmul, called from Python
    f32       operands widened, the product of f32 (no TF32), rounded once: what a product of bf16 should be
    split     the same in 8 parts of k, each rounded to bf16, and added up in bf16

    python3 bench/programs/drift.py --backward tilejit
    python3 bench/programs/drift.py --forward f32 --backward split --steps 90

Runs of one line that differ show what chance does; --deterministic takes most of that away.
"""
import argparse
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PARTS = 8


def by_f32(a, b, bias):
    product = a.float() @ b.float()
    return (product if bias is None else product + bias.float()).to(a.dtype)


def by_split(a, b, bias):
    total = None
    for part in range(PARTS):
        begin, end = (a.shape[1] * at // PARTS for at in (part, part + 1))
        one = (a[:, begin:end].float() @ b[begin:end].float()).to(a.dtype)
        total = one if total is None else total + one
    return total if bias is None else total + bias


def by_tilejit(a, b, bias):
    import tilejit
    a, b = a.detach(), b.detach()  # autograd has recorded the product already
    return tilejit.matmul(a, b) if bias is None else tilejit.matmul(a, b, epilogue="acc + bias[col]", bias=bias.detach())


WAYS = {"cublas": None, "f32": by_f32, "split": by_split, "tilejit": by_tilejit}


class Products(TorchDispatchMode):
    """Computes the products of matrices that PyTorch asks for, forward and backward, in the ways that were chosen."""

    def __init__(self, forward, backward):
        super().__init__()
        self.way = {"forward": WAYS[forward], "backward": WAYS[backward]}
        self.phase, self.count = "forward", {"forward": 0, "backward": 0}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        way = self.way[self.phase]
        if function in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            self.count[self.phase] += 1
            if way and not kwargs:
                bias, a, b = args if len(args) == 3 else (None, *args)
                return way(a, b, bias)
        return function(*args, **(kwargs or {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for phase in ("forward", "backward"):
        parser.add_argument("--" + phase, choices=sorted(WAYS), default="cublas", help=f"the products of the {phase} pass")
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16", help="of weights and activations")
    parser.add_argument("--f32-sums", action="store_true", help="cuBLAS adds up in f32 only")
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a small model on the CPU, to try this script")
    chosen = parser.parse_args()
    if chosen.deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before cuBLAS is opened
        torch.use_deterministic_algorithms(True, warn_only=True)
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = not chosen.f32_sums
    torch.manual_seed(0)
    small = {"n_embd": 48, "n_layer": 2, "n_head": 3, "vocab_size": 211, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **(small if chosen.tiny else {}))
    device = "cpu" if chosen.tiny else "cuda"
    model = GPT2LMHeadModel(config).to(device, torch.bfloat16 if chosen.dtype == "bf16" else torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, config.vocab_size, (2, 16) if chosen.tiny else (4, 1024)).to(device)
    products, losses = Products(chosen.forward, chosen.backward), []
    for _ in range(chosen.steps):
        with products:
            products.phase = "forward"
            loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
            products.phase = "backward"
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    at = [0, *range(9, chosen.steps, 10)]
    print(f"forward {chosen.forward}, backward {chosen.backward}, {chosen.dtype}"
          f"{', f32 sums' if chosen.f32_sums else ''}{', deterministic' if chosen.deterministic else ''}; "
          f"{products.count['forward']} and {products.count['backward']} products; losses at steps "
          + " ".join(f"{i}: {losses[i].item():.4f}" for i in at), flush=True)


if __name__ == "__main__":
    main()
