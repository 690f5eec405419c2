#!/usr/bin/env python3
"""Write goldens of training steps. Needs torch. Usage: tools/make_training_goldens.py

tests/data/tasks/weighted-cross-entropy.json: torch.nn.functional.cross_entropy with class weights, label smoothing and
ignored rows, and its gradient."""
import json
import pathlib

import torch

torch.manual_seed(5)
cases = []
for classes, rows, smoothing in [(2, 5, 0.0), (3, 7, 0.1), (6, 4, 0.3)]:
    logits = (3 * torch.randn(rows, classes)).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    labels[1] = -100
    weights = torch.rand(classes) + 0.25
    loss = torch.nn.functional.cross_entropy(logits, labels, weight=weights, label_smoothing=smoothing)
    loss.backward()
    cases.append({
        "label_smoothing": smoothing,
        "logits": logits.tolist(),
        "labels": labels.tolist(),
        "weights": weights.tolist(),
        "loss": loss.item(),
        "gradient": logits.grad.tolist(),
    })
folder = pathlib.Path(__file__).resolve().parent.parent / "tests/data/tasks"
(folder / "weighted-cross-entropy.json").write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=1) + "\n")
