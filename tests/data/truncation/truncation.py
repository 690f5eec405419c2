#!/usr/bin/env python3
"""Write truncation.json: texts and pairs truncated and padded with every option by Hugging Face's tokenizers.

Needs tokenizers. One word is one token; the post-processor adds [CLS] and [SEP]."""
import itertools
import json
import pathlib

from tokenizers import Tokenizer

WORDS = "a b c d e f g h i j k l".split()
VOCAB = {name: i for i, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
special = {name: {"id": name, "ids": [VOCAB[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
piece = lambda kind, name, type_id: {kind: {"id": name, "type_id": type_id}}
JSON = {
    "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "decoder": None,
    "added_tokens": [{"id": VOCAB[name], "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                      "normalized": False, "special": True} for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")],
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": {
        "type": "TemplateProcessing", "special_tokens": special,
        "single": [piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)],
        "pair": [piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0),
                 piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)]},
    "model": {"type": "WordLevel", "vocab": VOCAB, "unk_token": "[UNK]"}}
TEXTS = [("", None), ("a b c", None), ("a b c d e f g h i", None),
         ("a b c", "d e f g h"), ("a b c d e f", "g h"), ("a b c d", "e f g h"), ("", "a b c d e")]


def shown(encoding):
    return {"ids": encoding.ids, "type_ids": encoding.type_ids, "offsets": [list(o) for o in encoding.offsets],
            "special": encoding.special_tokens_mask, "attention": encoding.attention_mask,
            "words": [-1 if w is None else w for w in encoding.word_ids],
            "overflowing": [[part.ids, [list(o) for o in part.offsets]] for part in encoding.overflowing]}


cases = []
for length, stride, strategy, direction in itertools.product(
        (3, 4, 5, 7, 10), (0, 1, 2), ("LongestFirst", "OnlyFirst", "OnlySecond"), ("Right", "Left")):
    if stride > 1 and strategy != "LongestFirst":
        continue
    truncation = {"direction": direction, "max_length": length, "strategy": strategy, "stride": stride}
    for padding in (None, {"strategy": {"Fixed": 8}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0,
                           "pad_type_id": 1, "pad_token": "[PAD]"}):
        if padding and (stride != 1 or strategy != "LongestFirst"):
            continue
        tokenizer = Tokenizer.from_str(json.dumps({**JSON, "truncation": truncation, "padding": padding}))
        for first, second in TEXTS:
            case = {"truncation": truncation, "padding": padding, "text": first, "pair": second}
            try:
                case["encoding"] = shown(tokenizer.encode(first, second))
            except BaseException as error:  # the library panics or raises
                case["refused"] = str(error)
            cases.append(case)
batches = []
for padding in ({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None},
                {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": 4},
                {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 3},
                {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": 4},
                {"strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": 3}):
    padding = {**padding, "pad_id": 0, "pad_type_id": 2, "pad_token": "[PAD]"}
    tokenizer = Tokenizer.from_str(json.dumps({**JSON, "padding": padding}))
    texts = ["a b c", "", "a b c d e f g", "a"]
    batches.append({"padding": padding, "texts": texts, "encodings": [shown(e) for e in tokenizer.encode_batch(texts)]})
out = pathlib.Path(__file__).parent / "truncation.json"
out.write_text(json.dumps({"tokenizer": JSON, "cases": cases, "batches": batches}, separators=(",", ":")) + "\n")
print(len(cases))
