#!/usr/bin/env python3
"""Compare decoding with CTranslate2 (translation), llama.cpp and transformers (one sequence), on random weights.
Prints tables.

    python3 bench/compare_decode.py [--rounds 3] [--threads 2] [--only translation,generation,transformers] [--processor-time]

The Python that runs it must have ctranslate2, numpy; llama-cpp-python, gguf; torch, transformers. A peer whose
packages are missing is reported and left out. Peers stay loaded and run alternately with regard in each round. A
ratio is the peer's time divided by regard's: the median of the rounds, with the lowest and the highest. On a shared
machine, use `--threads 1 --processor-time`, which other programs disturb less. REGARD_ISA=avx2 with
CT2_FORCE_CPU_ISA=AVX2 and DNNL_MAX_CPU_ISA=AVX2 compares products with AVX2 and without AVX-VNNI.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "bench/models"


class Peer:
    """A process that writes one line for each line of JSON that it reads."""

    def __init__(self, *command):
        self.process = subprocess.Popen([sys.executable, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def missing(*modules):
    absent = [m for m in modules if importlib.util.find_spec(m) is None]
    for module in absent:
        print(f"left out: there is no {module}", flush=True)
    return bool(absent)


class Comparison:
    def __init__(self, options):
        self.options = options
        self.head = ["work", "regard, ms", "peer, ms", "ratio (lowest–highest)"]

    def ours(self, model, **settings):
        words = [w for name, value in settings.items() for w in ("--" + name, str(value))]
        command = [self.options.regard, "bench", "decode", MODELS / model, "--threads", self.options.threads, *words]
        return json.loads(subprocess.run([str(w) for w in command], check=True, capture_output=True, text=True).stdout)

    def row(self, name, rounds):
        """rounds: (ours, theirs) in milliseconds."""
        ratios = [theirs / ours for ours, theirs in rounds]
        middle = [statistics.median(r[i] for r in rounds) for i in (0, 1)]
        print(f"| {name} | {middle[0]:.2f} | {middle[1]:.2f} | {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f}–{max(ratios):.2f}) |", flush=True)

    def table(self, title):
        print(f"\n{title}\n\n| {' | '.join(self.head)} |\n|{'---|' * len(self.head)}", flush=True)

    def of(self, kind):
        """Return the key of this time for the selected clock."""
        clock = {"whole": "whole_processor_ms", "step": "processor_ms", "prefill": "prefill_processor_ms"}
        return clock[kind] if self.options.processor_time else kind + "_ms"

    def translation(self):
        if missing("ctranslate2", "numpy"):
            return
        peer = Peer(ROOT / "bench/peers/ctranslate2_peer.py", Path(self.options.folder) / "ct2-base")
        self.table("Marian base, 24 tokens to 32, whole translations: CTranslate2")
        for dtype in self.options.dtypes.split(","):
            for batch in (1, 32):
                for beam in (1, 4):
                    wanted = dict(compute_type="float32" if dtype == "f32" else "int8", threads=self.options.threads, batch=batch,
                                  beam=beam, source=24, target=32, seconds=self.options.seconds)
                    peer.ask(dict(wanted, seconds=0))
                    rounds = [(self.ours("marian-base.json", dtype=dtype, batch=batch, beam=beam, prompt=24, new=32),
                               peer.ask(wanted)) for _ in range(self.options.rounds)]
                    key = self.of("whole")
                    self.row(f"{dtype}, {batch} at once, {'greedy' if beam == 1 else f'beam {beam}'}",
                             [(a[key], b[key]) for a, b in rounds])
        peer.close()

    def generation(self):
        if missing("llama_cpp", "gguf", "numpy"):
            return
        peer = Peer(ROOT / "bench/peers/llama_peer.py", Path(self.options.folder))
        self.table("GPT-2 small, one sequence, a token after 64, and the 64: llama.cpp")
        for dtype, theirs in (("f32", "f32"), ("f16", "f16"), ("int8", "q8_0")):
            wanted = dict(dtype=theirs, threads=self.options.threads, prompt=64, new=32, seconds=self.options.seconds)
            peer.ask(dict(wanted, seconds=0))
            rounds = [(self.ours("gpt2-small.json", dtype=dtype, prompt=64, new=32), peer.ask(wanted))
                      for _ in range(self.options.rounds)]
            for kind in ("step", "prefill"):
                key = self.of(kind)
                self.row(f"{dtype} beside {theirs}, {'a token' if kind == 'step' else '64 tokens taken in'}",
                         [(a[key], b[key]) for a, b in rounds])
        peer.close()

    def transformers(self):
        if missing("torch", "transformers"):
            return
        self.table("GPT-2 small, one sequence, a token after 128: transformers, f32")
        os.environ["PEER_THREADS"] = str(self.options.threads)
        os.environ["PEER_CLOCK"] = "cpu" if self.options.processor_time else "wall"
        peer = Peer(ROOT / "bench/peers/torch_peer.py", "serve")
        rounds = {dtype: [] for dtype in ("f32", "f16", "int8")}
        for _ in range(self.options.rounds):
            theirs = peer.ask(["decode", dict(prompt=128, new=32)])["step_ms"]
            for dtype, pairs in rounds.items():
                pairs.append((self.ours("gpt2-small.json", dtype=dtype, prompt=128, new=33)[self.of("step")], theirs))
        for dtype, pairs in rounds.items():
            self.row(f"{dtype}, a token", pairs)
        peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="that a peer measures, each round")
    parser.add_argument("--only", default="translation,generation,transformers")
    parser.add_argument("--dtypes", default="f32,int8", help="of the translation")
    parser.add_argument("--processor-time", action="store_true", help="compare processor time")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--folder", help="where the peers' models stay (default: a temporary folder)")
    options = parser.parse_args()
    place = None if options.folder else tempfile.TemporaryDirectory()
    options.folder = options.folder or place.name
    for part in options.only.split(","):
        getattr(Comparison(options), part)()


if __name__ == "__main__":
    main()
