"""Write transformers' attention weights for one picture and two sounds, for the test of the page's numbers.

Usage: make_page_goldens.py DATA (DATA: tests/data). Reads the models of DATA/hf-tiny and DATA/sound/whisper-small.
Writes DATA/page/picture.png (48 × 40 pixels), DATA/page/tiny.wav (1,500 samples), and DATA/page/NAME.safetensors with
the attention weights [1, heads, queries, keys] of the model NAME and, for a decoder, the ids that it generates. For a
model without preprocessor_config.json, writes DATA/page/NAME.preprocessor_config.json, which transformers and regard
then read.
"""
import json
import shutil
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors.torch import save_file

torch.set_num_threads(1)
DATA = Path(sys.argv[1])
PAGE = DATA / "page"
PAGE.mkdir(exist_ok=True)
TARGET = [5, 9, 7]
TEXT = "the fox"  # text that Whisper reads


def make_inputs():
    y, x = np.mgrid[0:40, 0:48]
    pixels = np.stack([(x * 5 + y) % 256, (y * 6 + 20) % 256, (x * y) % 256], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(PAGE / "picture.png")
    time = np.arange(1500) / 16000
    samples = (9000 * np.sin(2 * np.pi * (300 + 2000 * time) * time) * np.exp(-time * 8)).astype("<i2")
    with wave.open(str(PAGE / "tiny.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", "NONE"))
        file.writeframes(samples.tobytes())


def sound(path):
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def folder_of(name):
    source = DATA / ("sound" if name == "whisper-small" else "hf-tiny") / name
    folder = Path(tempfile.mkdtemp())
    for file in source.glob("*"):
        if not file.name.startswith("golden"):
            shutil.copy(file, folder)
    return folder


def config_of(folder, name, size):
    path = folder / "preprocessor_config.json"
    if not path.exists():
        content = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": size, "width": size},
                   "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
                   "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
        path.write_text(json.dumps(content, indent=1) + "\n")
        shutil.copy(path, PAGE / f"{name}.preprocessor_config.json")
    return path


def write(name, outputs, written=None):
    tensors = {}
    for key in ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"):
        for layer, value in enumerate(getattr(outputs, key, None) or ()):
            tensors[f"{key}.{layer}"] = value.detach().contiguous()
    if written is not None:
        tensors["written"] = torch.tensor([written])
    save_file(tensors, PAGE / f"{name}.safetensors")
    print(name, {key: list(value.shape) for key, value in tensors.items()})


def model_of(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    return kind.from_pretrained(folder, attn_implementation="eager").eval()


def picture(name):
    folder = folder_of(name)
    config = json.loads((folder / "config.json").read_text())
    config_of(folder, name, config.get("encoder", config)["image_size"])
    model = model_of(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    values = processor(Image.open(PAGE / "picture.png"), return_tensors="pt")["pixel_values"]
    if "decoder" not in config:
        return write(name, model(pixel_values=values, output_attentions=True))
    generation = json.loads((folder / "generation_config.json").read_text())
    start = generation["decoder_start_token_id"]
    end = generation["eos_token_id"]
    ids = torch.tensor([[start] + TARGET])
    write(name, model(pixel_values=values, decoder_input_ids=ids, output_attentions=True),
          TARGET + [end[0] if isinstance(end, list) else end])


def heard(name, path):
    folder = folder_of(name)
    processor = transformers.AutoFeatureExtractor.from_pretrained(folder)
    values = processor(sound(path), sampling_rate=16000, return_tensors="pt")
    model = model_of(folder)
    key = "input_features" if "input_features" in values else "input_values"
    if name != "whisper-small":
        return write(name, model(**{key: values[key]}, output_attentions=True))
    generation = json.loads((folder / "generation_config.json").read_text())
    start = generation["decoder_start_token_id"]
    logits = model(**{key: values[key]}, decoder_input_ids=torch.tensor([[start]])).logits[0, 0]
    language = max(sorted(generation["lang_to_id"].values()), key=lambda id: logits[id].item())
    beginning = [language, generation["task_to_id"]["transcribe"], generation["no_timestamps_token_id"]]
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    written = beginning + tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    write(name, model(**{key: values[key]}, decoder_input_ids=torch.tensor([[start] + written]), output_attentions=True),
          written + [generation["eos_token_id"]])


make_inputs()
with torch.no_grad():
    for name in ("vit", "vit-patch16", "deit", "deit-teacher", "vit-gpt2", "vit-trocr", "deit-bart"):
        picture(name)
    heard("wav2vec2", PAGE / "tiny.wav")
    heard("wav2vec2-stable", PAGE / "tiny.wav")
    heard("ast", DATA / "sound" / "whisper-small" / "short.wav")
    heard("whisper-small", DATA / "sound" / "whisper-small" / "short.wav")
