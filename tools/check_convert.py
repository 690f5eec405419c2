#!/usr/bin/env python3
"""Convert runs of random shapes with `regard convert`, and compare with transformers: outputs within 2e-5, equal ids
from tokenizers and from generate(), and equal translations from the run folder and the converted folder.

Needs torch, transformers and safetensors: make check-convert PYTHON=…, or
  tools/check_convert.py build/release/bin/regard [COUNT] [SEED]
"""
import importlib.util
import json
import pathlib
import random
import sys
import tempfile

from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("make", ROOT / "tests/data/convert/make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

TOLERANCE = 2e-5
ACTIVATIONS = ["relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "quick_gelu"]


def random_shape(dice):
    translation = dice.random() < 0.6
    heads = dice.choice([1, 2, 4])
    keys = {"model.hidden_size": dice.choice([16, 24, 32]), "model.heads": heads, "model.max_positions": dice.choice([32, 40]),
            "model.feed_forward_size": dice.choice([8, 20]), "model.activation": dice.choice(ACTIVATIONS),
            "model.bias": dice.random() < 0.7, "model.kv_heads": dice.choice([0, 1, heads]),
            "model.head_size": dice.choice([0, 0, 2, 4]), "model.scale_embeddings": dice.choice(["auto", "yes", "no"]),
            "model.tie_embeddings": dice.choice(["none", "decoder", "all"]), "tokenizer.vocab_size": dice.choice([300, 320]),
            "tokenizer.type": dice.choice(["bpe", "byte-bpe", "wordpiece", "unigram", "word", "char"])}
    if translation:
        keys |= {"model.encoder_layers": dice.choice([1, 2]), "model.decoder_layers": dice.choice([1, 2]),
                 "model.norm": dice.choice(["pre", "post"])}
        keys["model.positions"] = "sinusoidal" if keys["model.norm"] == "post" else dice.choice(["sinusoidal", "learned", "none"])
        if keys["model.norm"] == "post" and keys["model.tie_embeddings"] != "all":
            keys["tokenizer.joint"] = dice.random() < 0.5
        return "translation", keys
    keys |= {"model.layers": dice.choice([1, 2]), "model.norm_epsilon": dice.choice([1e-5, 1e-6])}
    if dice.random() < 0.5:
        keys |= {"model.norm_kind": "rms", "model.positions": "rotary", "model.gated": dice.random() < 0.5}
    else:
        keys["model.positions"] = dice.choice(["sinusoidal", "learned", "none"])
    return "language-model", keys


def worst(found, golden, mask):
    difference = (found - golden).abs()
    if difference.shape[1] == mask.shape[1]:
        difference = difference * mask[:, :, None]
    return (difference.max() / max(1.0, golden.abs().max())).item()


def check(program, task, keys, place):
    translation = task == "translation"
    make.make_run(program, task, keys, place / "run")
    make.run_program(program, "convert", place / "run", place / "converted", "--quiet")
    golden, texts = make.golden_of(place / "converted", translation, translation)
    names = ["input_ids", "attention_mask", "decoder_input_ids", "position_ids"]
    save_file({n: golden[n] for n in names if n in golden}, place / "inputs.safetensors")
    save_file({n: golden[n] for n in names[:2]}, place / "prompt.safetensors")
    for folder in ("run", "converted"):
        make.run_program(program, "run", place / folder, "-i", place / "inputs.safetensors", "-o", place / "out.safetensors",
                         "--quiet", "-t", 1)
        found = load_file(place / "out.safetensors")
        for name in ("logits", "encoder_last_hidden_state"):
            if name in golden and (folder == "converted" or name == "logits"):  # hidden features may be reordered
                error = worst(found[name], golden[name], golden["attention_mask"])
                assert error <= TOLERANCE, (folder, name, error)
        for name, arguments in make.generations(translation).items():
            if folder == "run" and not arguments:
                continue  # a run folder has another limit of the output's length
            settings = [part for key, value in arguments.items() for part in ("--set", f"{key}={json.dumps(value)}")]
            make.run_program(program, "run", place / folder, "-i", place / "prompt.safetensors", "-o",
                             place / "out.safetensors", "--generate", "--quiet", "-t", 1, *settings)
            ids = load_file(place / "out.safetensors")["sequences"]
            assert ids.tolist() == golden[name].tolist(), (folder, name, ids, golden[name])
    (place / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in make.TEXTS))
    lines = make.run_program(program, "tokenizer", "encode", "--tokenizer", place / "converted", "--json", "--plain-text",
                             "--input-format", "jsonl", place / "texts.jsonl").splitlines()
    assert [json.loads(line)["ids"] for line in lines] == texts, (lines, texts)
    verb = "translate" if translation else "generate"
    (place / "lines").write_text("\n".join(pair[0] for pair in make.PAIRS) + "\n")
    results = [make.run_program(program, verb, place / folder, "--input", place / "lines", "--quiet", "-t", 1)
               for folder in ("run", "converted")]
    assert results[0] == results[1], results


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    print(f"{count} shapes, seed {seed}")
    dice = random.Random(seed)
    for i in range(count):
        task, keys = random_shape(dice)
        with tempfile.TemporaryDirectory() as place:
            try:
                check(program, task, keys, pathlib.Path(place))
            except Exception:
                print(f"shape {i}: {task} {json.dumps(keys)}")
                raise
        print(f"shape {i}: the same", flush=True)


if __name__ == "__main__":
    main()
