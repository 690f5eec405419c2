#!/usr/bin/env python3
"""Make spoken words and strings of digits with espeak-ng, in many voices, speeds, pitches and noises.

  recipes/make_spoken.py FOLDER [--seed 1] [--only keywords|digits] [--jobs 2]

FOLDER gets sounds/*.wav and TSV files of path and label or text:
  keywords-train.tsv, keywords-valid.tsv, keywords-test.tsv   one of 35 words; the label is the word
  digits-train.tsv, digits-valid.tsv, digits-test.tsv         one to five digits; the text is their words
  digits-varied.tsv                                           strings to train on, three quarters of them in random voices
  digits-dev.tsv                                              strings by unusual voices, to choose settings
The voices of the valid, test and dev files occur in no other file. The same seed gives the same choices; the bytes depend on
the version of espeak-ng. Needs espeak-ng and Python's standard library."""
import argparse
import array
import math
import os
import pathlib
import random
import re
import subprocess
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor

# The words of Speech Commands (Warden 2018).
KEYWORDS = ("backward bed bird cat dog down eight five follow forward four go happy house learn left marvin nine no off on one "
            "right seven sheila six stop three tree two up visual wow yes zero").split()
DIGITS = "zero one two three four five six seven eight nine".split()
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-029", "en-gb-x-gbclan", "en-gb-x-gbcwmd")
# Voices (timbres) of espeak-ng. The voices of the held-out files do not occur in the training files, with any
# accent.
TRAIN_VOICES = ("m1", "m2", "m3", "m5", "m6", "m8", "f1", "f2", "f4", "Andy", "Denis", "Annie", "Diogo", "Jacky", "Lee", "Storm")
VALID_VOICES = ("m7", "f5")
TEST_VOICES = ("m4", "f3", "Mario", "steph")
DEV_VOICES = ("Alicia", "iven", "kaukovalta", "shelby", "zac")
# More voices, for digits-varied.tsv. Variants that are close to a held-out voice (steph2, steph3, Michael; iven2, iven3,
# iven4) are in no file.
MORE_VOICES = TRAIN_VOICES + (
    "Alex", "Andrea", "AnxiousAndy", "Demonic", "Gene", "Gene2", "Henrique", "Hugo", "Marco", "Mike", "Nguyen", "Tweaky",
    "UniRobot", "adam", "anika", "announcer", "antonio", "aunty", "belinda", "benjamin", "boris", "croak", "david", "ed",
    "edward", "grandma", "grandpa", "gustave", "john", "klatt", "klatt2", "klatt3", "klatt4", "klatt5", "linda", "marcelo",
    "max", "michel", "miguel", "norbert", "pablo", "paul", "pedro", "quincy", "rob", "robert", "robosoft", "robosoft3",
    "robosoft6", "robosoft8", "sandro", "travis", "victor", "whisper", "whisperf")


def synthesise(path, text, voice, speed, pitch, environment=None):
    """Write the sound of a text, and return its rate and samples."""
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", str(path), text],
                   check=True, env=environment)
    with wave.open(str(path), "rb") as sound:
        return sound.getframerate(), array.array("h", sound.readframes(sound.getnframes()))


def level_of(samples):
    return math.sqrt(sum(x * x for x in samples) / max(1, len(samples))) or 1.0


def save(path, rate, samples):
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        sound.writeframes(samples.tobytes())


def speak(path, text, choices):
    voice, speed, pitch, gain, noise, seed = choices
    rate, samples = synthesise(path, text, voice, speed, pitch)
    level = level_of(samples)
    numbers = random.Random(seed)
    # Noise through a one-pole filter: white noise for 0, close to brown noise for 1.
    pole, last, amount = numbers.uniform(0.0, 0.95), 0.0, level * 10 ** (-noise / 20)
    scale = amount * math.sqrt(1 - pole * pole)
    before = [0] * int(rate * numbers.uniform(0.0, 0.12))
    out = array.array("h")
    for x in before + list(samples):
        last = pole * last + numbers.gauss(0.0, 1.0)
        out.append(max(-32768, min(32767, round(gain * (x + scale * last)))))
    save(path, rate, out)


def choices_of(voices, numbers):
    return (numbers.choice(ACCENTS) + "+" + numbers.choice(voices), numbers.randrange(120, 200), numbers.randrange(25, 75),
            numbers.uniform(0.4, 1.0), numbers.uniform(12.0, 35.0), numbers.randrange(1 << 30))


