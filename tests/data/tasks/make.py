"""Write the goldens of the tasks: results of the pipelines of transformers 4.57 (the last version with question
answering) for tiny models with random weights. Run in this folder: python make.py"""
import json
import os
import random
import shutil
import sys
import tempfile

import torch
import transformers
from PIL import Image
from tokenizers import ByteLevelBPETokenizer
from transformers import (AutoModelForImageClassification, AutoModelForMaskedLM, AutoModelForQuestionAnswering,
                          AutoModelForSequenceClassification, AutoTokenizer, BertTokenizerFast, RobertaConfig,
                          RobertaForMaskedLM, RobertaForQuestionAnswering, RobertaTokenizerFast, ViTImageProcessor,
                          pipeline)

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
MORE, TINY = os.path.join(HERE, "../hf-more"), os.path.join(HERE, "../hf-tiny")
WORDS = ("water night river stone maria queen light slow quiet fish dogs sings holds gives green blue takes who "
         "what with is has of not old red day London Paris women treeing houses smallness").split()


def save(name, value):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump({"transformers": transformers.__version__, **value}, file, ensure_ascii=False, indent=0)
        file.write("\n")


def sentence(draw, words, marks=".,!?"):
    text = " ".join(draw.choice(WORDS) for _ in range(words))
    for _ in range(words // 6):
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice([marks[0], " é ", "  ", "नमस्ते", "\t", "A", "ß", "(", '"']) + text[at:]
    return text.strip() + draw.choice(marks)


def restart(model, seed, scale=0.25):
    """Weights of a scale at which tiny models have opinions."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" in name and name.endswith("weight"):
                weight.copy_(1 + 0.1 * torch.randn_like(weight))
            else:
                weight.copy_(scale * torch.randn_like(weight))
    return model.eval()


def roberta(kind, name, seed):
    folder = os.path.join(HERE, name)
    draw = random.Random(seed)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as corpus:
        corpus.write("\n".join(sentence(draw, 12) for _ in range(200)))
        corpus.flush()
        bpe = ByteLevelBPETokenizer(add_prefix_space=False)
        bpe.train([corpus.name], vocab_size=380, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as files:
        bpe.save_model(files)
        tokenizer = RobertaTokenizerFast(os.path.join(files, "vocab.json"), os.path.join(files, "merges.txt"),
                                         model_max_length=62)
    config = RobertaConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                           intermediate_size=64, max_position_embeddings=64, type_vocab_size=1, pad_token_id=1,
                           bos_token_id=0, eos_token_id=2)
    model = restart(kind(config), seed)
    model.save_pretrained(folder)
    with tempfile.TemporaryDirectory() as files:
        tokenizer.save_pretrained(files)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(os.path.join(files, file), folder)
    return model, tokenizer


def answers():
    draw = random.Random(11)
    cases = []
    bert = os.path.join(MORE, "bert-qa-stride")
    models = {"hf-more/bert-qa-stride": (AutoModelForQuestionAnswering.from_pretrained(bert).eval(),
                                         BertTokenizerFast(tokenizer_file=os.path.join(bert, "tokenizer.json"),
                                                           model_max_length=40)),
              "tasks/roberta-qa": roberta(RobertaForQuestionAnswering, "roberta-qa", 5)}
    for folder, (model, tokenizer) in models.items():
        pipe = pipeline("question-answering", model=model, tokenizer=tokenizer, device="cpu")
        for length in (1, 3, 7, 20, 60, 200):
            for options in ({}, {"top_k": 3}, {"top_k": 2, "handle_impossible_answer": True},
                            {"top_k": 4, "align_to_words": False, "max_answer_len": 4},
                            {"top_k": 1, "align_to_words": False},
                            {"max_seq_len": 30, "doc_stride": 5, "top_k": 5, "handle_impossible_answer": True}):
                question, context = sentence(draw, draw.randint(1, 4), "?"), sentence(draw, length)
                found = pipe(question=question, context=context, **options)
                found = found if isinstance(found, list) else [found]
                cases.append({"model": folder, "question": question, "context": context, "options": options,
                              "answers": found})
    save("answers.json", {"cases": cases})


def fills():
    source = os.path.join(TINY, "bert-mlm")
    draw = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), ".", ",", "!",
             "?", "é", "नमस्ते", "the", "river", "bank", "money", "lamp", "##ing", "##ed", "green", "walks"]
    while len(words) < 120:
        word = "".join(draw.choice(letters) for _ in range(draw.randint(2, 6)))
        if word not in words:
            words.append(word)
    with tempfile.TemporaryDirectory() as files:
        with open(os.path.join(files, "vocab.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(words[:120]) + "\n")
        tokenizer = BertTokenizerFast(os.path.join(files, "vocab.txt"), do_lower_case=True)
    cases = []
    models = {"hf-tiny/bert-mlm": (AutoModelForMaskedLM.from_pretrained(source).eval(), tokenizer,
                                   ["the [MASK] walks.", "[MASK]", "money [MASK] the river [MASK], é!",
                                    "a[MASK]b [MASK] [MASK]", "The GREEN lamp [SEP] [MASK]"],
                                   ["green", "lamp", "Money", "bank", "riverbank", "zz"]),
              "tasks/roberta-fill": (*roberta(RobertaForMaskedLM, "roberta-fill", 6),
                                     ["the <mask> sings.", "<mask>", "quiet<mask> river <mask> , é!",
                                      "maria  <mask><mask> ß"],
                                     ["Ġriver", "river", " night", "who", "xyz"])}
    for folder, (model, tokenizer, texts, targets) in models.items():
        pipe = pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu")
        for text in texts:
            for options in ({"top_k": 1}, {"top_k": 5}, {"targets": targets}, {"targets": targets[:2], "top_k": 1}):
                found = pipe(text, **options)
                found = [found] if isinstance(found[0], dict) else found
                cases.append({"model": folder, "text": text, "options": options, "masks": found})
    save("fill.json", {"vocabulary": words[:120], "cases": cases})


def classes():
    cases = []
    for name in ("bert-nli", "bert-multilabel"):
        folder = os.path.join(MORE, name)
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = BertTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"), model_max_length=40)
        with open(os.path.join(folder, "case.json")) as file:
            texts = json.load(file)["texts"]
        pipe = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
        for text in texts:
            for options in ({"top_k": None}, {"top_k": 2}, {"top_k": None, "function_to_apply": "none"},
                            {"top_k": None, "function_to_apply": "sigmoid"},
                            {"top_k": 1, "function_to_apply": "softmax"}):
                given = {"text": text[0], "text_pair": text[1]} if isinstance(text, list) else text
                found = pipe([given], **options)[0]
                cases.append({"model": "hf-more/" + name, "text": text, "options": options, "labels": found})
    save("classes.json", {"cases": cases})


def images():
    """ViT on the images of hf-more/image-preprocessing, and on a JPEG in two kinds of subsampling."""
    model = AutoModelForImageClassification.from_pretrained(os.path.join(TINY, "vit")).eval()
    side = model.config.image_size
    processor = ViTImageProcessor(size={"height": side, "width": side}, resample=2)
    processor.save_pretrained(HERE)
    big = Image.open(os.path.join(MORE, "image-preprocessing", "big75x100.png")).convert("RGB")
    big.save(os.path.join(HERE, "fine.jpg"), quality=90, subsampling=0)
    big.save(os.path.join(HERE, "coarse.jpg"), quality=40, subsampling=2, progressive=True)
    big.convert("L").save(os.path.join(HERE, "grey.jpg"), quality=70)
    big.convert("L").save(os.path.join(HERE, "grey.png"))
    big.convert("L").save(os.path.join(HERE, "grey.pgm"))
    big.quantize(16).save(os.path.join(HERE, "palette.png"))
    with_alpha = big.convert("RGBA")
    with_alpha.putalpha(big.convert("L"))
    with_alpha.save(os.path.join(HERE, "alpha.png"))
    pipe = pipeline("image-classification", model=model, image_processor=processor, device="cpu")
    cases = []
    names = [f"../hf-more/image-preprocessing/{n}.{e}" for n in ("big75x100", "checker64", "tall61x5",
                                                                "wave37x23") for e in ("png", "ppm")]
    for name in [*names, "fine.jpg", "coarse.jpg", "grey.jpg", "grey.png", "grey.pgm", "palette.png", "alpha.png"]:
        image = Image.open(os.path.join(HERE, name)).convert("RGB")
        pixels = torch.tensor(list(image.getdata()), dtype=torch.int64)
        cases.append({"file": name, "size": list(image.size),
                      "pixel_sum": pixels.sum(0).tolist(),  # the weighted sum also depends on the order
                      "weighted_sum": (pixels * torch.arange(1, len(pixels) + 1)[:, None]).sum(0).tolist(),
                      "labels": pipe(image, top_k=10)})
    save("images.json", {"cases": cases})


if __name__ == "__main__":
    for make in (answers, fills, classes, images):
        if len(sys.argv) < 2 or make.__name__ in sys.argv[1:]:
            make()
