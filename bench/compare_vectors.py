#!/usr/bin/env python3
"""Compare word vectors with gensim's skip-gram (100 numbers, the same text and settings): speed, then quality over
several seeds.

    python3 bench/compare_vectors.py --shared ../shared [--corpus FILE] [--rounds 3] [--seeds 3] [--epochs 5]
                                     [--python PYTHON] [--regard build/release/bin/regard]

Makes a virtual environment in build/peers-vectors with the pinned gensim unless --python names one that has it. The
text consists of the corpora of --shared unless --corpus names a file. Pairs and analogies are those that gensim
contains for its own tests. Vectors in build/vectors are kept and reused, so that an interrupted comparison can be
continued. Prints Markdown.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ["gensim==4.4.0"]
WORK = ROOT / "build/vectors"
SETS = ["wordsim353.tsv", "simlex999.txt", "questions-words.txt"]


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def joined(shared):
    """Write the words of the corpora's English texts in lower case, one sentence or paragraph per line."""
    path = WORK / "corpus.txt"
    if path.exists():
        return path
    data = Path(shared) / "data"
    files = [(f, True) for f in sorted(data.glob("wsd-coarsewsd20/*/*.data.txt"))]
    files += [(data / name, False) for name in ("lm-wikitext2/valid.txt", "lm-tinyshakespeare/input.txt")]
    files += [(data / name, True) for name in ("movie-reviews/reviews.tsv", "agnews/train10k.tsv")]
    for pattern in ("lm-presidential/state_union/*", "ntrex/*eng*", "multi30k/*.en", "sst2/*.tsv"):
        files += [(f, False) for f in sorted(data.glob(pattern))]
    with open(path, "w") as out:
        for file, has_label in files:
            for line in open(file, errors="ignore"):
                text = line.split("\t", 1)[-1] if has_label else line
                words = re.findall(r"[^\W_]+(?:'[^\W_]+)?", text.lower())
                if words:
                    out.write(" ".join(words) + "\n")
    return path


class Comparison:
    def __init__(self, options):
        self.options = options
        WORK.mkdir(parents=True, exist_ok=True)
        self.corpus = Path(options.corpus) if options.corpus else joined(options.shared)
        self.python = Path(options.python) if options.python else self.made_python()
        self.sets = Path(run([self.python, "-c", "from gensim.test.utils import datapath; print(datapath(''))"]))

    def made_python(self):
        folder = ROOT / "build/peers-vectors"
        if not (folder / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([folder / "bin/pip", "install", "-q", *PINNED], check=True)
        return folder / "bin/python"

    def ours(self, epochs, seed, output):
        command = [self.options.regard, "vectors", "train", self.corpus, "-o", output, "--form", "word2vec-binary",
                   "--epochs", epochs, "--size", 100, "--window", 5, "--negative", 5, "--sample", 1e-3, "--min-count", 5,
                   "-s", seed, "-t", 2, "--json"]
        return json.loads(run(command))

    def theirs(self, epochs, seed, *output):
        return json.loads(run([self.python, ROOT / "bench/peers/gensim_peer.py", self.corpus, epochs, seed, 2, *output]))

    def speed(self):
        rows = []
        for round_number in range(self.options.rounds):
            a, b = self.ours(1, round_number + 1, WORK / "speed.bin"), self.theirs(1, round_number + 1)
            rows.append((a, b))
            print(f"{a['words_per_second']:.0f} words/s, gensim {b['words_per_second']:.0f}", file=sys.stderr)
        lines = ["| | regard, words/s | gensim, words/s | ratio |", "|---|---|---|---|"]
        for key, what in (("words_per_second", "two threads, by the clock"), ("words_per_cpu_second", "by processor seconds")):
            ratios = [a[key] / b[key] for a, b in rows]
            lines.append(f"| {what} | {statistics.median(a[key] for a, _ in rows):,.0f} | "
                         f"{statistics.median(b[key] for _, b in rows):,.0f} | {statistics.median(ratios):.1f} "
                         f"({min(ratios):.1f}–{max(ratios):.1f}) |")
        return lines

    def score(self, vectors):
        scores = []
        for name in SETS:
            result = json.loads(run([self.options.regard, "vectors", "evaluate", vectors, self.sets / name, "--json"]))
            total = result.get("total")
            scores.append(100 * total["correct"] / total["asked"] if total else result["spearman"])
        return scores

    def quality(self):
        table = {"regard": [], "gensim": []}
        for seed in range(1, self.options.seeds + 1):
            for name, train in (("regard", self.ours), ("gensim", self.theirs)):
                path = WORK / f"{name}{seed}.bin"
                if not path.exists():
                    train(self.options.epochs, seed, path)
                table[name].append(self.score(path))
        lines = ["| seeds 1 to " + str(self.options.seeds) + " | WordSim-353, Spearman | SimLex-999, Spearman | analogies, % |",
                 "|---|---|---|---|"]
        for name, rows in table.items():
            cells = []
            for column, digits in ((0, 3), (1, 3), (2, 2)):
                values = [row[column] for row in rows]
                cells.append(", ".join(f"{v:.{digits}f}" for v in values) + f"; mean {statistics.mean(values):.{digits}f}")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", default=str(ROOT / "../shared"))
    parser.add_argument("--corpus")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--python")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    comparison = Comparison(parser.parse_args())
    parts = ([comparison.speed()] if comparison.options.rounds else []) + ([comparison.quality()] if comparison.options.seeds else [])
    print("\n\n".join("\n".join(part) for part in parts))


if __name__ == "__main__":
    main()
