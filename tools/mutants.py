#!/usr/bin/env python3
"""Mutation testing: change one operator, constant or condition on a random line of src/, compile, run the tests.

A mutant that no test notices ("survived") is a missing test, dead code, or a line that only affects speed;
docs/decisions lists those that are left and why.

No source file is changed: the mutated copy is compiled beside the build, linked into a second libregard.so (or a
second program, for src/cli), and the tests run against that one. An interrupted run leaves nothing to restore.

The mutants of a seed depend on the sources only. They are those of the directories of src/ named, or of ROOMS.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOMS = ("base ops nn infer train tasks models formats text metrics inspect api vectors data kernels serve evaluate report "
         "distributed").split()
OPERATORS = [
    (r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r" \* ", " + "), (r"std::max", "std::min"), (r"std::min", "std::max"), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"\+= ", "-= "), (r"return (?=\w)", "return !"), (r"\b0\.5", "0.25"), (r"\b2\b", "3"),
    (r"continue;", "break;"), (r"\bif \((?!constexpr)", "if (!")]
# The test programs that also use a directory, those that detect most mutants first. The directory's own
# program runs before them, all others after them, the quickest first.
RELATED = {
    "api": ["api", "tasks"], "base": ["text", "formats"], "cli": ["cli"], "data": ["corpora", "train"], "demo": ["demo"],
    "distributed": ["train"], "evaluate": ["train", "cli"], "formats": ["families"],
    "infer": ["families", "api"], "inspect": ["cli"], "kernels": ["nn", "ops", "families"],
    "models": ["families", "nn", "formats", "infer"], "nn": ["families", "infer", "models"],
    "ops": ["nn", "models", "families"], "report": ["train", "cli"], "tasks": ["api", "cli"], "tensor": ["ops", "nn", "formats"],
    "text": ["formats", "tasks"], "train": ["cli"], "vectors": ["inspect", "cli"]}
# Test programs of the lower directories link the whole library but run only code of these directories, so
# they cannot detect a mutant elsewhere.
REACHED = {
    "base": {"base"}, "tensor": {"base", "tensor"}, "kernels": {"base", "tensor", "kernels"},
    "ops": {"base", "tensor", "kernels", "ops", "formats"}, "text": {"base", "text"},
    "formats": {"base", "tensor", "kernels", "formats"}, "demo": {"base", "demo"},
    "corpora": {"base", "tensor", "kernels", "text", "data", "formats"}, "install": set(),
    "nn": {"base", "tensor", "kernels", "ops", "formats", "nn", "models"}}
MEMORY_LIMIT = 8 << 30  # bytes; an endless loop must not use all memory of the machine
FILE_LIMIT = 4 << 30
SLOW_TEST = 0.5  # seconds


def mutants(root, seed, rooms):
    """Every mutant of a seed, without end, in order."""
    rng = random.Random(seed)
    files = [f for room in rooms for f in sorted((root / "src" / room).rglob("*.cpp"))
             if "reference" not in f.name and "phrasebook" not in str(f.relative_to(root))]
    if not files:
        sys.exit(f"mutants: expected .cpp files in {root}/src/, directories {' '.join(rooms)}; found none")
    texts = [f.read_text().split("\n") for f in files]
    weights = [len(f.read_text().splitlines()) for f in files]
    while True:
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
        yield {"file": str(files[file].relative_to(root)), "line": number + 1, "before": line,
               "after": line[:place.start()] + new + line[place.end():]}


def replayed(root, record):
    """The mutants of an earlier record that were not killed, found again where lines have moved."""
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


class Suite:
    """A build with a shared library, and its test programs."""

    def __init__(self, root, build, sanitizers, jobs):
        self.root, self.build, self.sanitizers, self.jobs = root, build, sanitizers, jobs
        self.scratch = build / "mutant"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        preset = "asan" if sanitizers else "release"
        self.shell(["cmake", "--preset", preset, "-B", str(build), "-DREGARD_LIBRARY_TYPE=SHARED",
                    "-DREGARD_BUILD_EXAMPLES=OFF", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
                    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--enable-new-dtags"])
        self.shell(["cmake", "--build", str(build), "-j", str(jobs)])
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            self.commands.setdefault(str(pathlib.Path(entry["file"]).relative_to(root)), []).append(entry["command"])
        self.links = {}
        for target in ["libregard.so"] + ([] if sanitizers else ["bin/regard"]):
            text = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], capture_output=True, text=True,
                                  check=True).stdout.splitlines()[-1]
            self.links[target] = shlex.split(text.removeprefix(": && ").removesuffix(" && :"))
        self.excluded = {}  # program: its tests that fail without a mutation
        self.seconds = {}  # for each program: the time of all its tests
        self.slow = {}  # for each program: its tests that take more than SLOW_TEST

    def shell(self, command):
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"mutants: {shlex.join(command)} failed:\n{done.stdout[-3000:]}")

    def measure(self):
        """Runs every test program unmutated: its time orders the programs and bounds the mutants' runs."""
        kept = self.build / "mutants_baseline.json"
        newest = max(f.stat().st_mtime for f in [self.build / "libregard.so", *(self.build / "bin").glob("*")])
        if kept.exists() and kept.stat().st_mtime > newest:
            self.seconds, self.excluded, self.slow = json.loads(kept.read_text())
            return
        # The test of the installation links the static library, which is not rebuilt, so it cannot detect a
        # changed line.
        for program in sorted(p.name for p in (self.build / "bin").glob("test_*") if p.name != "test_install"):
            start = time.time()
            failed, name = self.run_program(program, [], {}, 1800, whole=True)
            self.seconds[program] = time.time() - start
            times = re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)", (self.scratch / "log").read_text(errors="replace"), re.M)
            self.slow[program] = [test for test, ms in times if int(ms) > 1000 * SLOW_TEST]
            if failed:
                self.excluded[program] = name
                print(f"without a mutation, {program} fails: {' '.join(name)}: left out", flush=True)
        kept.write_text(json.dumps([self.seconds, self.excluded, self.slow]))

    def order(self, file):
        """(program, its tests to run, its tests to leave out): the directory's own first, slow tests last."""
        room = file.split("/")[1]
        first = [f"test_{name}" for name in [room, *RELATED.get(room, [])]]
        rest = sorted(self.seconds, key=self.seconds.get)
        order = dict.fromkeys(p for p in first + rest if p in self.seconds)
        programs = [p for p in order if room in REACHED.get(p.removeprefix("test_"), {room})]
        quick = [(p, ["*"], self.slow.get(p, [])) for p in programs]
        slow = [(p, self.slow[p], []) for p in programs if self.slow.get(p)]
        return quick[:1] + [one for one in slow if one[0] == programs[0]] + quick[1:] + \
            [one for one in slow if one[0] != programs[0]]

    def run_program(self, program, only, environment, limit, whole=False, without=()):
        """(failed, names of the tests that failed). `whole`: do not stop at the first."""
        temporary = self.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        command = [str(self.build / "bin" / program)] + ([] if whole else ["--gtest_fail_fast"])
        without = [*without, *self.excluded.get(program, [])]
        command.append("--gtest_filter=" + ":".join(only or ["*"]) + ("-" + ":".join(without) if without else ""))
        log = self.scratch / "log"
        with open(log, "wb") as out:
            child = subprocess.Popen(command, cwd=self.scratch, stdout=out, stderr=subprocess.STDOUT,
                                     env={**os.environ, "TMPDIR": str(temporary), **environment}, start_new_session=True,
                                     preexec_fn=None if self.sanitizers else limit_resources)
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
        shutil.rmtree(temporary, ignore_errors=True)
        if status == 0:
            return False, []
        text = log.read_text(errors="replace")
        failed = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", text, re.M)
        started = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
        return True, list(dict.fromkeys(failed)) or started[-1:]

    def compile(self, mutant):
        """Compiles and links the mutant; the environment to test it in, or None where it does not compile."""
        source = self.scratch / pathlib.Path(mutant["file"]).name
        lines = (self.root / mutant["file"]).read_text().split("\n")
        lines[mutant["line"] - 1] = mutant["after"]
        source.write_text("\n".join(lines))
        target = "bin/regard" if mutant["file"].startswith("src/cli/") else "libregard.so"
        link = list(self.links[target])
        steps = []
        for count, command in enumerate(self.commands[mutant["file"]]):
            words = shlex.split(command)
            at = words.index("-o") + 1
            object_file = str(self.scratch / f"{count}.o")
            link = [object_file if word == words[at] else word for word in link]
            words[at], words[words.index("-c") + 1] = object_file, str(source)
            steps.append(words + ["-iquote", str((self.root / mutant["file"]).parent)])
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            done = list(pool.map(lambda words: subprocess.run(words, cwd=self.build, capture_output=True).returncode, steps))
        if any(done):
            return None
        out = self.scratch / pathlib.Path(target).name
        link[link.index("-o") + 1] = str(out)
        if subprocess.run(link, cwd=self.build, capture_output=True).returncode:
            return None
        if target == "bin/regard":
            return {"REGARD_TEST_PROGRAM": str(out)}
        return {"LD_LIBRARY_PATH": str(self.scratch)}

    def fate(self, mutant):
        for old in self.scratch.glob("*.so"):
            old.unlink()
        if mutant["file"] not in self.commands:
            return "not built", ""
        environment = self.compile(mutant)
        if environment is None:
            return "does not compile", ""
        for program, tests, without in self.order(mutant["file"]):
            limit = 60 + 10 * self.seconds[program]
            start = time.time()
            failed, names = self.run_program(program, tests, environment, limit, without=without)
            if failed and time.time() - start >= limit:
                return "killed", f"{program} {' '.join(names)}: no end after {limit:.0f} s"
            # A failed program runs twice, so that a test that sometimes fails on a busy machine does not
            # count as a detection.
            if failed and self.run_program(program, names, environment, limit)[0]:
                return "killed", f"{program} {' '.join(names)}"
        return "survived", ""


