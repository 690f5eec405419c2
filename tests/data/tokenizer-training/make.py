#!/usr/bin/env python3
"""Write corpus.txt (invented words, with a seed) and trained.json: the results of Hugging Face's trainers on this
corpus.

    pip install tokenizers==0.23.3; python3 tests/data/tokenizer-training/make.py
"""
import json
import random
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = Path(__file__).parent
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
SYLLABLES = ("ba ke li mo nu ra sti tre vo wy xo zel än öl ühr ço né ing er est un re con der the "
             "का की के ता ना मे री स्ता क्ष ज्ञ हूँ").split()
SIGNS = [".", ",", "!", "?", " -", "…", ":", "।", "'s", "n't", " 12", " 3.5", " 2026", "=====", "--", " “so”", "🙂"]


def corpus(lines=700):
    draw = random.Random(20261121)
    words = ["".join(draw.choice(SYLLABLES) for _ in range(draw.choice([1, 1, 2, 2, 2, 3, 3, 4]))) for _ in range(900)]
    weights = [1 / (rank + 2) for rank in range(len(words))]
    text = []
    for _ in range(lines):
        line = draw.choices(words, weights, k=draw.randint(3, 14))
        line = [w.capitalize() if draw.random() < 0.1 else w + draw.choice(SIGNS) if draw.random() < 0.15 else w for w in line]
        text.append(" ".join(line))
    return "\n".join(text) + "\n"


def word_level(path, size, least, lower, rule):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()] + [normalizers.Lowercase()] * lower)
    tokenizer.pre_tokenizer = {"spaces": pre_tokenizers.WhitespaceSplit, "signs": pre_tokenizers.Whitespace,
                               "bert": pre_tokenizers.BertPreTokenizer}[rule]()
    tokenizer.train([path], trainers.WordLevelTrainer(vocab_size=size, min_frequency=least, special_tokens=SPECIAL,
                                                      show_progress=False))
    return tokenizer


def word_piece(path, size, least, lower, limit):
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train([path], trainers.WordPieceTrainer(vocab_size=size, min_frequency=least, special_tokens=SPECIAL,
                                                      limit_alphabet=limit or 1000, initial_alphabet=["z", "Ж"],
                                                      show_progress=False))
    return tokenizer


def unigram(path, size):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train([path], trainers.UnigramTrainer(vocab_size=size, special_tokens=SPECIAL, unk_token="<unk>",
                                                    show_progress=False))
    return tokenizer


def runs_of_signs(seed):
    """Words of few letters, whose tokens can be spelt by several pairs, so that pairs come back."""
    draw = random.Random(seed)
    letters = draw.choice(["a", "ab", "=-", "abc", "aab="])
    lines = [" ".join("".join(draw.choice(letters) for _ in range(draw.randint(1, draw.choice([4, 12, 40]))))
                      for _ in range(draw.randint(1, 6))) for _ in range(draw.choice([3, 10, 40]))]
    size, least = draw.choice([280, 320, 400, 900]), draw.choice([0, 1, 2, 3])
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, min_frequency=least, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    return dict(type="byte-bpe", vocab_size=size, min_frequency=least, lines=lines,
                merges=json.loads(tokenizer.to_str())["model"]["merges"])


def listed(tokenizer):
    return [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]


def main():
    path = HERE / "corpus.txt"
    path.write_text(corpus())
    cases = []
    for size, least, lower, rule in [(120, 1, False, "signs"), (5000, 3, True, "spaces"), (300, 2, False, "bert")]:
        cases.append(dict(type="word", vocab_size=size, min_frequency=least, lower_case=lower, words=rule,
                          tokens=listed(word_level(str(path), size, least, lower, rule))))
    for size, least, lower, limit in [(400, 2, True, None), (700, 3, False, None), (300, 2, False, 40)]:
        # Letters within words get ids in the order of a hash table, which also breaks ties: only the set is compared,
        # and it must be the same from run to run.
        runs = [sorted(listed(word_piece(str(path), size, least, lower, limit))) for _ in range(6)]
        assert all(run == runs[0] for run in runs)
        cases.append(dict(type="wordpiece", vocab_size=size, min_frequency=least, lower_case=lower, limit_alphabet=limit or 0,
                          tokens=runs[0]))
    for size in [300, 400, 500, 1000]:
        # Characters that no piece is left for get scores in the order of a hash table, 0.0001 apart.
        tokenizer = unigram(str(path), size)
        ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in path.read_text().split("\n")]
        pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
        score = sum(pieces[i][1] for line in ids for i in line)
        cases.append(dict(type="unigram", vocab_size=size, pieces=pieces, log_likelihood=score))
    cases += [runs_of_signs(seed) for seed in range(24)]
    with open(HERE / "trained.json", "w") as out:
        json.dump(cases, out, ensure_ascii=False)
        out.write("\n")


main()
