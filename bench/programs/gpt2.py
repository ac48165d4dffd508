#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPT-2 of transformers (124 million parameters, bf16): a training step of 4 x 1024 tokens, and the generation of 32 tokens.

Weights and tokens are random, of one seed. Losses, logits and tokens say whether two runs compute alike. With --f32-sums PyTorch lets no
product add up parts in bf16, which cuBLAS may otherwise do and TileJIT does not.
"""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import harness

chosen = harness.options(__doc__, torch=True, f32_sums="add up in f32 only")
device = "cpu" if chosen.tiny else "cuda"
BATCH, TOKENS, PROMPT, NEW = (2, 16, 4, 3) if chosen.tiny else (4, 1024, 128, 32)
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = not chosen.f32_sums


def make():
    """A model in bf16, without dropout, so that two runs compute the same."""
    torch.manual_seed(0)
    small = {"n_embd": 48, "n_layer": 2, "n_head": 3, "vocab_size": 211, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **(small if chosen.tiny else {}))
    with harness.made_on(device, torch.bfloat16):
        return harness.replace_linear(GPT2LMHeadModel(config), chosen)


class Training:
    def __init__(self):
        self.model = make().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True, capturable=not chosen.tiny)
        self.tokens = torch.randint(0, self.model.config.vocab_size, (BATCH, TOKENS), device=device)
        self.losses = []

    def step(self):
        loss = self.model(input_ids=self.tokens, labels=self.tokens, use_cache=False).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.losses.append(loss.detach())

    def look(self):
        """The steps before the pause are compared; after them the same batch is learnt by heart, and runs drift apart."""
        return {"losses": torch.stack(self.losses[:10]), "later losses": torch.stack(self.losses[29:90:30] or self.losses[-1:])}

    def last(self):
        return {"last loss": self.losses[-1]}


class Generation:
    def __init__(self):
        self.model = make().eval()
        self.prompt = torch.randint(1, self.model.config.vocab_size, (1, PROMPT), device=device)
        self.rest = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "pad_token_id": 0,
                     "attention_mask": torch.ones_like(self.prompt)}

    @torch.no_grad()
    def step(self):
        self.tokens = self.model.generate(self.prompt, **self.rest)

    @torch.no_grad()
    def look(self):
        return {"logits": self.model(self.prompt).logits[:, -1], "tokens": self.tokens[0, PROMPT:]}


def main():
    training, generation = Training(), Generation()
    harness.run(harness.torch_clock(chosen.tiny), [
        harness.Case("GPT-2", f"training step, {BATCH} x {TOKENS} tokens", training.step, training.look, {"losses": 5e-3},
                     steps=(10, 50, 60), look_at_graph=training.last),
        harness.Case("GPT-2", f"generation of {NEW} tokens", generation.step, generation.look, {"logits": 3e-2}, steps=(1, 1, 10),
                     graph=False),
    ], chosen.tiny)


if __name__ == "__main__":
    main()
