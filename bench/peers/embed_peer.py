"""Compute sentence vectors with sentence-transformers, or with onnxruntime on a model exported here, for
bench/compare_embed.py.

    embed_peer.py sentence-transformers|onnxruntime|onnxruntime-int8 FOLDER THREADS

onnxruntime-int8 is the exported model after onnxruntime's own dynamic quantisation, with one scale per channel.

Reads requests as JSON lines and writes one line for each:
  {"texts": [...], "batch": N, "seconds": S}  →  {"ms", "processor_ms"}: median times for all texts
  {"texts": [...], "save": FILE}               →  {"saved": FILE}: writes "embeddings" as safetensors
"""
import json
import os
import statistics
import sys
import time

kind, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["OMP_NUM_THREADS"] = str(threads)
import numpy as np
import torch
from safetensors.numpy import save_file

torch.set_num_threads(threads)


def sentence_transformers():
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(folder, device="cpu")
    return lambda texts, batch: model.encode(texts, batch_size=batch, show_progress_bar=False)


def onnxruntime():
    """BERT with mean pooling and normalisation, padded to the longest of a batch, batches sorted by length, as
    sentence-transformers sorts them."""
    import onnxruntime as ort
    from tokenizers import Tokenizer
    from transformers import AutoModel
    file = os.path.join(folder, "peer.onnx")
    if not os.path.exists(file):
        model = AutoModel.from_pretrained(folder).eval()

        class States(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, ids, mask):
                return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

        example = (torch.ones(2, 8, dtype=torch.int64), torch.ones(2, 8, dtype=torch.int64))
        axes = {name: {0: "batch", 1: "length"} for name in ("ids", "mask", "states")}
        torch.onnx.export(States(), example, file, input_names=["ids", "mask"], output_names=["states"],
                          dynamic_axes=axes, opset_version=17, dynamo=False)
    if kind == "onnxruntime-int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic
        whole, file = file, os.path.join(folder, "peer-int8.onnx")
        if not os.path.exists(file):
            quantize_dynamic(whole, file, weight_type=QuantType.QInt8, per_channel=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    limit = json.load(open(os.path.join(folder, "sentence_bert_config.json")))["max_seq_length"]
    tokenizer.enable_truncation(limit)
    tokenizer.enable_padding()

    def embed(texts, batch):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for first in range(0, len(texts), batch):
            part = order[first:first + batch]
            encoded = tokenizer.encode_batch([texts[i] for i in part])
            ids = np.array([e.ids for e in encoded], dtype=np.int64)
            mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
            states = session.run(None, {"ids": ids, "mask": mask})[0]
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(1) / weights.sum(1)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for place, vector in zip(part, pooled):
                vectors[place] = vector
        return np.stack(vectors)
    return embed


def measured(embed, texts, batch, seconds):
    with torch.no_grad():
        embed(texts, batch)
        wall, processor, begin = [], [], time.perf_counter()
        while len(wall) < 3 or time.perf_counter() - begin < seconds:
            before, at = time.perf_counter(), time.process_time()
            for first in range(0, len(texts), len(texts) if batch > 1 else 1):
                embed(texts[first:] if batch > 1 else texts[first:first + 1], batch)
            wall.append(time.perf_counter() - before)
            processor.append(time.process_time() - at)
    return {"ms": 1e3 * statistics.median(wall), "processor_ms": 1e3 * statistics.median(processor)}


embed = sentence_transformers() if kind == "sentence-transformers" else onnxruntime()
print(json.dumps({"ready": kind}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "save" in request:
        with torch.no_grad():
            save_file({"embeddings": np.asarray(embed(request["texts"], 32), dtype=np.float32)}, request["save"])
        print(json.dumps({"saved": request["save"]}), flush=True)
    else:
        print(json.dumps(measured(embed, request["texts"], request["batch"], request["seconds"])), flush=True)
