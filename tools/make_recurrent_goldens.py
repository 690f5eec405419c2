#!/usr/bin/env python3
"""Write tests/data/recurrent: torch.nn.RNN, LSTM, GRU and Conv1d on ragged batches, forward and gradients.

Run from the root of the checkout with PyTorch installed: tools/make_recurrent_goldens.py
The loss is the sum of output times `weights`. In `output` and `weights` the sequences are concatenated.
"""

import json
import pathlib

import torch
from safetensors.torch import save_file

LENGTHS = [5, 1, 9, 3]
INPUT, HIDDEN = 6, 7
OUT = pathlib.Path("tests/data/recurrent")


def save(name, tensors, about):
    save_file({key: value.detach().contiguous() for key, value in tensors.items()}, OUT / (name + ".safetensors"))
    (OUT / (name + ".json")).write_text(json.dumps(about, indent=1) + "\n")


def recurrent(name, cell, layers, bidirectional, **options):
    torch.manual_seed(len(name))
    module = cell(INPUT, HIDDEN, layers, bidirectional=bidirectional, **options)
    x = torch.randn(sum(LENGTHS), INPUT, requires_grad=True)
    width = HIDDEN * (2 if bidirectional else 1)
    weights = torch.randn(sum(LENGTHS), width)
    packed = torch.nn.utils.rnn.pack_sequence(list(x.split(LENGTHS)), enforce_sorted=False)
    # Networks of one direction get an initial state, so that its gradient is compared too.
    state, tensors = None, {}
    if not bidirectional:
        h = torch.randn(layers, len(LENGTHS), HIDDEN, requires_grad=True)
        tensors["h0"] = h
        state = h
        if cell is torch.nn.LSTM:
            c = torch.randn(layers, len(LENGTHS), HIDDEN, requires_grad=True)
            tensors["c0"] = c
            state = (h, c)
    out, last = module(packed, state)
    out = torch.cat(torch.nn.utils.rnn.unpack_sequence(out))
    (out * weights).sum().backward()
    if cell is torch.nn.LSTM:
        tensors["cn"] = last[1]
    tensors |= {"x": x, "weights": weights, "output": out, "hn": last[0] if isinstance(last, tuple) else last}
    for key in [key for key in ("x", "h0", "c0") if key in tensors]:
        tensors["grad." + key] = tensors[key].grad
    for key, value in module.named_parameters():
        tensors[key], tensors["grad." + key] = value, value.grad
    save(name, tensors, {"cell": name.split("-")[0], "layers": layers, "bidirectional": bidirectional,
                         "lengths": LENGTHS, "input": INPUT, "hidden": HIDDEN})


def convolution(name, width, padding):
    torch.manual_seed(width)
    module = torch.nn.Conv1d(INPUT, HIDDEN, width, padding=padding)
    x = torch.randn(sum(LENGTHS), INPUT, requires_grad=True)
    weights = torch.randn(sum(LENGTHS), HIDDEN)
    out = torch.cat([module(part.T[None])[0].T for part in x.split(LENGTHS)])
    (out * weights).sum().backward()
    tensors = {"x": x, "weights": weights, "output": out, "grad.x": x.grad}
    for key, value in module.named_parameters():
        tensors[key], tensors["grad." + key] = value, value.grad
    save(name, tensors, {"width": width, "lengths": LENGTHS, "input": INPUT, "hidden": HIDDEN})


OUT.mkdir(parents=True, exist_ok=True)
for layers, bidirectional in ((1, False), (2, False), (2, True)):
    end = f"-{layers}" + ("-bidirectional" if bidirectional else "")
    recurrent("tanh" + end, torch.nn.RNN, layers, bidirectional, nonlinearity="tanh")
    recurrent("relu" + end, torch.nn.RNN, layers, bidirectional, nonlinearity="relu")
    recurrent("lstm" + end, torch.nn.LSTM, layers, bidirectional)
    recurrent("gru" + end, torch.nn.GRU, layers, bidirectional)
for width in (1, 2, 3, 4, 5):
    convolution(f"conv-{width}", width, "same")
