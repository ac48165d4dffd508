#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of GPT-2 (124 million parameters, bf16, 4 x 1024 tokens, eager), which knows nothing of TileJIT.

    python3 bench/programs/gpt2.py                          as it is
    tilejit with --verbose -- python3 bench/programs/gpt2.py
    tilejit trace -- python3 bench/programs/gpt2.py

Weights and tokens are random, of one seed. Prints the median of 30 steps after 60 others, and losses on the way, which say whether two
runs learn alike.
"""
import time

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, WORDS, TOKENS, BATCH = 768, 12, 12, 50257, 1024, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.qkv(self.before_attention(x)).split(WIDTH, 2)
        q, k, v = (part.view(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2) for part in qkv)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        return x + self.down(functional.gelu(self.up(self.before_mlp(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places.weight)))


def main():
    torch.manual_seed(0)
    model = GPT2().cuda().bfloat16()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, WORDS, (BATCH, TOKENS + 1), device="cuda")

    def step():
        logits = model(tokens[:, :-1]).float().view(-1, WORDS)
        loss = functional.cross_entropy(logits, tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    losses = [step() for _ in range(10)]
    torch.cuda.synchronize()
    time.sleep(5)  # the first kernels of a fresh machine are compiled meanwhile
    losses += [step() for _ in range(50)]
    times = []
    for _ in range(30):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        losses.append(step())
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    print(f"{sorted(times)[15]:.2f} ms a step;", ", ".join(f"loss {i}: {losses[i].item():.4f}" for i in (0, 9, 29, 89)))


if __name__ == "__main__":
    main()
