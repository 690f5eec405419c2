"""Write a tiny Whisper folder with a vocabulary of the usual form, and transcripts by transformers.

Usage: make_whisper_goldens.py DATA (DATA: tests/data). Writes DATA/sound/whisper-small: random weights with a fixed
seed, windows of 2 seconds instead of 30, byte-level BPE with 60 merges, the languages en, de and fr, and timestamps
from 0.00 to 2.00.

transcripts.json has the segments of WhisperForConditionalGeneration.generate() at temperature 0. Two of its functions
are replaced, so that the last window is filled with silence and seeking ends with the sound, as in OpenAI's program.
Words and their times are those of return_timestamps="word": return_token_timestamps of generate(), then the
tokenizer's _collate_word_timestamps() for each segment.
"""
import json
import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.models.whisper.tokenization_whisper import LANGUAGES as LANGUAGE_NAMES
from transformers.models.whisper.tokenization_whisper import _collate_word_timestamps
from transformers import (GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration)

torch.set_num_threads(1)
FOLDER = Path(sys.argv[1]) / "sound" / "whisper-small"
FOLDER.mkdir(parents=True, exist_ok=True)
LANGUAGES = ["en", "de", "fr"]
RATE, SECONDS = 16000, 2


def tokenizer():
    all = Tokenizer(models.BPE())
    all.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    all.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=316, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    all.train_from_iterator(["the quick brown fox jumps over the lazy dog and then the river bank of the money"] * 3, trainer)
    special = ["<|endoftext|>", "<|startoftranscript|>"] + [f"<|{code}|>" for code in LANGUAGES]
    special += ["<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    all.add_special_tokens(special)
    all.add_tokens([AddedToken(f"<|{i * 0.02:.2f}|>", special=False, normalized=False) for i in range(51 * SECONDS - 1)])
    return all


def model(words):
    torch.manual_seed(11)
    id = words.token_to_id
    config = WhisperConfig(
        vocab_size=words.get_vocab_size(), num_mel_bins=80, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_source_positions=50 * SECONDS, max_target_positions=64, pad_token_id=id("<|endoftext|>"),
        bos_token_id=id("<|endoftext|>"), eos_token_id=id("<|endoftext|>"),
        decoder_start_token_id=id("<|startoftranscript|>"), suppress_tokens=None, begin_suppress_tokens=None,
        attn_implementation="eager")
    all = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in all.named_parameters():
            if "embed_positions" in name and "decoder" in name:
                parameter.copy_(2.0 * torch.randn_like(parameter))
            elif "embed_tokens" in name:
                parameter.copy_(0.35 * torch.randn_like(parameter))
            elif parameter.dim() > 1 and "embed_positions" not in name:
                parameter.mul_(9.0)
        all.model.decoder.embed_tokens.weight[id("<|endoftext|>")] *= 1.6
    all.generation_config = GenerationConfig(
        max_length=64, pad_token_id=config.pad_token_id, bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id,
        decoder_start_token_id=config.decoder_start_token_id, suppress_tokens=[id("<|startoflm|>"), 5, 6],
        begin_suppress_tokens=[7, id("<|endoftext|>")], is_multilingual=True, no_timestamps_token_id=id("<|notimestamps|>"),
        prev_sot_token_id=id("<|startofprev|>"), alignment_heads=HEADS, max_initial_timestamp_index=50, return_timestamps=False,
        lang_to_id={f"<|{code}|>": id(f"<|{code}|>") for code in LANGUAGES},
        task_to_id={task: id(f"<|{task}|>") for task in ("transcribe", "translate")})
    return all


def sound(seconds, seed):
    """Return a tone of rising frequency with bursts and noise."""
    random = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE)) / RATE
    wave = np.sin(2 * np.pi * (200 + 150 * t) * t) * (np.sin(2 * np.pi * 1.7 * t) > -0.3)
    return (0.4 * wave + 0.02 * random.standard_normal(t.size)).astype(np.float32)


def write_wav(path, samples):
    pcm = np.clip(np.round(samples * 32768), -32768, 32767).astype("<i2").tobytes()
    import struct
    path.write_bytes(b"RIFF" + struct.pack("<I", 36 + len(pcm)) + b"WAVEfmt " +
                     struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16) + b"data" + struct.pack("<I", len(pcm)) + pcm)
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768


class Words:
    """The part of WhisperTokenizer that is used to group tokens into words."""

    def __init__(self, tokenizer):
        self.tokenizer, self.eos_token_id, self.language = tokenizer, tokenizer.token_to_id("<|endoftext|>"), None

    def decode(self, ids, decode_with_timestamps):
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)


