#!/usr/bin/env python3
"""Write the folders beside this script. For each NAME of SHAPES:
  NAME/run         a checkpoint as `regard train` writes it, with larger random weights
  NAME/converted   the folder that `regard convert` makes from it
  NAME/golden.safetensors, NAME/case.json   results of transformers for NAME/converted: outputs, generated ids,
                                            and AutoTokenizer's ids of some texts

Needs torch, transformers, safetensors and the built program. From the root of the checkout:
  tests/data/convert/make.py build/release/bin/regard
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PAIRS = [("a dog runs", "ein hund rennt"), ("the dog sleeps", "der hund schläft"), ("a cat runs", "eine katze rennt"),
         ("the cat eats", "die katze isst"), ("two dogs run", "zwei hunde rennen"), ("a man sees a dog", "ein mann sieht einen hund"),
         ("the man eats", "der mann isst"), ("a cat sleeps", "eine katze schläft"), ("two cats eat", "zwei katzen essen"),
         ("the dog sees the cat", "der hund sieht die katze")]
TEXTS = ["a dog eats", "The man, sees: two cats!", "", "</s> a <pad> cat", "  zwei  hunde ", "naïve → 犬"]
SMALL = {"model.hidden_size": 16, "model.heads": 2, "model.feed_forward_size": 12, "model.max_positions": 24,
         "tokenizer.vocab_size": 300, "tokenizer.type": "word"}
BOTH = SMALL | {"model.encoder_layers": 1, "model.decoder_layers": 1}
ONE = SMALL | {"model.layers": 1}
# Name → task and keys of the run file.
SHAPES = {
    "marian": ("translation", BOTH | {"model.norm": "post", "model.decoder_layers": 2, "tokenizer.type": "bpe"}),
    "marian-two": ("translation", BOTH | {
        "model.norm": "post", "tokenizer.joint": False, "model.tie_embeddings": "decoder", "model.kv_heads": 1,
        "model.bias": False, "model.activation": "gelu", "tokenizer.type": "word"}),
    "marian-untied": ("translation", BOTH | {
        "model.norm": "post", "model.tie_embeddings": "none", "model.scale_embeddings": "no", "tokenizer.type": "char",
        "model.max_positions": 0}),
    "pegasus": ("translation", BOTH),
    "pegasus-untied": ("translation", BOTH | {
        "model.tie_embeddings": "decoder", "model.activation": "gelu_tanh", "model.head_size": 4,
        "tokenizer.type": "unigram", "tokenizer.vocab_size": 320}),
    "blenderbot": ("translation", BOTH | {"model.positions": "learned", "model.activation": "silu", "tokenizer.type": "byte-bpe"}),
    "blenderbot-no-positions": ("translation", BOTH | {
        "model.positions": "none", "model.bias": False, "model.tie_embeddings": "none", "tokenizer.type": "wordpiece"}),
    "gpt2": ("language-model", ONE | {"model.positions": "learned", "model.activation": "gelu", "tokenizer.type": "bpe",
                                      "model.norm_epsilon": 1e-6}),
    "gpt2-sinusoidal": ("language-model", ONE | {"model.kv_heads": 1, "model.bias": False}),
    "gpt2-no-positions": ("language-model", ONE | {
        "model.positions": "none", "model.tie_embeddings": "none", "model.head_size": 4, "model.activation": "quick_gelu"}),
    "llama": ("language-model", ONE | {
        "model.norm_kind": "rms", "model.positions": "rotary", "model.gated": True, "model.activation": "silu",
        "model.bias": False, "model.kv_heads": 1, "model.max_positions": 0}),
    "llama-not-gated": ("language-model", ONE | {
        "model.norm_kind": "rms", "model.positions": "rotary", "model.scale_embeddings": "yes", "model.head_size": 4,
        "model.rotary_base": 500.0}),
}


def run_program(program, *arguments):
    result = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"regard {' '.join(map(str, arguments))}\n{result.stderr}")
    return result.stdout


def make_run(program, task, keys, folder):
    """A checkpoint in `folder`, trained for one step and then given random weights."""
    import torch
    from safetensors.torch import load_file, save_file
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        translation = task == "translation"
        for side, name in ((0, "en"), (1, "de")):
            (place / f"text.{name}").write_text("".join(pair[side] + "\n" for pair in PAIRS * 4))
        files = ["text.en", "text.de"] if translation else ["text.en"]
        (place / "run.toml").write_text(f'''task = "{task}"
[data]
train = {json.dumps(files)}
valid = {json.dumps(files)}
''')
        sets = keys | {"training.max_steps": 1, "training.warmup_steps": 1, "training.batch_tokens": 50,
                       "training.batch_size": 2, "training.context": 12, "validation.metrics": ["loss"],
                       "validation.beam": 3, "output.folder": str(place / "out")}
        if not translation:
            del sets["validation.beam"], sets["training.batch_tokens"]
        run_program(program, "train", place / "run.toml", "--quiet", "-t", 1,
                    *[part for key, value in sets.items() for part in ("--set", f"{key}={json.dumps(value)}")])
        checkpoint = (place / "out" / "best").resolve()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in ("config.json", "generation_config.json", "tokenizer.json", "source_tokenizer.json"):
            if (checkpoint / file).exists():
                shutil.copyfile(checkpoint / file, folder / file)
        generator = torch.Generator().manual_seed(5)
        tensors = {}
        for name, tensor in load_file(checkpoint / "model.safetensors").items():
            noise = torch.randn(tensor.shape, generator=generator)
            tensors[name] = 1 + 0.2 * noise if "norm.weight" in name else noise * (0.8 if "embedding" in name else 0.4)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def generations(bounded):
    """Arguments of generate() by name; none at all where the folder's own bound is a small one."""
    common = {"max_new_tokens": 8}
    return {"greedy": common | {"num_beams": 1}, "beam": common | {"num_beams": 3},
            "beam_penalty": common | {"num_beams": 4, "length_penalty": 0.3, "early_stopping": True},
            **({"as_configured": {}} if bounded else {})}


