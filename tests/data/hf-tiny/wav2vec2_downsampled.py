#!/usr/bin/env python3
"""Write wav2vec2-downsampled*: wav2vec 2.0 with convolutions after the encoder (add_adapter).

- wav2vec2-downsampled: Wav2Vec2Model with a projection before two convolutions; the encoder of wav2vec2;
- wav2vec2-downsampled-ctc: Wav2Vec2ForCTC without a projection, one convolution; the encoder of wav2vec2-stable;
- wav2vec2-downsampled-mask: Wav2Vec2ForCTC with a projection and an attention mask.

With a mask, every sequence is computed alone, and the outputs are padded with zeros. For a padded batch, transformers'
last frame of a sequence can depend on the padding, because the convolutions read the states after the end of the
sequence, which are not zero. check_batch() verifies that all other frames agree. Needs torch, transformers, safetensors."""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

here = pathlib.Path(__file__).parent
torch.set_num_threads(1)


def make(kind, source, **changes):
    """Return the model of class `kind` with random weights after the encoder; the other weights are those of `source`."""
    config = transformers.Wav2Vec2Config.from_pretrained(here / source, add_adapter=True, attn_implementation="eager",
                                                         architectures=None, **changes)
    model = kind(config)
    encoder = transformers.Wav2Vec2ForCTC.from_pretrained(here / source).wav2vec2
    base = model if kind is transformers.Wav2Vec2Model else model.wav2vec2
    missing, unexpected = base.load_state_dict(encoder.state_dict(), strict=False)
    assert not unexpected and missing and all(name.startswith("adapter.") for name in missing)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "adapter." in name or name.startswith("lm_head."):
                weight.copy_(torch.randn(weight.shape) * 0.3 + (1.0 if name.endswith("layer_norm.weight") else 0.0))
    return model.eval()


def states_of(result):
    values = {f"hidden_states.{i}": state for i, state in enumerate(result.hidden_states)}
    return values | {f"attentions.{i}": weights for i, weights in enumerate(result.attentions)}


def write(name, source, model, golden, **case):
    golden |= {"grad." + key: weight.grad for key, weight in model.named_parameters() if weight.grad is not None}
    folder = here / name
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file({key: value.detach().contiguous() for key, value in golden.items()}, folder / "golden.safetensors")
    shutil.copy(here / source / "preprocessor_config.json", folder)
    about = {"name": name, "architecture": type(model).__name__} | case
    (folder / "case.json").write_text(json.dumps(about, indent=1) + "\n")


def base():
    torch.manual_seed(7)
    source = "wav2vec2"
    model = make(transformers.Wav2Vec2Model, source, output_hidden_size=12, num_adapter_layers=2)
    sounds = load_file(here / source / "golden.safetensors")["input_values"][:, :700].contiguous()
    result = model(sounds, output_hidden_states=True, output_attentions=True)
    loss_weight = torch.randn(result.last_hidden_state.shape)
    loss = (result.last_hidden_state * loss_weight).sum()
    loss.backward()
    golden = {"input_values": sounds, "last_hidden_state": result.last_hidden_state, "loss": loss.reshape(1),
              "loss_weight.last_hidden_state": loss_weight} | states_of(result)
    write("wav2vec2-downsampled", source, model, golden, inputs=["input_values"], loss={"kind": "weighted"},
          special="a projection with layer norm and two convolutions after the encoder (add_adapter)")


def ctc():
    torch.manual_seed(8)
    source = "wav2vec2-stable"
    model = make(transformers.Wav2Vec2ForCTC, source, output_hidden_size=16, num_adapter_layers=1, adapter_stride=3,
                 ctc_loss_reduction="sum")
    given = load_file(here / source / "golden.safetensors")
    labels = given["labels"]
    result = model(given["input_values"], labels=labels, output_hidden_states=True, output_attentions=True)
    result.loss.backward()
    golden = {"input_values": given["input_values"], "labels": labels, "logits": result.logits,
              "loss": result.loss.reshape(1)} | states_of(result)
    write("wav2vec2-downsampled-ctc", source, model, golden, inputs=["input_values"], loss={"kind": "ctc"},
          special="one convolution with stride 3 after the encoder (add_adapter), no projection")


def check_batch(model, sounds, mask, alone):
    """Compare a padded batch with the sequences alone. The last frame differs after an odd number of states."""
    with torch.no_grad():
        together = model(sounds, attention_mask=mask).logits
    for batch, logits in zip(together, alone):
        frames = logits.shape[1]
        assert torch.allclose(batch[:frames - 1], logits[0, :-1], atol=1e-5)
    for row, same in ((0, True), (1, True), (2, False)):
        last = alone[row].shape[1] - 1
        assert torch.allclose(together[row, last], alone[row][0, last], atol=1e-5) == same


def masked():
    torch.manual_seed(9)
    source = "wav2vec2-stable"
    model = make(transformers.Wav2Vec2ForCTC, source, output_hidden_size=10, num_adapter_layers=2, ctc_loss_reduction="sum")
    samples = [417, 337, 305]  # 40, 32 and 29 states; 10, 8 and 8 frames
    labels = torch.tensor([[3, 4, 4, 1, 7], [9, 2, -100, -100, -100], [5, 6, 8, -100, -100]])
    sounds = torch.zeros(3, samples[0])
    mask = torch.zeros(3, samples[0], dtype=torch.long)
    alone, golden = [], {}
    loss = torch.zeros(1)
    for row, count in enumerate(samples):
        sounds[row, :count] = torch.randn(count)
        mask[row, :count] = 1
        result = model(sounds[row:row + 1, :count], labels=labels[row:row + 1], output_hidden_states=True,
                       output_attentions=True)
        result.loss.backward()
        loss = loss + result.loss
        alone.append(result.logits)
        for name, value in ({"logits": result.logits} | states_of(result)).items():
            if name not in golden:  # the first sequence is the longest
                golden[name] = torch.zeros(3, *value.shape[1:])
            golden[name][(row, *map(slice, value.shape[1:]))] = value[0].detach()
    assert [logits.shape[1] for logits in alone] == [10, 8, 8]
    check_batch(model, sounds, mask, alone)
    golden |= {"input_values": sounds, "attention_mask": mask, "labels": labels, "loss": loss}
    write("wav2vec2-downsampled-mask", source, model, golden, inputs=["input_values", "attention_mask"],
          loss={"kind": "ctc"}, special="a projection and two convolutions after the encoder (add_adapter), a mask")


base()
ctc()
masked()
