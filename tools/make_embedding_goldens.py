#!/usr/bin/env python3
"""Write goldens of training steps of sentence embeddings. Needs torch, transformers, sentence-transformers and safetensors.
Usage: tools/make_embedding_goldens.py

tests/data/tasks/embedding-NAME: the rows, the loss and all gradients of sentence-transformers' losses for the folders
st-mean, st-cls and st-max in tests/data/hf-more, without dropout."""
import json
import pathlib

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, losses

data = pathlib.Path(__file__).resolve().parent.parent / "tests/data"
first = ["Water on new day?", "Green.", "Maria stone gives dogs song, no.", "quick loudness is not near tree"]
second = ["Mariaer underness reding tree slowing", "quiet river a houses light", "Annast new readsst quick", "star book"]
third = ["woman!", "Holds star a lovesly", "blueness of star book sings", "tree walks and woman slow fire"]
scores = [0.9, 0.1, 0.45, -0.2]


def write(name, folder, make_loss, columns, labels=None):
    model = SentenceTransformer(str(data / "hf-more" / folder), device="cpu")
    loss_function = make_loss(model)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_probs_dropout_prob"):
            module.attention_probs_dropout_prob = 0.0
    model[0].auto_model.config.attention_probs_dropout_prob = 0.0
    model[0].auto_model.config._attn_implementation = "eager"
    features = [model.tokenize(texts) for texts in columns]
    loss = loss_function(features, None if labels is None else torch.tensor(labels))
    loss.backward()
    gradients = {"grad." + key: p.grad for key, p in model[0].auto_model.named_parameters() if p.grad is not None}
    to = data / "tasks" / ("embedding-" + name)
    to.mkdir(exist_ok=True)
    save_file({"loss": loss.detach().reshape(1)} | {key: g.contiguous() for key, g in gradients.items()}, to / "golden.safetensors")
    rows = [list(row) for row in zip(*columns)] if labels is None else [[a, b, s] for a, b, s in zip(*columns, labels)]
    (to / "case.json").write_text(json.dumps({"folder": folder, "rows": rows, "torch": torch.__version__}) + "\n")
    print(name, loss.item(), len(gradients))


write("ranking", "st-mean", losses.MultipleNegativesRankingLoss, [first, second])
write("negatives", "st-cls", lambda model: losses.MultipleNegativesRankingLoss(model, scale=10.0), [first, second, third])
write("triplet", "st-max", lambda model: losses.TripletLoss(model, triplet_margin=1.5), [first, second, third])
write("triplet-cosine", "st-mean",
      lambda model: losses.TripletLoss(model, distance_metric=losses.TripletDistanceMetric.COSINE, triplet_margin=0.4),
      [first, second, third])
write("cosine", "st-mean", losses.CosineSimilarityLoss, [first, second], scores)
