#!/usr/bin/env python3
"""Write each folder back with `regard convert` and open both folders with transformers. The logits must be equal.

    bench/saved_folders.py build/release/bin/regard tests/data/hf-tiny

Needs torch, transformers, safetensors. Prints one line for each folder; fails if any differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "decoder_input_ids",
          "decoder_attention_mask", "pixel_values")


def outputs(folder, inputs):
    config = transformers.AutoConfig.from_pretrained(folder)
    model_class = getattr(transformers, config.architectures[0])
    model, info = model_class.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    for key in ("missing_keys", "mismatched_keys"):
        if info[key]:
            raise SystemExit(f"{folder}: {key}: {info[key]}")
    with torch.no_grad():
        result = model.eval()(**inputs)
    return {name: value for name, value in result.items() if torch.is_tensor(value)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("regard")
    parser.add_argument("folders", type=pathlib.Path, help="a folder of model folders with golden.safetensors")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    equal = differing = 0
    for folder in sorted(p for p in arguments.folders.iterdir() if (p / "config.json").exists()):
        golden = load_file(folder / "golden.safetensors")
        inputs = {name: golden[name] for name in INPUTS if name in golden}
        with tempfile.TemporaryDirectory() as place:
            saved = pathlib.Path(place) / "saved"
            subprocess.run([arguments.regard, "convert", "--quiet", str(folder), str(saved)], check=True)
            before, after = outputs(folder, inputs), outputs(saved, inputs)
        same = before.keys() == after.keys() and all(torch.equal(before[k], after[k]) for k in before)
        equal, differing = equal + same, differing + (not same)
        print(json.dumps({"folder": folder.name, "outputs": sorted(before), "equal": same}))
    print(json.dumps({"equal": equal, "differing": differing}))
    sys.exit(1 if differing or not equal else 0)


if __name__ == "__main__":
    main()
