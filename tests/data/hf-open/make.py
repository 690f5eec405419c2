#!/usr/bin/env python3
"""Write the folders beside this script, each with the results of transformers: tiny random models whose heads are not
tied to the embeddings (tie_word_embeddings false) or that have unusual settings; configs with
missing or alternative keys; encoders without a pooler; encoders whose config.json names a head although the file also
contains a pooler; models of images and sounds.

Needs torch, transformers and safetensors. Run from anywhere: tests/data/hf-open/make.py [NAME...]
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers as t
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
VOCABULARY = 24
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
               max_position_embeddings=20, pad_token_id=1)
DECODER = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
               head_dim=8, intermediate_size=16, max_position_embeddings=20, bos_token_id=0, eos_token_id=2,
               pad_token_id=None)
BOTH = dict(vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=20, pad_token_id=1,
            bos_token_id=0, eos_token_id=2, decoder_start_token_id=0)
UNTIED = dict(tie_word_embeddings=False)
IMAGE = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=8,
             patch_size=4, num_channels=1)


def untied():
    yield "bert", t.BertForMaskedLM(t.BertConfig(**ENCODER, **UNTIED))
    yield "roberta", t.RobertaForMaskedLM(t.RobertaConfig(**ENCODER, **UNTIED))
    yield "xlm-roberta", t.XLMRobertaForMaskedLM(t.XLMRobertaConfig(**ENCODER, **UNTIED))
    yield "distilbert", t.DistilBertForMaskedLM(t.DistilBertConfig(
        vocab_size=VOCABULARY, dim=16, n_layers=1, n_heads=2, hidden_dim=16, max_position_embeddings=20, pad_token_id=1,
        **UNTIED))
    yield "electra", t.ElectraForMaskedLM(t.ElectraConfig(**ENCODER, embedding_size=8, **UNTIED))
    yield "mpnet", t.MPNetForMaskedLM(t.MPNetConfig(**ENCODER, **UNTIED))
    yield "gpt2", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_inner=16, n_positions=20, bos_token_id=0,
        eos_token_id=2, **UNTIED))
    yield "llama", t.LlamaForCausalLM(t.LlamaConfig(**DECODER, **UNTIED))
    yield "gemma", t.GemmaForCausalLM(t.GemmaConfig(**DECODER, **UNTIED))
    yield "mistral", t.MistralForCausalLM(t.MistralConfig(**DECODER, **UNTIED))
    yield "qwen2", t.Qwen2ForCausalLM(t.Qwen2Config(**DECODER, **UNTIED))
    yield "qwen3", t.Qwen3ForCausalLM(t.Qwen3Config(**DECODER, **UNTIED))
    yield "bart", t.BartForConditionalGeneration(t.BartConfig(**BOTH, **UNTIED))
    yield "marian", t.MarianMTModel(t.MarianConfig(**BOTH, **UNTIED))
    yield "marian-two", t.MarianMTModel(t.MarianConfig(
        **BOTH, **UNTIED, decoder_vocab_size=28, share_encoder_decoder_embeddings=False))
    yield "marian-decoder", t.MarianMTModel(t.MarianConfig(
        **BOTH, decoder_vocab_size=28, share_encoder_decoder_embeddings=False))
    yield "pegasus", t.PegasusForConditionalGeneration(t.PegasusConfig(**BOTH, **UNTIED))
    yield "pegasus-tied", t.PegasusForConditionalGeneration(t.PegasusConfig(**BOTH, scale_embedding=True))
    yield "blenderbot", t.BlenderbotForConditionalGeneration(t.BlenderbotConfig(**BOTH, **UNTIED))
    yield "blenderbot-tied", t.BlenderbotForConditionalGeneration(t.BlenderbotConfig(**BOTH, scale_embedding=True))
    yield "bart-model", t.BartModel(t.BartConfig(**BOTH, **UNTIED))
    yield "marian-model", t.MarianModel(t.MarianConfig(**BOTH, **UNTIED))
    yield "gemma-activation", t.GemmaForCausalLM(t.GemmaConfig(
        **DECODER, hidden_act="relu", hidden_activation="silu"))  # the second key is not read
    yield "t5-distance", t.T5Model(t.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=0, relative_attention_num_buckets=8, relative_attention_max_distance=5))
    yield "t5", t.T5ForConditionalGeneration(t.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=0, **UNTIED))


# The folder, the model, and changes to config.json: the keys to replace, or to remove if the value is None.
def edited():
    yield "mistral-default-heads", t.MistralForCausalLM(t.MistralConfig(
        **dict(DECODER, num_attention_heads=16, num_key_value_heads=8, head_dim=2))), dict(num_key_value_heads=None)
    yield "gpt2-aliases", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=4, n_inner=16, n_positions=20, bos_token_id=0,
        eos_token_id=2)), dict(n_head=2, n_embd=None, hidden_size=16, num_attention_heads=4)
    yield "bart-aliases", t.BartForConditionalGeneration(t.BartConfig(**dict(BOTH, encoder_attention_heads=4))), dict(
        num_attention_heads=4, encoder_attention_heads=2, encoder_layers=None, num_hidden_layers=1)
    decoder = dict(vocab_size=VOCABULARY, d_model=16, decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=16,
                   max_position_embeddings=20, pad_token_id=1)
    captions = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(**IMAGE), t.TrOCRConfig(**decoder))
    yield "trocr-aliases", t.VisionEncoderDecoderModel(captions), dict(
        decoder=captions.decoder.to_dict() | dict(decoder_attention_heads=2, num_attention_heads=4))
    yield "t5-activation", t.T5Model(t.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=0, dense_act_fn="silu", is_gated_act=True)), {}
    yield "t5-scaled", t.T5ForConditionalGeneration(t.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=0)), dict(tie_word_embeddings=False, scale_decoder_outputs=True)
    yield "electra-default-size", t.ElectraModel(t.ElectraConfig(**ENCODER, embedding_size=128)), dict(
        embedding_size=None)
    yield "gemma-exact-gelu", t.GemmaForCausalLM(t.GemmaConfig(**DECODER, hidden_act="gelu_python")), {}
    yield "gpt2-python-tanh", t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_inner=16, n_positions=20, bos_token_id=0,
        eos_token_id=2, activation_function="gelu_python_tanh")), {}


def without_pooler():
    yield "bert-no-pooler", t.BertModel(t.BertConfig(**ENCODER), add_pooling_layer=False)
    yield "roberta-no-pooler", t.RobertaModel(t.RobertaConfig(**ENCODER), add_pooling_layer=False)
    yield "mpnet-no-pooler", t.MPNetModel(t.MPNetConfig(**ENCODER), add_pooling_layer=False)
    yield "vit-no-pooler", t.ViTModel(t.ViTConfig(**IMAGE), add_pooling_layer=False)
    yield "deit-no-pooler", t.DeiTModel(t.DeiTConfig(**IMAGE), add_pooling_layer=False)


# The class that config.json names, and a base model with a pooler that the file holds beside the head.
def with_pooler():
    yield "bert-mlm-pooler", t.BertForPreTraining(t.BertConfig(**ENCODER)), t.BertModel
    yield "bert-classifier-pooler", t.BertForSequenceClassification(t.BertConfig(**ENCODER)), t.BertModel
    yield "bert-qa-pooler", t.BertForQuestionAnswering(t.BertConfig(**ENCODER)), t.BertModel
    yield "roberta-tokens-pooler", t.RobertaForTokenClassification(t.RobertaConfig(**ENCODER)), t.RobertaModel
    yield "mpnet-mlm-pooler", t.MPNetForMaskedLM(t.MPNetConfig(**ENCODER)), t.MPNetModel
    yield "vit-classifier-pooler", t.ViTForImageClassification(t.ViTConfig(**IMAGE)), t.ViTModel


def of_sounds():
    sizes = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                 conv_dim=[8, 8], conv_kernel=[10, 3], conv_stride=[5, 2], num_conv_pos_embeddings=4,
                 num_conv_pos_embedding_groups=2, classifier_proj_size=12, num_labels=3)
    yield "wav2vec2-classifier", t.Wav2Vec2ForSequenceClassification(t.Wav2Vec2Config(**sizes))


def of_images_and_sounds():
    sounds = dict(BOTH, max_source_positions=10, max_target_positions=20, num_mel_bins=8)
    del sounds["max_position_embeddings"]
    # transformers does not read scale_embedding of Whisper
    yield "whisper-scaled", t.WhisperForConditionalGeneration(t.WhisperConfig(**sounds, scale_embedding=True))
    decoder = dict(vocab_size=VOCABULARY, d_model=16, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=16,
                   max_position_embeddings=20, pad_token_id=1, is_decoder=True, add_cross_attention=True)
    large = t.TrOCRConfig(**decoder, cross_attention_hidden_size=16, use_learned_position_embeddings=False,
                          layernorm_embedding=False, scale_embedding=True, activation_function="relu")
    for name, config in (("trocr-sinusoids", large), ("mbart-captions", t.MBartConfig(**decoder))):
        yield name, t.VisionEncoderDecoderModel(
            t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(**IMAGE), config))
    part = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    yield "clip-dict", t.CLIPModel(t.CLIPConfig(
        text_config=dict(part, vocab_size=VOCABULARY, max_position_embeddings=20, eos_token_id=2, bos_token_id=0),
        vision_config=dict(part, image_size=8, patch_size=4, num_channels=1), projection_dim=12))


def randomise(model):
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, tensor in list(model.named_parameters()) + [
                (n, b) for n, b in model.named_buffers() if n == "final_logits_bias"]:
            if "embed_positions" in name and model.config.model_type in ("marian", "pegasus"):
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            norm = tensor.dim() == 1 and name.endswith("weight")
            tensor.copy_(1 + 0.1 * noise if norm else 0.3 * noise)


def inputs_of(model):
    generator = torch.Generator().manual_seed(8)
    if hasattr(model.config, "num_mel_bins"):
        return {"input_features": torch.randn(2, 8, 20, generator=generator),
                "decoder_input_ids": torch.randint(3, VOCABULARY, (2, 5), generator=generator)}
    if model.config.model_type in ("clip", "vision-encoder-decoder"):
        ids = "input_ids" if model.config.model_type == "clip" else "decoder_input_ids"
        return {"pixel_values": torch.randn(2, 1, 8, 8, generator=generator),
                ids: torch.randint(3, VOCABULARY, (2, 5), generator=generator)}
    if hasattr(model.config, "image_size"):
        return {"pixel_values": torch.randn(2, 1, 8, 8, generator=generator)}
    if hasattr(model.config, "conv_stride"):
        return {"input_values": torch.randn(2, 120, generator=generator)}
    inputs = {"input_ids": torch.randint(3, VOCABULARY, (2, 7), generator=generator)}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(3, VOCABULARY, (2, 5), generator=generator)
    return inputs


def outputs_of(model, inputs):
    with torch.no_grad():
        out = model(**inputs)
    return {name: value.contiguous() for name, value in out.items()
            if name in ("logits", "logits_per_image", "prediction_logits", "last_hidden_state", "pooler_output", "start_logits", "end_logits",
                        "encoder_last_hidden_state") and value is not None}


def write(name, model, base=None, edits=None, **loading):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    randomise(model)
    model.tie_weights()
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name == "t5":  # as version 1.1 was published; transformers 5 writes another config than it reads
        config = json.loads((folder / "config.json").read_text())
        del config["scale_decoder_outputs"]
        (folder / "config.json").write_text(json.dumps(config | UNTIED, indent=2) + "\n")
    if edits:
        config = json.loads((folder / "config.json").read_text()) | edits
        config = {key: value for key, value in config.items() if key not in edits or value is not None}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if name == "clip-dict":  # as some older folders, where text_config is incomplete
        config = json.loads((folder / "config.json").read_text())
        for part in ("text_config", "vision_config"):
            config |= {part + "_dict": config[part], part: {"model_type": config[part]["model_type"]}}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if base is not None:  # a pooler beside the head
        tensors = load_file(folder / "model.safetensors")
        whole = base(model.config)
        randomise(whole)
        tensors.update({model.base_model_prefix + "." + n: v.contiguous() for n, v in whole.state_dict().items()
                        if "pooler" in n})
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    inputs = inputs_of(model)
    # transformers 5 computes TrOCR's sinusoids in a new model but not in a model that it loads
    loaded = model if name == "trocr-sinusoids" else type(model).from_pretrained(folder, **loading)
    outputs = outputs_of(loaded.eval(), inputs)
    if "prediction_logits" in outputs:
        outputs["logits"] = outputs.pop("prediction_logits")
    if base is not None:
        outputs.update(outputs_of(base.from_pretrained(folder).eval(), inputs))
    save_file({**inputs, **outputs}, folder / "golden.safetensors", metadata={"format": "pt"})
    (folder / "case.json").write_text(json.dumps(
        {"class": type(model).__name__, "transformers": t.__version__, "outputs": sorted(outputs)}) + "\n")


for name, model in untied():
    write(name, model)
for name, model, edits in edited():
    write(name, model, edits=edits)
for name, model in without_pooler():
    write(name, model, add_pooling_layer=False)
for group in (of_sounds, of_images_and_sounds):
    for name, model in group():
        write(name, model)
for name, model, base in with_pooler():
    write(name, model, base)
