#!/usr/bin/env python3
"""Write a large text made of smaller ones, for measuring trainers. The same arguments give the same text.

    python3 bench/make_corpus.py --megabytes 100 --output build/corpus.txt FOLDER_OR_FILE…

The first pass copies the lines of all .txt, .tsv and .en/.de/.fr/.hi files. Later passes shuffle the lines and
replace one word in thirty by the beginning of this word and the end of another one. So new words appear throughout
the text, as in real text. Repetition without this would add no words, and the time of a trainer depends on the number
of different words.
"""
import argparse
import random
from pathlib import Path

NAMES = {".txt", ".tsv", ".en", ".de", ".fr", ".hi"}


def lines_of(paths):
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.suffix in NAMES) if path.is_dir() else [path]
        for file in files:
            yield from (line for line in file.read_text(encoding="utf-8", errors="replace").split("\n") if line)


def altered(line, words, draw):
    parts = line.split(" ")
    for i, word in enumerate(parts):
        if len(word) > 3 and draw.random() < 1 / 30:
            other = draw.choice(words)
            parts[i] = word[: (len(word) + 1) // 2] + other[len(other) // 2 :]
    return " ".join(parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--output", required=True)
    parser.add_argument("texts", nargs="+", type=Path)
    options = parser.parse_args()
    draw = random.Random(1)
    lines = list(lines_of(options.texts))
    words = [word for line in lines for word in line.split(" ") if len(word) > 3 and word.isalpha()]
    left, first = options.megabytes * 1_000_000, True
    with open(options.output, "wb") as out:
        while left > 0:
            for line in lines:
                text = (line if first else altered(line, words, draw)).encode() + b"\n"
                out.write(text)
                left -= len(text)
                if left <= 0:
                    break
            draw.shuffle(lines)
            first = False


main()