def words_of(tokenizer, segment, language):
    """Decode the tokens of a chunk as _decode_asr() does."""
    special = tokenizer.token_to_id("<|endoftext|>")
    ids, times = segment["tokens"].tolist(), segment["token_timestamps"].tolist()
    text, spans = [], []
    for i, token in enumerate(ids):
        if token < special:
            text.append(token)
            spans.append((round(times[i - 1], 2) if i > 0 else 0.0, round(times[i], 2)))
    words = _collate_word_timestamps(Words(tokenizer), text, spans, LANGUAGE_NAMES.get(language), False)
    return [[word["text"], *word["timestamp"]] for word in words]


def transcribe(all, tokenizer, extractor, samples, arguments):
    padded = np.concatenate([samples, np.zeros(2 * RATE * SECONDS, np.float32)])
    whole = extractor(padded, sampling_rate=RATE, return_tensors="pt", truncation=False, padding="longest").input_features
    frames = -(-len(samples) // 160)
    # Without timestamps, generate() accepts at most one window.
    features = whole if arguments["return_timestamps"] else whole[:, :, :100 * SECONDS]
    kind = type(all)

    def max_frames(batch_size, attention_mask, total_input_frames, is_shortform):
        return torch.full((1,), frames), torch.zeros(1, dtype=torch.long)

    def segment(input_features, seek, seek_num_frames, num_segment_frames, cur_bsz, batch_idx_map):
        return whole[:, :, int(seek[0]):int(seek[0]) + num_segment_frames]

    kind._retrieve_max_frames_and_seek, kind._get_input_segment = staticmethod(max_frames), staticmethod(segment)
    with torch.no_grad():
        out = all.generate(features, return_segments=True, temperature=0.0, **arguments)
        # The mask limits the attention to the sound; times of tokens do not change the tokens.
        mask = (torch.arange(features.shape[-1]) < frames).long()[None]
        timed = all.generate(features, return_segments=True, return_token_timestamps=True, attention_mask=mask, temperature=0.0,
                             **arguments)
    segments = []
    for plain, with_times in zip(out["segments"][0], timed["segments"][0], strict=True):
        assert plain["tokens"].tolist() == with_times["tokens"].tolist()
        segments.append({"start": float(plain["start"]), "end": float(plain["end"]), "tokens": plain["tokens"].tolist(),
                         "words": words_of(tokenizer, with_times, arguments.get("language", "en"))})
    return segments


def main():
    words = tokenizer()
    words.save(str(FOLDER / "tokenizer.json"))
    all = model(words)
    all.save_pretrained(FOLDER)
    extractor = WhisperFeatureExtractor(feature_size=80, chunk_length=SECONDS)
    extractor.save_pretrained(FOLDER)
    sounds = {"long": write_wav(FOLDER / "long.wav", sound(7.13, 1)), "short": write_wav(FOLDER / "short.wav", sound(1.4, 2))}
    prompt = [words.token_to_id("<|startofprev|>")] + words.encode(" the river bank", add_special_tokens=False).ids
    times = words.token_to_id("<|notimestamps|>") + 1
    cases = {
        "plain": ("short", dict(language="en", task="transcribe", return_timestamps=False,
                                 suppress_tokens=all.generation_config.suppress_tokens + list(range(times, words.get_vocab_size())))),
        "times": ("short", dict(language="de", task="translate", return_timestamps=True)),
        "long": ("long", dict(task="transcribe", return_timestamps=True)),
        "previous": ("long", dict(language="fr", task="transcribe", return_timestamps=True, condition_on_prev_tokens=True)),
        "prompt": ("long", dict(language="en", task="transcribe", return_timestamps=True, condition_on_prev_tokens=True,
                                prompt_ids=torch.tensor(prompt))),
        "prompt-alone": ("long", dict(language="en", task="transcribe", return_timestamps=True,
                                      prompt_ids=torch.tensor(prompt))),
        "no-speech": ("long", dict(language="en", task="transcribe", return_timestamps=True, no_speech_threshold=NO_SPEECH,
                                   logprob_threshold=LOG_PROBABILITY)),
    }
    results = {}
    for name, (file, arguments) in cases.items():
        segments = transcribe(all, words, extractor, sounds[file], arguments)
        about = {k: (True if k == "prompt_ids" else v) for k, v in arguments.items() if k != "suppress_tokens"}
        if "language" not in arguments:
            features = extractor(sounds[file], sampling_rate=RATE, return_tensors="pt").input_features
            about["found"] = words.id_to_token(int(all.detect_language(features)[0]))[2:-2]
        results[name] = {"file": file + ".wav", "arguments": about, "segments": segments}
        print(name, len(segments), [round(s["end"], 2) for s in segments][:12])
    text = "the river bank of the money " * 9
    results["compression"] = {"text": text, "ratio": len(text) / len(zlib.compress(text.encode()))}
    (FOLDER / "transcripts.json").write_text(json.dumps(results, indent=1) + "\n")


NO_SPEECH, LOG_PROBABILITY = 3e-4, -0.5
HEADS = [[0, 1], [1, 0], [1, 3]]
main()
