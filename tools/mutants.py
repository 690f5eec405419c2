#!/usr/bin/env python3
"""Mutation testing: change one operator, constant or condition on a random line of src/, compile, run the tests.

A mutant that no test detects ("survived") means a missing test, dead code, or a line that only affects speed.
docs/decisions/0010-mutation-testing.md lists the kinds that survive, with the reasons.

No source file is changed. The mutated copy is compiled beside the build with the build's own command, and copies of the
test programs and of bin/regard are linked with its object. An interrupted run leaves nothing that must be restored.

Each mutant first runs the quick tests of its directory, those with similar names first. The mutants that these tests
do not detect then run all tests together. If a program passes, it detects none of them. If a test fails, it runs
again with each mutant alone, and the result of these runs decides.

The mutants of a seed depend only on the sources. They are in the named directories of src/; default: DIRECTORIES.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import time

from mutant_suite import Suite

DIRECTORIES = ("base ops nn infer train tasks models formats text metrics inspect api vectors data kernels serve evaluate report "
         "distributed tensor cli").split()  # all directories except demo, whose sources are the phrasebook
OPERATORS = [
    (r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r" \* ", " + "), (r"std::max", "std::min"), (r"std::min", "std::max"), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"\+= ", "-= "), (r"return (?=\w)", "return !"), (r"\b0\.5", "0.25"), (r"\b2\b", "3"),
    (r"continue;", "break;"), (r"\bif \((?!constexpr)", "if (!")]
DRAWS = 100_000  # after this many draws in a row without a new mutant, all mutants are assumed to be drawn
TOGETHER = 24  # maximum number of mutants that run the remaining programs together


def mutants(root, seed, directories):
    """Generate the mutants of a seed."""
    rng = random.Random(seed)
    files = [f for directory in directories for f in sorted((root / "src" / directory).rglob("*.cpp"))
             if "reference" not in f.name and "phrasebook" not in str(f.relative_to(root))]
    if not files:
        sys.exit(f"mutants: expected .cpp files in {root}/src/, directories {' '.join(directories)}; found none")
    texts = [f.read_text().split("\n") for f in files]
    weights = [len(f.read_text().splitlines()) for f in files]
    drawn, since = set(), 0
    while (since := since + 1) <= DRAWS:
        file = rng.choices(range(len(files)), weights)[0]
        lines = texts[file]
        number = rng.randrange(len(lines))
        line = lines[number]
        if not line.strip() or line.lstrip().startswith(("//", "#", "namespace", "template", "using")):
            continue
        if "usage_error" in line or '"' in line or "error(" in line:
            continue
        code = line.split("//")[0]
        fitting = [(pattern, new) for pattern, new in OPERATORS if re.search(pattern, code)]
        if not fitting:
            continue
        pattern, new = rng.choice(fitting)
        place = rng.choice(list(re.finditer(pattern, code)))
        after = line[:place.start()] + new + line[place.end():]
        if (file, number, after) not in drawn:
            drawn.add((file, number, after))
            since = 0
            yield {"file": str(files[file].relative_to(root)), "line": number + 1, "before": line, "after": after}


def replayed(root, record):
    """Return the mutants of an earlier record that survived. Their lines are found again if they have moved."""
    for one in map(json.loads, record.read_text().splitlines()):
        if one.get("fate") not in ("survived", "listed"):
            continue
        lines = (root / one["file"]).read_text().split("\n") if (root / one["file"]).exists() else []
        places = [i for i, line in enumerate(lines) if line.strip() == one["before"].strip()]
        if not places:
            print(f"{'line is gone':16} {one['file']}:{one['line']}\n      {one['before'].strip()}", flush=True)
            continue
        place = min(places, key=lambda i: abs(i + 1 - one["line"]))
        yield {**{key: one[key] for key in ("file", "before", "after")}, "line": place + 1}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("clone", type=pathlib.Path, help="a checkout of the project")
    parser.add_argument("seconds", type=float, help="no mutant is begun after this time; the first build is not counted")
    parser.add_argument("seed", type=int)
    parser.add_argument("directories", nargs="*", help="directories of src/ (default: all but demo)")
    parser.add_argument("--count", type=int, default=0, help="at most this many mutants that compile")
    parser.add_argument("--list-only", action="store_true", help="print the mutants (--count of them, default 40) and stop")
    parser.add_argument("--replay", type=pathlib.Path, help="instead of the seed's, the survivors of this record")
    parser.add_argument("--sanitizers", action="store_true", help="the address and undefined-behaviour sanitizers' suite")
    parser.add_argument("--build", type=pathlib.Path, help="default: build/mutants, build/mutants-asan")
    parser.add_argument("--record", type=pathlib.Path, help="JSON lines, appended (default: mutants.jsonl in the build)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_intermixed_args()


def main():
    options = arguments()
    root = options.clone.resolve()
    source = replayed(root, options.replay) if options.replay else mutants(root, options.seed, options.directories or DIRECTORIES)
    if options.list_only:
        for count, one in enumerate(source):
            if count == (options.count or 40):
                break
            print(json.dumps({**one, "fate": "listed"}))
        return
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(1))
    build = root / (options.build or ("build/mutants-asan" if options.sanitizers else "build/mutants"))
    suite = Suite(root, build, options.sanitizers, options.jobs)
    with open(options.record or build / "mutants.jsonl", "a") as record:
        fates = run(suite, source, options, record)
    killed, survived = fates.count("killed"), fates.count("survived")
    print(f"mutants: {killed} of {killed + survived} killed"
          + (f" ({100 * killed / (killed + survived):.0f} %)" if fates and killed + survived else ""))


def run(suite, source, options, record):
    """Return the fates of the mutants. Prints and records each fate when it is known."""
    fates, undecided = [], []
    end = time.time() + options.seconds

    def tell(one, fate, by):
        fates.append(fate)
        print(f"{fate:16} {one['seconds']:4.0f} s {one['file']}:{one['line']}  {by}\n"
              f"      {one['before'].strip()}\n   -> {one['after'].strip()}", flush=True)
        kept = {key: one[key] for key in ("file", "line", "before", "after")}
        record.write(json.dumps({**kept, "fate": fate, "by": by, "seed": options.seed}) + "\n")
        record.flush()

    def decide():
        for number, by in (suite.remaining_fates(undecided) if undecided else {}).items():
            one = next(one for one in undecided if one["number"] == number)
            tell(one, "killed" if by else "survived", by)
        undecided.clear()

    for number, one in enumerate(source):
        compiled = len(undecided) + sum(fate in ("killed", "survived") for fate in fates)
        if time.time() >= end or (options.count and compiled == options.count):
            break
        one["number"] = number
        start = time.time()
        fate, by = suite.first_fate(one)
        one["seconds"] = time.time() - start
        if fate != "undecided":
            tell(one, fate, by)
            continue
        print(f"{fate:16} {one['seconds']:4.0f} s {one['file']}:{one['line']}", flush=True)
        if any(other["file"] == one["file"] and other["line"] == one["line"] for other in undecided):
            decide()  # two changes of one line cannot be compiled together
        undecided.append(one)
        if len(undecided) == TOGETHER:
            decide()
    decide()
    return fates


if __name__ == "__main__":
    main()
