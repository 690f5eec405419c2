#!/usr/bin/env python3
"""Write tests/data/schedules/more.safetensors: learning rates at every step, as float64, of PyTorch's one-cycle
schedule and transformers' warmup-stable-decay schedules. Needs torch, transformers and safetensors."""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import get_wsd_schedule

PEAK = 0.003


def rates(make, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = make(optimizer)
    values = []
    for step in range(steps):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return torch.tensor(values, dtype=torch.float64)


def main():
    tensors = {}
    for warmup, total in [(0, 20), (6, 20), (12, 40)]:
        tensors[f"one_cycle.{warmup}.{total}"] = rates(
            lambda o: torch.optim.lr_scheduler.OneCycleLR(
                o, max_lr=PEAK, total_steps=total, pct_start=warmup / total, div_factor=20.0, final_div_factor=500.0), total)
    for shape in ["cosine", "linear", "1-sqrt"]:
        for warmup, decay, total in [(0, 5, 20), (4, 8, 20), (10, 30, 40)]:
            tensors[f"wsd.{shape}.{warmup}.{decay}.{total}"] = rates(
                lambda o: get_wsd_schedule(o, warmup, decay, num_training_steps=total, decay_type=shape, min_lr_ratio=0.1),
                total + 5)
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests/data/schedules"
    save_file(tensors, folder / "more.safetensors")


if __name__ == "__main__":
    sys.exit(main())
