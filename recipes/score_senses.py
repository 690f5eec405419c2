#!/usr/bin/env python3
"""Score the senses of words: accuracy and macro F1 of each word, their means, and the number of words that are better
than the most frequent sense.

  regard evaluate RUN data/texts/wsd-0-test.tsv --columns 1 2 3 --truncate -o rows-0.jsonl     # and the other folds
  recipes/score_senses.py rows-0.jsonl rows-1.jsonl …

The labels are WORD:SENSE. The rows of all folds are joined before the scores of a word are computed. Macro F1 is the
mean of scikit-learn's F1 over the senses of the word. The label of another word counts as wrong. Only Python's
standard library is needed."""
import argparse
import json
from collections import Counter, defaultdict


def f1(pairs, sense):
    right = sum(a == b == sense for a, b in pairs)
    given, found = sum(a == sense for a, _ in pairs), sum(b == sense for _, b in pairs)
    return 2 * right / (given + found)


def score_words(pairs):
    """Convert pairs of labels (given, found) to {word: (accuracy, macro F1, share of the most frequent sense)}."""
    words = defaultdict(list)
    for given, found in pairs:
        words[given.split(":")[0]].append((given, found))
    scores = {}
    for word, rows in sorted(words.items()):
        senses = Counter(given for given, _ in rows)
        scores[word] = (sum(a == b for a, b in rows) / len(rows), sum(f1(rows, sense) for sense in senses) / len(senses),
                        max(senses.values()) / len(rows))
    return scores


def print_scores(scores):
    for word, (accuracy, macro, majority) in scores.items():
        print(f"{word:10} accuracy {100 * accuracy:5.1f}  macro F1 {100 * macro:5.1f}  majority {100 * majority:5.1f}")
    means = [100 * sum(values) / len(scores) for values in zip(*scores.values())]
    ahead = sum(accuracy > majority for accuracy, _, majority in scores.values())
    print(f"mean of {len(scores)} words: accuracy {means[0]:.1f}, macro F1 {means[1]:.1f}; majority {means[2]:.1f}; "
          f"ahead of the majority: {ahead} words")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", help="files of regard evaluate -o, one for each fold")
    rows = [json.loads(line) for path in parser.parse_args().rows for line in open(path, encoding="utf-8")]
    print_scores(score_words([(row["expected"], row["output"]) for row in rows]))


if __name__ == "__main__":
    main()
