#!/usr/bin/env python3
"""Split the labelled texts of trec-qc, agnews, movie-reviews, wsd-coarsewsd20 and XQuAD into training, development
and test files.

  recipes/split_texts.py DATA FOLDER

FOLDER gets, each as -train, -dev, -all (both) and -test:
  trec      .txt  a tenth of the lines is in the test file, and a tenth of the others in the development file
  agnews    .tsv  text and label, divided as trec
  movie-K   .tsv  text and label: the test file is fold K (6, 7, 8) of the reviews' own folds 0 to 8, the development file
                  fold K - 1
  wsd-K     .tsv  word, sentence and label (word and number of the sense): the test file is fold K of 0 to 4, the development
                  file a tenth of the other folds
  xquad     .json SQuAD's form: one article in five is in the test file, and a tenth of the others in the development file
It also gets sst2-10000.tsv, the 10,000 phrases of SST-2's training file with the smallest hashes, and sst2-dev10.tsv, 1,000 others.
trec, agnews and wsd are divided by the SHA-256 of the line, xquad by that of the article's title: the first byte modulo 10 (or 5)
selects the test file, the second byte modulo 10 the development file. Settings are chosen on the development files, which are
parts of the training data. Only Python's standard library is needed."""
import argparse
import hashlib
import json
import pathlib


def digest(text):
    return hashlib.sha256(text.encode()).digest()


def write(folder, name, suffix, parts):
    parts["all"] = parts["train"] + parts["dev"]
    for part, lines in parts.items():
        (folder / f"{name}-{part}.{suffix}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def by_hash(lines, share, fold=0):
    parts = {"train": [], "dev": [], "test": []}
    for line in lines:
        numbers = digest(line)
        parts["test" if numbers[0] % share == fold else "dev" if numbers[1] % 10 == 0 else "train"].append(line)
    return parts


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def movie_reviews(path, folder):
    rows = [line.split("\t") for line in lines_of(path)]
    for fold in (6, 7, 8):
        parts = {"train": [], "dev": [], "test": []}
        for label, name, text in rows:
            part = {fold: "test", fold - 1: "dev"}.get(int(name[2]), "train")
            parts[part].append(f"{text}\t{label}")
        write(folder, f"movie-{fold}", "tsv", parts)


def word_senses(data, folder):
    lines = []
    for word in sorted(path for path in data.iterdir() if path.is_dir()):
        texts = [line.split("\t") for line in lines_of(word / "train.data.txt")]
        labels = [line.strip() for line in lines_of(word / "train.gold.txt")]
        lines += [f"{word.name}\t{text[1].strip()}\t{word.name}:{label}" for text, label in zip(texts, labels, strict=True)]
    for fold in range(5):
        write(folder, f"wsd-{fold}", "tsv", by_hash(lines, 5, fold))


def questions(path, folder):
    articles = json.loads(path.read_text(encoding="utf-8"))
    parts = {"train": [], "dev": [], "test": []}
    for article in articles["data"]:
        numbers = digest(article["title"])
        parts["test" if numbers[0] % 5 == 0 else "dev" if numbers[1] % 10 == 0 else "train"].append(article)
    parts["all"] = parts["train"] + parts["dev"]
    for part, data in parts.items():
        (folder / f"xquad-{part}.json").write_text(json.dumps({"version": articles["version"], "data": data}), encoding="utf-8")


def phrases(path, folder):
    rows = sorted(set(lines_of(path)[1:]), key=digest)
    rows = ["\t".join(reversed(row.split("\t"))) + "\n" for row in rows[:11000]]
    (folder / "sst2-10000.tsv").write_text("".join(rows[:10000]), encoding="utf-8")
    (folder / "sst2-dev10.tsv").write_text("".join(rows[10000:]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write(options.folder, "trec", "txt", by_hash(lines_of(options.data / "trec-qc/train.txt"), 10))
    write(options.folder, "agnews", "tsv", by_hash(lines_of(options.data / "agnews/train10k.tsv"), 10))
    movie_reviews(options.data / "movie-reviews/reviews.tsv", options.folder)
    word_senses(options.data / "wsd-coarsewsd20", options.folder)
    questions(options.data / "enhi-xquad/xquad.en.json", options.folder)
    phrases(options.data / "sst2/train.tsv", options.folder)


if __name__ == "__main__":
    main()
