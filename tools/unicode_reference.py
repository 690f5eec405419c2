#!/usr/bin/env python3
"""Write src/text/unicode_reference.cpp: the differences between Unicode 15.0 and the Unicode of Hugging Face's
tokenizers.

That library uses several versions of the Unicode tables, older and newer than ours. This script tests the library itself
for each property and each code point. Needs Python 3.12 (whose unicodedata is Unicode 15.0, as is utf8proc 2.8) and
`pip install tokenizers`:
    python3.12 tools/unicode_reference.py > src/text/unicode_reference.cpp && clang-format-16 -i src/text/unicode_reference.cpp
    python3.12 tools/unicode_reference.py --golden > tests/data/unicode-reference/golden.json
The golden file has, for each component, a digest of its results for each block of 4,096 code points (text/unicode_test.cpp).
"""
import hashlib
import json
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

assert unicodedata.unidata_version == "15.0.0", "this needs the tables of Unicode 15.0"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORY = {c: unicodedata.category(chr(c)) for c in POINTS}
NAMES = {
    "Lu": "letter_upper", "Ll": "letter_lower", "Lt": "letter_title", "Lm": "letter_modifier", "Lo": "letter_other",
    "M": "mark_nonspacing", "Nd": "number_decimal", "Nl": "number_letter", "No": "number_other", "P": "punctuation_other",
}


def ranges(values):
    """Convert {code point: value} to [(first, last, value)]."""
    rows = []
    for c in sorted(values):
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == values[c]:
            rows[-1][1] = c
        else:
            rows.append([c, c, values[c]])
    return rows


