#!/usr/bin/env python3
"""Split the digits of mnist10k and optdigits into training, development and test files.

  recipes/split_digits.py DATA FOLDER

DATA has mnist10k/ (images-idx3-ubyte, labels-idx1-ubyte) and optdigits/ (optdigits.tra). FOLDER gets
  mnist-train, -dev, -all, -test  .images and .labels, IDX: the first 6,300 images, the next 700, both, the last 1,000
  optdigits-train, -dev, -all, -test  .csv: a line is in the test file if the first byte of its SHA-256 divided by 5 leaves 0,
                                      else in the development file if the second byte divided by 10 leaves 0
Settings are chosen on the development files, which are parts of the training data. Only Python's standard library is needed."""
import argparse
import hashlib
import pathlib
import struct

MNIST_PARTS = {"train": (0, 6300), "dev": (6300, 7000), "all": (0, 7000), "test": (-1000, None)}


def split_mnist(data, folder):
    images = (data / "images-idx3-ubyte").read_bytes()
    labels = (data / "labels-idx1-ubyte").read_bytes()[8:]
    _, count, rows, columns = struct.unpack(">IIII", images[:16])
    size = rows * columns
    for name, (begin, end) in MNIST_PARTS.items():
        chosen = range(count)[begin:end]
        pixels = images[16 + chosen.start * size:16 + chosen.stop * size]
        (folder / f"mnist-{name}.images").write_bytes(struct.pack(">IIII", 0x803, len(chosen), rows, columns) + pixels)
        (folder / f"mnist-{name}.labels").write_bytes(struct.pack(">II", 0x801, len(chosen)) + labels[chosen.start:chosen.stop])


def split_optdigits(data, folder):
    parts = {"train": [], "dev": [], "all": [], "test": []}
    for line in (data / "optdigits.tra").read_text().splitlines():
        digest = hashlib.sha256(line.encode()).digest()
        part = "test" if digest[0] % 5 == 0 else "dev" if digest[1] % 10 == 0 else "train"
        for name in (part,) if part == "test" else (part, "all"):
            parts[name].append(line + "\n")
    for name, lines in parts.items():
        (folder / f"optdigits-{name}.csv").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    split_mnist(options.data / "mnist10k", options.folder)
    split_optdigits(options.data / "optdigits", options.folder)


if __name__ == "__main__":
    main()
