#!/usr/bin/env python3
"""Measure the memory and the time to the first token of a GPT-2-small file with random weights.

    bench/gpt2_small.py build/release/bin/regard [--folder PLACE]

Writes the file (498 MB) once. Then each of five rounds removes the file from the page cache, reads it completely,
removes it again, and times `regard run` from process start to the logits of the token after eight others. Prints
medians. Needs numpy and safetensors.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import save_file

CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50257, "n_positions": 1024,
          "n_embd": 768, "n_layer": 12, "n_head": 12, "activation_function": "gelu_new",
          "layer_norm_epsilon": 1e-5, "bos_token_id": 50256, "eos_token_id": 50256}


def make(folder):
    draw = np.random.default_rng(1)
    tensors = {}

    def normal(name, *shape):
        tensors[name] = draw.standard_normal(shape, dtype=np.float32) * np.float32(0.02)

    def norm(name):
        tensors[name + ".weight"], tensors[name + ".bias"] = np.ones(768, np.float32), np.zeros(768, np.float32)

    normal("transformer.wte.weight", 50257, 768)
    normal("transformer.wpe.weight", 1024, 768)
    for layer in range(12):
        prefix = f"transformer.h.{layer}."
        for name, columns, rows in (("attn.c_attn", 2304, 768), ("attn.c_proj", 768, 768),
                                    ("mlp.c_fc", 3072, 768), ("mlp.c_proj", 768, 3072)):
            normal(prefix + name + ".weight", rows, columns)
            tensors[prefix + name + ".bias"] = np.zeros(columns, np.float32)
        norm(prefix + "ln_1")
        norm(prefix + "ln_2")
    norm("transformer.ln_f")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file(tensors, folder / "model.safetensors")


def evict(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_through(path):
    start, buffer = time.perf_counter(), bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start


def first_token(regard, folder, place):
    start = time.perf_counter()
    process = subprocess.Popen([regard, "run", "--quiet", str(folder), "--inputs", f"{place}/in.safetensors",
                                "--outputs", f"{place}/out.safetensors", "--capture", "logits"])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("regard run failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("regard")
    parser.add_argument("--folder", type=pathlib.Path, help="where the model is, or is to be")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.folder or pathlib.Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        weights = folder / "model.safetensors"
        if not weights.exists():
            make(folder)
        save_file({"input_ids": np.arange(100, 108, dtype=np.int64)[None]}, f"{place}/in.safetensors")
        reads, firsts, peaks = [], [], []
        for _ in range(5):
            evict(weights)
            reads.append(read_through(weights))
            evict(weights)
            seconds, peak = first_token(arguments.regard, folder, place)
            firsts.append(seconds)
            peaks.append(peak)
        size = weights.stat().st_size / (1 << 20)
        read, first = statistics.median(reads), statistics.median(firsts)
        print(json.dumps({"file_mb": round(size, 1), "peak_mb": round(max(peaks), 1),
                          "above_file_mb": round(max(peaks) - size, 1), "read_s": round(read, 3),
                          "first_token_s": round(first, 3),
                          "ratio": round(statistics.median(f / r for f, r in zip(firsts, reads)), 3)}))


if __name__ == "__main__":
    main()
