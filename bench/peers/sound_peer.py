"""Time Whisper, log-mel features, ViT and the CTC loss in other programs, for bench/compare_sound.py.

    sound_peer.py make FOLDER            writes FOLDER/whisper and FOLDER/vit: random weights in Hugging Face's format
    sound_peer.py KIND FOLDER THREADS    KIND: ctranslate2, transformers, features, vit, ctc

A KIND reads one request per line of standard input, as JSON, and prints one line of JSON: the median time in
milliseconds of wall clock and of processor time, and the peak of memory. The key "seconds" of a request is the time
that is measured; the first request is the warm-up. Only ctranslate2 needs FOLDER/ct2, which ct2-transformers-converter writes.
"""
import json
import os
import resource
import statistics
import sys
import time

RATE, WINDOW = 16000, 30


def make(folder):
    import torch
    from tokenizers import Tokenizer, models
    from transformers import (PreTrainedTokenizerFast, ViTConfig, ViTForImageClassification, WhisperConfig,
                              WhisperFeatureExtractor, WhisperForConditionalGeneration)
    torch.manual_seed(1)
    whisper = WhisperConfig(vocab_size=51865, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
                            decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048)
    model = WhisperForConditionalGeneration(whisper)
    model.generation_config.alignment_heads = [[5, 0]]
    model.save_pretrained(os.path.join(folder, "whisper"))
    WhisperFeatureExtractor(feature_size=80).save_pretrained(os.path.join(folder, "whisper"))
    words = {f"w{i}": i for i in range(50257)}
    for name in special_tokens():
        words[name] = len(words)
    words.update({f"<|{i * 0.02:.2f}|>": len(words) + i for i in range(whisper.vocab_size - len(words))})
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")),
                                        unk_token="w0", eos_token="<|endoftext|>")
    tokenizer.save_pretrained(os.path.join(folder, "whisper"))
    ViTForImageClassification(ViTConfig(num_labels=1000)).save_pretrained(os.path.join(folder, "vit"))


def special_tokens():
    """Whisper's special tokens from id 50257 to 50363, with placeholders for the languages after English."""
    languages = ["<|en|>"] + [f"<|l{i}|>" for i in range(1, 99)]
    return ["<|endoftext|>", "<|startoftranscript|>", *languages, "<|translate|>", "<|transcribe|>", "<|startoflm|>",
            "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]


def measured(work, seconds):
    """Call work() at least once, for at least `seconds`."""
    wall, processor, begin = [], [], time.perf_counter()
    while not wall or time.perf_counter() - begin < seconds:
        before, cpu = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - before)
        processor.append(time.process_time() - cpu)
    return dict(ms=1e3 * statistics.median(wall), best_ms=1e3 * min(wall), processor_ms=1e3 * statistics.median(processor),
                runs=len(wall), peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def noise(seconds):
    import numpy
    return 0.1 * numpy.random.default_rng(1).standard_normal(seconds * RATE, dtype=numpy.float32)


PROMPT = (50258, 50259, 50359, 50363)  # start of transcript, English, transcribe, no timestamps
END = 50257


def ctranslate2(folder, threads):
    import ctranslate2
    import numpy
    known = {}
    sound = noise(WINDOW)

    def answer(o):
        kind = o["compute_type"]
        if kind not in known:
            model = ctranslate2.models.Whisper(os.path.join(folder, "ct2"), device="cpu", inter_threads=1,
                                               intra_threads=threads, compute_type=kind)
            known[kind] = model, feature_extractor(o["extractor"], os.path.join(folder, "whisper"))
        model, extract = known[kind]

        def transcribe():
            features = ctranslate2.StorageView.from_array(numpy.ascontiguousarray(extract(sound)[None, :, :2 * 1500]))
            result = model.generate(features, [list(PROMPT)], beam_size=1, suppress_tokens=[END], suppress_blank=False,
                                    max_length=2 * o["new"])[0]
            tokens.append(len(result.sequences_ids[0]))

        tokens = []
        result = measured(transcribe, o["seconds"])
        assert set(tokens) == {o["new"]}, tokens
        return result

    return answer


def feature_extractor(kind, folder):
    """Return a function from 30 seconds of sound to features [bins, frames] as f32."""
    import numpy
    if kind == "faster-whisper":
        from faster_whisper.feature_extractor import FeatureExtractor
        own = FeatureExtractor(feature_size=80)
        return lambda sound: own(sound, padding=0).astype(numpy.float32)
    from transformers import WhisperFeatureExtractor
    extractor = WhisperFeatureExtractor.from_pretrained(folder)
    return lambda sound: extractor(sound, sampling_rate=RATE, return_tensors="np").input_features[0]


def transformers(folder, threads):
    import torch
    from transformers import GenerationMixin, WhisperFeatureExtractor, WhisperForConditionalGeneration
    folder = os.path.join(folder, "whisper")
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    extractor = WhisperFeatureExtractor.from_pretrained(folder)
    sound, start = noise(WINDOW), torch.tensor([PROMPT])

    def answer(o):
        def transcribe():
            features = extractor(sound, sampling_rate=RATE, return_tensors="pt").input_features
            # GenerationMixin.generate() is the greedy search without Whisper's rules for long sounds
            out = GenerationMixin.generate(
                model, features, decoder_input_ids=start, do_sample=False, num_beams=1, min_new_tokens=o["new"],
                max_new_tokens=o["new"], suppress_tokens=[END])
            assert out.shape[1] == len(PROMPT) + o["new"], out.shape

        with torch.no_grad():
            return measured(transcribe, o["seconds"])

    return answer


def features(folder, threads):
    known = {}

    def answer(o):
        from transformers import WhisperFeatureExtractor
        key = o["length"]
        if key not in known:
            known[key] = WhisperFeatureExtractor(feature_size=o["bins"], chunk_length=key), noise(key)
        extractor, sound = known[key]
        return measured(lambda: extractor(sound, sampling_rate=RATE, return_tensors="np"), o["seconds"])

    return answer


def vit(folder, threads):
    import torch
    from transformers import ViTForImageClassification
    model = ViTForImageClassification.from_pretrained(os.path.join(folder, "vit"), dtype=torch.float32).eval()

    def answer(o):
        images = torch.randn(o["batch"], 3, 224, 224)
        with torch.no_grad():
            return measured(lambda: model(images).logits, o["seconds"])

    return answer


def ctc(folder, threads):
    import torch
    import torch.nn.functional as F

    def answer(o):
        logits = torch.randn(o["frames"], o["batch"], o["labels"])
        targets = torch.randint(1, o["labels"], (o["batch"], o["targets"]))
        frames, lengths = (torch.full((o["batch"],), o[key]) for key in ("frames", "targets"))
        loss = lambda: F.ctc_loss(logits.log_softmax(-1), targets, frames, lengths)
        with torch.no_grad():
            forward = measured(loss, o["seconds"])
        logits.requires_grad_()

        def both():
            logits.grad = None
            loss().backward()

        return dict(measured(both, o["seconds"]), forward_ms=forward["ms"], forward_processor_ms=forward["processor_ms"])

    return answer


def main():
    kind, folder = sys.argv[1:3]
    if kind == "make":
        return make(folder)
    threads = int(sys.argv[3])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if kind != "ctranslate2":
        import torch
        torch.manual_seed(1)
        torch.set_num_threads(threads)
    answer = dict(ctranslate2=ctranslate2, transformers=transformers, features=features, vit=vit, ctc=ctc)[kind](folder, threads)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
