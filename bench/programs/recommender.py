#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recommendation model in f32: DLRM with MLPerf's layers (13 numbers and 26 categories a row, 479 columns after the interaction). A training
step of 2048 rows, and an inference of 256.

The tables of embeddings are shorter than MLPerf's; their length plays no part in the products.
"""
import torch
from torch import nn

import harness

chosen = harness.options(__doc__, torch=True)
device = "cpu" if chosen.tiny else "cuda"
ROWS, ASKED = (16, 5) if chosen.tiny else (2048, 256)
NUMBERS, CATEGORIES, WIDTH, ENTRIES = 13, 26, 128, 100 if chosen.tiny else 10_000
BOTTOM, TOP = (NUMBERS, 512, 256, WIDTH), (WIDTH + CATEGORIES * (CATEGORIES + 1) // 2, 1024, 1024, 512, 256)


def layers(widths):
    return nn.Sequential(*(layer for pair in zip(widths, widths[1:]) for layer in (nn.Linear(*pair), nn.ReLU())))


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.Embedding(CATEGORIES * ENTRIES, WIDTH)
        self.bottom, self.top = layers(BOTTOM), nn.Sequential(*layers(TOP), nn.Linear(TOP[-1], 1))
        self.register_buffer("first", torch.arange(CATEGORIES) * ENTRIES)
        self.register_buffer("pairs", torch.tril_indices(CATEGORIES + 1, CATEGORIES + 1, -1))

    def forward(self, numbers, categories):
        dense = self.bottom(numbers)
        features = torch.cat([dense[:, None], self.tables(categories + self.first)], 1)
        products = torch.bmm(features, features.mT)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, products], 1)).squeeze(1)


def draw(rows):
    return torch.rand(rows, NUMBERS, device=device), torch.randint(0, ENTRIES, (rows, CATEGORIES), device=device)


class Training:
    def __init__(self, model):
        self.model, self.rows = model, draw(ROWS)
        self.clicks = torch.randint(0, 2, (ROWS,), device=device).float()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self.losses = []

    def step(self):
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(*self.rows), self.clicks)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.losses.append(loss.detach())

    def look(self):
        return {"losses": torch.stack(self.losses[:40])}

    def last(self):
        return {"last loss": self.losses[-1]}


class Inference:
    def __init__(self, model):
        self.model, self.rows = model, draw(ASKED)

    @torch.no_grad()
    def step(self):
        self.logits = self.model(*self.rows)

    def look(self):
        return {"logits": self.logits}


def main():
    torch.manual_seed(0)
    with harness.made_on(device, torch.float32):
        training = Training(harness.replace_linear(Recommender(), chosen))
        inference = Inference(harness.replace_linear(Recommender().eval(), chosen))
    harness.run(harness.torch_clock(chosen.tiny), [
        harness.Case("DLRM, f32", f"training step, {ROWS} rows", training.step, training.look, {"losses": 1e-4}, harness.SHORT,
                     look_at_graph=training.last),
        harness.Case("DLRM, f32", f"inference, {ASKED} rows", inference.step, inference.look, {"logits": 1e-4}, harness.SHORT),
    ], chosen.tiny)


if __name__ == "__main__":
    main()
