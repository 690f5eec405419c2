#!/usr/bin/env python3
"""Make spoken words and strings of digits with espeak-ng, in many voices, speeds, pitches and noises.

  recipes/make_spoken.py FOLDER [--seed 1] [--keyword-takes 120] [--strings 4000] [--jobs 2]

FOLDER gets sounds/*.wav and TSV files of path and label or text:
  keywords-train.tsv, keywords-valid.tsv, keywords-test.tsv   one of 35 words; the label is the word
  digits-train.tsv, digits-valid.tsv, digits-test.tsv         one to five digits; the text is their words
The voices of the valid and test files occur in no other file. The same seed gives the same choices; the bytes depend on the
version of espeak-ng. Needs espeak-ng and Python's standard library."""
import argparse
import array
import math
import pathlib
import random
import subprocess
import wave
from concurrent.futures import ThreadPoolExecutor

# The words of Speech Commands (Warden 2018).
KEYWORDS = ("backward bed bird cat dog down eight five follow forward four go happy house learn left marvin nine no off on one "
            "right seven sheila six stop three tree two up visual wow yes zero").split()
DIGITS = "zero one two three four five six seven eight nine".split()
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-029", "en-gb-x-gbclan", "en-gb-x-gbcwmd")
# Voices (timbres) of espeak-ng. No training file has a voice of the held-out files, with any accent.
TRAIN_VOICES = ("m1", "m2", "m3", "m5", "m6", "m8", "f1", "f2", "f4", "Andy", "Denis", "Annie", "Diogo", "Jacky", "Lee", "Storm")
VALID_VOICES = ("m7", "f5")
TEST_VOICES = ("m4", "f3", "Mario", "steph")


def speak(path, text, choices):
    voice, speed, pitch, gain, noise, seed = choices
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", str(path), text], check=True)
    with wave.open(str(path), "rb") as sound:
        rate, samples = sound.getframerate(), array.array("h", sound.readframes(sound.getnframes()))
    level = math.sqrt(sum(x * x for x in samples) / max(1, len(samples))) or 1.0
    numbers = random.Random(seed)
    # Noise through a one-pole filter: white noise for 0, close to brown noise for 1.
    pole, last, amount = numbers.uniform(0.0, 0.95), 0.0, level * 10 ** (-noise / 20)
    scale = amount * math.sqrt(1 - pole * pole)
    before = [0] * int(rate * numbers.uniform(0.0, 0.12))
    out = array.array("h")
    for x in before + list(samples):
        last = pole * last + numbers.gauss(0.0, 1.0)
        out.append(max(-32768, min(32767, round(gain * (x + scale * last)))))
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        sound.writeframes(out.tobytes())


def choices_of(voices, numbers):
    return (numbers.choice(ACCENTS) + "+" + numbers.choice(voices), numbers.randrange(120, 200), numbers.randrange(25, 75),
            numbers.uniform(0.4, 1.0), numbers.uniform(12.0, 35.0), numbers.randrange(1 << 30))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keyword-takes", type=int, default=120, help="recordings of each word to train on")
    parser.add_argument("--strings", type=int, default=4000, help="strings of digits to train on")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    sounds = arguments.folder / "sounds"
    sounds.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(arguments.seed)
    work = []

    def table(name, rows):
        with open(arguments.folder / name, "w", encoding="utf-8") as file:
            for index, (text, voices) in enumerate(rows):
                path = sounds / f"{name.removesuffix('.tsv')}-{index:05}.wav"
                work.append((path, text, choices_of(voices, numbers)))
                file.write(f"sounds/{path.name}\t{text}\n")

    def words(takes, voices):
        return [(word, voices) for word in KEYWORDS for _ in range(takes)]

    def strings(count, voices):
        return [(" ".join(numbers.choices(DIGITS, k=numbers.randint(1, 5))), voices) for _ in range(count)]

    table("keywords-train.tsv", words(arguments.keyword_takes, TRAIN_VOICES))
    table("keywords-valid.tsv", words(6, VALID_VOICES))
    table("keywords-test.tsv", words(12, TEST_VOICES))
    table("digits-train.tsv", strings(arguments.strings, TRAIN_VOICES))
    table("digits-valid.tsv", strings(160, VALID_VOICES))
    table("digits-test.tsv", strings(300, TEST_VOICES))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda one: speak(*one), work))
    print(f"{len(work)} sounds in {sounds}")


main()
