#!/usr/bin/env python3
"""Print the entropy of single tokens in nats: the loss of a model that knows only how often each token occurs.

    recipes/token_entropy.py TOKENIZER TEXT [--regard build/release/bin/regard]

TOKENIZER is a tokenizer file or a run folder. Empty lines are ignored, as in training.
"""
import argparse
import collections
import math
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("text")
    parser.add_argument("--regard", default="build/release/bin/regard")
    options = parser.parse_args()
    encoded = subprocess.run(
        [options.regard, "tokenizer", "encode", "-T", options.tokenizer, "--no-special", "--view", "ids", options.text],
        check=True, capture_output=True, text=True).stdout
    counts = collections.Counter(encoded.split())
    total = sum(counts.values())
    if total == 0:
        sys.exit(f"token_entropy: {options.text}: expected at least one token, found none")
    entropy = -sum(count / total * math.log(count / total) for count in counts.values())
    print(f"{entropy:.4f} nats, {total} tokens, {len(counts)} different")


if __name__ == "__main__":
    main()
