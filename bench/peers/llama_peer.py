"""Run llama.cpp on GPT-2 small's shape with random weights. For each line of JSON on standard input, print one line
of JSON.

    llama_peer.py FOLDER              creates the GGUF files in FOLDER if they are missing

Input: {"dtype": "f32"|"f16"|"q8_0", "threads", "prompt", "new", "seconds"}. Output: the median time of a step that
decodes one token greedily after `prompt` tokens, and of the prefill of the prompt, in milliseconds of wall clock and
of processor time. Needs llama-cpp-python, gguf.
"""
import ctypes
import json
import os
import statistics
import sys
import time

import gguf
import llama_cpp
import numpy

LAYERS, HIDDEN, HEADS, FFN, VOCABULARY, CONTEXT = 12, 768, 12, 3072, 50257, 1024
TYPES = dict(f32=gguf.GGMLQuantizationType.F32, f16=gguf.GGMLQuantizationType.F16, q8_0=gguf.GGMLQuantizationType.Q8_0)


def make(path, dtype):
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(VOCABULARY)
    draw = numpy.random.default_rng(1)

    def matrix(name, *shape, kind=None):
        values, kind = draw.standard_normal(shape, dtype=numpy.float32) * 0.02, kind or TYPES[dtype]
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    def vector(name, size, value):
        writer.add_tensor(name, numpy.full(size, value, numpy.float32))

    matrix("token_embd.weight", VOCABULARY, HIDDEN)
    matrix("position_embd.weight", CONTEXT, HIDDEN, kind=TYPES["f32"])
    for i in range(LAYERS):
        for name, outputs, inputs in (("attn_qkv", 3 * HIDDEN, HIDDEN), ("attn_output", HIDDEN, HIDDEN),
                                      ("ffn_up", FFN, HIDDEN), ("ffn_down", HIDDEN, FFN)):
            matrix(f"blk.{i}.{name}.weight", outputs, inputs)
            vector(f"blk.{i}.{name}.bias", outputs, 0.0)
        for name in ("attn_norm", "ffn_norm"):
            vector(f"blk.{i}.{name}.weight", HIDDEN, 1.0)
            vector(f"blk.{i}.{name}.bias", HIDDEN, 0.0)
    vector("output_norm.weight", HIDDEN, 1.0)
    vector("output_norm.bias", HIDDEN, 0.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(path, threads):
    parameters = llama_cpp.llama_model_default_params()
    model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
    assert model, path
    options = llama_cpp.llama_context_default_params()
    options.n_ctx, options.n_batch, options.n_ubatch = CONTEXT, 512, 512
    options.n_threads = options.n_threads_batch = threads
    return llama_cpp.llama_init_from_model(model, options)


def decode(context, tokens):
    array = (llama_cpp.llama_token * len(tokens))(*tokens)
    assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(tokens))) == 0
    logits = llama_cpp.llama_get_logits_ith(context, -1)
    return int(numpy.ctypeslib.as_array(logits, shape=(VOCABULARY,)).argmax())


def measure(context, o):
    prompt = [int(i) for i in numpy.random.default_rng(2).integers(0, VOCABULARY, o["prompt"])]
    times = {"step": [], "step_cpu": [], "prefill": [], "prefill_cpu": []}

    def timed(kind, tokens):
        wall, cpu = time.perf_counter(), time.process_time()
        token = decode(context, tokens)
        times[kind].append(time.perf_counter() - wall)
        times[kind + "_cpu"].append(time.process_time() - cpu)
        return token

    begin = time.perf_counter()
    while len(times["prefill"]) < 3 or time.perf_counter() - begin < o["seconds"]:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        token = timed("prefill", prompt)
        for _ in range(o["new"]):
            token = timed("step", [token])
    middle = {kind: 1e3 * statistics.median(values[1:]) for kind, values in times.items()}
    return dict(step_ms=middle["step"], processor_ms=middle["step_cpu"], prefill_ms=middle["prefill"],
                prefill_processor_ms=middle["prefill_cpu"])


def main():
    folder, contexts = sys.argv[1], {}
    os.makedirs(folder, exist_ok=True)
    quiet = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    for line in sys.stdin:
        o = json.loads(line)
        path, key = os.path.join(folder, f"gpt2-small-{o['dtype']}.gguf"), (o["dtype"], o["threads"])
        if not os.path.exists(path):
            make(path, o["dtype"])
        if key not in contexts:
            contexts[key] = load(path, o["threads"])
        print(json.dumps(measure(contexts[key], o)), flush=True)


if __name__ == "__main__":
    main()
