#!/usr/bin/env python3
"""Compare the scores of fine-tuning with transformers or sentence-transformers on the same recipe, with several seeds.

    python3 bench/compare_scores.py RECIPE... --results FILE [--seeds 1 2 3 4 5] [--programs regard peer]
                                    [--regard PROGRAM] [--table]

RECIPE: recipes/sst2-minilm.toml, ud-ewt-pos-minilm.toml, multi30k-retrieval.toml or xquad-minilm.toml. The environment
variables of the recipes (MINILM, TEXTS, REGARD_SHARED) must be set. The Python that runs it must have torch and
transformers and, for embedding, sentence_transformers.

For each seed, regard trains with this seed; the peer starts from the folder with which regard starts (the same new head
or the same initial weights and tokenizer) and uses the same order of the examples. The peer uses the settings of the
recipe, its own class with the folder's dropout, its own loss and AdamW of PyTorch, pads a batch to its longest text,
and computes in f32 with one thread. `regard evaluate` scores both models on the recipe's validation file.

Each finished run is a line of JSON in FILE. Runs that are in FILE are skipped, so that the command can be repeated
after an interruption. Several processes can work on one FILE. --table prints the table of FILE and trains nothing."""
import argparse
import fcntl
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from compare_tasks import ROOT, PeerBatches, order_of_epoch, table

# Metrics of `regard evaluate`. In FILE, they are percentages for question answering and fractions for the
# other tasks.
METRICS = {"classification": ["accuracy"], "token-classification": ["accuracy"], "question-answering": ["f1", "exact_match"],
           "embedding": ["recall_at_1"]}
# Without this file, transformers 5 replaces the normalizer of tokenizer.json with that of BertTokenizer, which strips accents.
TOKENIZER = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
             "unk_token": "[UNK]", "mask_token": "[MASK]", "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}


class WindowBatches(PeerBatches):
    """Batches of question answering whose examples are windows of the text, with the loss of transformers' class."""

    def question_answering(self, rows):
        batch = self.tokenizer.pad([{key: r[key] for key in ("input_ids", "token_type_ids", "attention_mask")} for r in rows],
                                   return_tensors="pt")
        begin, end = (self.torch.tensor([r[key] for r in rows]) for key in ("begin", "end"))
        return self.model(**batch, start_positions=begin, end_positions=end).loss


def windows(path, tokenizer, length, stride):
    """Return the windows of the questions and their targets, as transformers' run_qa.py does."""
    found = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                parts = tokenizer(question["question"].lstrip(), paragraph["context"], truncation="only_second", max_length=length,
                                  stride=stride, return_overflowing_tokens=True, return_offsets_mapping=True)
                answer = question["answers"][0]
                first, last = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                for i, offsets in enumerate(parts["offset_mapping"]):
                    tokens = [at for at, side in enumerate(parts.sequence_ids(i)) if side == 1]
                    begin = end = 0
                    if tokens and offsets[tokens[0]][0] <= first and offsets[tokens[-1]][1] >= last:
                        begin = max(at for at in tokens if offsets[at][0] <= first)
                        end = min(at for at in tokens if offsets[at][1] >= last)
                    found.append({key: parts[key][i] for key in ("input_ids", "token_type_ids", "attention_mask")}
                                 | dict(begin=begin, end=end))
    return found


def read_examples(task, run, folder):
    files = [Path(name) for name in run["data"]["train"]]
    if task == "question-answering":
        import transformers
        return windows(files[0], transformers.AutoTokenizer.from_pretrained(folder), run["data"]["max_length"],
                       run["questions"]["stride"])
    if task == "embedding":
        return [list(pair) for pair in zip(*(path.read_text(encoding="utf-8").splitlines() for path in files), strict=True)]
    return table(files[0], None)


def train_regard(options, recipe, place, *settings):
    """Train in the folder `place` and return the last checkpoint."""
    shutil.rmtree(place, ignore_errors=True)
    sets = [f"output.folder={place}", *settings]
    subprocess.run([options.regard, "train", str(recipe), "-q", "-t", "1", *(part for s in sets for part in ("--set", s))], check=True)
    return (place / "latest").resolve()


def initial_folder(options, recipe, seed, place):
    """Return the folder with which regard starts: one step with a learning rate that changes no weight by more than 1e-30."""
    return train_regard(options, recipe, place, f"seed={seed}", "training.max_steps=1", "training.warmup_steps=0",
                        "training.max_epochs=0", "training.learning_rate=1e-30")


def peer_batches(task, run, folder):
    length, examples = run["data"]["max_length"], read_examples(task, run, folder)
    batches = (WindowBatches if task == "question-answering" else PeerBatches)(task, folder, length, examples)
    if task in ("classification", "token-classification"):
        names = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"]
        batches.labels = [names[str(i)] for i in range(len(names))]
    return batches


