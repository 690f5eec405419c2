#!/usr/bin/env python3
"""Write wav2vec2-adapter: the model of wav2vec2-stable with adapters per language, as in MMS (Pratap et al. 2023).

model.safetensors has the weights of "eng"; adapter.hin.safetensors has those of "hin", with another number of labels.
golden.safetensors and hindi.safetensors have transformers' outputs, case.json the transcripts of input_values as sounds. Needs torch, transformers, safetensors."""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

here = pathlib.Path(__file__).parent
source, folder = here / "wav2vec2-stable", here / "wav2vec2-adapter"
folder.mkdir(exist_ok=True)
torch.manual_seed(5)
config = transformers.Wav2Vec2Config.from_pretrained(source, adapter_attn_dim=6, attn_implementation="eager")
model = transformers.Wav2Vec2ForCTC(config)
missing, unexpected = model.load_state_dict(transformers.Wav2Vec2ForCTC.from_pretrained(source).state_dict(),
                                            strict=False)
assert not unexpected and all(".adapter_layer." in name for name in missing)


def draw(weights):
    """Replace the weights by random ones, large enough that each of them changes the outputs."""
    for name, weight in weights.items():
        with torch.no_grad():
            weight.copy_(torch.randn(weight.shape) * 0.4 + (1.0 if name.endswith("norm.weight") else 0.0))


SPECIAL = slice(1, 4)  # <s>, </s> and <unk>, made improbable so that they are not in the texts
draw({name: weight for name, weight in model.named_parameters() if ".adapter_layer." in name})
model.lm_head.bias.data[SPECIAL] = -8.0
model.eval()
given = load_file(source / "golden.safetensors")
golden = {"input_values": given["input_values"], "labels": given["labels"]}
result = model(**golden, output_hidden_states=True, output_attentions=True)
result.loss.backward()
for name, weight in model.named_parameters():
    if weight.grad is not None:
        golden["grad." + name] = weight.grad
golden |= {"logits": result.logits, "loss": result.loss.reshape(1)}
golden |= {f"hidden_states.{i}": state for i, state in enumerate(result.hidden_states)}
golden |= {f"attentions.{i}": weights for i, weights in enumerate(result.attentions)}
model.save_pretrained(folder)

# The adapter of another language, loaded as by users.
labels = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "|": 4} | {letter: 5 + i for i, letter in enumerate("कखगघचछ")}
english = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "|": 4} | {letter: 5 + i for i, letter in enumerate("abcdefg")}
other = {name: weight.detach().clone() for name, weight in model.named_parameters() if ".adapter_layer." in name}
other |= {"lm_head.weight": torch.empty(len(labels), config.hidden_size), "lm_head.bias": torch.empty(len(labels))}
draw(other)
other["lm_head.bias"][SPECIAL] = -8.0
save_file(other, folder / "adapter.hin.safetensors", {"format": "pt"})
(folder / "vocab.json").write_text(json.dumps({"eng": english, "hin": labels}, ensure_ascii=False) + "\n")
(folder / "tokenizer_config.json").write_text(
    json.dumps({"tokenizer_class": "Wav2Vec2CTCTokenizer", "target_lang": "eng", "pad_token": "<pad>", "bos_token": "<s>",
                "eos_token": "</s>", "unk_token": "<unk>", "word_delimiter_token": "|"}) + "\n")
tokenizer = transformers.Wav2Vec2CTCTokenizer.from_pretrained(folder)
hindi = transformers.Wav2Vec2ForCTC.from_pretrained(folder, attn_implementation="eager")
hindi.load_adapter("hin")
hindi.eval()
shutil.copy(source / "preprocessor_config.json", folder)
extractor = transformers.Wav2Vec2FeatureExtractor.from_pretrained(folder)
sounds = extractor(list(given["input_values"].numpy()), sampling_rate=16000, return_tensors="pt").input_values
with torch.no_grad():
    logits = hindi(input_values=given["input_values"]).logits
    english_text = tokenizer.batch_decode(model(input_values=sounds).logits.argmax(-1))
    tokenizer.set_target_lang("hin")
    hindi_text = tokenizer.batch_decode(hindi(input_values=sounds).logits.argmax(-1))
save_file({name: value.detach().contiguous() for name, value in golden.items()}, folder / "golden.safetensors")
save_file({"logits": logits.contiguous()}, folder / "hindi.safetensors")
case = json.loads((source / "case.json").read_text())
case |= {"name": "wav2vec2-adapter", "special": "adapters per language (adapter_attn_dim), as in MMS",
         "texts": {"eng": english_text, "hin": hindi_text}}
(folder / "case.json").write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n")
(folder / "generation_config.json").unlink(missing_ok=True)
