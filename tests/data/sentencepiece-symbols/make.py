#!/usr/bin/env python3
"""Write the models and goldens of this folder: sentencepiece models with user-defined symbols and with white space before
or after words, trained on tests/data/tokenizer-training/corpus.txt. Needs `pip install sentencepiece protobuf`; in this folder:
    python3 make.py
Each line of NAME.jsonl: text, ids, pieces, offsets (bytes), normalized, decoded.
"""
import io
import itertools
import json
import pathlib

import sentencepiece

HERE = pathlib.Path(__file__).parent
CORPUS = [line for line in (HERE / "../tokenizer-training/corpus.txt").read_text(encoding="utf-8").split("\n") if line][:400]
SYMBOLS = ["<sep>", "\u2581", "x\u2581", "\u2581y", "\u2581z\u2581", "@@", "<a><b>"]
TEXTS = ["", " ", "  ", "a", "<sep>", " <sep>", "<sep> ", "a<sep>", "a <sep>", "a <sep> ", "<sep>a", "<sep><sep>", "the cat<sep>",
         "the cat <sep> sat", "x", "x ", "x y", "ax y", "ax  y ", "y", " y", "a y z b", "a z", "a z ", " z ", "z", "@@", "a @@", "a@@ b@@",
         "@@ ", "<a><b>", "a <a><b>", "a <a> <b>", "the x y z @@ <sep>", "the  the   the", "tab\there\n", "\u2581", "a\u2581", "\u2581a",
         "a \u2581 b", "a\u2581\u2581b ", "caf\u00e9 \u0928\u092e\u0938\u094d\u0924\u0947 x", "\u3000a\u3000", "a\u00a0b x\u00a0", "\ufeffa", "<se", "<sep", "x<sep>x"]


def offsets(text, proto):
    data = text.encode()
    rows = [[piece.begin, piece.end] for piece in proto.pieces]
    for (begin, end), piece in zip(rows, proto.pieces):
        assert data[begin:end].decode() == piece.surface, (text, piece)
    return rows


def main():
    models = []
    for kind, suffix, extra, dummy in itertools.product(("unigram", "bpe", "char", "word"), (False, True), (False, True), (False, True)):
        if kind in ("char", "word") and (not extra or not dummy):
            continue
        name = f"{kind}{'-suffix' if suffix else ''}{'' if extra else '-spaces'}{'' if dummy else '-bare'}"
        out = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(CORPUS), model_writer=out, model_type=kind, vocab_size=160 if kind != "word" else 60,
                hard_vocab_limit=False, user_defined_symbols=SYMBOLS, treat_whitespace_as_suffix=suffix,
                remove_extra_whitespaces=extra, normalization_rule_name="identity", add_dummy_prefix=dummy, byte_fallback=False, num_threads=1, minloglevel=2,
                character_coverage=0.98, use_all_vocab=False)
        except RuntimeError as error:
            print(name, "cannot be trained:", error)
            continue
        (HERE / f"{name}.model").write_bytes(out.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
        with open(HERE / f"{name}.jsonl", "w", encoding="utf-8") as file:
            for text in TEXTS:
                proto = processor.encode(text, return_type="proto")
                ids = [piece.id for piece in proto.pieces]
                row = {"text": text, "ids": ids, "pieces": [piece.piece for piece in proto.pieces], "offsets": offsets(text, proto),
                       "normalized": processor.normalize(text), "decoded": processor.decode(ids)}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        models.append(name)
    (HERE / "index.json").write_text(json.dumps({"library": f"sentencepiece {sentencepiece.__version__}", "models": models}, indent=1) + "\n")


main()
