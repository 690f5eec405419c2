#!/usr/bin/env python3
"""Measures regard beside PyTorch in one go and writes the table into docs/benchmarks.md.

    python3 bench/compare.py [--rounds 5] [--only attention,gemm,train,decode,start] [--regard build/release/bin/regard]

Makes a virtual environment in build/peers with the pinned versions below (from PyPI) unless --python names one. Peer and
regard take turns within each round, so that a machine whose speed drifts slows both; what is printed is the median of the
rounds' ratios (PyTorch's time / ours) with their spread. Both run f32 on two threads. It prints where we lose, too.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ["torch==2.15.0", "numpy"]
BEGIN, END = "<!-- compare.py begins -->", "<!-- compare.py ends -->"

ATTENTION = [
    dict(batch=8, heads=8, seq=128, dim=64, causal=False),
    dict(batch=8, heads=8, seq=512, dim=64, causal=True),
    dict(batch=1, heads=12, seq=1024, dim=64, causal=True),
    dict(batch=1, heads=8, seq=4096, dim=64, causal=True),
    dict(batch=1, heads=8, seq=4096, dim=128, causal=False),
    dict(batch=64, heads=4, seq=32, dim=32, causal=False),
]
# m, n, k, A transposed, B transposed: squares, then the products of the training runs below (weight gradients last).
GEMM = [
    (512, 512, 512, 0, 0), (1024, 1024, 1024, 0, 0), (2048, 2048, 2048, 0, 0), (1024, 1024, 1024, 0, 1),
    (768, 384, 128, 0, 1), (768, 512, 128, 0, 1), (768, 128, 512, 0, 1), (768, 65, 128, 0, 1),
    (4096, 1152, 384, 0, 1), (4096, 1536, 384, 0, 1), (4096, 384, 1536, 0, 1),
    (2000, 10000, 128, 0, 1), (384, 128, 768, 1, 0), (512, 128, 768, 1, 0), (384, 1536, 4096, 1, 0),
]


def run(command, timeout=600):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Bench:
    def __init__(self, options):
        self.options, self.rows = options, []
        self.regard = [str(Path(options.regard).resolve()), "bench"]
        self.torch = [str(self.python()), str(ROOT / "bench/peers/torch_peer.py")]
        self.peak = run(self.regard + ["peak", "--json", "--threads", "2"])

    def python(self):
        if self.options.python:
            return Path(self.options.python)
        folder = ROOT / "build/peers"
        if not (folder / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([folder / "bin/pip", "install", "-q", *PINNED], check=True)
        return folder / "bin/python"

    def pair(self, ours, theirs, key_ours, key_theirs):
        """Rounds of ours and theirs in turn: lists of milliseconds, and of peak memory in MB."""
        a, b, memory = [], [], []
        for _ in range(self.options.rounds):
            left, right = run(self.regard + ours + ["--threads", "2"]), run(self.torch + theirs)
            a.append(left[key_ours])
            b.append(right[key_theirs])
            memory.append((left.get("peak_rss_mb"), right.get("peak_rss_mb")))
        return a, b, memory[-1]

    def add(self, name, a, b, flops=None, memory=None):
        ratios = [y / x for x, y in zip(a, b)]
        row = dict(name=name, ours=statistics.median(a), theirs=statistics.median(b), ratio=statistics.median(ratios),
                   low=min(ratios), high=max(ratios))
        if flops:
            row["share"] = flops / (min(a) * 1e6) / self.peak["fma_gflops_all"]
        if memory and all(memory):
            row["memory"] = memory
        self.rows.append(row)
        print(f"{name:48} {row['ours']:9.3f} ms  PyTorch {row['theirs']:9.3f} ms  ratio {row['ratio']:.2f} "
              f"({row['low']:.2f} to {row['high']:.2f})" + (f"  {100 * row['share']:.0f} % of peak" if flops else ""), flush=True)

    def attention(self):
        for o in ATTENTION:
            name = f"[{o['batch']}, {o['heads']}, {o['seq']}, {o['dim']}]" + (" causal" if o["causal"] else "")
            flags = [w for k in ("batch", "heads", "seq", "dim") for w in (f"--{k}", str(o[k]))] + ["--causal"] * o["causal"]
            flops = 4 * o["batch"] * o["heads"] * o["seq"] ** 2 * o["dim"] / (2 if o["causal"] else 1)
            theirs = ["attention", json.dumps(o)]
            a, b, _ = self.pair(["attention", *flags], theirs, "fwd_ms", "fwd_ms")
            self.add(f"attention {name} forward", a, b, flops)
            a, b, _ = self.pair(["attention", *flags, "--backward"], theirs, "fwdbwd_ms", "fwdbwd_ms")
            self.add(f"attention {name} forward+backward", a, b, 3.5 * flops)

    def gemm(self):
        for m, n, k, ta, tb in GEMM:
            flags = ["--m", str(m), "--n", str(n), "--k", str(k)] + ["--transpose-a"] * ta + ["--transpose-b"] * tb
            a, b, _ = self.pair(["gemm", *flags], ["gemm", json.dumps(dict(m=m, n=n, k=k, ta=ta, tb=tb))], "ms", "ms")
            self.add(f"gemm {m}×{n}×{k} " + ("Aᵀ" if ta else "A") + ("Bᵀ" if tb else "B"), a, b, 2 * m * n * k)

    def train(self):
        sizes = dict(char=dict(layers=4, hidden=128, heads=4, vocabulary=65, context=64, batch=12, dropout=0.0, steps=30),
                     larger=dict(layers=6, hidden=384, heads=6, vocabulary=65, context=256, batch=16, dropout=0.2, steps=10))
        for name, o in sizes.items():
            toml = ROOT / "bench/runs" / f"{name}.toml"
            ours = ["train", str(toml), "--steps", str(o["steps"])]
            for compiled in (False, True):
                theirs = ["train-lm", json.dumps(dict(o, compile=compiled))]
                a, b, memory = self.pair(ours, theirs, "step_ms", "step_ms")
                self.add(f"train {name}, PyTorch {'compiled' if compiled else 'eager'}", a, b, memory=memory)

    def markdown(self):
        lines = [BEGIN, "", f"Machine: {cpu_name()}, {os.cpu_count()} cores, instruction set {self.peak['isa']}; "
                 f"measured FMA peak {self.peak['fma_gflops_one']:.0f} GFLOP/s on one thread, {self.peak['fma_gflops_all']:.0f} on all; "
                 f"memory read {self.peak['read_gb_s_one']:.1f} and {self.peak['read_gb_s_all']:.1f} GB/s. PyTorch {PINNED[0].split('==')[1]}, "
                 f"f32, 2 threads. {self.options.rounds} rounds; ratio = PyTorch's time / ours, median (lowest to highest).", "",
                 "| work | regard, ms | PyTorch, ms | ratio | share of FMA peak | peak memory, MB (ours / theirs) |", "|---|---|---|---|---|---|"]
        for r in self.rows:
            share = f"{100 * r['share']:.0f} %" if "share" in r else ""
            memory = f"{r['memory'][0]:.0f} / {r['memory'][1]:.0f}" if "memory" in r else ""
            lines.append(f"| {r['name']} | {r['ours']:.3f} | {r['theirs']:.3f} | {r['ratio']:.2f} ({r['low']:.2f}–{r['high']:.2f}) | {share} | {memory} |")
        lost = [r["name"] for r in self.rows if r["ratio"] < 1]
        lines += ["", "Slower than PyTorch: " + (", ".join(lost) if lost else "none of these") + ".", "", END]
        return "\n".join(lines)


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="attention,gemm,train")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--python", help="a Python that has the peers, instead of build/peers")
    parser.add_argument("--dry-run", action="store_true", help="print the table, leave docs/benchmarks.md alone")
    options = parser.parse_args()
    bench = Bench(options)
    for part in options.only.split(","):
        getattr(bench, part)()
    page = ROOT / "docs/benchmarks.md"
    text = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    if options.dry_run or BEGIN not in text:
        print(bench.markdown())
    else:
        page.write_text(text[: text.index(BEGIN)] + bench.markdown() + text[text.index(END) + len(END):])


if __name__ == "__main__":
    main()
