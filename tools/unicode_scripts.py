#!/usr/bin/env python3
"""Write src/text/unicode_scripts.cpp: the scripts that Hugging Face's pre-tokenizer UnicodeScripts distinguishes.

This script tests the library itself: at which code points it never splits, and which neighbours it keeps together. The
library treats Hiragana, Katakana and Han as one script. Needs `pip install tokenizers`:
    python3 tools/unicode_scripts.py > src/text/unicode_scripts.cpp && clang-format-16 -i src/text/unicode_scripts.cpp
    python3 tools/unicode_scripts.py --golden > tests/data/unicode-reference/scripts.json
The golden file has a digest of the splits of each block of 4,096 code points, and texts with their pieces (text/scripts_test.cpp).
"""
import hashlib
import json
import sys

import tokenizers
from tokenizers import pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CUTTER = pre_tokenizers.UnicodeScripts()
TEXTS = ["", " ", "  a", "a  ", "  ", "どこで生れ。Yes", "Apples are りんご 林檎", "a 1 b", "abcабвγδ", "नमस्ते world", "नमस्ते दुनिया!", "x\u0301y", "\u0301x",
         "ー", "aーb", "アーカ", "漢ーか", " .a", ". a", "...", "a\n\nb", "\n a", "한국어 텍스트 text", "العربية، 123", "\u200dа", "a\u0378b", "\u0378", " \u0378 a",
         "😀 a 😀", "ไทยabc ไทย", "𝒳a", "\U00020000\u3042", "\ufeffa", "a\u00a0b", "\u3000漢\u3000", "ΩΩ", "日本語とEnglishとहिन्दी"]


def count(text):
    return len(CUTTER.pre_tokenize_str(text))


def scripts():
    """Return {code point: number of its script}; 0 if the text is not split there."""
    anywhere = {c for c in POINTS if count("a" + chr(c)) == 1 and count("\u6f22" + chr(c)) == 1}
    runs, points = [], [c for c in POINTS if c not in anywhere]
    for piece, _ in CUTTER.pre_tokenize_str("".join(map(chr, points))):
        runs.append(len(piece))
    assert sum(runs) == len(points)
    number, place, heads = {c: 0 for c in anywhere}, 0, []
    for run in runs:
        first = chr(points[place])
        script = next((i for i, head in enumerate(heads) if count(head + first) == 1), len(heads))
        if script == len(heads):
            heads.append(first)
        for c in points[place:place + run]:
            number[c] = script + 1
        place += run
    return number


def main():
    print("// Written by tools/unicode_scripts.py; not to be edited.")
    print(f"// Reference: Hugging Face tokenizers {tokenizers.__version__}.")
    print('#include "text/unicode_scripts.h"\n\nnamespace regard::text::unicode {\n')
    print("// Pairs of numbers: the first code point of a range with one script, and the id of that script.\nconst std::vector<std::uint32_t> kScriptStarts = {")
    last, row = None, []
    for c, script in sorted(scripts().items()):
        if script != last:
            row.append(f"{c:#x}, {script}")
            last = script
    print(", ".join(row) + "};\n\n}  // namespace regard::text::unicode")


def golden():
    def cut(c):
        return "|".join(piece for piece, _ in CUTTER.pre_tokenize_str(f"a{chr(c)}b\u6f22{chr(c)} {chr(c)}"))

    digests = []
    for first in range(0, 0x110000, 4096):
        texts = "\n".join(cut(c) for c in range(first, first + 4096) if not 0xD800 <= c < 0xE000)
        digests.append(hashlib.sha256(texts.encode()).hexdigest()[:8])
    print(json.dumps({"tokenizers": tokenizers.__version__, "blocks": "".join(digests),
                      "texts": [{"text": text, "pieces": CUTTER.pre_tokenize_str(text)} for text in TEXTS]},
                     ensure_ascii=False, indent=1))


golden() if "--golden" in sys.argv else main()