def random_voice(numbers):
    """Return the text of a voice variant of espeak-ng with random pitch, vocal tract length, formants, filter and source."""
    def percent(middle, spread):
        return round(middle * math.exp(numbers.gauss(0.0, spread)))

    low = round(math.exp(numbers.uniform(math.log(60), math.log(230))))
    lines = ["language variant", "name random", f"pitch {low} {round(low * numbers.uniform(1.1, 1.8))}"]
    tract = numbers.uniform(85, 130)  # percent; short vocal tracts have high formants
    for formant in range(9):
        frequency = percent(tract, 0.06 if formant in (1, 2) else 0.1) if formant > 0 else 100
        height, width = percent(90, 0.3), percent(100, 0.35)
        if formant > 2 and numbers.random() < 0.15:  # a formant at an unusual place, or none
            frequency, height = numbers.randrange(5, 250), numbers.choice((0, numbers.randrange(10, 120)))
        lines.append(f"formant {formant} {frequency} {height} {width}")
    if numbers.random() < 0.5:  # a filter: pairs of frequency and gain of 0 to 255
        points, gain = [numbers.randrange(80, 300), numbers.randrange(120, 256)], 255.0
        fall = numbers.uniform(0.4, 1.1)
        for frequency in (600, 1200, 2000, 3500):
            gain = max(10.0, min(255.0, gain * fall * math.exp(numbers.gauss(0.0, 0.25))))
            points += [round(frequency * numbers.uniform(0.8, 1.2)), round(gain)]
        lines.append("tone " + " ".join(map(str, points)))
    extras = {"flutter": numbers.randrange(0, 21), "roughness": numbers.randrange(0, 8), "voicing": percent(100, 0.5),
              "consonants": f"{percent(90, 0.35)} {percent(90, 0.35)}", "intonation": numbers.randrange(1, 5),
              "echo": f"{numbers.randrange(10, 150)} {numbers.randrange(5, 60)}", "klatt": numbers.randrange(1, 6),
              "breath": "0 2 " + " ".join(str(numbers.randrange(2, 40)) for _ in range(6)),
              "stressAmp": " ".join(str(numbers.randrange(14, 30)) for _ in range(8)),
              "stressAdd": " ".join(str(numbers.randrange(-30, 120)) for _ in range(8))}
    shares = {"klatt": 0.1, "echo": 0.2, "breath": 0.2}
    lines += [f"{key} {value}" for key, value in extras.items() if numbers.random() < shares.get(key, 0.5)]
    return "\n".join(lines) + "\n"


class VariedSpeaker:
    """Speaks in random voices. The voices are files of a copy of espeak-ng's data folder that consists of links."""

    def __init__(self, folder):
        version = subprocess.run(["espeak-ng", "--version"], check=True, capture_output=True, text=True).stdout
        data = pathlib.Path(re.search(r"Data at: (.*)", version).group(1))
        self.voices = pathlib.Path(folder) / "espeak-ng-data" / "voices" / "!v"
        self.voices.mkdir(parents=True)
        for source in data.iterdir():
            if source.name != "voices":
                (self.voices.parents[1] / source.name).symlink_to(source)
        self.environment = dict(os.environ, ESPEAK_DATA_PATH=str(folder))
        # White to brown noise, from which each sound takes a random part.
        numbers, self.noises = random.Random(0), []
        for pole in (0.0, 0.3, 0.6, 0.8, 0.9, 0.95):
            last, scale, noise = 0.0, math.sqrt(1 - pole * pole), array.array("f")
            for _ in range(1 << 18):
                last = pole * last + numbers.gauss(0.0, 1.0)
                noise.append(scale * last)
            self.noises.append(noise)

    def speak(self, path, text, choices):
        accent, variant, speed, pitch, gain, noise, seed = choices
        numbers = random.Random(seed)
        if variant is None:
            file = self.voices / path.stem[-12:]
            file.write_text(random_voice(numbers), encoding="utf-8")
            rate, samples = synthesise(path, text, f"{accent}+{file.name}", speed, pitch, self.environment)
            file.unlink()
        else:
            rate, samples = synthesise(path, text, f"{accent}+{variant}", speed, pitch)
        samples = array.array("h", [0] * int(rate * numbers.uniform(0.0, 0.15))) + samples
        table = numbers.choice(self.noises)
        start = numbers.randrange(max(1, len(table) - len(samples)))
        gain = min(gain, 32000 / (max(map(abs, samples)) + 1))
        scale = gain * level_of(samples) * 10 ** (-noise / 20)
        out = [int(gain * x + scale * y) for x, y in zip(samples, table[start:start + len(samples)])]
        save(path, rate, array.array("h", [max(-32768, min(32767, x)) for x in out]))


def varied_choices(voices, numbers):
    """A voice of None is a random voice."""
    variant = numbers.choice(voices) if numbers.random() < 0.25 else None
    return (numbers.choice(ACCENTS), variant, numbers.randrange(100, 230), numbers.randrange(15, 85), numbers.uniform(0.3, 1.0),
            numbers.uniform(10.0, 35.0), numbers.randrange(1 << 30))


def make_tables(arguments, work):
    """Write the tables, and append function, path, text and choices of each sound to `work`."""
    numbers = random.Random(arguments.seed)
    sounds = arguments.folder / "sounds"

    def table(name, rows, function=speak, choose=choices_of):
        kept = arguments.only is None or name.startswith(arguments.only)
        with open(arguments.folder / name if kept else os.devnull, "w", encoding="utf-8") as file:
            for index, (text, voices) in enumerate(rows):
                path, choices = sounds / f"{name.removesuffix('.tsv')}-{index:05}.wav", choose(voices, numbers)
                if kept:
                    work.append((function, path, text, choices))
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
    table("digits-dev.tsv", strings(300, DEV_VOICES))
    if arguments.only != "keywords":
        speaker = VariedSpeaker(arguments.temporary)
        table("digits-varied.tsv", strings(arguments.varied_strings, MORE_VOICES), speaker.speak, varied_choices)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("keywords", "digits"), help="make only these files, with the same choices")
    parser.add_argument("--keyword-takes", type=int, default=120, help="recordings of each word to train on")
    parser.add_argument("--strings", type=int, default=4000, help="strings of digits of digits-train.tsv")
    parser.add_argument("--varied-strings", type=int, default=8000, help="strings of digits of digits-varied.tsv")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    sounds = arguments.folder / "sounds"
    sounds.mkdir(parents=True, exist_ok=True)
    work = []
    with tempfile.TemporaryDirectory() as arguments.temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        make_tables(arguments, work)
        list(pool.map(lambda one: one[0](*one[1:]), work))
    print(f"{len(work)} sounds in {sounds}")


main()
