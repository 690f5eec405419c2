#!/usr/bin/env python3
"""Make the goldens of tests/tasks/tag_test.cpp: results of transformers' token-classification pipeline for tiny models.

    tools/make_tag_cases.py

Reads tests/data/hf-more/bert-ner; writes tests/data/tasks/tags.json and the folders tests/data/tasks/tag-FAMILY (random
weights; the tokenizers are those of bert-ner and roberta-qa).
"""
import json
import pathlib
import shutil
import warnings

import torch
import transformers
from transformers import (DistilBertConfig, DistilBertForTokenClassification, ElectraConfig, ElectraForTokenClassification,
                          MPNetConfig, MPNetForTokenClassification, RobertaConfig, RobertaForTokenClassification, pipeline)

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
AGGREGATIONS = ("none", "simple", "first", "average", "max")
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC", "X-Y-Z"]
TEXTS = ["Stone night a was fires water!", "On Londonth holds fire ouoa writes afui fire fire.", "Writes bird slowland cioa.",
         "e\u0301 caf\u00e9 \u0928\u092e\u0938\u094d\u0924\u0947 \U0001f600 fires", "a  b\tc\u00a0d", "fire"]
LONG = " ".join("bird fires slowland water night stone writes London a was holds on".split()[(7 * i * i + i) % 12] for i in range(70)) + "."


def draw(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            scale = 0.5 if parameter.dim() > 1 else 0.1
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale + (parameter.dim() == 1) * 0.2)
    return model.eval()


def make_models():
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=40)
    names = dict(id2label=dict(enumerate(LABELS)), label2id={label: i for i, label in enumerate(LABELS)})
    vocabulary = json.load(open(DATA / "hf-more/bert-ner/config.json"))["vocab_size"]
    models = {
        "distilbert": DistilBertForTokenClassification(DistilBertConfig(
            vocab_size=vocabulary, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40, **names)),
        "electra": ElectraForTokenClassification(ElectraConfig(vocab_size=vocabulary, embedding_size=12, **sizes, **names)),
        "mpnet": MPNetForTokenClassification(MPNetConfig(
            vocab_size=vocabulary, pad_token_id=0, **{**sizes, "max_position_embeddings": 42}, **names)),
    }
    roberta = json.load(open(DATA / "tasks/roberta-qa/config.json"))
    models["roberta"] = RobertaForTokenClassification(RobertaConfig(
        vocab_size=roberta["vocab_size"], pad_token_id=roberta["pad_token_id"], bos_token_id=roberta["bos_token_id"],
        eos_token_id=roberta["eos_token_id"], type_vocab_size=1, **{**sizes, "max_position_embeddings": 42}, **names))
    for seed, (family, model) in enumerate(models.items()):
        folder = DATA / "tasks" / f"tag-{family}"
        shutil.rmtree(folder, ignore_errors=True)
        draw(model, seed).save_pretrained(folder)
        source = DATA / ("tasks/roberta-qa" if family == "roberta" else "hf-more/bert-ner")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(source / name, folder / name)
        config = json.load(open(folder / "tokenizer_config.json"))
        config["model_max_length"] = 40
        json.dump(config, open(folder / "tokenizer_config.json", "w"), indent=1)


def plain(results):
    results = results[0] if results and isinstance(results[0], list) else results
    return [{key: float(value) if key == "score" else value if isinstance(value, str) else int(value)
             for key, value in one.items()} for one in results]


def main():
    make_models()
    cases = []
    for folder in ("hf-more/bert-ner", "tasks/tag-distilbert", "tasks/tag-electra", "tasks/tag-mpnet", "tasks/tag-roberta"):
        model, tokenizer = (load(DATA / folder) for load in (transformers.AutoModelForTokenClassification.from_pretrained,
                                                             transformers.AutoTokenizer.from_pretrained))
        tagger = pipeline("token-classification", model=model.float().eval(), tokenizer=tokenizer, device="cpu")
        for aggregation in AGGREGATIONS:
            for text in TEXTS:
                if "mpnet" in folder and "\u0928" in text:  # transformers treats id 1, here [UNK], as MPNet's padding
                    continue
                cases.append({"model": folder, "aggregation": aggregation, "text": text,
                              "tags": plain(tagger(text, aggregation_strategy=aggregation, ignore_labels=["O"]))})
            words = ["Londonth", "fires", "a", "caf\u00e9,", "slowland"]
            if folder != "tasks/tag-roberta":  # its tokenizer needs add_prefix_space for words
                cases.append({"model": folder, "aggregation": aggregation, "words": words, "tags": plain(tagger(
                    words, aggregation_strategy=aggregation, is_split_into_words=True, ignore_labels=["B-PER", "LOC"])),
                    "ignore": ["B-PER", "LOC"]})
            if aggregation == "none":  # the pipeline refuses windows
                continue
            for stride in (0, 7, 30):
                cases.append({"model": folder, "aggregation": aggregation, "text": LONG, "stride": stride,
                              "tags": plain(tagger(LONG, aggregation_strategy=aggregation, stride=stride))})
    with open(DATA / "tasks" / "tags.json", "w", encoding="utf-8") as file:
        json.dump({"transformers": transformers.__version__, "cases": cases}, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
