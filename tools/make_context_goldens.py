#!/usr/bin/env python3
"""Write tests/data/context/golden.json: silhouettes and principal components computed by scikit-learn.

Run from the root of the checkout with scikit-learn installed: tools/make_context_goldens.py
"""

import json
import pathlib

import numpy
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score

random = numpy.random.default_rng(7)
cases = []
for groups in ([0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 0, 1, 2, 0, 1], [1] * 5 + [0] * 7):
    x = random.normal(size=(len(groups), 9)).astype(numpy.float32) + 1.5 * numpy.array(groups)[:, None]
    x = x.astype(numpy.float32)
    pca = PCA(2, svd_solver="full").fit(x.astype(numpy.float64))
    plane = pca.transform(x.astype(numpy.float64))
    plane *= numpy.sign(plane[numpy.abs(plane).argmax(axis=0), [0, 1]])
    cases.append({"groups": groups, "x": x.tolist(),
                  "silhouette": float(silhouette_score(x.astype(numpy.float64), groups, metric="cosine")),
                  "plane": plane.tolist(), "explained": pca.explained_variance_ratio_.tolist()})
folder = pathlib.Path("tests/data/context")
folder.mkdir(parents=True, exist_ok=True)
(folder / "golden.json").write_text(json.dumps(cases) + "\n")

# Compute the hidden states of a BERT at a word with transformers: the mean over the word's tokens at every
# layer.
import torch
from transformers import AutoModel, AutoTokenizer

model_folder = "tests/data/hf-more/st-mean"
sentences = ["I put money in the bank.", "We sat on the Bank of the river.", "The bank, he said, lends money."]
tokenizer, model = AutoTokenizer.from_pretrained(model_folder), AutoModel.from_pretrained(model_folder).eval()
words = []
for text in sentences:
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    begin = text.lower().index("bank")
    rows = [i for i, (a, b) in enumerate(offsets) if a < begin + 4 and b > begin]
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states
    table = model.get_input_embeddings().weight.detach()
    words.append({"text": text, "tokens": len(rows),
                  "vectors": [table[encoded["input_ids"][0][rows]].mean(0).tolist()]
                  + [state[0][rows].mean(0).tolist() for state in states]})
(folder / "bert.json").write_text(json.dumps({"model": "hf-more/st-mean", "word": "bank", "sentences": words}) + "\n")
