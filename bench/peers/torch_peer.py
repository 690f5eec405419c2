"""Time PyTorch for bench/compare.py in this process. Prints one line of JSON for each measurement.

    python torch_peer.py attention '{"batch": 8, "heads": 8, "seq": 128, "dim": 64, "causal": false}'
    python torch_peer.py gemm '{"m": 512, "n": 512, "k": 512, "ta": false, "tb": true}'
    python torch_peer.py recurrent '{"cell": "lstm", "batch": 32, "length": 256, "hidden": 128}'
    python torch_peer.py serve     # then ["gemm", {...}] line by line on standard input
    python torch_peer.py train-lm '{"layers": 4, "hidden": 128, ...}'
    python torch_peer.py train-translator '{...}'
    python torch_peer.py decode '{"prompt": 128, "new": 32}'
    python torch_peer.py first-translation '{"layers": 3, "hidden": 128, ...}'
"""
import json
import math
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(int(os.environ.get("PEER_THREADS", "2")))
# Elapsed time, or the processor time of this process if PEER_CLOCK is "cpu" (for one thread on a shared
# machine).
clock = time.process_time if os.environ.get("PEER_CLOCK") == "cpu" else time.perf_counter
torch.manual_seed(1)


def median_ms(work, repetitions=10, budget_s=4.0):
    for _ in range(2):
        work()
    begin = clock()
    work()
    calls = 1 + int(50e-6 / max(clock() - begin, 1e-8))  # repeat short work, because reading the clock takes time too
    times, start = [], time.perf_counter()
    while len(times) < repetitions or (time.perf_counter() - start < 0.3 and len(times) < 200):
        begin = clock()
        for _ in range(calls):
            work()
        times.append((clock() - begin) * 1e3 / calls)
        if time.perf_counter() - start > budget_s and len(times) >= 3:
            break
    return statistics.median(times)


def attention(o):
    shape = (o["batch"], o["heads"], o["seq"], o["dim"])
    q, k, v, g = (torch.randn(shape) for _ in range(4))
    with torch.no_grad():
        fwd = median_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=o["causal"]))
    for t in (q, k, v):
        t.requires_grad_()

    def both():
        for t in (q, k, v):
            t.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=o["causal"]).backward(g)

    return {"fwd_ms": fwd, "fwdbwd_ms": median_ms(both)}


def gemm(o):
    a = torch.randn((o["k"], o["m"]) if o.get("ta") else (o["m"], o["k"]))
    b = torch.randn((o["n"], o["k"]) if o.get("tb") else (o["k"], o["n"]))
    a, b = (a.t() if o.get("ta") else a), (b.t() if o.get("tb") else b)
    c = torch.empty(o["m"], o["n"])
    return {"ms": median_ms(lambda: torch.mm(a, b, out=c))}


def recurrent(o):
    """Time one layer: forward, and forward with backward to the input and all weights from a gradient of ones."""
    size = o["hidden"]
    layer = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[o["cell"]](o.get("input") or size, size)
    x = torch.randn(o["length"], o["batch"], o.get("input") or size)  # time first: PyTorch's default and fastest
    ones = torch.ones(o["length"], o["batch"], size)
    with torch.no_grad():
        fwd = median_ms(lambda: layer(x))
    x.requires_grad_()

    def both():
        x.grad = None
        layer.zero_grad(set_to_none=True)
        layer(x)[0].backward(ones)

    return {"fwd_ms": fwd, "fwdbwd_ms": median_ms(both)}


class Block(nn.Module):
    def __init__(self, hidden, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        b, t, h = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(h, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(b, t, h)), self.dropout, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), self.dropout, self.training)


