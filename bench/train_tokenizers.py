#!/usr/bin/env python3
"""Compare `regard tokenizer train` with Hugging Face's trainers: time, memory, and the trained vocabulary.

    pip install tokenizers==0.23.3
    python3 bench/make_corpus.py --megabytes 100 --output build/corpus.txt FOLDER…
    python3 bench/train_tokenizers.py build/corpus.txt [--types byte-bpe,wordpiece,unigram] [--vocab-size 32000] [--rounds 3]

Both run in each round, one after the other, on --threads threads (2). Prints wall-clock seconds, processor seconds
(which a shared machine disturbs less) and peak memory as medians over the rounds. Ratio: Hugging Face's value divided
by regard's.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
OURS = {"byte-bpe": ["--words", "gpt2", "--no-normalize", "--line-ends"],
        "wordpiece": ["--words", "bert"],
        "unigram": ["--words", "metaspace", "--no-byte-fallback", "--line-ends"]}


def peer(kind, corpus, size, output):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    common = dict(vocab_size=size, special_tokens=SPECIAL, show_progress=False)
    if kind == "byte-bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(min_frequency=2, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **common)
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(min_frequency=2, limit_alphabet=1 << 20, **common)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token="<unk>", **common)
    tokenizer.train([corpus], trainer)
    tokenizer.save(output)


def timed(command, threads):
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true")
    start = time.monotonic()
    pid = os.posix_spawn(command[0], command, environment)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - start
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return dict(wall=wall, cpu=usage.ru_utime + usage.ru_stime, mb=usage.ru_maxrss / 1024)


def vocabulary(model):
    return {piece for piece, _ in model["vocab"]} if model["type"] == "Unigram" else set(model["vocab"])


def compared(ours, theirs):
    a, b = (json.load(open(path))["model"] for path in (ours, theirs))
    if a["type"] == "BPE":
        return f"merges {len(a['merges'])}, equal to the reference: {a['merges'] == b['merges'] and a['vocab'] == b['vocab']}"
    return f"vocabulary {len(vocabulary(a))}, in common {len(vocabulary(a) & vocabulary(b))}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("--types", default="byte-bpe,wordpiece,unigram")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--peer", nargs=2, metavar=("TYPE", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options.peer[0], options.corpus, options.vocab_size, options.peer[1])
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.types.split(","):
            ours_file, theirs_file = f"{folder}/ours.json", f"{folder}/theirs.json"
            size = ["--vocab-size", str(options.vocab_size)]
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(timed([options.regard, "tokenizer", "train", "-q", "-t", str(options.threads), "--type", kind,
                                   *OURS[kind], *size, "-o", ours_file, options.corpus], options.threads))
                theirs.append(timed([sys.executable, __file__, options.corpus, *size, "--peer", kind, theirs_file],
                                    options.threads))
            row = {key: (statistics.median(r[key] for r in ours), statistics.median(r[key] for r in theirs)) for key in ours[0]}
            print(f"{kind}: wall {row['wall'][0]:.1f} s, Hugging Face {row['wall'][1]:.1f} s, ratio "
                  f"{statistics.median(b['wall'] / a['wall'] for a, b in zip(ours, theirs)):.2f}; processor "
                  f"{row['cpu'][0]:.1f} s and {row['cpu'][1]:.1f} s, ratio {row['cpu'][1] / row['cpu'][0]:.2f}; peak "
                  f"{row['mb'][0]:.0f} MB and {row['mb'][1]:.0f} MB; {compared(ours_file, theirs_file)}", flush=True)


main()
