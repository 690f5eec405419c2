#!/usr/bin/env python3
"""Make the goldens of tests/evaluate: scores of tiny models on small data, computed with transformers, scikit-learn,
scipy, seqeval and transformers 4's squad_metrics.

    tools/make_evaluation_cases.py SQUAD_METRICS

tools/make_metric_cases.py explains SQUAD_METRICS. Reads models of tests/data; writes tests/data/evaluate.
"""
import importlib.util
import json
import pathlib
import shutil
import sys
import types
import warnings

import numpy
import scipy.stats
import seqeval.metrics
import sklearn.metrics
import torch
import transformers
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
OUT = DATA / "evaluate"
random = numpy.random.default_rng(6)
WORDS = "stone night a was fires water london holds fire writes bird slowland on day green river".split()


def text(low=2, high=9):
    return " ".join(random.choice(WORDS, size=random.integers(low, high)))


def opened(kind, folder):
    return kind.from_pretrained(DATA / folder).float().eval(), AutoTokenizer.from_pretrained(DATA / folder)


def write_jsonl(name, rows):
    with open(OUT / name, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def classes(truth, predicted):
    scores = {"accuracy": sklearn.metrics.accuracy_score(truth, predicted)}
    if numpy.ndim(truth) == 1:
        scores["matthews"] = sklearn.metrics.matthews_corrcoef(truth, predicted)
    for average in ("micro", "macro", "weighted"):
        scores[f"f1_{average}"] = sklearn.metrics.f1_score(truth, predicted, average=average, zero_division=0)
    return {name: float(value) for name, value in scores.items()}


@torch.no_grad()
def logits(model, tokenizer, *texts):
    return model(**tokenizer(*texts, return_tensors="pt")).logits[0].numpy()


def classification():
    model, tokenizer = opened(AutoModelForSequenceClassification, "hf-more/bert-nli")
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    rows, predicted = [], []
    for i in range(40):
        rows.append({"text": text(), "text_pair": text(), "label": str(random.choice(names))})
        predicted.append(names[logits(model, tokenizer, rows[-1]["text"], rows[-1]["text_pair"]).argmax()])
        if random.random() < 0.5:
            rows[-1]["label"] = predicted[-1]
        if i % 5 == 0:
            rows[-1]["label"] = names.index(rows[-1]["label"])  # labels by number
    truth = [label if isinstance(label, str) else names[label] for label in (row["label"] for row in rows)]
    write_jsonl("pairs.jsonl", rows)
    return {"scores": classes(truth, predicted), "outputs": predicted,
            "confusion": sklearn.metrics.confusion_matrix(truth, predicted, labels=names).tolist()}


def several_labels():
    model, tokenizer = opened(AutoModelForSequenceClassification, "hf-more/bert-multilabel")
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    rows, truth, predicted = [], [], []
    for _ in range(30):
        rows.append({"text": text(), "label": []})
        predicted.append((logits(model, tokenizer, rows[-1]["text"]) >= 0).astype(int))
        truth.append(numpy.where(random.random(len(names)) < 0.7, predicted[-1], 1 - predicted[-1]))
        rows[-1]["label"] = [name for name, is_true in zip(names, truth[-1]) if is_true]
    write_jsonl("labels.jsonl", rows)
    return {"scores": classes(numpy.array(truth), numpy.array(predicted))}


def regression():
    from transformers import DistilBertConfig, DistilBertForSequenceClassification
    vocabulary = json.load(open(DATA / "hf-more/bert-ner/config.json"))["vocab_size"]
    torch.manual_seed(3)
    model = DistilBertForSequenceClassification(DistilBertConfig(
        vocab_size=vocabulary, dim=16, n_layers=1, n_heads=2, hidden_dim=24, max_position_embeddings=40, num_labels=1,
        problem_type="regression", initializer_range=0.5)).eval()
    folder = OUT / "regression-model"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(DATA / "hf-more/bert-ner" / name, folder / name)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows, predicted, truth = [], [], []
    for _ in range(25):
        line = text()
        inputs = tokenizer(line, return_tensors="pt")
        with torch.no_grad():
            predicted.append(float(model(inputs["input_ids"], inputs["attention_mask"]).logits[0, 0]))
        truth.append(round(predicted[-1] + float(random.normal()), 2))
        rows.append(f"{line}\t{truth[-1]}\n")
    (OUT / "numbers.tsv").write_text("".join(rows))
    return {"scores": {"pearson": float(scipy.stats.pearsonr(predicted, truth)[0]),
                       "spearman": float(scipy.stats.spearmanr(predicted, truth)[0]),
                       "mean_squared_error": float(sklearn.metrics.mean_squared_error(truth, predicted))}}


def token_classification():
    model, tokenizer = opened(AutoModelForTokenClassification, "hf-more/bert-ner")
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    rows, truth, predicted = [], [], []
    for _ in range(20):
        words = text(1, 12).split()
        inputs = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        ids = inputs.word_ids(0)
        with torch.no_grad():
            best = model(**inputs).logits[0].argmax(-1).tolist()
        predicted.append([names[best[ids.index(word)]] for word in range(len(words))])
        truth.append([label if random.random() < 0.6 else str(random.choice(names)) for label in predicted[-1]])
        rows.append(f"{' '.join(words)}\t{' '.join(truth[-1])}\n")
    (OUT / "entities.tsv").write_text("".join(rows))
    from seqeval.scheme import IOB2
    result = {"outputs": predicted}
    for name, options in (("default", {}), ("strict", {"mode": "strict", "scheme": IOB2})):
        result[name] = {"accuracy": float(seqeval.metrics.accuracy_score(truth, predicted))}
        for score, function in (("f1", seqeval.metrics.f1_score), ("precision", seqeval.metrics.precision_score),
                                ("recall", seqeval.metrics.recall_score)):
            result[name][score] = float(function(truth, predicted, **options))
        for average in ("macro", "weighted"):
            result[name][f"f1_{average}"] = float(seqeval.metrics.f1_score(truth, predicted, average=average, **options))
    return result


def question_answering(path):
    spec = importlib.util.spec_from_file_location("make_metric_cases", ROOT / "tools" / "make_metric_cases.py")
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    metrics = cases.load_squad_metrics(path)
    answers = [one for one in json.load(open(DATA / "tasks/answers.json"))["cases"]
               if one["model"] == "tasks/roberta-qa" and not set(one["options"]) - {"top_k"}]
    seen, questions, predictions, paragraphs = set(), [], {}, []
    for one in answers:
        if (one["question"], one["context"]) in seen:
            continue
        seen.add((one["question"], one["context"]))
        predicted = one["answers"][0]["answer"]
        words = one["context"].split()
        at = int(random.integers(len(words)))
        truths = [" ".join(words[at:at + 2]) if len(words) < 2 or " ".join(words[at:at + 2]) in one["context"] else words[at]]
        if random.random() < 0.5:
            truths.append(predicted)
        if one["options"]:  # the best answer can depend on the number of candidates
            continue
        key = str(len(questions))
        questions.append(types.SimpleNamespace(qas_id=key, answers=[{"text": truth} for truth in truths]))
        predictions[key] = predicted
        paragraphs.append({"context": one["context"], "qas": [{"id": key, "question": one["question"], "answers": [
            {"text": truth, "answer_start": one["context"].index(truth)} for truth in truths]}]})
    scores = metrics.squad_evaluate(questions, predictions)
    with open(OUT / "squad.json", "w", encoding="utf-8") as file:
        json.dump({"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]}, file, ensure_ascii=False, indent=1)
    write_jsonl("questions.jsonl", [{"question": one["qas"][0]["question"], "context": one["context"], "answers": {
        "text": [answer["text"] for answer in one["qas"][0]["answers"]]}} for one in paragraphs])
    return {"questions": len(questions), "exact_match": scores["exact"], "f1": scores["f1"],
            "outputs": list(predictions.values())}


def embedding():
    model, tokenizer = opened(AutoModel, "hf-more/st-mean")

    @torch.no_grad()
    def vector(line):
        inputs = tokenizer(line, return_tensors="pt", truncation=True, max_length=16)
        states = model(**inputs).last_hidden_state[0].mean(0)
        return (states / states.norm()).numpy().astype(numpy.float64)

    first, second = [text() for _ in range(30)], [text() for _ in range(30)]
    second[7] = second[3]
    similar = [float(vector(a) @ vector(b)) for a, b in zip(first, second)]
    truth = [round(x * 5 + float(random.normal()) * 0.2, 1) for x in similar]
    write_jsonl("similar.jsonl", [{"text": a, "text_pair": b, "score": c} for a, b, c in zip(first, second, truth)])
    (OUT / "queries.txt").write_text("".join(line + "\n" for line in first))
    (OUT / "documents.txt").write_text("".join(line + "\n" for line in second))
    documents = list(dict.fromkeys(second))
    scores = numpy.array([[vector(a) @ vector(b) for b in documents] for a in first])
    right = [documents.index(line) for line in second]
    ranks = [int((row >= row[i]).sum()) for row, i in zip(scores, right)]
    result = {"spearman": float(scipy.stats.spearmanr(similar, truth)[0]), "pearson": float(scipy.stats.pearsonr(similar, truth)[0]),
              "ranks": ranks, "mrr": float(numpy.mean([1 / rank for rank in ranks]))}
    for k in (1, 5, 10):
        result[f"recall_at_{k}"] = float(numpy.mean([rank <= k for rank in ranks]))
    return result


def masked():
    model, tokenizer = opened(AutoModelForMaskedLM, "tasks/roberta-fill")
    total, tokens, right = 0.0, 0, 0
    lines = [text() for _ in range(12)]
    (OUT / "lines.txt").write_text("".join(line + "\n" for line in lines))
    for line in lines:
        inputs = tokenizer(line, return_tensors="pt")
        labels = inputs["input_ids"].clone()
        places = [i for i, token in enumerate(labels[0].tolist()) if token not in tokenizer.all_special_ids]
        inputs["input_ids"][0, places] = tokenizer.mask_token_id
        with torch.no_grad():
            out = model(**inputs).logits[0, places].double()
        total += float(torch.nn.functional.cross_entropy(out, labels[0, places], reduction="sum"))
        tokens += len(places)
        right += int((out.argmax(-1) == labels[0, places]).sum())
    return {"masked_tokens": tokens, "loss": total / tokens, "accuracy": right / tokens}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    OUT.mkdir(exist_ok=True)
    scores = {"classification": classification(), "several_labels": several_labels(), "regression": regression(),
              "token_classification": token_classification(), "question_answering": question_answering(sys.argv[1]),
              "embedding": embedding(), "masked": masked()}
    with open(OUT / "scores.json", "w", encoding="utf-8") as file:
        json.dump(scores, file, ensure_ascii=False, indent=1)
        file.write("\n")
