#!/usr/bin/env python3
"""Train a tiny run with output.tensorboard, stop it, resume it, and read its event files with TensorBoard.

usage: tools/check_tensorboard.py PROGRAM

Every number of log.jsonl must be there once, with the value that the log has (as float32).
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

RUN_FILE = """
task = "language-model"
[data]
train = ["text.txt"]
valid_fraction = 0.1
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 16
[training]
batch_size = 2
context = 16
max_steps = 30
[validation]
every_steps = 10
[output]
folder = "run"
log_every_steps = 5
tensorboard = true
"""


def expected_scalars(log):
    scalars = {}
    for line in map(json.loads, log.read_text().splitlines()):
        if "run" in line:
            continue
        values, prefix = (line["validation"], "validation/") if "validation" in line else (line, "train/")
        for key, value in values.items():
            if key != "step" and isinstance(value, (int, float)) and not isinstance(value, bool):
                scalars.setdefault(prefix + key, {})[line["step"]] = value
    return scalars


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 60)
        (root / "run.toml").write_text(RUN_FILE)
        subprocess.run([program, "train", "run.toml", "-q", "--set", "training.max_steps=17"], cwd=root, check=True)
        subprocess.run([program, "train", "run.toml", "-q", "--resume"], cwd=root, check=True)
        events = EventAccumulator(str(root / "run/tensorboard"), size_guidance={"scalars": 0})
        events.Reload()
        expected = expected_scalars(root / "run/log.jsonl")
        tags = set(events.Tags()["scalars"])
        if tags != set(expected):
            sys.exit(f"tags differ: {sorted(tags)} and {sorted(expected)}")
        for tag, values in expected.items():
            read = {event.step: event.value for event in events.Scalars(tag)}
            if read.keys() != values.keys():
                sys.exit(f"{tag}: steps {sorted(read)}, expected {sorted(values)}")
            for step, value in values.items():
                if not math.isclose(read[step], value, rel_tol=1e-6):
                    sys.exit(f"{tag} at step {step}: {read[step]}, expected {value}")
        print(f"tensorboard: {len(tags)} tags, {sum(map(len, expected.values()))} scalars as in log.jsonl")


main()
