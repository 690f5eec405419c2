"""A build with its test programs, which tools/mutants.py runs with changed sources."""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import typing

# Test programs of the lower directories run only code of these directories, so they cannot detect a mutant
# elsewhere.
REACHED = {
    "base": {"base"}, "tensor": {"base", "tensor"}, "kernels": {"base", "tensor", "kernels"},
    "ops": {"base", "tensor", "kernels", "ops", "formats"}, "text": {"base", "text"},
    "formats": {"base", "tensor", "kernels", "formats"}, "demo": {"base", "demo"},
    "corpora": {"base", "tensor", "kernels", "text", "data", "formats"}, "install": set(),
    "nn": {"base", "tensor", "kernels", "ops", "formats", "nn", "models"}}
MEMORY_LIMIT = 8 << 30  # bytes of address space; otherwise an endless loop could use all memory of the machine
FILE_LIMIT = 4 << 30
SLOW_TEST = 2.0  # seconds
STALL = 120  # seconds


def has_variables(object_file):
    sizes = subprocess.run(["size", "-A", str(object_file)], capture_output=True, text=True, check=True).stdout
    return any(int(size) > 0 for size in re.findall(r"^\.(?:data|bss|tdata|tbss)\s+(\d+)", sizes, re.M))


def own_program(mutant):
    directory = mutant["file"].split("/")[1]
    return "test_corpora" if directory == "data" else "test_" + directory  # tests/data holds files that tests read


def session_seconds(session):
    """Return the processor time of the running processes of a session."""
    ticks = 0
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def wait(child, log):
    """Return the exit status, or None if a test uses STALL seconds of processor time, or uses none during STALL
    seconds."""
    size, since, used = -1, time.time(), 0.0
    while True:
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            now = log.stat().st_size
            if now != size:
                size, since, used = now, time.time(), session_seconds(child.pid)
            if time.time() - since > STALL:
                taken = session_seconds(child.pid) - used
                if taken > STALL or taken < 0.01 * (time.time() - since):
                    return None


def limit_resources():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Step(typing.NamedTuple):
    """The compilation of one file."""
    object: pathlib.Path  # path of the object file that the linker reads
    key: tuple  # equal for steps with equal results
    command: list


