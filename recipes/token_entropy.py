#!/usr/bin/env python3
"""Print the entropy of single tokens in nats: the loss of a model that predicts every token with its frequency in the
text.

    recipes/token_entropy.py TOKENIZER TEXT [--regard build/release/bin/regard]

TOKENIZER is a tokenizer file, a run folder or a model folder. Empty lines are ignored, as in training; truncation and padding
that a tokenizer.json sets are not applied.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile


def without_truncation(tokenizer, folder):
    """Write a copy of tokenizer.json without truncation and padding to `folder`, and return its path."""
    path = pathlib.Path(tokenizer)
    path = path / "tokenizer.json" if path.is_dir() else path
    if path.name != "tokenizer.json" or not path.exists():
        return tokenizer
    content = json.loads(path.read_text(encoding="utf-8"))
    content["truncation"] = content["padding"] = None
    copy = pathlib.Path(folder) / "tokenizer.json"
    copy.write_text(json.dumps(content), encoding="utf-8")
    return str(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("text")
    parser.add_argument("--regard", default="build/release/bin/regard")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = without_truncation(options.tokenizer, folder)
        encoded = subprocess.run(
            [options.regard, "tokenizer", "encode", "-T", tokenizer, "--no-special", "--view", "ids", options.text],
            check=True, capture_output=True, text=True).stdout
    counts = collections.Counter(encoded.split())
    total = sum(counts.values())
    if total == 0:
        sys.exit(f"token_entropy: {options.text}: expected at least one token, found none")
    entropy = -sum(count / total * math.log(count / total) for count in counts.values())
    print(f"{entropy:.4f} nats, {total} tokens, {len(counts)} different")


if __name__ == "__main__":
    main()
