#!/usr/bin/env python3
"""Write tests/data/lora: tiny random base models with adapters made by PEFT, in forms of LoRA that change ranks,
scales, layers, biases or whole modules. For each case: the base folder, adapter/ as PEFT saves it, and
golden.safetensors with inputs, outputs with the adapter (logits), the loss, the gradient of every trained weight
under its name in adapter/, and the merged weights (merged.NAME, NAME as in the base folder) of the adapted
modules. Needs torch, transformers, peft and safetensors."""
import json
import pathlib
import shutil
import sys

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM, T5Config, T5ForConditionalGeneration, ViTConfig, ViTForImageClassification)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/data/lora"


def gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
                                      attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                                        tie_word_embeddings=False))


def bert():
    return BertForSequenceClassification(BertConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                                    num_attention_heads=2, max_position_embeddings=16, num_labels=3,
                                                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def t5():
    return T5ForConditionalGeneration(T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2,
                                               dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))


def vit():
    return ViTForImageClassification(ViTConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=8,
                                               patch_size=4, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


CASES = {
    "gpt2-layers-bias": (gpt2, dict(r=3, lora_alpha=5, target_modules=["c_attn", "c_proj", "c_fc"], layers_to_transform=[1],
                                    layers_pattern="h", bias="lora_only", fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "llama-patterns": (llama, dict(r=4, lora_alpha=6, use_rslora=True, target_modules="all-linear",
                                   rank_pattern={"q_proj": 2, r"layers\.1\.mlp\.down_proj": 6},
                                   alpha_pattern={"mlp.up_proj": 9, "v_proj": 1}, task_type="CAUSAL_LM")),
    "llama-regex": (llama, dict(r=2, lora_alpha=2, target_modules=r".*layers\.0\.self_attn\.(q|o)_proj",
                                modules_to_save=["lm_head"], task_type="CAUSAL_LM")),
    "bert-modules-bias": (bert, dict(r=2, lora_alpha=8, target_modules=["query", "value", "dense"], bias="all",
                                     modules_to_save=["classifier"], task_type="SEQ_CLS")),
    "t5-exclude": (t5, dict(r=2, lora_alpha=4, target_modules=["q", "v", "wi", "wo"], exclude_modules=["encoder.block.0.layer.0.SelfAttention.q"],
                            task_type="SEQ_2_SEQ_LM")),
    "vit-all-linear": (vit, dict(r=2, lora_alpha=4, target_modules="all-linear", rank_pattern={"fc1": 3}, modules_to_save=["classifier"])),
}


def inputs_of(name, config):
    if name.startswith("vit"):
        return {"pixel_values": torch.randn(2, 3, 8, 8), "labels": torch.tensor([2, 0])}
    ids = torch.randint(2, 40, (2, 7))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    values = {"input_ids": ids, "attention_mask": mask}
    if name.startswith("bert"):
        values["labels"] = torch.tensor([2, 0])
    elif name.startswith("t5"):
        values["labels"] = torch.randint(2, 40, (2, 5))
        values["decoder_input_ids"] = torch.cat([torch.zeros(2, 1, dtype=torch.long), values["labels"][:, :-1]], dim=1)
    else:
        values["labels"] = torch.where(mask == 1, ids, torch.tensor(-100))
    return values


def make(name, builder, arguments):
    torch.manual_seed(7)
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    base = builder().eval()
    for parameter in base.parameters():
        torch.nn.init.normal_(parameter, std=0.3) if parameter.dim() > 1 else torch.nn.init.normal_(parameter, mean=0.5, std=0.2)
    base.save_pretrained(folder)
    model = get_peft_model(base, LoraConfig(**arguments)).eval()
    for key, parameter in model.named_parameters():
        if parameter.requires_grad:  # also change B, biases and whole modules
            torch.nn.init.normal_(parameter, std=0.3)
    model.peft_config["default"].base_model_name_or_path = ".."
    model.save_pretrained(folder / "adapter", save_embedding_layers=False)
    inputs = inputs_of(name, base.config)
    output = model(**inputs)
    output.loss.backward()
    tensors = {key: value.contiguous() for key, value in inputs.items()}
    tensors["logits"] = output.logits.detach()
    tensors["loss"] = output.loss.detach().reshape(1)
    saved = get_peft_model_state_dict(model, save_embedding_layers=False)
    by_pointer = {}
    for key, parameter in model.named_parameters():
        by_pointer[parameter.data_ptr()] = parameter
    for key, value in saved.items():
        # None if the loss does not depend on the saved weight
        if by_pointer[value.data_ptr()].grad is not None:
            tensors["grad." + key] = by_pointer[value.data_ptr()].grad
    adapted = sorted(key[len("base_model.model."):-len(".lora_A.weight")] for key in saved if key.endswith(".lora_A.weight"))
    merged = model.merge_and_unload().state_dict()
    for module in adapted:
        tensors["merged." + module + ".weight"] = merged[module + ".weight"]
    save_file({key: value.detach().contiguous().clone() for key, value in tensors.items()}, folder / "golden.safetensors")
    for extra in ["generation_config.json", "adapter/README.md"]:
        (folder / extra).unlink(missing_ok=True)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print(name, len(adapted), "adapted,", len(saved), "saved tensors")


def main():
    for name, (builder, arguments) in CASES.items():
        make(name, builder, arguments)


if __name__ == "__main__":
    sys.exit(main())