class Suite:
    """A build and its test programs."""

    def __init__(self, root, build, sanitizers, jobs):
        self.root, self.build, self.sanitizers, self.jobs = root, build, sanitizers, jobs
        self.scratch = build / "mutant"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.objects = {}  # key of a compiled step: path of its object file
        self.shell(["cmake", "--preset", "asan" if sanitizers else "release", "-B", str(build)])
        self.shell(["cmake", "--build", str(build), "-j", str(jobs)])
        self.commands = self.read_commands()
        # The test of the installation installs the build, which no mutant changes.
        self.all = sorted(p.name for p in (build / "bin").glob("test_*")
                          if p.name != "test_install" and not p.name.startswith("test_serve_"))
        self.kept = build / "mutants_tests.json"
        # Tests that fail without a mutation, tests that pass without one, and the seconds of slow tests.
        self.excluded, self.passing, self.slow = [], [], {}
        newest = max(f.stat().st_mtime for f in (build / "bin").glob("test_*"))
        if self.kept.exists() and self.kept.stat().st_mtime > newest:
            self.excluded, self.passing, self.slow = json.loads(self.kept.read_text())
        self.ended = True  # whether the last failed program ran to its end

    def read_commands(self):
        """Return (compiled file, command) for each source. A file of a unity build contains several sources."""
        commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            file = pathlib.Path(entry["file"])
            if not re.search(r" -o CMakeFiles/regard(_simd_\w+|_light|_program)?\.dir/", entry["command"]):
                continue
            sources = [file]
            if file.parent.name == "Unity":
                sources = map(pathlib.Path, re.findall(r'^#include "(.*)"', file.read_text(), re.M))
            for source in sources:
                if source.is_relative_to(self.root / "src"):
                    commands.setdefault(str(source.relative_to(self.root)), []).append((file, entry["command"]))
        return commands

    def shell(self, command):
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"mutants: {shlex.join(command)} failed:\n{done.stdout[-3000:]}")

    def run(self, program, folder, only=(), without=(), whole=False):
        """Return (failed, names of the failed tests) of a program linked with the mutants of a folder (None: no mutants).
        `whole`: do not stop at the first failure."""
        binary, environment = self.build / "bin" / program, {}
        if folder is not None:
            binary = self.linked(program, folder)
            # Only programs that start bin/regard contain this name.
            if b"REGARD_TEST_PROGRAM" in binary.read_bytes():
                environment["REGARD_TEST_PROGRAM"] = str(self.linked("regard", folder))
        temporary = self.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        command = [str(binary)] + ([] if whole else ["--gtest_fail_fast"])
        without = [*without, *self.excluded]
        command.append("--gtest_filter=" + ":".join(only or ["*"]) + ("-" + ":".join(without) if without else ""))
        log = self.scratch / "log"
        with open(log, "wb") as out:
            child = subprocess.Popen(command, cwd=self.scratch, stdout=out, stderr=subprocess.STDOUT,
                                     env={**os.environ, "TMPDIR": str(temporary), **environment}, start_new_session=True,
                                     preexec_fn=None if self.sanitizers else limit_resources)
            try:
                status = wait(child, log)
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
        shutil.rmtree(temporary, ignore_errors=True)
        text = log.read_text(errors="replace")
        for test, ms in re.findall(r"^\[       OK \] (\S+) \((\d+) ms\)", text, re.M):
            if int(ms) > 1000 * SLOW_TEST:
                self.slow[test] = min(int(ms) / 1000, self.slow.get(test, 1e9))
                self.kept.write_text(json.dumps([self.excluded, self.passing, self.slow]))
        if status == 0:
            return False, []
        self.ended = "Global test environment tear-down" in text
        failed = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", text, re.M)
        if not self.ended:  # the program crashed in the last test
            failed += re.findall(r"^\[ RUN      \] (\S+)", text, re.M)[-1:]
        return True, list(dict.fromkeys(failed))

    def compile(self, mutants, groups=False):
        """Compile the mutants. Return the folder of their objects, or None if they do not compile. `groups`: include the
        other sources of their unity files, whose objects may contain inlined copies of the functions."""
        folder = self.scratch / ("_".join(str(one["number"]) for one in mutants) + ("g" if groups else ""))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        texts = {}
        for one in mutants:
            lines = texts.setdefault(one["file"], (self.root / one["file"]).read_text().split("\n"))
            lines[one["line"] - 1] = one["after"]
        places = {file: folder / file.replace("/", "-") for file in texts}
        for file, lines in texts.items():
            places[file].write_text("\n".join(lines))
        steps = []
        for compiled, command in dict.fromkeys(one for file in texts for one in self.commands[file]):
            sources = [places[file] for file in texts if (compiled, command) in self.commands[file]]
            if groups and compiled.parent.name == "Unity":
                text = compiled.read_text()
                for file, place in places.items():
                    text = text.replace(f'"{self.root / file}"', f'"{place}"')
                sources = [folder / f"{len(steps)}_{compiled.name}"]  # several targets have a unity_1_cxx.cxx
                sources[0].write_text(text)
            numbers = [one["number"] for one in mutants if (compiled, command) in self.commands[one["file"]]]
            for source in sources:
                words = shlex.split(command)
                kind = ".program" if "regard_program.dir/" in command else ""
                output = words[words.index("-o") + 1]
                words[words.index("-c") + 1] = str(source)
                # The mutated copy is in another folder, but includes headers of its directory by name.
                quoted = sorted({str((self.root / file).parent) for file in texts})
                steps.append(Step(folder / f"{len(steps)}{kind}.o", (output, "" if groups else source.name, *numbers),
                                  words + [word for path in quoted for word in ("-iquote", path)]))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            done = list(pool.map(self.compile_object, steps))
        return folder if all(done) else None

    def compile_object(self, step):
        """Compile one file, unless it was compiled before with the same mutants. Return whether it compiles."""
        kept = self.objects.get(step.key)
        if kept is None:
            kept = self.scratch / f"{len(self.objects)}_{abs(hash(step.key))}.o"
            step.command[step.command.index("-o") + 1] = str(kept)
            if subprocess.run(step.command, cwd=self.build, capture_output=True).returncode:
                return False
            self.objects[step.key] = kept
        step.object.symlink_to(kept)
        return True

    def linked(self, program, folder):
        """Link a program with the objects of a folder, which replace definitions of the library and of bin/regard."""
        out = folder / program
        if not out.exists():
            text = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", f"bin/{program}"], capture_output=True,
                                  text=True, check=True).stdout.splitlines()[-1]
            words = shlex.split(text.removeprefix(": && ").removesuffix(" && :"))
            words[words.index("-o") + 1] = str(out)
            objects = [str(o) for o in sorted(folder.glob("*.o")) if program == "regard" or not o.match("*.program.o")]
            words[1:1] = [*objects, "-Wl,-z,muldefs"]
            subprocess.run(words, cwd=self.build, capture_output=True, check=True)
        return out

    def detects(self, program, folder, only=(), without=()):
        """The tests of a program that fail with the mutant of a folder. They must fail twice, so that a test that
        sometimes fails on a busy machine does not count as a detection, and pass without the mutant."""
        while True:
            failed, names = self.run(program, folder, only, without)
            if not failed or not self.run(program, folder, names)[0]:
                return ""
            if not set(names) <= set(self.passing):
                if self.run(program, None, names)[0]:
                    print(f"without a mutation, {program} fails: {' '.join(names)}: left out", flush=True)
                    self.excluded += names
                    continue
                self.passing += names
            self.kept.write_text(json.dumps([self.excluded, self.passing, self.slow]))
            return f"{program} {' '.join(names)}"

    def similar(self, program, file):
        """Return the tests in files whose names share a word with the name of the source, most common words first."""
        listed = self.scratch / "tests.json"
        subprocess.run([str(self.build / "bin" / program), "--gtest_list_tests", f"--gtest_output=json:{listed}"],
                       capture_output=True, check=True)
        words = set(re.split(r"[_/.]", file)) - {"src", "cpp", file.split("/")[1]}
        shared = {}
        for suite in json.loads(listed.read_text())["testsuites"]:
            for test in suite["testsuite"]:
                count = len(words & set(re.split(r"[_.]", pathlib.Path(test["file"]).name)))
                if count:
                    shared[f"{suite['name']}.{test['name']}"] = count
        return sorted(shared, key=shared.get, reverse=True)

    def first_fate(self, mutant):
        """Run the quick tests of the mutant's directory. The fate is "undecided" if they do not detect it."""
        if mutant["file"] not in self.commands:
            return "not built", ""
        folder = self.compile([mutant])
        # The unity file defines the variables of its sources, so an object with variables would define them
        # twice.
        if folder is not None and any(map(has_variables, folder.glob("*.o"))):
            folder = self.compile([mutant], groups=True)
        if folder is None:
            return "does not compile", ""
        program = own_program(mutant)
        similar, slow = self.similar(program, mutant["file"]), list(self.slow)
        stages = ([(similar, slow)] if similar else []) + [([], similar + slow)]
        by = next(filter(None, (self.detects(program, folder, *stage) for stage in stages)), "")
        shutil.rmtree(folder)
        return ("killed", by) if by else ("undecided", "")

    def remaining_fates(self, mutants):
        """Run all programs with all `mutants` at once. Return the test that detects each mutant, or "" for none."""
        by = dict.fromkeys((one["number"] for one in mutants), "")
        folders = {one["number"]: self.compile([one], groups=True) for one in mutants}
        for program in self.all:
            alive = [one for one in mutants if not by[one["number"]] and folders[one["number"]] is not None
                     and self.reaches(program, one["file"])]
            while alive:
                folder = self.compile(alive, groups=True) if len(alive) > 1 else folders[alive[0]["number"]]
                failed, names = self.run(program, folder, whole=True) if folder is not None else (True, [])
                ended = self.ended
                if not failed:
                    break
                for one in alive:
                    by[one["number"]] = self.detects(program, folders[one["number"]], names)
                found = [one for one in alive if by[one["number"]]]
                if not found and (not ended or folder is None):  # test each mutant alone
                    for one in alive:
                        by[one["number"]] = self.detects(program, folders[one["number"]])
                if not found or ended:  # the other mutants pass the failed tests alone, and all other tests together
                    break
                alive = [one for one in alive if one not in found]
        for old in filter(pathlib.Path.is_dir, self.scratch.iterdir()):
            shutil.rmtree(old)
        return by

    def reaches(self, program, file):
        directory = file.split("/")[1]
        return directory in REACHED.get(program.removeprefix("test_"), {directory})
