#!/usr/bin/env python3
"""Write peer.json: the ids that Hugging Face's library gives with tokenizers that `regard tokenizer train` saved.

    pip install tokenizers==0.23.3; python3 tests/data/tokenizer-training/peer.py build/release/bin/regard
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import Tokenizer

HERE = Path(__file__).parent
CASES = [dict(type="byte-bpe"), dict(type="bpe"), dict(type="wordpiece"), dict(type="unigram"),
         dict(type="unigram", words="metaspace"), dict(type="word"), dict(type="char")]
MORE = ["", " ", "  two  spaces ", "<s> x </s>", "<0x41> ☃ ▁", "e\u0301 Ж日本", "don't 12345", "\t\n"]


def main():
    corpus = HERE / "corpus.txt"
    texts = corpus.read_text().split("\n")[:40] + MORE
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/tokenizer.json"
        for case in CASES:
            flags = [word for key, value in case.items() for word in (f"--{key}", value)]
            subprocess.run([sys.argv[1], "tokenizer", "train", "-q", *flags, "--vocab-size", "700", "-o", file, corpus], check=True)
            tokenizer = Tokenizer.from_file(file)
            case["ids"] = [tokenizer.encode(text).ids for text in texts]
    with open(HERE / "peer.json", "w") as out:
        json.dump(dict(vocab_size=700, texts=texts, cases=CASES), out, ensure_ascii=False)
        out.write("\n")


main()
