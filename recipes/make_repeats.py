#!/usr/bin/env python3
"""recipes/make_repeats.py FILE [SEED]: write random letters that repeat, for recipes/induction-1.toml and -2.toml.

The text is a chain of blocks. A block has a ring of 4 to 20 different letters, drawn from 52, and consists of pieces of 3 to 10
letters of it, each from a random place on. Only the letter after an earlier occurrence of the current letter tells which one
comes next: not its distance, which changes from piece to piece, nor the letters themselves, whose ring changes from block to
block.
"""
import pathlib
import random
import string
import sys

LETTERS = 1_500_000
BLOCK = 100


def main() -> None:
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    pathlib.Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with open(sys.argv[1], "w", encoding="ascii") as file:
        while written < LETTERS:
            ring = draw.sample(string.ascii_letters, draw.randint(4, 20))
            block = []
            while len(block) < BLOCK:
                start = draw.randrange(len(ring))
                block += [ring[(start + i) % len(ring)] for i in range(draw.randint(3, 10))]
            file.write(" ".join(block) + "\n")
            written += len(block)


main()
