#!/usr/bin/env python3
"""Pack word vectors for the program. Usage: pack.py VECTORS.vec WORDS.txt.

Keeps all words of WORDS.txt and the most frequent other words, at most 290,000 bytes in all. Each vector is scaled to
length 1, so that scores without projections are cosines, and its numbers are rounded to steps of 1/127. The output
has a line "COUNT SIZE STEP" and lines "WORD BASE64", where BASE64 encodes SIZE signed bytes."""
import base64, math, re, sys

MOST_BYTES, LENGTH = 290_000, 1.0
wanted = set(re.findall(r"\w+", open(sys.argv[2], encoding="utf-8").read().lower()))
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
size = int(lines[0].split()[1])
rows = [line.split(" ") for line in lines[1:] if line]
step = LENGTH / 127


def packed(row):
    values = [float(x) for x in row[1 : size + 1]]
    norm = math.sqrt(sum(x * x for x in values))
    steps = [max(-127, min(127, round(x * LENGTH / norm / step))) for x in values]
    return row[0] + " " + base64.b64encode(bytes(x & 255 for x in steps)).decode()


must = {row[0] for row in rows if row[0] in wanted}
used = sum(len(packed(row).encode()) + 1 for row in rows if row[0] in must) + 32
kept = []
for row in rows:  # rows are ordered by decreasing frequency
    if not re.fullmatch(r"\w+", row[0]):
        continue
    line = packed(row)
    if row[0] not in must:
        if used + len(line.encode()) + 1 > MOST_BYTES:
            continue
        used += len(line.encode()) + 1
    kept.append(line)
print(len(kept), size, f"{step:.9g}")
print("\n".join(kept))
