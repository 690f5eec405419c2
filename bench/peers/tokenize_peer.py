"""Time one tokenizer of one library on the lines of a file, with one thread, to compare with `regard bench tokenize`.
Prints JSON.

    python tokenize_peer.py tiktoken|tokenizers|sentencepiece KIND TOKENIZER FILE [--rounds 3]

KIND selects what the files do not contain: gpt2, cl100k (tiktoken's patterns; the files of data/tokenizers), json,
bert, spm. Times are processor times, which a busy machine disturbs less. `ids_sum` is the sum of (id + 1)(place + 1)
modulo 2^64, as regard prints it, to compare the results.
"""
import argparse
import json
import os
import statistics
import time

import numpy

os.environ["TOKENIZERS_PARALLELISM"] = "false"

CL100K = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
O200K = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""])


def tiktoken_encoding(kind, path):
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe
    if kind == "gpt2":
        ranks = data_gym_to_mergeable_bpe_ranks(os.path.join(path, "vocab.bpe"), os.path.join(path, "encoder.json"))
        return tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    pattern = O200K if kind == "o200k" else CL100K
    return tiktoken.Encoding(kind, pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(path), special_tokens={})


def hugging_face(kind, path):
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    if kind == "json":
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
    if kind == "gpt2":
        vocabulary = json.load(open(os.path.join(path, "encoder.json"), encoding="utf-8"))
        merges = [tuple(line.split(" ")) for line in open(os.path.join(path, "vocab.bpe"), encoding="utf-8").read().split("\n")[1:] if line]
        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer
    if kind == "bert":
        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(open(path, encoding="utf-8", newline="\n"))}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if t in vocabulary])
        return tokenizer
    # Convert cl100k to Hugging Face's format: every division of a token into two tokens is a merge, in the
    # order of ranks.
    import base64
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in open(path, "rb") if line.strip())}
    letters = byte_letters()
    spell = lambda token: "".join(letters[b] for b in token)
    merges = []
    for token, rank in ranks.items():
        halves = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        merges += [(spell(a), spell(b)) for a, b in sorted(halves, key=lambda h: (ranks[h[0]], ranks[h[1]]))]
    tokenizer = Tokenizer(models.BPE({spell(t): r for t, r in ranks.items()}, merges, ignore_merges=True))
    # cl100k's own pattern has {1,3}+, a possessive quantifier. Oniguruma would read {1,3}+ as a repeated
    # group.
    pattern = r"'(?i:[sdmtſ]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_letters():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {b: chr(b) for b in plain}, 256
    for byte in range(256):
        if byte not in table:
            table[byte], extra = chr(extra), extra + 1
    return table


def encoder(library, kind, path):
    """Return the library's fastest function on one thread that converts lines to lists of ids."""
    if library == "tiktoken":
        encoding = tiktoken_encoding(kind, path)
        return lambda lines: [encoding.encode_ordinary(line) for line in lines]
    if library == "sentencepiece":
        import sentencepiece
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda lines: [model.encode(line) for line in lines]
    tokenizer = hugging_face(kind, path)
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)

    def run(lines):
        ids = []
        for begin in range(0, len(lines), 1000):
            ids += [e.ids for e in encode(lines[begin:begin + 1000], add_special_tokens=False)]
        return ids
    return run


def main():
    parser = argparse.ArgumentParser()
    for name in ("library", "kind", "tokenizer", "file"):
        parser.add_argument(name)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    data = open(options.file, "rb").read()
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    begin = time.process_time()
    encode = encoder(options.library, options.kind, options.tokenizer)
    load = time.process_time() - begin
    seconds = []
    for _ in range(options.rounds):
        begin = time.process_time()
        ids = encode(lines)
        seconds.append(time.process_time() - begin)
    flat = numpy.fromiter((i for row in ids for i in row), dtype=numpy.uint64)
    total = int(((flat + numpy.uint64(1)) * numpy.arange(1, len(flat) + 1, dtype=numpy.uint64)).sum(dtype=numpy.uint64))
    print(json.dumps({"library": options.library, "mb_per_s": len(data) / statistics.median(seconds) / 1e6,
                      "best_mb_per_s": len(data) / min(seconds) / 1e6, "load_ms": 1e3 * load, "tokens": len(flat),
                      "ids_sum": f"{total:016x}"}))


if __name__ == "__main__":
    main()
