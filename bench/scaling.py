#!/usr/bin/env python3
"""Measure the seconds per training step by number of ranks and network speed, for a model with many weights and
little computation.

Usage (as root): bench/scaling.py PROGRAM [--hidden 256 512] [--rates 0 1000 500 200] [--steps 50]

The default takes about 10 minutes on an idle machine of 2 cores. For a short trial: --hidden 64 --rates 1000 --steps
30.

Runs mpirun in a separate network namespace. All ranks use its loopback device in both directions, and `tc tbf` limits
its rate. Prints one line per measurement: hidden size, weights, ranks, Mbit/s (0: no limit), seconds per step (median
of the intervals of 10 steps, without the first).
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--hidden", type=int, nargs="+", default=[256, 512], help="hidden sizes of the model")
parser.add_argument("--rates", type=int, nargs="+", default=[0, 1000, 500, 200], help="Mbit/s of the link; 0: no limit")
parser.add_argument("--steps", type=int, default=50, help="steps of each run, at least 30")
ARGUMENTS = parser.parse_args()
PROGRAM = str(Path(ARGUMENTS.program).resolve())
RUN = """task = "language-model"
[data]
train = ["train.txt"]
valid = ["train.txt"]
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = {hidden}
heads = 4
feed_forward_size = {wide}
[training]
batch_size = 1
context = 8
accumulate = 4
max_steps = {steps}
[validation]
every_steps = 0
samples = 0
[output]
folder = "run"
log_every_steps = 10
"""


def measure(folder, hidden, ranks, megabits):
    shutil.rmtree(folder / "run", ignore_errors=True)
    (folder / "train.txt").write_text("a few words to train on, which do not matter\n" * 20)
    (folder / "run.toml").write_text(RUN.format(hidden=hidden, wide=4 * hidden, steps=ARGUMENTS.steps))
    limit = f"tc qdisc add dev lo root tbf rate {megabits}mbit burst 256kb latency 100ms;" if megabits else ""
    train = f"{PROGRAM} train run.toml -q -t 1"
    if ranks > 1:
        train = f"mpirun --allow-run-as-root --oversubscribe --mca btl self,tcp --mca btl_tcp_if_include lo -n {ranks} {train}"
    done = subprocess.run(["unshare", "-n", "bash", "-c", f"ip link set lo up; {limit} {train}"], cwd=folder, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    lines = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    times = [line["trained_seconds"] for line in lines if "trained_seconds" in line]
    steps = statistics.median((b - a) / 10 for a, b in zip(times, times[1:]))
    weights = (folder / "run/latest/model.safetensors").stat().st_size // 4
    print(f"{hidden} {weights} {ranks} {megabits} {steps:.4f}", flush=True)


with tempfile.TemporaryDirectory() as place:
    for hidden in ARGUMENTS.hidden:
        for ranks, rates in ((1, (0,)), (2, ARGUMENTS.rates), (4, ARGUMENTS.rates)):
            for rate in rates:
                measure(Path(place), hidden, ranks, rate)
