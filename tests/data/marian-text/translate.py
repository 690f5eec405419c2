#!/usr/bin/env python3
"""Write golden.json: the ids and translations of lines of text by transformers' Marian tokenizer and model.

Needs torch, transformers and sentencepiece. The folder consists of hf-tiny/marian and a sentencepiece model of
tests/data. The last 108 pieces of this model have ids, after those of </s>, <unk> and a language."""
import json
import pathlib
import shutil
import tempfile

import sentencepiece
import transformers

data = pathlib.Path(__file__).parent.parent
lines = ["the man beats the boy .", ">>deu<< a red dog", "Hello, world! 123", "é ü 中 zebra", "quick   brown"]
with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place)
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        shutil.copy(data / "hf-tiny" / "marian" / name, folder / name)
    model = data / "sentencepiece" / "sp-bpe-identity" / "sp.model"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    normal = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())
              if not (pieces.is_control(i) or pieces.is_unknown(i) or pieces.is_byte(i) or pieces.is_unused(i))]
    vocabulary = {"</s>": 0, "<unk>": 1, ">>deu<<": 2}
    vocabulary |= {piece: 3 + i for i, piece in enumerate(normal[-108:])}
    vocabulary["<pad>"] = 111
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    for side in ("source.spm", "target.spm"):
        shutil.copy(model, folder / side)
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "deu"}))
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    network = transformers.MarianMTModel.from_pretrained(folder)
    golden = []
    for line in lines:
        ids = tokenizer(line, return_tensors="pt")
        written = network.generate(**ids, num_beams=3, max_new_tokens=12)
        golden.append({"line": line, "ids": ids["input_ids"][0].tolist(), "written": written[0].tolist(),
                       "text": tokenizer.decode(written[0], skip_special_tokens=True)})
(pathlib.Path(__file__).parent / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")