def train_peer(task, run, folder, seed):
    """Train the peer from the folder, and write its weights into the folder."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    batches, settings = peer_batches(task, run, folder), run["training"]
    weights = list(batches.model.parameters())
    groups = [dict(params=[w for w in weights if w.dim() >= 2], weight_decay=settings["weight_decay"]),
              dict(params=[w for w in weights if w.dim() < 2], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=settings["learning_rate"], betas=settings["betas"], eps=settings["epsilon"], fused=True)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, settings["warmup_steps"], settings["max_steps"])
    batches.model.train()
    rows, epoch = [], 0
    for _ in range(settings["max_steps"]):
        if not rows:
            rows, epoch = order_of_epoch(len(batches.examples), epoch, seed), epoch + 1
        loss = batches.loss(rows[:settings["batch_size"]])
        rows = rows[settings["batch_size"]:]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, settings["clip_norm"])
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    trained = (batches.model[0].auto_model if task == "embedding" else batches.model).state_dict()
    names = load_file(folder / "model.safetensors").keys()
    save_file({name: trained[name].contiguous() for name in names}, folder / "model.safetensors")
    return loss.item(), len(batches.examples)


def evaluate(options, task, run, folder):
    files, columns = run["data"]["valid"], run["data"].get("valid_columns") or run["data"].get("columns")
    command = [options.regard, "evaluate", str(folder)]
    if task == "embedding":
        pairs = folder / "valid.tsv"
        sides = [Path(name).read_text(encoding="utf-8").splitlines() for name in files]
        pairs.write_text("".join("\t".join(pair) + "\n" for pair in zip(*sides, strict=True)), encoding="utf-8")
        files, columns = [str(pairs)], ["1", "2"]
    command += [*files, "--json", "-q", "-t", "1"] + (["--columns", *map(str, columns)] if columns else [])
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
    return {name: result[name] for name in METRICS[task]}


def run_once(options, recipe, seed, program):
    begin = time.time()
    with tempfile.TemporaryDirectory() as name:
        start = Path(name) / "run"
        if program == "regard":
            folder, details = train_regard(options, recipe, start, f"seed={seed}"), {}
            run = tomllib.loads((start / "run.toml").read_text(encoding="utf-8"))
        else:
            source, folder = initial_folder(options, recipe, seed, start), Path(name) / "peer"
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("manifest.json", "state.json", "optimizer.safetensors"))
            (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
            run = settings_of(options, recipe, start)
            loss, examples = train_peer(run["task"], run, folder, seed)
            details = dict(last_loss=loss, examples=examples)
        scores = evaluate(options, run["task"], run, folder)
    return dict(recipe=recipe.stem, seed=seed, program=program, **scores, **details, wall_seconds=round(time.time() - begin))


def settings_of(options, recipe, start):
    """Return the complete settings of the recipe, with defaults and absolute paths. The run file of the run folder has them, but
    for the settings that initial_folder() changes."""
    run = tomllib.loads((start / "run.toml").read_text(encoding="utf-8"))
    own = tomllib.loads(recipe.read_text(encoding="utf-8"))["training"]
    run["training"] |= dict(warmup_steps=0) | own
    return run


def done(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run_all(options):
    for recipe in options.recipes:
        for seed in options.seeds:
            for program in options.programs:
                key = (recipe.stem, seed, program)
                lock_path = options.results.with_name(f"{options.results.name}.{'-'.join(map(str, key))}.lock")
                with open(lock_path, "w") as lock:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        continue  # another process is doing this run
                    if key not in {(row["recipe"], row["seed"], row["program"]) for row in done(options.results)}:
                        line = json.dumps(run_once(options, recipe, seed, program))
                        with open(options.results, "a", encoding="utf-8") as results:
                            results.write(line + "\n")
                    lock_path.unlink()


def print_table(rows):
    """Print, in percent, mean and standard deviation of both programs over the seeds that both have, and the difference."""
    for recipe in dict.fromkeys(row["recipe"] for row in rows):
        runs = {program: {r["seed"]: r for r in rows if r["recipe"] == recipe and r["program"] == program} for program in ("regard", "peer")}
        seeds = sorted(runs["regard"].keys() & runs["peer"].keys())
        for metric in dict.fromkeys(name for names in METRICS.values() for name in names if seeds and name in runs["peer"][seeds[0]]):
            percent = 1 if metric in METRICS["question-answering"] else 100
            scores = {p: [percent * runs[p][s][metric] for s in seeds] for p in runs}
            texts = [f"{p} {statistics.mean(v):.2f} ± {statistics.stdev(v) if len(v) > 1 else 0:.2f} ({', '.join(f'{x:.2f}' for x in v)})"
                     for p, v in scores.items()]
            print(f"{recipe} {metric}, seeds {seeds}: {'; '.join(texts)}; difference "
                  f"{statistics.mean(scores['regard']) - statistics.mean(scores['peer']):+.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", type=Path, nargs="*")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--programs", choices=["regard", "peer"], nargs="+", default=["regard", "peer"])
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        run_all(options)
    print_table(done(options.results))


if __name__ == "__main__":
    sys.exit(main())
