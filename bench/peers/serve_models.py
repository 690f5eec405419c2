"""Create models with random weights for bench/compare_serve.py, in the formats of both servers.

    serve_models.py FOLDER        creates what is missing: FOLDER/{llama,minilm,marian}, llama-f32.gguf, llama-q8_0.gguf, marian-ct2

llama: the size of GPT-2 small (12 layers, hidden size 768, 12 heads, gated feed-forward of 2048, 32,000 tokens); the
GGUF files have the same weights. minilm: the shape of all-MiniLM-L6-v2. marian: 6 + 6 layers, hidden size 512, 8
heads, feed-forward 2048, 32,000 tokens; beam 4 and 32 new tokens. Needs numpy, safetensors, torch, transformers,
sentencepiece, protobuf, gguf, ctranslate2.
"""
import json
import pathlib
import sys

import numpy
from safetensors.numpy import load_file, save_file

LAYERS, HIDDEN, HEADS, FFN, VOCABULARY, CONTEXT = 12, 768, 12, 2048, 32000, 8192
WORDS = "the river runs through an old town where people build boats and sell fish in the morning".split()


def pieces():
    """Return the tokens of the decoder: special tokens, bytes, then words."""
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    return ["<unk>", "<s>", "</s>", *bytes_, *(f"▁w{i}" for i in range(VOCABULARY - 259))]


def make_llama(folder):
    draw = numpy.random.default_rng(1)
    matrix = lambda *shape: draw.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.05)
    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN), "lm_head.weight": matrix(VOCABULARY, HIDDEN),
               "model.norm.weight": numpy.ones(HIDDEN, numpy.float32)}
    for i in range(LAYERS):
        prefix = f"model.layers.{i}."
        for name in "qkvo":
            tensors[prefix + f"self_attn.{name}_proj.weight"] = matrix(HIDDEN, HIDDEN)
        for name, shape in (("gate", (FFN, HIDDEN)), ("up", (FFN, HIDDEN)), ("down", (HIDDEN, FFN))):
            tensors[prefix + f"mlp.{name}_proj.weight"] = matrix(*shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[prefix + name + ".weight"] = numpy.ones(HIDDEN, numpy.float32)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "intermediate_size": FFN, "vocab_size": VOCABULARY,
              "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "bos_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 1}))  # no end token: results have maximum length
    tokenizer = {"version": "1.0", "added_tokens": [
        {"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, token in enumerate(pieces()[:3])], "normalizer": None, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
        "prepend_scheme": "always", "split": True}, "post_processor": None, "truncation": None, "padding": None,
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "WordLevel", "vocab": {token: i for i, token in enumerate(pieces())}, "unk_token": "<unk>"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def make_gguf(folder, path, kind):
    import gguf
    tensors = load_file(folder / "model.safetensors")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([one.encode() for one in pieces()])
    writer.add_token_scores([-float(i) for i in range(VOCABULARY)])
    types = gguf.TokenType
    writer.add_token_types([types.UNKNOWN, types.CONTROL, types.CONTROL] + [types.BYTE] * 256 + [types.NORMAL] * (VOCABULARY - 259))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def add(name, values):
        wanted = kind if values.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quants.quantize(values, wanted), raw_dtype=wanted)

    def for_rope(values):  # in GGUF, rotary positions rotate neighbouring pairs
        return values.reshape(HEADS, 2, HIDDEN // HEADS // 2, HIDDEN).swapaxes(1, 2).reshape(HIDDEN, HIDDEN)

    add("token_embd.weight", tensors["model.embed_tokens.weight"])
    add("output.weight", tensors["lm_head.weight"])
    add("output_norm.weight", tensors["model.norm.weight"])
    for i in range(LAYERS):
        of, to = f"model.layers.{i}.", f"blk.{i}."
        for name in "qkvo":
            values = tensors[of + f"self_attn.{name}_proj.weight"]
            add(to + f"attn_{'output' if name == 'o' else name}.weight", for_rope(values) if name in "qk" else values)
        for name in ("gate", "up", "down"):
            add(to + f"ffn_{name}.weight", tensors[of + f"mlp.{name}_proj.weight"])
        add(to + "attn_norm.weight", tensors[of + "input_layernorm.weight"])
        add(to + "ffn_norm.weight", tensors[of + "post_attention_layernorm.weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_minilm(folder):
    import torch
    import transformers
    torch.manual_seed(1)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(WORDS))]
    vocabulary += [f"w{i}" for i in range(30522 - len(vocabulary))]
    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab={word: i for i, word in enumerate(vocabulary)}, model_max_length=256).save_pretrained(folder)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}))
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    (folder / "modules.json").write_text(json.dumps([{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                                     for i, (path, kind) in enumerate(kinds)]))


def make_marian(folder):
    import torch
    import transformers
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    pad = VOCABULARY - 1
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish", scale_embedding=True, normalize_before=False,
        max_position_embeddings=512, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        architectures=["MarianMTModel"])
    model = transformers.MarianMTModel(config)
    with torch.no_grad():
        model.final_logits_bias[0, 0] = model.final_logits_bias[0, pad] = -1e4  # no end token: results have maximum length
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=33, bos_token_id=0, eos_token_id=0, pad_token_id=pad, decoder_start_token_id=pad)
    model.save_pretrained(folder)
    words = ["</s>", "<unk>", *("▁" + word for word in sorted(set(WORDS)))]
    words += [f"▁w{i}" for i in range(VOCABULARY - 1 - len(words))] + ["<pad>"]
    import sentencepiece.sentencepiece_model_pb2 as spm
    proto = spm.ModelProto()
    proto.trainer_spec.model_type = 1
    proto.normalizer_spec.add_dummy_prefix = True
    for i, word in enumerate(["<unk>", "<s>", "</s>", *words[2:-1]]):
        proto.pieces.add(piece=word, score=-float(i), type=2 if i == 0 else 3 if i < 3 else 1)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(proto.SerializeToString())
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "xx",
                                                              "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}))


def make_ctranslate2(folder, output):
    import ctranslate2
    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(output))


def main():
    folder = pathlib.Path(sys.argv[1])
    if not (folder / "llama/model.safetensors").exists():
        make_llama(folder / "llama")
    for name, kind in (("f32", "F32"), ("q8_0", "Q8_0")):
        if not (folder / f"llama-{name}.gguf").exists():
            import gguf
            make_gguf(folder / "llama", folder / f"llama-{name}.gguf", gguf.GGMLQuantizationType[kind])
    if not (folder / "minilm/modules.json").exists():
        make_minilm(folder / "minilm")
    if not (folder / "marian/vocab.json").exists():
        make_marian(folder / "marian")
    if not (folder / "marian-ct2/model.bin").exists():
        make_ctranslate2(folder / "marian", folder / "marian-ct2")


main()