class LanguageModel(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.embed, self.place = nn.Embedding(o["vocabulary"], o["hidden"]), nn.Embedding(o["context"], o["hidden"])
        self.blocks = nn.ModuleList(Block(o["hidden"], o["heads"], o["dropout"]) for _ in range(o["layers"]))
        self.norm, self.head = nn.LayerNorm(o["hidden"]), nn.Linear(o["hidden"], o["vocabulary"], bias=False)
        self.head.weight = self.embed.weight
        self.dropout = o["dropout"]

    def forward(self, ids, targets):
        x = F.dropout(self.embed(ids) + self.place.weight[: ids.shape[1]], self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def train_step(model, optimiser, *inputs, bf16=False):
    optimiser.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        loss = model(*inputs)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


def train_lm(o):
    model = LanguageModel(o)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, foreach=True)
    run = torch.compile(model) if o.get("compile") else model
    ids = torch.randint(o["vocabulary"], (o["batch"], o["context"] + 1))
    step = lambda: train_step(run, optimiser, ids[:, :-1], ids[:, 1:], bf16=o.get("bf16", False))
    ms = median_ms(step, repetitions=o["steps"], budget_s=20)
    return {"step_ms": ms, "tokens_per_s": o["batch"] * o["context"] / ms * 1e3}


class Translator(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.embed, self.scale = nn.Embedding(o["vocabulary"], o["hidden"], padding_idx=0), math.sqrt(o["hidden"])
        self.core = nn.Transformer(o["hidden"], o["heads"], o["layers"], o["layers"], o["ffn"], o["dropout"],
                                   batch_first=True, norm_first=True)
        angle = torch.arange(512)[:, None] * torch.exp(torch.arange(0, o["hidden"], 2) * (-math.log(1e4) / o["hidden"]))
        self.register_buffer("place", torch.stack((angle.sin(), angle.cos()), 2).flatten(1))
        self.dropout = nn.Dropout(o["dropout"])

    def forward(self, source, target):
        inputs, labels = target[:, :-1], target[:, 1:]
        embed = lambda ids: self.dropout(self.embed(ids) * self.scale + self.place[: ids.shape[1]])
        mask = nn.Transformer.generate_square_subsequent_mask(inputs.shape[1], dtype=torch.bool)
        hidden = self.core(embed(source), embed(inputs), tgt_mask=mask, src_key_padding_mask=source == 0,
                           tgt_key_padding_mask=inputs == 0, memory_key_padding_mask=source == 0)
        logits = hidden @ self.embed.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=0.1)


def train_translator(o):
    """Time training steps. o["lengths"] lists pairs of source and target lengths, in the order in which batches are
    formed."""
    model = Translator(o)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), foreach=True)
    batches, batch, longest = [], [], 0
    for source, target in o["lengths"]:
        longest = max(longest, target)
        if batch and longest * (len(batch) + 1) > o["batch_tokens"]:
            batches.append(batch)
            batch, longest = [], target
        batch.append((source, target))
    batches.append(batch)
    pad = lambda lengths: torch.stack([F.pad(torch.randint(4, o["vocabulary"], (n,)), (0, max(lengths) - n)) for n in lengths])
    data = [(pad([s for s, _ in b]), pad([t for _, t in b]), sum(s + t - 1 for s, t in b)) for b in batches]
    order = torch.randperm(len(data)).tolist()
    for i in order[:2]:
        train_step(model, optimiser, *data[i][:2])
    begin, tokens = clock(), 0
    for i in order[2 : 2 + o["steps"]]:
        train_step(model, optimiser, *data[i][:2])
        tokens += data[i][2]
    seconds = clock() - begin
    return {"tokens_per_s": tokens / seconds, "step_ms": seconds / o["steps"] * 1e3}


def decode(o):
    """Decode one sequence with GPT-2 small's shape, random weights and transformers' key/value cache."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).eval()
    times = []
    with torch.no_grad():
        out = model(torch.randint(50257, (1, o["prompt"])), use_cache=True)
        for _ in range(o["new"]):
            begin = clock()
            out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
            times.append((clock() - begin) * 1e3)
    return {"step_ms": statistics.median(times[2:])}


def first_translation(o):
    """Translate 8 tokens greedily with an untrained model, without a key/value cache."""
    model = Translator(o).eval()
    source, target = torch.randint(4, o["vocabulary"], (1, 6)), torch.full((1, 1), 2)
    with torch.no_grad():
        memory = model.core.encoder(model.embed(source))
        for _ in range(8):
            hidden = model.core.decoder(model.embed(target), memory)
            target = torch.cat((target, (hidden[:, -1:] @ model.embed.weight.t()).argmax(-1)), 1)
    return {"tokens": target.tolist()}


if __name__ == "__main__":
    work = {"attention": attention, "gemm": gemm, "recurrent": recurrent, "train-lm": train_lm, "train-translator": train_translator,
            "decode": decode, "first-translation": first_translation}
    if sys.argv[1] == "serve":
        for line in sys.stdin:
            name, request = json.loads(line)
            print(json.dumps(work[name](request)), flush=True)
        sys.exit(0)
    result = work[sys.argv[1]](json.loads(sys.argv[2] if sys.argv[2] != "-" else sys.stdin.read()))
    result["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))
