#!/usr/bin/env python3
"""Compare a sweep of all heads with TransformerLens, with random weights of GPT-2 small's shape and random tokens.

    bench/compare_study.py REGARD [--folder PLACE] [--rounds 3] [--threads 2] [--sentences 50] [--length 20] [--heads 12]
        [--predictions 0]

Each round times `regard bench study` and TransformerLens, one after the other. A sweep computes the loss of the whole
model and the loss without each of the 144 heads. --heads of them, evenly spread, are measured on both sides, and the
time of the others is computed in proportion. --predictions 1 counts only the loss of each sentence's last prediction.
A pass computes the states and logits of every token. TransformerLens runs all sentences as one batch with a hook that
sets the head's output (hook_z) to zero. Times are processor times of all threads, which a shared machine disturbs
less. Needs transformer_lens, torch, numpy and safetensors.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from gpt2_small import make
from transformer_lens import HookedTransformer, HookedTransformerConfig


def their_model():
    torch.manual_seed(1)
    config = HookedTransformerConfig(n_layers=12, d_model=768, n_ctx=1024, d_head=64, n_heads=12, d_mlp=3072, d_vocab=50257,
                                     act_fn="gelu_new", normalization_type="LN", device="cpu", seed=1)
    return HookedTransformer(config).eval()


def sweep(model, ids, heads, predictions):
    """Return the processor seconds of one pass, and of the passes without each of the `heads`."""

    def loss(logits):
        if not predictions:
            return model.loss_fn(logits, ids)
        return torch.nn.functional.cross_entropy(logits[:, -1 - predictions:-1].flatten(0, 1), ids[:, -predictions:].flatten())

    def without(head):
        def hook(z, hook):
            z[:, :, head] = 0.0
            return z
        return hook

    with torch.inference_mode():
        begin = time.process_time()
        loss(model(ids))
        middle = time.process_time()
        for layer, head in heads:
            loss(model.run_with_hooks(ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", without(head))]))
        return middle - begin, time.process_time() - middle


def ours(options, folder):
    command = [options.regard, "bench", "study", folder, "--rounds", 1, "--threads", options.threads, "--sentences",
               options.sentences, "--length", options.length, "--heads", options.heads, "--tokens", options.length,
               "--predictions", options.predictions]
    lines = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.splitlines()
    return json.loads(lines[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("regard")
    parser.add_argument("--folder", type=pathlib.Path)
    for name, value in (("rounds", 3), ("threads", 2), ("sentences", 50), ("length", 20), ("heads", 12), ("predictions", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        if not (folder / "model.safetensors").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder)
        model = their_model()
        ids = torch.randint(50257, (options.sentences, options.length))
        every = 144 // options.heads
        heads = [divmod(i, 12) for i in range(every // 2, 144, every)]
        sweep(model, ids, heads[:1], options.predictions)  # warm-up
        ratios = []
        for _ in range(options.rounds):
            mine = ours(options, folder)
            one, rest = sweep(model, ids, heads, options.predictions)
            theirs = one + rest * 144 / len(heads)
            ratios.append(theirs / (mine["sweep_processor_ms"] / 1e3))
            print(f"pass: {mine['forward_processor_ms'] / 1e3:.2f} s, TransformerLens {one:.2f} s; "
                  f"sweep: {mine['forward_passes']:.1f} forward passes, {mine['passes']:.1f} passes with the same loss, "
                  f"{mine['sweep_processor_ms'] / 1e3:.1f} s, TransformerLens {theirs:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
        print(f"TransformerLens's time over ours: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


main()