def matched(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    return {c for c in POINTS if not split.pre_tokenize_str(chr(c))}


def table(name, kind, rows, what):
    print(f"// {what}")
    print(f"const std::vector<{kind}> {name} = {{")
    for row in rows:
        print("    {" + ", ".join(row) + "},")
    print("};\n")


def flags(name, reference, ours, what):
    rows = ranges({c: c in reference for c in POINTS if (c in reference) != (c in ours)})
    table(name, "FlagRange", [(f"{a:#x}", f"{b:#x}", str(v).lower()) for a, b, v in rows], what)


def main():
    print("// Written by tools/unicode_reference.py; not to be edited.")
    print(f"// Each table lists the code points at which Hugging Face tokenizers {tokenizers.__version__} (the reference) differs from\n"
          "// Unicode 15.0.")
    print('#include "text/unicode_reference.h"\n\nnamespace regard::text::unicode {\n')
    newer = {}
    for short, name in NAMES.items():
        for c in matched(rf"\p{{{short}}}"):
            if not CATEGORY[c].startswith(short):
                newer[c] = name
    table("kNewerCategories", "CategoryRange",
          [(f"{a:#x}", f"{b:#x}", f"Category::{v}") for a, b, v in ranges(newer)],
          "Code points whose category in the reference's regular expressions is not that of Unicode 15.0; "
          "all marks are listed as nonspacing.")

    def pieces(pre_tokenizer, c):
        return [piece for piece, _ in pre_tokenizer.pre_tokenize_str("a" + chr(c) + "b")]

    punctuation = {c for c in POINTS if len(pieces(pre_tokenizers.Punctuation(), c)) == 3}
    flags("kBertPunctuation", punctuation,
          {c for c in POINTS if CATEGORY[c][0] == "P" or (c < 128 and CATEGORY[c][0] in "PS")},
          "Code points that the pre-tokenizer Punctuation isolates.")
    numeric = {c for c in POINTS if len(pieces(pre_tokenizers.Digits(True), c)) == 3}
    flags("kNumeric", numeric, {c for c in POINTS if CATEGORY[c][0] == "N"}, "Code points that the pre-tokenizer Digits isolates.")
    word = {c for c in POINTS if len(pieces(pre_tokenizers.Whitespace(), c)) == 1}
    ours = {c for c in POINTS if CATEGORY[c][0] in "LM" or CATEGORY[c] in ("Nd", "Nl", "Pc") or newer.get(c)
            and not newer[c].startswith("punctuation") and newer[c] != "number_other"}
    flags("kWord", word, ours, "Code points that \\w matches.")

    def gone(normalizer):
        return {c for c in POINTS if normalizer.normalize_str("a" + chr(c) + "b") == "ab"}

    bert = normalizers.BertNormalizer
    flags("kBertControl", gone(bert(True, False, False, False)) - {0, 0xFFFD},
          {c for c in POINTS if CATEGORY[c] in ("Cc", "Cf", "Co")} - {0, 9, 10, 13, 0xFFFD}, "Code points that BERT's cleaning removes.")
    accent = {c for c in POINTS
              if bert(False, False, True, False).normalize_str("a" + unicodedata.normalize("NFD", chr(c))[-1] + "b") == "ab"
              and unicodedata.normalize("NFD", chr(c)) == chr(c)}
    flags("kBertAccent", accent, {c for c in POINTS if CATEGORY[c] == "Mn" and unicodedata.normalize("NFD", chr(c)) == chr(c)},
          "Nonspacing marks (category Mn) that BERT's normalizer strips.")
    flags("kCombiningMark", gone(normalizers.StripAccents()), {c for c in POINTS if CATEGORY[c][0] == "M"},
          "Marks that StripAccents removes.")

    lower = normalizers.Lowercase()
    pairs = [(c, lower.normalize_str(chr(c))) for c in POINTS]
    table("kLower", "LowerPair", [(f"{c:#x}", f"{ord(low):#x}") for c, low in pairs
                                  if len(low) == 1 and low != chr(c).lower()],
          "Code points whose lower case differs from that of Unicode 15.0, and their lower case in the reference.")
    nfkd, nfd = normalizers.NFKD(), normalizers.NFD()
    whole = {c: True for c in POINTS if nfkd.normalize_str(chr(c)) == chr(c) != unicodedata.normalize("NFKD", chr(c))}
    table("kUndecomposed", "Range", [(f"{a:#x}", f"{b:#x}") for a, b, _ in ranges(whole)],
          "Code points that the reference's normalisation does not decompose.")
    starter = {}
    for c in POINTS:
        text = "a" + chr(c) + "\u0334"  # a mark of combining class 1 is sorted before every mark of a higher class
        if c not in whole and unicodedata.combining(chr(c)) > 1 and nfd.normalize_str(text) != unicodedata.normalize("NFD", text):
            starter[c] = True
    table("kClassZero", "Range", [(f"{a:#x}", f"{b:#x}") for a, b, _ in ranges(starter)],
          "Marks that the reference's normalisation treats as starters (combining class 0).")
    print("}  // namespace regard::text::unicode")


def golden():
    bert = normalizers.BertNormalizer
    normal = {"NFC": normalizers.NFC(), "NFD": normalizers.NFD(), "NFKC": normalizers.NFKC(), "NFKD": normalizers.NFKD(),
              "Lowercase": normalizers.Lowercase(), "StripAccents": normalizers.StripAccents(), "Nmt": normalizers.Nmt(),
              "Strip": normalizers.Strip(), "BertClean": bert(True, False, False, False),
              "BertIdeographs": bert(False, True, False, False), "BertAccents": bert(False, False, True, False),
              "BertUncased": bert(True, True, None, True)}
    cut = {"BertPreTokenizer": pre_tokenizers.BertPreTokenizer(), "Whitespace": pre_tokenizers.Whitespace(),
           "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(), "Punctuation": pre_tokenizers.Punctuation(),
           "Digits": pre_tokenizers.Digits(True)}
    for pattern in (r"\p{L}", r"\p{Lu}", r"\p{Lt}", r"\p{Ll}", r"\p{Lm}", r"\p{Lo}", r"\p{M}", r"\p{N}", r"\p{Nd}", r"\p{Nl}",
                    r"\p{No}", r"\p{P}", r"\w", r"\s", r"\d", r"\W", r"[^\w\s]", r"[^\s\p{L}\p{N}]"):
        cut[pattern] = pre_tokenizers.Split(Regex(pattern), "isolated")

    def digests(result, prefix, suffix):
        rows = []
        for first in range(0, 0x110000, 4096):
            texts = (result(prefix + chr(c) + suffix) for c in range(first, first + 4096) if not 0xD800 <= c < 0xE000)
            rows.append(hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8])
        return "".join(rows)

    print(json.dumps({
        "tokenizers": tokenizers.__version__,
        # "a", the code point, and "b" or a mark of a low combining class, which is sorted before marks of
        # higher classes
        "normalizers": {name: [digests(n.normalize_str, "a", "b"), digests(n.normalize_str, "a", "\u0334")]
                        for name, n in normal.items()},
        # pieces of "a", the code point, "b", each with "|" after it
        "pre_tokenizers": {name: digests(lambda text: "".join(piece + "|" for piece, _ in p.pre_tokenize_str(text)), "a", "b")
                           for name, p in cut.items()}}, indent=0))


if __name__ == "__main__":
    sys.exit(golden() if sys.argv[1:] == ["--golden"] else main())
