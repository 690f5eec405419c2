#!/usr/bin/env python3
"""Write tests/data/tasks/r-drop.json: the loss of R-Drop (Liang et al. 2021) on two sets of logits, with label smoothing and
ignored rows, and its gradients. Needs torch. Usage: tools/make_r_drop_goldens.py

The loss is that of the authors' README (github.com/dropreg/R-Drop): ce = 0.5 * (ce(logits) + ce(logits2));
loss = ce + alpha * compute_kl_loss(logits, logits2), with means over the rows that are not ignored."""
import json
import pathlib

import torch
import torch.nn.functional as F


def compute_kl_loss(p, q, pad_mask):
    p_loss = F.kl_div(F.log_softmax(p, dim=-1), F.softmax(q, dim=-1), reduction="none")
    q_loss = F.kl_div(F.log_softmax(q, dim=-1), F.softmax(p, dim=-1), reduction="none")
    p_loss.masked_fill_(pad_mask, 0.0)
    q_loss.masked_fill_(pad_mask, 0.0)
    return (p_loss.sum() + q_loss.sum()) / 2


torch.manual_seed(11)
cases = []
for classes, rows, smoothing, alpha in [(2, 5, 0.0, 1.0), (3, 7, 0.1, 5.0), (40, 9, 0.1, 0.7)]:
    first = (3 * torch.randn(rows, classes)).requires_grad_()
    second = (first.detach() + torch.randn(rows, classes)).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    labels[1] = -100
    counted = (labels != -100).sum()
    ce = 0.5 * (F.cross_entropy(first, labels, label_smoothing=smoothing)
                + F.cross_entropy(second, labels, label_smoothing=smoothing))
    divergence = compute_kl_loss(first, second, (labels == -100)[:, None]) / counted
    loss = ce + alpha * divergence
    loss.backward()
    cases.append({
        "label_smoothing": smoothing,
        "alpha": alpha,
        "first": first.tolist(),
        "second": second.tolist(),
        "labels": labels.tolist(),
        "loss": loss.item(),
        "divergence": divergence.item(),
        "first_gradient": first.grad.tolist(),
        "second_gradient": second.grad.tolist(),
    })
path = pathlib.Path(__file__).resolve().parent.parent / "tests/data/tasks/r-drop.json"
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
