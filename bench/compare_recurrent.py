#!/usr/bin/env python3
"""Compare one recurrent layer, forward and with backward, with PyTorch's nn.RNN, nn.LSTM and nn.GRU in f32. Prints a
table.

    python3 bench/compare_recurrent.py [--rounds 3] [--threads 2] [--processor-time]

The Python that runs it must have torch. PyTorch stays loaded and runs alternately with regard in each round. A ratio
is PyTorch's time divided by regard's: the median of the rounds, with the lowest and the highest. The last line has
the geometric mean of these medians and the lowest. On a shared machine, use `--threads 1 --processor-time`, which
other programs disturb less.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Torch:
    def __init__(self, threads, processor_time):
        environment = dict(os.environ, PEER_THREADS=str(threads), PEER_CLOCK="cpu" if processor_time else "wall")
        self.process = subprocess.Popen([sys.executable, ROOT / "bench/peers/torch_peer.py", "serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, request):
        self.process.stdin.write(json.dumps(["recurrent", request]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours(options, request):
    words = [w for name, value in request.items() for w in ("--" + name, str(value))]
    command = [options.regard, "bench", "recurrent", "--threads", str(options.threads), *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--cells", default="rnn,lstm,gru")
    parser.add_argument("--lengths", default="32,256")
    parser.add_argument("--hidden", default="128,512")
    parser.add_argument("--processor-time", action="store_true", help="compare processor time")
    parser.add_argument("--regard", default=str(ROOT / "build/release/bin/regard"))
    options = parser.parse_args()
    kinds = {"forward": "fwd", "both": "fwdbwd"}
    torch = Torch(options.threads, options.processor_time)
    print("| cell, length, hidden | forward: regard, ms | PyTorch, ms | ratio | with backward: regard, ms | PyTorch, ms | ratio |")
    print("|---|---|---|---|---|---|---|", flush=True)
    medians = []
    for cell in options.cells.split(","):
        for length in map(int, options.lengths.split(",")):
            for hidden in map(int, options.hidden.split(",")):
                request = dict(cell=cell, batch=options.batch, length=length, hidden=hidden)
                rounds = [(ours(options, request), torch.ask(request)) for _ in range(options.rounds)]
                cells = [f"{cell}, {length}, {hidden}"]
                for kind in kinds.values():
                    key = kind + ("_cpu_ms" if options.processor_time else "_ms")
                    pairs = [(a[key], b[kind + "_ms"]) for a, b in rounds]
                    ratios = [theirs / mine for mine, theirs in pairs]
                    cells += [f"{statistics.median(p[i] for p in pairs):.2f}" for i in (0, 1)]
                    cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")
                medians.append(statistics.median(ratios))
                print(f"| {' | '.join(cells)} |", flush=True)
    torch.close()
    mean = math.exp(sum(map(math.log, medians)) / len(medians))
    print(f"\nwith backward: geometric mean {mean:.2f}, lowest {min(medians):.2f}")


if __name__ == "__main__":
    main()
