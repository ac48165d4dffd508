#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: Qwen3-MoE of transformers with four layers of the shape of Qwen3-30B-A3B (128 experts, of which 8 take a token; bf16,
random weights), for 16 and for 2048 tokens.
"""
import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

import harness

chosen = harness.options(__doc__, torch=True)
device = "cpu" if chosen.tiny else "cuda"
SHAPE = {"hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 32,
         "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936, "norm_topk_prob": True}
TINY = {**SHAPE, "hidden_size": 64, "moe_intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "num_experts": 8, "num_experts_per_tok": 2, "vocab_size": 211}


class Forward:
    def __init__(self, model, batch, tokens):
        self.model, self.tokens = model, torch.randint(0, model.config.vocab_size, (batch, tokens), device=device)

    @torch.no_grad()
    def step(self):
        self.logits = self.model(self.tokens, use_cache=False, logits_to_keep=1).logits

    def look(self):
        return {"logits": self.logits}


def main():
    torch.manual_seed(0)
    with harness.made_on(device, torch.bfloat16):
        model = harness.replace_linear(Qwen3MoeForCausalLM(Qwen3MoeConfig(**(TINY if chosen.tiny else SHAPE))).eval(), chosen)
    cases = [("16 sequences of 1 token", Forward(model, 16, 1)),
             ("a prompt of 2048 tokens", Forward(model, 1, 8 if chosen.tiny else 2048))]
    # A last bit may send a token to another expert, so two right runs differ by more than in a dense model.
    harness.run(harness.torch_clock(chosen.tiny), [
        harness.Case("Qwen3-MoE, 4 layers", name, case.step, case.look, {"logits": 1e-1}, steps=(10, 30, 100))
        for name, case in cases], chosen.tiny)


if __name__ == "__main__":
    main()
