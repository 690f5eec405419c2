#!/usr/bin/env python3
"""Compare speech recognition, log-mel features, an image encoder and the CTC loss with CTranslate2, transformers and
PyTorch, on random weights. Prints tables.

    python3 bench/compare_sound.py [--rounds 3] [--threads 2] [--only whisper,features,vit,ctc] [--processor-time]

The Python that runs it must have torch and transformers; for whisper also ctranslate2, and faster-whisper if its
feature extractor is to be used for CTranslate2. Peers stay loaded and run alternately with regard in each round. A
ratio is the peer's time divided by regard's: the median of the rounds, with the lowest and the highest. Both sides
of a comparison do the same work: Whisper base transcribes 30 seconds of noise greedily to exactly 100 tokens after a
prompt of 4, log-mel features included; the features are those of an hour, computed on one thread; the loss includes
the log-softmax, forward and backward. On a shared machine, use `--threads 1 --processor-time`, which other programs
disturb less.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare_decode import Peer, missing

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "bench/peers/sound_peer.py"


class Comparison:
    def __init__(self, options):
        self.options, self.folder = options, Path(options.folder)
        self.repetitions = ("--repetitions", options.repetitions)

    def ours(self, *words, threads=None):
        command = [self.options.regard, "bench", *words, "--threads", threads or self.options.threads]
        return json.loads(subprocess.run([str(w) for w in command], check=True, capture_output=True, text=True).stdout)

    def peer(self, kind, threads=None):
        return Peer(PEER, kind, self.folder, threads or self.options.threads)

    def table(self, title):
        print(f"\n{title}\n\n| work | regard, ms | peer, ms | ratio (lowest–highest) | memory: regard, MB | peer, MB |\n|{'---|' * 6}",
              flush=True)

    def rounds(self, name, ours, key, theirs):
        """ours() and theirs() return one line of JSON each; `key` is the part of regard's that is compared."""
        theirs(seconds=0)
        pairs = [(ours(), theirs(seconds=self.options.seconds)) for _ in range(self.options.rounds)]
        clock = "processor_ms" if self.options.processor_time else "ms"
        own = key + clock if clock == "ms" or not key else key + "cpu_ms"
        times = [(a[own], b[clock]) for a, b in pairs]
        ratios = [b / a for a, b in times]
        middle = [statistics.median(t[i] for t in times) for i in (0, 1)]
        peaks = [max(p[i]["peak_rss_mb"] for p in pairs) for i in (0, 1)]
        print(f"| {name} | {middle[0]:.2f} | {middle[1]:.2f} | {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) | "
              f"{peaks[0]:.0f} | {peaks[1]:.0f} |", flush=True)
        return pairs

    def models(self):
        if not (self.folder / "vit").exists():
            subprocess.run([sys.executable, PEER, "make", self.folder], check=True)

    def transcriptions(self, name, peer, arguments, **wanted):
        new = self.options.new
        words = ("transcribe", self.folder / "whisper", "--new", new, *self.repetitions, *arguments)
        pairs = self.rounds(name, lambda: self.ours(*words), "whole_", lambda seconds: peer.ask(dict(new=new, seconds=seconds, **wanted)))
        parts = ("features", "encoder", "decoder")
        self.notes.append(name + ": " + ", ".join(
            f"{part} {statistics.median(a[part + '_ms'] for a, _ in pairs):.1f} ms" for part in parts))

    def whisper(self):
        if missing("torch", "transformers"):
            return
        self.models()
        self.notes = []
        self.table("Whisper base, 30 s of sound, log-mel to 100 tokens")
        dtypes = {"f32": ("float32", ()), "int8": ("int8", ("--quantize", "int8"))}
        if not missing("ctranslate2"):
            if not (self.folder / "ct2").exists():
                converter = shutil.which("ct2-transformers-converter", path=str(Path(sys.executable).parent))
                subprocess.run([converter, "--model", self.folder / "whisper", "--output_dir", self.folder / "ct2"], check=True)
            peer = self.peer("ctranslate2")
            for dtype in self.options.dtypes.split(","):
                kind, arguments = dtypes[dtype]
                self.transcriptions(f"{dtype}, CTranslate2 with the features of {self.options.extractor}", peer, arguments,
                                    compute_type=kind, extractor=self.options.extractor)
            peer.close()
        peer = self.peer("transformers")
        self.transcriptions("f32, transformers", peer, ())
        peer.close()
        print("\nregard's parts: " + "; ".join(self.notes))

    def features(self):
        if missing("torch", "transformers"):
            return
        self.table(f"Log-mel features, {self.options.length} s of sound, one thread: transformers (with PyTorch)")
        peer = self.peer("features", threads=1)
        for bins in (80, 128):
            arguments = ("--seconds", self.options.length, "--bins", bins, *self.repetitions)
            self.rounds(f"{bins} bins", lambda: self.ours("features", *arguments, threads=1), "",
                        lambda seconds: peer.ask(dict(length=self.options.length, bins=bins, seconds=seconds)))
        peer.close()

    def vit(self):
        if missing("torch", "transformers"):
            return
        self.models()
        self.table("ViT base, 224 × 224 pixels, f32: PyTorch (transformers)")
        peer = self.peer("vit")
        for batch in (8, 1):
            self.rounds(f"batch {batch}", lambda: self.ours("forward", self.folder / "vit", "--batch", batch, *self.repetitions), "",
                        lambda seconds: peer.ask(dict(batch=batch, seconds=seconds)))
        peer.close()

    def ctc(self):
        if missing("torch"):
            return
        self.table("CTC loss, 16 sequences of 400 frames, 100 labels, forward and backward: PyTorch")
        peer = self.peer("ctc")
        for targets in (100, 25):
            shape = dict(batch=16, frames=400, labels=100, targets=targets)
            words = [w for name, value in shape.items() for w in ("--" + name, value)]
            self.rounds(f"{targets} targets", lambda: self.ours("ctc", *words), "fwdbwd_",
                        lambda seconds: peer.ask(dict(shape, seconds=seconds)))
        peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="that a peer measures, each round")
    parser.add_argument("--repetitions", type=int, default=3, help="of regard in each round, after a warm-up")
    parser.add_argument("--only", default="whisper,features,vit,ctc")
    parser.add_argument("--dtypes", default="f32,int8", help="of Whisper beside CTranslate2")
    parser.add_argument("--new", type=int, default=100, help="tokens that Whisper generates")
    parser.add_argument("--length", type=int, default=3600, help="seconds of sound for the features")
    parser.add_argument("--extractor", default="transformers", choices=("transformers", "faster-whisper"),
                        help="of the features for CTranslate2")
    parser.add_argument("--processor-time", action="store_true", help="compare processor time")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    parser.add_argument("--folder", help="where the models stay (default: a temporary folder)")
    options = parser.parse_args()
    place = None if options.folder else tempfile.TemporaryDirectory()
    options.folder = options.folder or place.name
    for part in options.only.split(","):
        getattr(Comparison(options), part)()


if __name__ == "__main__":
    main()
