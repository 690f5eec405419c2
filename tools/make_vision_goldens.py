#!/usr/bin/env python3
"""Write golden cases of models that read pictures, computed by transformers with random weights, in the format of
tests/data/hf-tiny (see its README):
  tests/data/hf-tiny/deit-teacher      DeiT with both heads
  tests/data/hf-tiny/deit-bart         DeiT encoder, projection, BART decoder
  tests/data/hf-tiny/vit-trocr         ViT encoder, TrOCR decoder whose cross-attention has the encoder's hidden size
  tests/data/hf-more/clip-first-end    CLIP whose text vector is that of the first end token
  tests/data/hf-more/clip-words        CLIP with a tokenizer: zero-shot scores of labels for tests/data/pictures, by the
                                       zero-shot-image-classification pipeline, and vectors of texts and pictures
Needs torch, transformers and safetensors."""
import json
import pathlib
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import (BartConfig, BartForCausalLM, CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPTokenizer, DeiTConfig, DeiTForImageClassificationWithTeacher,
                          DeiTModel, TrOCRConfig, TrOCRForCausalLM, ViTConfig, ViTModel, VisionEncoderDecoderModel, pipeline)
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.image_utils import load_image

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests/data"
TINY = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
NO_DROPOUT = dict(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
EAGER = dict(attn_implementation="eager")


def redraw(model, seed):
    """Set random weights, large enough that every part affects the outputs."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 0:
                continue
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) * (0.1 if parameter.dim() == 1 else 0.25))
    return model.eval()


def gradients_of(model, loss):
    """Return the gradients under the names of the checkpoint, which save_pretrained() determines."""
    loss.backward()
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for parameter in model.parameters():
            parameter.copy_(torch.nan if parameter.grad is None else parameter.grad)
        model.save_pretrained(folder)
        saved = load_file(pathlib.Path(folder) / "model.safetensors")
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return {"grad." + name: gradient for name, gradient in saved.items() if not gradient.isnan().any()}


def layers(prefix, states):
    return {} if states is None else {f"{prefix}.{i}": state for i, state in enumerate(states)}


def write(path, model, tensors, about):
    folder = DATA / path
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}, folder / "golden.safetensors")
    (folder / "case.json").write_text(json.dumps({"name": folder.name, "architecture": type(model).__name__, **about}, indent=1) + "\n")


def deit_teacher():
    model = redraw(DeiTForImageClassificationWithTeacher(
        DeiTConfig(**TINY, image_size=16, patch_size=8, num_labels=5, hidden_dropout_prob=0.0,
                   attention_probs_dropout_prob=0.0, **EAGER)), 1)
    torch.manual_seed(11)
    pixels, weight = torch.randn(2, 3, 16, 16), torch.randn(2, 5)
    out = model(pixel_values=pixels, output_hidden_states=True, output_attentions=True)
    loss = (out.logits * weight).sum()
    tensors = {"pixel_values": pixels, "loss_weight.logits": weight, "logits": out.logits, "loss": loss.reshape(1),
               **layers("hidden_states", out.hidden_states), **layers("attentions", out.attentions), **gradients_of(model, loss)}
    write("hf-tiny/deit-teacher", model, tensors, {"special": "both heads; logits are their mean"})


def encoder_decoder(path, encoder, decoder, special, seed):
    model = redraw(VisionEncoderDecoderModel(encoder=encoder, decoder=decoder), seed)
    ids = dict(decoder_start_token_id=2, pad_token_id=1, eos_token_id=2)
    for key, value in ids.items():
        setattr(model.config, key, value)
        setattr(model.generation_config, key, value)
    torch.manual_seed(seed + 10)
    pixels = torch.randn(2, 3, 16, 16)
    labels = torch.randint(3, 60, (2, 6))
    start = torch.cat([torch.full((2, 1), 2), labels[:, :-1]], dim=1)
    out = model(pixel_values=pixels, decoder_input_ids=start, labels=labels, output_hidden_states=True, output_attentions=True)
    tensors = {"pixel_values": pixels, "decoder_input_ids": start, "labels": labels, "logits": out.logits,
               "loss": out.loss.reshape(1), "encoder_last_hidden_state": out.encoder_last_hidden_state,
               **layers("encoder_hidden_states", out.encoder_hidden_states), **layers("encoder_attentions", out.encoder_attentions),
               **layers("decoder_hidden_states", out.decoder_hidden_states), **layers("decoder_attentions", out.decoder_attentions),
               **layers("cross_attentions", out.cross_attentions), **gradients_of(model, out.loss)}
    generation = {}
    for name, arguments in (("greedy", dict(do_sample=False, max_new_tokens=10)),
                            ("beam3", dict(do_sample=False, num_beams=3, max_new_tokens=10))):
        found = model.generate(pixel_values=pixels, return_dict_in_generate=True, output_scores=True, **arguments)
        tensors[name] = found.sequences
        if "num_beams" in arguments:
            tensors[name + "_score"] = found.sequences_scores
        generation[name] = {"arguments": arguments, "shape": list(found.sequences.shape)}
    write(path, model, tensors, {"special": special, "generation": generation})


def text_decoder(config):
    return dict(vocab_size=60, d_model=config, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=32,
                max_position_embeddings=20, pad_token_id=1, bos_token_id=0, eos_token_id=2, **NO_DROPOUT)


def deit_bart():
    encoder = DeiTModel(DeiTConfig(**TINY, image_size=16, patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                   **EAGER), add_pooling_layer=False)
    decoder = BartForCausalLM(BartConfig(**text_decoder(24), encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=8,
                                         is_decoder=True, add_cross_attention=True, scale_embedding=True, **EAGER))
    encoder_decoder("hf-tiny/deit-bart", encoder, decoder, "enc_to_dec_proj from 32 to 24 features", 2)


def vit_trocr():
    encoder = ViTModel(ViTConfig(**TINY, image_size=16, patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                 **EAGER), add_pooling_layer=False)
    decoder = TrOCRForCausalLM(TrOCRConfig(**text_decoder(24), activation_function="relu", cross_attention_hidden_size=32,
                                           is_decoder=True, add_cross_attention=True, **EAGER))
    encoder_decoder("hf-tiny/vit-trocr", encoder, decoder, "cross_attention_hidden_size 32, decoder of 24 features", 3)


def clip_first_end():
    text = dict(vocab_size=50, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                max_position_embeddings=12, pad_token_id=40, bos_token_id=41, eos_token_id=40, hidden_act="gelu")
    vision = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=12, patch_size=4)
    model = redraw(CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=10, **EAGER)), 4)
    torch.manual_seed(14)
    # The padding token is the end token, and some ids are above it.
    ids = torch.tensor([[41, 49, 5, 6, 40, 40, 40], [41, 7, 45, 8, 9, 10, 40], [41, 40, 40, 40, 40, 40, 40]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [1] * 7, [1, 1, 0, 0, 0, 0, 0]])
    pixels = torch.randn(3, 3, 12, 12)
    out = model(input_ids=ids, attention_mask=mask, pixel_values=pixels, return_loss=True, output_hidden_states=True,
                output_attentions=True)
    tensors = {"input_ids": ids, "attention_mask": mask, "pixel_values": pixels, "loss": out.loss.reshape(1)}
    for name in ("logits_per_text", "logits_per_image", "text_embeds", "image_embeds"):
        tensors[name] = out[name]
    for name in ("text_model_output", "vision_model_output"):
        side = out[name]
        tensors[name + ".last_hidden_state"], tensors[name + ".pooler_output"] = side.last_hidden_state, side.pooler_output
        tensors |= {**layers(name + ".hidden_states", side.hidden_states), **layers(name + ".attentions", side.attentions)}
    tensors |= gradients_of(model, out.loss)
    write("hf-more/clip-first-end", model, tensors, {"special": "eos_token_id is not 2: the first end token"})


def clip_words():
    folder = DATA / "hf-more/clip-words"
    shutil.rmtree(folder, ignore_errors=True)
    letters = list(bytes_to_unicode().values())
    merges = [("p", "h"), ("o", "t"), ("ph", "ot"), ("phot", "o</w>"), ("a", "t</w>"), ("c", "at</w>"), ("d", "o"), ("do", "g</w>"),
              ("r", "e"), ("re", "d</w>")]
    words = letters + [letter + "</w>" for letter in letters] + [a + b for a, b in merges] + ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=24)
    end = vocabulary["<|endoftext|>"]
    text = dict(vocab_size=len(vocabulary), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                max_position_embeddings=24, pad_token_id=end, bos_token_id=end - 1, eos_token_id=end)
    vision = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
    model = redraw(CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)), 5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = dict(shortest_edge=8)
    processor = CLIPImageProcessor(size=size, crop_size=dict(height=8, width=8))
    processor.save_pretrained(folder)
    pictures = ["turned1.jpg", "turned6.jpg", "cmyk.jpg", "lossless.webp", "deep.png"]
    images = [load_image(str(DATA / "pictures" / name)) for name in pictures]
    labels = ["a cat", "a Dog", "Photo of a red cat", "xyz!"]
    find = pipeline("zero-shot-image-classification", model=str(folder), device="cpu")
    cases = []
    for pattern in ("This is a photo of {}.", "{}"):
        for name, image in zip(pictures, images):
            found = find(image, candidate_labels=labels, hypothesis_template=pattern)
            cases.append({"picture": name, "pattern": pattern, "scores": [[one["label"], one["score"]] for one in found]})
    tokens = tokenizer(labels, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        out = model(**tokens, pixel_values=processor(images=images, return_tensors="pt")["pixel_values"])
    (folder / "case.json").write_text(json.dumps(
        {"pictures": pictures, "labels": labels, "ids": tokenizer(labels)["input_ids"], "cases": cases,
         "text_embeds": out.text_embeds.tolist(), "image_embeds": out.image_embeds.tolist()}, indent=0) + "\n")


if __name__ == "__main__":
    for make in (clip_words, deit_teacher, deit_bart, vit_trocr, clip_first_end):
        make()
