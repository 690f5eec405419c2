#!/usr/bin/env python3
"""Write rope-llama3 and rope-yarn: two tiny Llama folders with scaled rotary positions, and transformers' logits.

Needs torch, transformers, safetensors."""
import json
import pathlib

import torch
import transformers
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent
scalings = {
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 16},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32.0,
             "beta_slow": 1.0},
    "yarn-attention": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16,
                       "attention_factor": 1.3},
    "linear": {"rope_type": "linear", "factor": 4.0},
}
for name, scaling in scalings.items():
    torch.manual_seed(3)
    config = transformers.LlamaConfig(vocab_size=40, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                                      num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
                                      rope_parameters={"rope_theta": 100.0, **scaling}, initializer_range=0.3,
                                      bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model = transformers.LlamaForCausalLM(config).eval()
    folder = here / f"rope-{name}"
    model.save_pretrained(folder)
    ids = torch.randint(3, 40, (1, 60))
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    save_file({"input_ids": ids, "logits": logits.contiguous()}, folder / "golden.safetensors")
    (folder / "case.json").write_text(json.dumps({"family": "llama", "scaling": name}) + "\n")
    (folder / "generation_config.json").unlink(missing_ok=True)
