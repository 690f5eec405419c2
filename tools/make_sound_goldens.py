"""Write the goldens of sound: operations (computed by PyTorch), and a tiny wav2vec 2.0 with stable layer norm
(transformers).

Usage: make_sound_goldens.py DATA (DATA: tests/data). Weights and inputs are random with fixed seeds; float32 on one
CPU thread.
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

torch.set_num_threads(1)
DATA = Path(sys.argv[1])


def random(*shape):
    return torch.randn(*shape, requires_grad=True)


def keep(tensors, name, **values):
    for key, value in values.items():
        if value is not None:
            tensors[f"{name}.{key}"] = value.detach().clone().contiguous()


def convolutions(tensors, about):
    cases = {
        "whisper1": dict(length=13, inputs=5, out=6, kernel=3, stride=1, padding=1, groups=1),
        "whisper2": dict(length=13, inputs=6, out=4, kernel=3, stride=2, padding=1, groups=1),
        "samples": dict(length=57, inputs=1, out=7, kernel=10, stride=5, padding=0, groups=1),
        "grouped": dict(length=9, inputs=8, out=12, kernel=4, stride=1, padding=2, groups=4),
        "depthwise": dict(length=11, inputs=6, out=6, kernel=5, stride=3, padding=4, groups=6),
    }
    for name, c in cases.items():
        x, weight = random(1, c["inputs"], c["length"]), random(c["out"], c["inputs"] // c["groups"], c["kernel"])
        bias = random(c["out"])
        y = torch.nn.functional.conv1d(x, weight, bias, c["stride"], c["padding"], 1, c["groups"])
        slope = torch.randn_like(y)
        y.backward(slope)
        keep(tensors, "convolution." + name, x=x[0].T, weight=weight, bias=bias, y=y[0].T, dy=slope[0].T,
             dx=x.grad[0].T, dweight=weight.grad, dbias=bias.grad)
        about["convolution." + name] = c


def norms(tensors, about):
    for name, groups, channels, length in (("each", 6, 6, 17), ("pairs", 3, 6, 17), ("all", 1, 5, 9)):
        x, gain, bias = random(1, channels, length), random(channels), random(channels)
        y = torch.nn.functional.group_norm(x, groups, gain, bias)
        slope = torch.randn_like(y)
        y.backward(slope)
        keep(tensors, "group_norm." + name, x=x[0].T, gain=gain, bias=bias, y=y[0].T, dy=slope[0].T, dx=x.grad[0].T,
             dgain=gain.grad, dbias=bias.grad)
        about["group_norm." + name] = dict(groups=groups)
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(4, 6, 5), dim=2)
    g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    with torch.no_grad():
        g.mul_(1.7)
    slope = torch.randn_like(layer.weight)
    w = layer.weight
    w.backward(slope)
    keep(tensors, "weight_norm", g=g, v=v, w=w, dw=slope, dg=g.grad, dv=v.grad)


def ctc(tensors, about):
    cases = {  # (frames, targets) of each sequence
        "plain": ([12, 9], [[3, 1, 4], [2, 2, 5, 1]], "sum"),
        "mean": ([12, 9], [[3, 1, 4], [2, 2, 5, 1]], "mean"),
        "empty": ([5, 4], [[], [1]], "sum"),
        "impossible": ([3, 6], [[1, 1, 2], [1, 2]], "sum"),
        "long": ([120, 100], [list(range(1, 31)), [1 + i % 7 for i in range(40)]], "sum"),
    }
    for name, (frames, targets, reduction) in cases.items():
        labels = 32 if name == "long" else 6
        logits = [random(length, labels) for length in frames]
        if name == "long":  # logits of different size, as in a trained model
            logits = [(8 * x).detach().requires_grad_() for x in logits]
        # Compute in float64, because sums of hundreds of log-probabilities lose four digits in float32.
        padded = torch.nn.utils.rnn.pad_sequence([x.double().log_softmax(-1) for x in logits])
        loss = torch.nn.functional.ctc_loss(
            padded, torch.tensor(sum(targets, [])), torch.tensor(frames), torch.tensor([len(t) for t in targets]),
            blank=0, reduction=reduction, zero_infinity=name == "impossible")
        loss.backward()
        keep(tensors, "ctc." + name, logits=torch.cat(logits), dlogits=torch.cat([x.grad for x in logits]),
             loss=loss.float().reshape(1))
        about["ctc." + name] = dict(frames=frames, targets=targets, mean=reduction == "mean",
                                    zero_infinity=name == "impossible")


def operations():
    torch.manual_seed(1)
    tensors, about = {}, {}
    convolutions(tensors, about)
    norms(tensors, about)
    ctc(tensors, about)
    folder = DATA / "sound"
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "operations.safetensors")
    (folder / "operations.json").write_text(json.dumps(about, indent=1) + "\n")


def stable_wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    torch.manual_seed(5)
    config = Wav2Vec2Config(
        vocab_size=12, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        conv_dim=(8, 8), conv_kernel=(10, 3), conv_stride=(5, 2), conv_bias=True, feat_extract_norm="layer",
        do_stable_layer_norm=True, num_feat_extract_layers=2, num_conv_pos_embeddings=5,
        num_conv_pos_embedding_groups=2, ctc_loss_reduction="mean", mask_time_prob=0.0, layerdrop=0.0,
        attn_implementation="eager")
    model = Wav2Vec2ForCTC(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
            elif parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    folder = DATA / "hf-tiny" / "wav2vec2-stable"
    model.save_pretrained(folder)
    inputs = torch.randn(2, 400)
    labels = torch.tensor([[3, 4, 4, 1, 7], [9, 2, -100, -100, -100]])
    out = model(inputs, labels=labels, output_hidden_states=True, output_attentions=True)
    out.loss.backward()
    tensors = {"input_values": inputs, "labels": labels, "logits": out.logits, "loss": out.loss.reshape(1)}
    for i, state in enumerate(out.hidden_states):
        tensors[f"hidden_states.{i}"] = state
    for i, weights in enumerate(out.attentions):
        tensors[f"attentions.{i}"] = weights
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors["grad." + name] = parameter.grad
    save_file({k: v.detach().clone().contiguous() for k, v in tensors.items()}, folder / "golden.safetensors")
    about = {"name": "wav2vec2-stable", "architecture": "Wav2Vec2ForCTC",
             "special": "layer norm in the feature encoder, stable layer norm, odd positional kernel, mean CTC loss",
             "inputs": ["input_values"], "loss": {"kind": "ctc"}}
    (folder / "case.json").write_text(json.dumps(about, indent=1) + "\n")
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"do_normalize": True, "feature_extractor_type": "Wav2Vec2FeatureExtractor", "feature_size": 1,
         "padding_value": 0.0, "return_attention_mask": True, "sampling_rate": 16000}, indent=1) + "\n")


def feature_subsets(more):
    """Copy the feature goldens with some of their sounds."""
    from safetensors.torch import load_file

    for name, sounds in (("whisper-features-80", ("chirp", "silence", "short", "toolong", "sines")),
                         ("whisper-features-128", ("chirp",)), ("ast-features", ("chirp", "silence", "toolong"))):
        from_folder, to = more / name, DATA / "sound" / name
        to.mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in load_file(from_folder / "golden.safetensors").items() if k.split(".")[-1] in sounds}
        save_file(kept, to / "golden.safetensors")
        for file in ("case.json", "preprocessor_config.json"):
            (to / file).write_text((from_folder / file).read_text())


operations()
stable_wav2vec2()
if len(sys.argv) > 2:  # the folder of the goldens hf-more
    feature_subsets(Path(sys.argv[2]))
