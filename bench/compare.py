#!/usr/bin/env python3
"""Measure regard and PyTorch in one run, and write the tables to --results.

    python3 bench/compare.py [--rounds 5] [--only attention,gemm,train_small,train_large,translator,decode,start,recipe,busy] (also train_bf16)

Makes a virtual environment in build/peers with the pinned versions below (from PyPI), unless --python or REGARD_PEERS
names a Python that has them. Both programs use f32 and two threads. They run alternately within each round, so that
changes in the speed of the machine affect both. The tables show the median over the rounds of PyTorch's time divided
by regard's, with the lowest and the highest, also where regard is slower. Each part has its own table, so that it can
be measured again alone.

On a machine that others use at the same time, wall-clock ratios depend on the other programs. --processor-time
compares the processor time of one thread instead, which they change little (only the training parts and decode; in
separate tables).

The parts that train need the data folder that REGARD_SHARED names; `start` needs the demo's model (`regard demo`;
--demo).
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ["torch==2.15.0", "transformers==5.23.0", "numpy"]

ATTENTION = [
    dict(batch=8, heads=8, seq=128, dim=64, causal=False),
    dict(batch=8, heads=8, seq=512, dim=64, causal=True),
    dict(batch=1, heads=12, seq=1024, dim=64, causal=True),
    dict(batch=1, heads=8, seq=4096, dim=64, causal=True),
    dict(batch=1, heads=8, seq=4096, dim=128, causal=False),
    dict(batch=64, heads=4, seq=32, dim=32, causal=False),
]
SMALL = dict(layers=4, hidden=128, heads=4, vocabulary=65, context=64, batch=12, dropout=0.0, steps=60)
LARGE = dict(layers=6, hidden=384, heads=6, vocabulary=65, context=256, batch=16, dropout=0.2, steps=4)
TRANSLATOR = dict(layers=4, hidden=128, heads=4, ffn=256, vocabulary=10000, dropout=0.3, batch_tokens=4096, steps=8)


def gemm_shapes():
    """(m, n, k, A transposed, B transposed) from gemm_shapes.txt."""
    for text in (ROOT / "bench/gemm_shapes.txt").read_text().splitlines():
        words = text.partition("#")[0].split()
        if words:
            yield (*map(int, words[:3]), words[3][0] == "t", words[3][1] == "t")


def run(command, timeout=900, text=None, env=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, cwd=ROOT, input=text,
                          env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def line(command, **more):
    return json.loads(run(command, **more).strip().splitlines()[-1])


class Bench:
    def __init__(self, options):
        self.options, self.tables = options, {}
        self.program = Path(options.regard).resolve()
        self.threads = 1 if options.processor_time else 2
        self.environment = dict(os.environ, PEER_THREADS=str(self.threads), PEER_CLOCK="cpu" if options.processor_time else "wall")
        self.python, self.server = self.obtain_python(), None
        self.peak = self.regard("peak")
        if self.threads == 1:
            self.peak["fma_gflops_all"] = self.peak["fma_gflops_one"] = max(self.peak["fma_gflops_all"], self.peak["fma_gflops_one"])

    def obtain_python(self):
        if self.options.python:
            return Path(self.options.python)
        folder = ROOT / "build/peers"
        if not (folder / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([folder / "bin/pip", "install", "-q", *PINNED], check=True)
        return folder / "bin/python"

    def regard(self, *words):
        return line([self.program, "bench", *words, "--threads", self.threads])

    def torch(self, work, o, **more):
        return line([self.python, ROOT / "bench/peers/torch_peer.py", work, "-"], text=json.dumps(o), env=self.environment, **more)

    def kernel(self, work, o):
        """Measure a kernel in a PyTorch process that is kept, because starting it takes longer than the kernel."""
        if self.server is None:
            self.server = subprocess.Popen([self.python, ROOT / "bench/peers/torch_peer.py", "serve"], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True, cwd=ROOT, env=self.environment)
        self.server.stdin.write(json.dumps([work, o]) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def kernel_pair(self, ours, theirs):
        return [(self.regard(*ours), self.kernel(*theirs)) for _ in range(self.options.rounds)]

    def kernel_ms(self, key):
        return key.replace("ms", "cpu_ms") if self.options.processor_time else key

    def step_ms(self, result):
        return result["processor_ms" if self.options.processor_time else "step_ms"]

    def pair(self, ours, theirs):
        """Run regard and PyTorch alternately. Return the pairs of results that they print."""
        return [(self.regard(*ours), self.torch(*theirs)) for _ in range(self.options.rounds)]

    def add(self, part, name, rounds, ours, theirs, flops=None):
        """`ours` and `theirs` select the time in a result of regard and of PyTorch: a key or a function."""
        value = lambda result, what: what(result) if callable(what) else result[what]
        a, b = [value(r[0], ours) for r in rounds], [value(r[1], theirs) for r in rounds]
        ratios = [y / x for x, y in zip(a, b)]
        row = dict(name=name, ours=statistics.median(a), theirs=statistics.median(b), ratio=statistics.median(ratios),
                   low=min(ratios), high=max(ratios), share="", memory="")
        if flops:
            row["share"] = f"{100 * flops / (min(a) * 1e6) / self.peak['fma_gflops_all']:.0f} %"
        memory = [[r[side].get("peak_rss_mb") for r in rounds] for side in (0, 1)]
        if all(memory[0]) and all(memory[1]) and part not in ("attention", "gemm"):
            row["memory"] = f"{max(memory[0]):.0f} / {min(memory[1]):.0f}"
        self.tables.setdefault(part, []).append(row)
        print(f"{name:48} {row['ours']:9.3f} ms  PyTorch {row['theirs']:9.3f} ms  ratio {row['ratio']:.2f} "
              f"({row['low']:.2f} to {row['high']:.2f})  {row['share']}  {row['memory']}", flush=True)

    def attention(self):
        for o in ATTENTION:
            name = f"[{o['batch']}, {o['heads']}, {o['seq']}, {o['dim']}]" + (" causal" if o["causal"] else "")
            flags = [w for k in ("batch", "heads", "seq", "dim") for w in (f"--{k}", str(o[k]))] + ["--causal"] * o["causal"]
            flops = 4 * o["batch"] * o["heads"] * o["seq"] ** 2 * o["dim"] / (2 if o["causal"] else 1)
            rounds = self.kernel_pair(["attention", *flags, "--backward"], ["attention", o])
            self.add("attention", f"{name} forward", rounds, self.kernel_ms("fwd_ms"), "fwd_ms", flops)
            self.add("attention", f"{name} forward+backward", rounds, self.kernel_ms("fwdbwd_ms"), "fwdbwd_ms", 3.5 * flops)

    def gemm(self):
        for m, n, k, ta, tb in gemm_shapes():
            flags = ["--m", m, "--n", n, "--k", k] + ["--transpose-a"] * ta + ["--transpose-b"] * tb
            rounds = self.kernel_pair(["gemm", *flags], ["gemm", dict(m=m, n=n, k=k, ta=ta, tb=tb)])
            self.add("gemm", f"{m}×{n}×{k} " + ("Aᵀ" if ta else "A") + ("Bᵀ" if tb else "B"), rounds, self.kernel_ms("ms"), "ms",
                     2 * m * n * k)

    def train_small(self):
        self.language_model("train_small", "4 × 128, context 64, batch 12", "char.toml", SMALL)

    def train_large(self):
        self.language_model("train_large", "6 × 384, context 256, batch 16, dropout 0.2", "larger.toml", LARGE)

    def train_bf16(self):
        """PyTorch uses autocast to bf16. No dropout in feed-forward layers, because the peer's model has none there."""
        self.language_model("train_bf16", "6 × 384, context 256, batch 16, dropout 0.2, bf16", "larger.toml", dict(LARGE, bf16=True),
                            ["--set", "training.precision=bf16", "--set", "model.activation_dropout=0"])

    def language_model(self, part, name, file, o, flags=()):
        """Run PyTorch eager and compiled, alternately with regard. The faster of the two counts."""
        ours = ["train", ROOT / "bench/runs" / file, "--steps", o["steps"], *flags]
        peers = [dict(o, compile=compiled) for compiled in ((False, True) if not self.options.eager else (False,))]
        rounds = [(self.regard(*ours), *(self.torch("train-lm", peer) for peer in peers)) for _ in range(self.options.rounds)]
        for which, kind in list(enumerate(("eager", "compiled"), 1))[: len(peers)]:
            self.add(part, f"{name}; PyTorch {kind}", [(r[0], r[which]) for r in rounds], self.step_ms, "step_ms")

    def translator(self):
        """Milliseconds for 1,000 source and target tokens without padding; equal sentence lengths on both sides."""
        o = dict(TRANSLATOR, lengths=self.lengths())
        rounds = self.pair(["train", ROOT / "bench/runs/translator.toml", "--steps", 4 * o["steps"]], ["train-translator", o])
        ours = (lambda r: 1e6 / r["tokens_per_processor_s"]) if self.options.processor_time else (
            lambda r: 1e6 / (r["tokens_per_s"] + r["source_tokens_per_s"]))
        self.add("translator", "Multi30k, 4+4 × 128, 1,000 useful tokens", rounds, ours, lambda r: 1e6 / r["tokens_per_s"])

    def lengths(self):
        files = [Path(os.environ["REGARD_SHARED"]) / "data/multi30k" / f"train.{side}" for side in ("en", "de")]
        with tempfile.TemporaryDirectory() as folder:
            tokenizer = Path(folder) / "tokenizer.json"
            run([self.program, "tokenizer", "train", *files, "--type", "bpe", "--vocab-size", 10000, "--lower-case",
                 "--end-token", "-o", tokenizer, "--quiet"])
            count = lambda f: [len(ids.split()) for ids in run(
                [self.program, "tokenizer", "encode", "-T", tokenizer, f, "--view", "ids"]).splitlines()]
            # Count the start token of PyTorch's target sequences, which is an input but is not predicted.
            return sorted(((s, t + 1) for s, t in zip(count(files[0]), count(files[1]))), key=lambda p: (p[1], p[0]))

    def decode(self):
        """Decode after 128 tokens with GPT-2 small's shape and random weights; also the share of memory bandwidth."""
        model, rounds, shares = ROOT / "bench/models/gpt2-small.json", [], []
        for _ in range(self.options.rounds):
            before, ours, after = self.regard("peak"), self.regard("decode", model, "--new", 64), self.regard("peak")
            read = "read_gb_per_processor_s" if self.options.processor_time else "read_gb_s_all"
            speed = ours["weights_gb_s"] * ours["step_ms"] / self.step_ms(ours)
            shares.append(speed / max(before[read], after[read]))
            rounds.append((ours, self.torch("decode", dict(prompt=128, new=32))))
        self.add("decode", "GPT-2 small, one sequence, a token", rounds, self.step_ms, "step_ms")
        self.tables["decode"][-1]["share"] = (f"{100 * statistics.median(shares):.0f} % of memory read "
                                              f"({100 * min(shares):.0f}–{100 * max(shares):.0f})")
        print(self.tables["decode"][-1]["share"], flush=True)

    def start(self):
        """PyTorch imports its modules, builds a model of the demo's shape with random weights and decodes 8 tokens."""
        rounds = []
        for _ in range(self.options.rounds):
            ours, begin = self.regard("start", self.options.demo), time.perf_counter()
            theirs = self.torch("first-translation", dict(layers=3, hidden=128, heads=4, ffn=256, vocabulary=2000, dropout=0.0))
            rounds.append((ours, dict(theirs, start_ms=(time.perf_counter() - begin) * 1e3)))
        self.add("start", "process start to the first sentence, demo model", rounds, "start_ms", "start_ms")

    def recipe(self):
        """nanoGPT's small recipe: regard's whole run with validations, and 2,000 times PyTorch's median step."""
        steps = 2000
        rounds, losses = [], []
        for _ in range(self.options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                run([self.program, "train", ROOT / "recipes/tinyshakespeare-char.toml", "--set", f"output.folder={folder}/run",
                     "--quiet", "--threads", 2])
                ours = dict(step_ms=(time.perf_counter() - begin) * 1e3)
                logged = [json.loads(text) for text in (Path(folder) / "run/log.jsonl").read_text().splitlines()]
            losses.append(min(entry["validation"]["loss"] for entry in logged if "validation" in entry))
            theirs = min((self.torch("train-lm", dict(SMALL, compile=c)) for c in (False, True)), key=lambda r: r["step_ms"])
            rounds.append((ours, dict(theirs, step_ms=steps * theirs["step_ms"])))
        self.add("recipe", f"2,000 iterations, validation loss {max(losses):.3f}", rounds, "step_ms", "step_ms")

    def busy(self):
        """The small model's training step beside a process that computes all the time, divided by the step alone."""
        ours = ["train", ROOT / "bench/runs/char.toml", "--steps", SMALL["steps"]]
        for name, step in (("regard", lambda: self.regard(*ours)), ("PyTorch", lambda: self.torch("train-lm", SMALL))):
            rounds = []
            for _ in range(self.options.rounds):
                alone = step()
                hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                try:
                    rounds.append((alone, step()))
                finally:
                    hog.kill()
                    hog.wait()
            self.add("busy", f"{name}: step alone, beside a busy process", rounds, "step_ms", "step_ms")

    def markdown(self, part):
        load = os.getloadavg()[2]
        rows = [f"Machine: {cpu_name()}, {os.cpu_count()} cores, {self.peak['isa']}; measured FMA peak "
                f"{self.peak['fma_gflops_one']:.0f} GFLOP/s on one thread, {self.peak['fma_gflops_all']:.0f} on all; memory read "
                f"{self.peak['read_gb_s_one']:.1f} and {self.peak['read_gb_s_all']:.1f} GB/s. PyTorch "
                f"{PINNED[0].split('==')[1]}, f32, {'processor time of 1 thread' if self.threads == 1 else '2 threads'}; "
                f"{self.options.rounds} rounds; load {load:.1f}"
                f"{' (shared with other work)' if load > 3 else ''}.", "",
                f"| work | regard, ms | {'busy, ms' if part == 'busy' else 'PyTorch, ms'} | ratio, median (lowest–highest) "
                "| share of peak | peak memory, MB (ours / theirs) |", "|---|---|---|---|---|---|"]
        for r in self.tables[part]:
            rows.append(f"| {r['name']} | {r['ours']:.3f} | {r['theirs']:.3f} | {r['ratio']:.2f} ({r['low']:.2f}–{r['high']:.2f}) "
                        f"| {r['share']} | {r['memory']} |")
        lost = [r["name"] for r in self.tables[part] if r["ratio"] < 1]
        if part != "busy":
            ratios = [r["ratio"] for r in self.tables[part]]
            rows += ["", f"Geometric mean of the ratios {statistics.geometric_mean(ratios):.2f}, lowest {min(ratios):.2f}."]
            rows += ["", "Slower than PyTorch: " + (", ".join(lost) if lost else "none of these") + "."]
        return "\n".join(rows)


def cpu_name():
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.split(":", 1)[1].strip()
    return platform.processor()


def write(page, part, table):
    """Write the part's table between its marks in the page. If the marks are missing, append them."""
    begin, end = f"<!-- compare.py: {part} -->", f"<!-- end of {part} -->"
    text = page.read_text() if page.exists() else ""
    if begin not in text:
        text = text.rstrip() + f"\n\n### {part}\n\n{begin}\n{end}\n"
    page.write_text(text[: text.index(begin)] + f"{begin}\n{table}\n{end}" + text[text.index(end) + len(end):])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="attention,gemm,train_small,train_large,translator,decode,start,recipe,busy")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--python", default=os.environ.get("REGARD_PEERS"), help="a Python that has the peers, instead of build/peers")
    parser.add_argument("--demo", default="runs/demo", help="the demo's run folder")
    parser.add_argument("--processor-time", action="store_true", help="compare the processor time of one thread")
    parser.add_argument("--eager", action="store_true", help="leave out the compiled peer, which takes a minute a round to compile")
    parser.add_argument("--results", type=Path, default=ROOT / "build/compare.md", help="the page that gets the tables; "
                        "those worth keeping are in bench/results")
    parser.add_argument("--dry-run", action="store_true", help="print the tables, write no page")
    options = parser.parse_args()
    bench = Bench(options)
    for part in options.only.split(","):
        getattr(bench, part)()
        if options.dry_run:
            print(bench.markdown(part))
        else:
            name = part + " (processor time)" * options.processor_time
            write(options.results, name, bench.markdown(part))


if __name__ == "__main__":
    main()
