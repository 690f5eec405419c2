#!/usr/bin/env python3
"""Make pictures of two coloured shapes and their captions, such as "a small red square left of a blue circle".

  recipes/make_shapes.py FOLDER [--train 8000] [--test 500] [--size 48] [--seed 1]

FOLDER gets images/*.png and TSV files of path and caption:
  train.tsv    for training; it contains no (object, relation, object) of the other two files
  triples.tsv  new triples of colours and shapes that occur together in train.tsv
  pairs.tsv    at least one object has a colour and shape that never occur together in train.tsv
Captions of triples.tsv and pairs.tsv are distinct. The same seed gives the same bytes on every machine. Only Python's standard
library is needed."""
import argparse
import hashlib
import itertools
import pathlib
import random
import struct
import zlib

COLOURS = {"red": (220, 50, 47), "green": (60, 160, 60), "blue": (50, 90, 210), "yellow": (230, 200, 40),
           "purple": (140, 70, 180), "white": (245, 245, 245)}
SHAPES = ("circle", "square", "triangle", "cross", "ring", "diamond")
SIZES = {"small": 0.13, "large": 0.2}  # half of the width, as a fraction of the picture's width
RELATIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
HELD_OUT_PAIRS = {("red", "ring"), ("green", "cross"), ("blue", "diamond"), ("yellow", "triangle"), ("purple", "square"),
                  ("white", "circle")}


def inside(shape, x, y):
    """Return whether a point is in the shape of half-width 1."""
    across, down = abs(x), abs(y)
    if shape == "circle":
        return x * x + y * y <= 1
    if shape == "square":
        return across <= 0.9 and down <= 0.9
    if shape == "triangle":
        return -1 <= y <= 0.9 and across <= (y + 1) / 1.9
    if shape == "cross":
        return (across <= 0.35 and down <= 1) or (down <= 0.35 and across <= 1)
    if shape == "ring":
        return 0.36 <= x * x + y * y <= 1
    return across + down <= 1  # diamond


def draw(objects, relation, size, random_numbers):
    """Return rows of RGB bytes: both objects on a dark background, with random changes of place and brightness."""
    dx, dy = RELATIONS[relation]
    centre = [0.5 + random_numbers.uniform(-0.05, 0.05) for _ in range(2)]
    places = [(centre[0] + s * dx * 0.24 + random_numbers.uniform(-0.03, 0.03),
               centre[1] + s * dy * 0.24 + random_numbers.uniform(-0.03, 0.03)) for s in (1, -1)]
    shade = random_numbers.randrange(15, 60)
    rows = [bytearray((shade, shade, shade) * size) for _ in range(size)]
    for (kind, name, shape), (x, y) in zip(objects, places):  # the second object is in front
        half = SIZES[kind]
        columns, lines = ([i for i in range(size) if abs((i + 0.5) / size - at) <= 1.01 * half] for at in (x, y))
        for row in lines:
            for column in columns:
                if inside(shape, ((column + 0.5) / size - x) / half, ((row + 0.5) / size - y) / half):
                    rows[row][3 * column:3 * column + 3] = bytes(COLOURS[name])
    return rows


def write_png(path, rows, size):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    # Stored, not compressed, because the bytes of a compressed stream depend on the version of zlib.
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def held_out_triple(first, relation, second):
    """Return whether a triple is held out: a tenth of them, chosen by a hash."""
    text = f"{first[1:]} {relation} {second[1:]}"
    return hashlib.sha256(text.encode()).digest()[0] < 26


def place_in_caption(thing):
    return list(COLOURS).index(thing[1]), SHAPES.index(thing[2])


def caption_of(first, relation, second):
    def name(thing):
        return f"a {thing[0]} {thing[1]} {thing[2]}"
    return f"{name(first)} {relation} {name(second)}"


def kind_of(first, relation, second):
    if any((thing[1], thing[2]) in HELD_OUT_PAIRS for thing in (first, second)):
        return "pairs"
    return "triples" if held_out_triple(first, relation, second) else "train"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=8000, help="pictures of train.tsv")
    parser.add_argument("--test", type=int, default=500, help="pictures of triples.tsv and of pairs.tsv")
    parser.add_argument("--size", type=int, default=48, help="width and height in pixels")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    things = list(itertools.product(SIZES, COLOURS, SHAPES))
    random_numbers = random.Random(options.seed)
    wanted = {"train": options.train, "triples": options.test, "pairs": options.test}
    lines, seen = {kind: [] for kind in wanted}, set()
    (options.folder / "images").mkdir(parents=True, exist_ok=True)
    attempts = 0
    while any(len(lines[kind]) < count for kind, count in wanted.items()):
        attempts += 1
        if attempts > 1000 * sum(wanted.values()) + 100000:
            raise SystemExit("there are not that many distinct captions: ask for fewer test pictures")
        # To give each picture exactly one right caption, the objects are named in the order of colours, then of
        # shapes.
        first, second = sorted((random_numbers.choice(things), random_numbers.choice(things)), key=place_in_caption)
        relation = random_numbers.choice(list(RELATIONS))
        kind, caption = kind_of(first, relation, second), caption_of(first, relation, second)
        if first[1:] == second[1:] or len(lines[kind]) == wanted[kind] or (kind != "train" and caption in seen):
            continue
        seen.add(caption)
        name = f"images/{kind}-{len(lines[kind]):05d}.png"
        write_png(options.folder / name, draw((first, second), relation, options.size, random_numbers), options.size)
        lines[kind].append(f"{name}\t{caption}\n")
    for kind, rows in lines.items():
        (options.folder / f"{kind}.tsv").write_text("".join(rows))


if __name__ == "__main__":
    main()
