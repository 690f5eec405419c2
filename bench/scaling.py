#!/usr/bin/env python3
"""Measure the seconds per training step by number of ranks and network speed, for a model with many weights and
little computation.

Usage (as root): bench/scaling.py PROGRAM [--hidden 256 512] [--rates 0 1000 500 200] [--steps 50] [--fit] [--beside ROUNDS | --overlap ROUNDS]

The default takes about 10 minutes on an idle machine of 2 cores. For a short trial: --hidden 64 --rates 1000 --steps
30.

Runs mpirun in a separate network namespace. All ranks use its loopback device in both directions, and `tc tbf` limits
its rate. Prints one line per measurement: hidden size, weights, ranks, Mbit/s (0: no limit), seconds per step (median
of the intervals of 10 steps, without the first).

--fit prints the model of docs/scaling.md with its error for each measurement: the time without a limit, plus the bytes that pass
the device at its rate, plus alpha for each message of the longest chain (fitted).

--beside ROUNDS measures instead, in alternating runs, one process of two threads and two processes of one thread without a limit:
6 layers x 384, context 128, 2 micro-batches of 4 windows. Prints the tokens per second of each, and the median of their ratios.

--overlap ROUNDS measures the same model on two processes of one thread, without a limit and with each of --rates in turn. Prints the
medians and the model's error: the time without a limit, plus the exchange, minus the part of it that overlaps with the backward pass.
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
parser.add_argument("--fit", action="store_true", help="fit the model to the measurements")
parser.add_argument("--beside", type=int, metavar="ROUNDS", help="compare two processes with two threads")
parser.add_argument("--overlap", type=int, metavar="ROUNDS", help="measure the larger model with each rate")
ARGUMENTS = parser.parse_args()
PROGRAM = str(Path(ARGUMENTS.program).resolve())
RUN = """task = "language-model"
[data]
train = ["train.txt"]
valid = ["train.txt"]
[tokenizer]
type = "char"
[model]
layers = {layers}
hidden_size = {hidden}
heads = 4
feed_forward_size = {wide}
[training]
batch_size = {batch}
context = {context}
accumulate = {accumulate}
max_steps = {steps}
[validation]
every_steps = 0
samples = 0
[output]
folder = "run"
log_every_steps = {every}
"""
BUCKET = 4 << 20  # bytes of a bucket (src/train/gradient_sum.h)


def run(folder, ranks, threads, megabits, **shape):
    """Train, and return the seconds of a step: the median of the intervals of the log, without the first."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    (folder / "train.txt").write_text("a few words to train on, which do not matter\n" * 40)
    (folder / "run.toml").write_text(RUN.format(wide=4 * shape["hidden"], **shape))
    limit = f"tc qdisc add dev lo root tbf rate {megabits}mbit burst 256kb latency 100ms;" if megabits else ""
    train = f"{PROGRAM} train run.toml -q -t {threads}"
    if ranks > 1:
        train = f"mpirun --allow-run-as-root --oversubscribe --mca btl self,tcp --mca btl_tcp_if_include lo -n {ranks} {train}"
    done = subprocess.run(["unshare", "-n", "bash", "-c", f"ip link set lo up; {limit} {train}"], cwd=folder, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    lines = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    times = [line["trained_seconds"] for line in lines if "trained_seconds" in line]
    return statistics.median((b - a) / shape["every"] for a, b in zip(times, times[1:]))


def measure(folder, hidden, ranks, megabits):
    shape = dict(layers=1, hidden=hidden, batch=1, context=8, accumulate=4, steps=ARGUMENTS.steps, every=10)
    steps = run(folder, ranks, 1, megabits, **shape)
    weights = (folder / "run/latest/model.safetensors").stat().st_size // 4
    print(f"{hidden} {weights} {ranks} {megabits} {steps:.4f}", flush=True)
    return hidden, weights, ranks, megabits, steps


def transfer(ranks, weights, megabits):
    """Return the seconds that the gradient needs to its parts and back. The bytes of all ranks share the device."""
    return 2 * (ranks - 1) * 4 * weights * 8 / (megabits * 1e6)


def fit(measured):
    """Fit alpha by the median over the measurements with a limit, and print the error of the model for each."""
    free = {(hidden, ranks): steps for hidden, _, ranks, rate, steps in measured if rate == 0}
    rows = []
    for hidden, weights, ranks, rate, steps in measured:
        if rate == 0 or ranks == 1 or (hidden, ranks) not in free:
            continue
        messages = 2 * (ranks - 1) * -(-4 * weights // BUCKET)
        rows.append((hidden, ranks, rate, steps, free[hidden, ranks] + transfer(ranks, weights, rate), messages))
    if not rows:
        return
    alpha = max(0.0, statistics.median((steps - base) / messages for *_, steps, base, messages in rows))
    print(f"alpha {alpha * 1e6:.0f} microseconds")
    print("hidden ranks Mbit/s measured model error")
    for hidden, ranks, rate, steps, base, messages in rows:
        model = base + alpha * messages
        print(f"{hidden} {ranks} {rate} {steps:.4f} {model:.4f} {100 * (model / steps - 1):+.1f} %")


LARGER = dict(layers=6, hidden=384, batch=4, context=128, accumulate=2, steps=9, every=2)


def overlap(folder, rounds):
    times = {rate: [] for rate in ARGUMENTS.rates}
    for _ in range(rounds):
        for rate, steps in times.items():
            steps.append(run(folder, 2, 1, rate, **LARGER))
    weights = (folder / "run/latest/model.safetensors").stat().st_size // 4
    medians = {rate: statistics.median(steps) for rate, steps in times.items()}
    print("weights Mbit/s measured model error")
    for rate, measured in medians.items():
        if rate == 0:
            print(f"{weights} {rate} {measured:.4f}")
            continue
        # Each rank computes one micro-batch. Its backward pass takes two thirds of the time and overlaps with the exchange.
        exchange = transfer(2, weights, rate)
        model = medians[0] + max(0.0, exchange - 2 / 3 * medians[0])
        print(f"{weights} {rate} {measured:.4f} {model:.4f} {100 * (model / measured - 1):+.1f} %")


def beside(folder, rounds):
    tokens = LARGER["batch"] * LARGER["context"] * LARGER["accumulate"]
    ratios = []
    for _ in range(rounds):
        one, two = (tokens / run(folder, ranks, threads, 0, **LARGER) for ranks, threads in ((1, 2), (2, 1)))
        ratios.append(two / one)
        print(f"1 x 2 threads: {one:.0f} tokens/s; 2 x 1 thread: {two:.0f} tokens/s; ratio {two / one:.3f}", flush=True)
    print(f"median of the ratios: {statistics.median(ratios):.3f}")


with tempfile.TemporaryDirectory() as place:
    if ARGUMENTS.beside or ARGUMENTS.overlap:
        (beside if ARGUMENTS.beside else overlap)(Path(place), ARGUMENTS.beside or ARGUMENTS.overlap)
        sys.exit(0)
    results = []
    for hidden in ARGUMENTS.hidden:
        for ranks, rates in ((1, (0,)), (2, ARGUMENTS.rates), (4, ARGUMENTS.rates)):
            for rate in rates:
                results.append(measure(Path(place), hidden, ranks, rate))
    if ARGUMENTS.fit:
        fit(results)
