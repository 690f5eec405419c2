"""Run CTranslate2 on a Marian-base shape with random weights. For each line of JSON on standard input, print one line
of JSON.

    ctranslate2_peer.py FOLDER        creates the model in FOLDER if it is missing

Input: {"compute_type": "float32"|"int8", "threads", "batch", "beam", "source", "target", "seconds"}. Output: the
median time of a whole translation, encoder included, in milliseconds of wall clock and of processor time.
"""
import json
import os
import statistics
import sys
import time

import ctranslate2
import numpy

LAYERS, HIDDEN, HEADS, FFN, VOCABULARY = 6, 512, 8, 2048, 32000


def make(folder):
    """Set random weights with the scale of Marian's initialisation, zero biases, and norms without effect."""
    from ctranslate2.specs import Activation, TransformerSpec
    spec = TransformerSpec.from_config((LAYERS, LAYERS), HEADS, pre_norm=False, activation=Activation.SWISH)
    draw = numpy.random.default_rng(1)
    matrix = lambda *shape: draw.standard_normal(shape, dtype=numpy.float32) * 0.05

    def linear(layer, outputs, inputs):
        layer.weight, layer.bias = matrix(outputs, inputs), numpy.zeros(outputs, numpy.float32)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(HIDDEN, numpy.float32), numpy.zeros(HIDDEN, numpy.float32)

    def attention(layer, parts):
        for part, outputs in zip(layer.linear, parts):
            linear(part, outputs, HIDDEN)
        norm(layer.layer_norm)

    embedding = matrix(VOCABULARY, HIDDEN)
    positions = matrix(512, HIDDEN)
    for side in (spec.encoder, spec.decoder):
        table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        table.weight, side.scale_embeddings = embedding, True
        side.position_encodings.encodings = positions
        for layer in side.layer:
            attention(layer.self_attention, (3 * HIDDEN, HIDDEN))
            if side is spec.decoder:
                attention(layer.attention, (HIDDEN, 2 * HIDDEN, HIDDEN))
            linear(layer.ffn.linear_0, FFN, HIDDEN)
            linear(layer.ffn.linear_1, HIDDEN, FFN)
            norm(layer.ffn.layer_norm)
    spec.decoder.projection.weight = embedding
    spec.decoder.projection.bias = numpy.zeros(VOCABULARY, numpy.float32)
    words = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(3, VOCABULARY)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    os.makedirs(folder, exist_ok=True)
    spec.save(folder)


def measure(folder, o, known={}):
    key = (o["compute_type"], o["threads"])
    if key not in known:
        known[key] = ctranslate2.Translator(folder, device="cpu", inter_threads=1, intra_threads=o["threads"],
                                            compute_type=o["compute_type"])
    draw = numpy.random.default_rng(2)
    source = [[f"w{i}" for i in draw.integers(3, VOCABULARY, o["source"])] for _ in range(o["batch"])]
    translate = lambda: known[key].translate_batch(
        source, beam_size=o["beam"], max_decoding_length=o["target"], min_decoding_length=o["target"],
        max_batch_size=o["batch"], return_scores=False)
    for result in translate():
        assert len(result.hypotheses[0]) == o["target"], len(result.hypotheses[0])
    wall, processor, begin = [], [], time.perf_counter()
    while not wall or time.perf_counter() - begin < o["seconds"]:
        before, cpu = time.perf_counter(), time.process_time()
        translate()
        wall.append(time.perf_counter() - before)
        processor.append(time.process_time() - cpu)
    return dict(whole_ms=1e3 * statistics.median(wall), whole_best_ms=1e3 * min(wall),
                whole_processor_ms=1e3 * statistics.median(processor), runs=len(wall))


def main():
    folder = sys.argv[1]
    if not os.path.exists(os.path.join(folder, "model.bin")):
        make(folder)
    for line in sys.stdin:
        print(json.dumps(measure(folder, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
