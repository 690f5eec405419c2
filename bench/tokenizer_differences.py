#!/usr/bin/env python3
"""Encode every line of every text in a folder of corpora with regard and with the libraries that define the
tokenizers, and compare.

    python3 bench/tokenizer_differences.py [--shared ../shared] [--every 1] [--only bert,gpt2,…] [--python PYTHON] [--regard …]

With Hugging Face tokenizers, ids, tokens and offsets are compared; with tiktoken the ids; with sentencepiece the ids
and pieces. regard's fast path (`encode --view ids`) must give the same ids too. Run it with a Python that has
tokenizers, tiktoken and sentencepiece (compare_tokenizers.py makes one). Prints the number of lines and of
differences for each tokenizer; exits with 1 if there is a difference.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))
import tokenize_peer  # noqa: E402

CASES = {
    "cl100k": ("tiktoken", "cl100k", "cl100k/cl100k_base.tiktoken"),
    "cl100k-hf": ("tokenizers", "cl100k", "cl100k/cl100k_base.tiktoken"),
    "gpt2": ("tiktoken", "gpt2", "gpt2"),
    "gpt2-hf": ("tokenizers", "gpt2", "gpt2"),
    "bert": ("tokenizers", "bert", "bert/bert-base-uncased-vocab.txt"),
    "roberta": ("tokenizers", "json", "hf/roberta-base-tokenizer.json"),
    "t5": ("tokenizers", "json", "hf/t5-small-tokenizer.json"),
    "sentencepiece": ("sentencepiece", "spm", "sentencepiece/test_model.model"),
}
BATCH = 5000


def corpora(data):
    for file in sorted(data.rglob("*")):
        if file.is_file() and "LICENSE" not in file.name and "tokenizers" not in file.parts:
            content = file.read_bytes()
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue  # files that are not text, or have another encoding
            if "\0" not in text:
                yield file, text.split("\n")


def regard(options, path, lines, ids_only):
    feed = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    command = [options.regard, "tokenizer", "encode", "-T", path, "--no-special", "--input-format", "jsonl", "-t", "1"]
    done = subprocess.run([str(w) for w in command + (["--view", "ids"] if ids_only else [])], input=feed.encode(), stdout=subprocess.PIPE, check=True)
    rows = done.stdout.decode("utf-8").split("\n")[:-1]
    assert len(rows) == len(lines), (len(rows), len(lines))
    return [list(map(int, row.split())) for row in rows] if ids_only else [json.loads(row) for row in rows]


def peer(library, kind, path):
    """Return a function that gives, for each line, the values of the keys that regard's result must have."""
    if library == "tiktoken":
        encode = tokenize_peer.encoder(library, kind, path)
        return lambda lines: [{"ids": ids} for ids in encode(lines)]
    if library == "sentencepiece":
        import sentencepiece
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda lines: [{"ids": model.encode(line), "tokens": model.encode(line, out_type=str)} for line in lines]
    tokenizer = tokenize_peer.hugging_face(kind, path)

    def run(lines):
        return [{"ids": e.ids, "tokens": e.tokens, "offsets": [list(o) for o in e.offsets]}
                for e in tokenizer.encode_batch(lines, add_special_tokens=False)]
    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", default=ROOT.parent / "shared", type=Path)
    parser.add_argument("--every", default=1, type=int, help="every n-th line of each file")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--regard", default=ROOT / "build/release/bin/regard", type=Path)
    options = parser.parse_args()
    total = 0
    for name in options.only.split(","):
        library, kind, place = CASES[name]
        path = str(options.shared / "data/tokenizers" / place)
        reference = peer(library, kind, path)
        count = different = 0
        waiting = []

        def compare():
            nonlocal count, different
            whole, quick = regard(options, path, waiting, False), regard(options, path, waiting, True)
            for line, expected, got, ids in zip(waiting, reference(waiting), whole, quick):
                count += 1
                if ids == expected["ids"] and all(got[key] == value for key, value in expected.items()):
                    continue
                different += 1
                if different <= 3:
                    print(f"{name}: {line!r}\n  {library}: {expected}\n  regard: { {key: got[key] for key in expected} }\n  quick ids: {ids}")
            waiting.clear()

        for _, lines in corpora(options.shared / "data"):
            for line in lines[::options.every]:
                waiting.append(line)
                if len(waiting) == BATCH:
                    compare()
        if waiting:
            compare()
        print(f"{name}: {count:,} lines against {library}, {different} differences", flush=True)
        total += different
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
