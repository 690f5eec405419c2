#!/usr/bin/env python3
"""Compare regard's tokenizers with tiktoken, Hugging Face tokenizers and sentencepiece in one run, with one thread
each.

    python3 bench/compare_tokenizers.py [--shared ../shared] [--rounds 3] [--sample 1] [--python PYTHON] [--regard build/release/bin/regard]

The text consists of the files of data/text, multi30k and ntrex in the shared folder; --sample N takes every N-th line.
All ids must be equal; the script compares their sums. Rates are per processor time, which a busy machine disturbs less
than the clock. For regard there are two rates: with a filled word cache, and of the first pass over the text. Makes a
virtual environment in build/peers with the pinned peers unless --python names one.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ["tokenizers==0.23.3", "tiktoken==0.14.0", "sentencepiece==0.2.3", "numpy"]
# name, tokenizer, [(library, kind, minimum ratio of regard's speed to the library's)]
CASES = [
    ("cl100k_base", "cl100k/cl100k_base.tiktoken", [("tiktoken", "cl100k", 10), ("tokenizers", "cl100k", 50)]),
    ("GPT-2", "gpt2", [("tiktoken", "gpt2", 10), ("tokenizers", "gpt2", 50)]),
    ("BERT uncased", "bert/bert-base-uncased-vocab.txt", [("tokenizers", "bert", 40)]),
    ("T5 (Unigram)", "hf/t5-small-tokenizer.json", [("tokenizers", "json", 20)]),
    ("sentencepiece Unigram", "sentencepiece/test_model.model", [("sentencepiece", "spm", 5)]),
    ("RoBERTa", "hf/roberta-base-tokenizer.json", [("tokenizers", "json", 50)]),
]


def last_line(command):
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def joined(data, every):
    files = sorted((data / "text").rglob("*.txt")) + sorted((data / "multi30k").glob("*.*")) + sorted((data / "ntrex").glob("newstest*.txt"))
    files = [f for f in files if "LICENSE" not in f.name]
    lines = b"".join(f.read_bytes().rstrip(b"\n") + b"\n" for f in files).decode("utf-8", "replace").split("\n")[:-1]
    return "\n".join(lines[::every]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", default=ROOT.parent / "shared", type=Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--sample", default=1, type=int)
    parser.add_argument("--python")
    parser.add_argument("--regard", default=ROOT / "build/release/bin/regard", type=Path)
    options = parser.parse_args()
    python = options.python
    if not python:
        folder = ROOT / "build/peers"
        if not (folder / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", *PINNED], check=True)
        python = folder / "bin/python"
    data = options.shared / "data"
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", newline="\n") as text:
        text.write(joined(data, options.sample))
        text.flush()
        print("| tokenizer | regard, MB/s (first time) | peer | MB/s | ratio (lowest to highest) | bar | ids |\n|---|---|---|---|---|---|---|")
        different = False
        for name, path, peers in CASES:
            tokenizer = data / "tokenizers" / path
            for library, kind, bar in peers:
                ratios, ours, first, theirs = [], [], [], []
                for _ in range(options.rounds):
                    a = last_line([options.regard, "bench", "tokenize", tokenizer, text.name, "-t", "1"])
                    b = last_line([python, ROOT / "bench/peers/tokenize_peer.py", library, kind, tokenizer, text.name, "--rounds", "1"])
                    ours.append(a["cpu_mb_per_s"])
                    first.append(a["first_cpu_mb_per_s"])
                    theirs.append(b["mb_per_s"])
                    ratios.append(ours[-1] / theirs[-1])
                equal = a["ids_sum"] == b["ids_sum"]
                different |= not equal
                print(f"| {name} | {statistics.median(ours):.1f} ({statistics.median(first):.1f}) | {library} | {statistics.median(theirs):.2f} | {statistics.median(ratios):.1f} "
                      f"({min(ratios):.1f}–{max(ratios):.1f}) | {bar} | {'equal' if equal else 'DIFFERENT'}, {a['tokens']:,} |", flush=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
