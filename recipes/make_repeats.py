#!/usr/bin/env python3
"""recipes/make_repeats.py FILE [SEED]: write random letters that repeat, for recipes/induction-1.toml and -2.toml.

The text is a sequence of blocks. Each block has its own cyclic sequence of 4 to 20 different letters, drawn from 52.
The block consists of pieces of 3 to 10 consecutive letters of this sequence, each from a random start. The next
letter can be predicted only from an earlier occurrence of the current letter: the letter after that occurrence is
repeated. The distance to the earlier occurrence changes from piece to piece, and the sequence changes from block to
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
