#!/usr/bin/env python3
"""Write wav2vec2-weighted and wav2vec2-weighted-stable: classifiers of a learned sum of all layers (use_weighted_layer_sum).

The encoders are those of wav2vec2 and wav2vec2-stable. Needs torch, transformers, safetensors."""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

here = pathlib.Path(__file__).parent
for source, name in (("wav2vec2", "wav2vec2-weighted"), ("wav2vec2-stable", "wav2vec2-weighted-stable")):
    folder = here / name
    folder.mkdir(exist_ok=True)
    torch.manual_seed(6)
    config = transformers.Wav2Vec2Config.from_pretrained(here / source, use_weighted_layer_sum=True, classifier_proj_size=10,
                                                         num_labels=3, attn_implementation="eager")
    model = transformers.Wav2Vec2ForSequenceClassification(config)
    encoder = transformers.Wav2Vec2ForCTC.from_pretrained(here / source).wav2vec2
    model.wav2vec2.load_state_dict(encoder.state_dict())
    with torch.no_grad():
        for weight in (model.projector.weight, model.projector.bias, model.classifier.weight, model.classifier.bias):
            weight.copy_(torch.randn(weight.shape) * 0.5)
        model.layer_weights.copy_(torch.randn(model.layer_weights.shape))
    model.eval()
    sounds = load_file(here / source / "golden.safetensors")["input_values"]
    labels = torch.arange(sounds.shape[0]) % 3
    result = model(input_values=sounds, labels=labels, output_hidden_states=True, output_attentions=True)
    result.loss.backward()
    golden = {"input_values": sounds, "labels": labels, "logits": result.logits, "loss": result.loss.reshape(1)}
    golden |= {"grad." + key: weight.grad for key, weight in model.named_parameters() if weight.grad is not None}
    golden |= {f"hidden_states.{i}": state for i, state in enumerate(result.hidden_states)}
    golden |= {f"attentions.{i}": weights for i, weights in enumerate(result.attentions)}
    model.save_pretrained(folder)
    save_file({key: value.detach().contiguous() for key, value in golden.items()}, folder / "golden.safetensors")
    shutil.copy(here / source / "preprocessor_config.json", folder)
    case = {"name": name, "architecture": "Wav2Vec2ForSequenceClassification",
            "special": "the mean of a learned sum of all layers", "inputs": ["input_values"], "loss": {"kind": "class"}}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