def limit_resources():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("clone", type=pathlib.Path, help="a checkout of the project")
    parser.add_argument("seconds", type=float, help="no mutant is begun after this time; the first build is not counted")
    parser.add_argument("seed", type=int)
    parser.add_argument("rooms", nargs="*", help="directories of src/ (default: all but cli and tensor)")
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
    source = replayed(root, options.replay) if options.replay else mutants(root, options.seed, options.rooms or ROOMS)
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
    suite.measure()
    fates = []
    end = time.time() + options.seconds
    with open(options.record or build / "mutants.jsonl", "a") as record:
        for one in source:
            compiled = sum(fate in ("killed", "survived") for fate in fates)
            if time.time() >= end or (options.count and compiled == options.count):
                break
            start = time.time()
            fate, by = suite.fate(one)
            fates.append(fate)
            print(f"{fate:16} {time.time() - start:4.0f} s {one['file']}:{one['line']}  {by}\n"
                  f"      {one['before'].strip()}\n   -> {one['after'].strip()}", flush=True)
            record.write(json.dumps({**one, "fate": fate, "by": by, "seed": options.seed}) + "\n")
            record.flush()
    killed, survived = fates.count("killed"), fates.count("survived")
    print(f"mutants: {killed} of {killed + survived} killed"
          + (f" ({100 * killed / (killed + survived):.0f} %)" if fates and killed + survived else ""))


if __name__ == "__main__":
    main()
