#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Llama of transformers, of the shape of Llama 3.1 8B (bf16, random weights): a token after 512 others, for 1, 16 and 64 sequences, and 2048
tokens of a prompt at once. With --in-f32 the same numbers are multiplied in f32, which tells how far bf16 alone moves the logits.
"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

import harness

chosen = harness.options(__doc__, torch=True, in_f32="multiply the same numbers in f32")
device = "cpu" if chosen.tiny else "cuda"
CONTEXT, ROOM, PROMPT = (4, 16, 8) if chosen.tiny else (512, 256, 2048)
SHAPE = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "vocab_size": 128256, "max_position_embeddings": 4096, "rope_theta": 500000.0}
TINY = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 211}


class Decoding:
    """One more token of each sequence. Later steps come after more tokens."""

    def __init__(self, model, batch):
        self.model = model
        self.cache = StaticCache(config=model.config, max_cache_len=CONTEXT + ROOM)
        self.token = torch.randint(0, model.config.vocab_size, (batch, 1), device=device)
        with torch.no_grad():
            context = torch.randint(0, model.config.vocab_size, (batch, CONTEXT), device=device)
            model(context, past_key_values=self.cache, logits_to_keep=1)

    @torch.no_grad()
    def step(self):
        self.logits = self.model(self.token, past_key_values=self.cache).logits

    def look(self):
        return {"logits": self.logits}


class Prefill:
    def __init__(self, model):
        self.model, self.prompt = model, torch.randint(0, model.config.vocab_size, (1, PROMPT), device=device)

    @torch.no_grad()
    def step(self):
        self.logits = self.model(self.prompt, use_cache=False, logits_to_keep=1).logits

    def look(self):
        return {"logits": self.logits}


def main():
    torch.manual_seed(0)
    with harness.made_on(device, torch.bfloat16):
        model = harness.replace_linear(LlamaForCausalLM(LlamaConfig(**(TINY if chosen.tiny else SHAPE))).eval(), chosen)
        model = model.float() if chosen.in_f32 else model
    cases = [(f"decoding, batch {batch}", Decoding(model, batch)) for batch in (1, 16, 64)]
    cases.append((f"prefill of {PROMPT} tokens", Prefill(model)))
    harness.run(harness.torch_clock(chosen.tiny), [
        harness.Case("Llama 8B", name, case.step, case.look, {"logits": 8e-2}) for name, case in cases], chosen.tiny)


if __name__ == "__main__":
    main()