def golden_of(converted, translation, bounded):
    """Inputs, outputs and generated ids; ids of TEXTS. The folder must load without a missing or unused weight."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(converted)
    kind = transformers.AutoModelForSeq2SeqLM if translation else transformers.AutoModelForCausalLM
    model, loading = kind.from_pretrained(converted, output_loading_info=True, attn_implementation="eager")
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not loading[what], (converted, what, loading[what])
    model.eval()
    texts = [tokenizer(text)["input_ids"] for text in TEXTS]
    length = max(3, max(map(len, texts[:2])))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    left = tokenizer.padding_side == "left"
    rows = [ids[:length] or [5] for ids in texts[:2]]
    padded = [[pad] * (length - len(r)) + r if left else r + [pad] * (length - len(r)) for r in rows]
    mask = [[0] * (length - len(r)) + [1] * len(r) if left else [1] * len(r) + [0] * (length - len(r)) for r in rows]
    inputs = {"input_ids": torch.tensor(padded), "attention_mask": torch.tensor(mask)}
    forward = dict(inputs)
    if translation:
        forward["decoder_input_ids"] = torch.tensor([[model.config.decoder_start_token_id, 6, 7, 8],
                                                     [model.config.decoder_start_token_id, 9, 5, 6]])
    else:
        forward["position_ids"] = (forward["attention_mask"].cumsum(1) - 1).clamp(min=0)
    golden = dict(forward)
    with torch.no_grad():
        out = model(**forward)
        golden["logits"] = out.logits.contiguous()
        if translation:
            golden["encoder_last_hidden_state"] = out.encoder_last_hidden_state.contiguous()
        for name, arguments in generations(bounded).items():
            result = model.generate(**inputs, **arguments, output_scores=True, return_dict_in_generate=True)
            golden[name] = result.sequences.contiguous()
            if arguments.get("num_beams", 3) > 1:
                golden[name + "_score"] = result.sequences_scores.contiguous()
    return golden, texts


def main():
    import transformers
    from safetensors.torch import save_file
    program = pathlib.Path(sys.argv[1]).resolve()
    for name, (task, keys) in SHAPES.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        folder, translation = HERE / name, task == "translation"
        shutil.rmtree(folder, ignore_errors=True)
        make_run(program, task, keys, folder / "run")
        run_program(program, "convert", folder / "run", folder / "converted")
        bounded = translation and keys["model.max_positions"] > 0
        golden, texts = golden_of(folder / "converted", translation, bounded)
        save_file(golden, folder / "golden.safetensors", metadata={"format": "pt"})
        case = {"transformers": transformers.__version__, "generation": generations(bounded),
                "texts": [{"text": text, "ids": ids} for text, ids in zip(TEXTS, texts)]}
        (folder / "case.json").write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n")
        print(name, flush=True)


if __name__ == "__main__":
    main()
