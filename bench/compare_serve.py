#!/usr/bin/env python3
"""Compare the speed of `regard serve` with that of other servers on the same machine.

    bench/compare_serve.py PROGRAM MODELS [--llama-server PROGRAM] [--cells NAME,…] [--rounds 3] [--threads 2]

MODELS is the folder of models with random weights that bench/peers/serve_models.py makes. Cells of the table:

llama-f32, llama-int8   a Llama of the size of GPT-2 small, with 1, 8 and 32 clients, prompts of 32 tokens, 64 new tokens, greedy.
                        Compared with llama.cpp's own server (f32 and Q8_0, --parallel: the number of clients), which is built from
                        the source in the package llama-cpp-python: cmake -B build vendor/llama.cpp;
                        cmake --build build --target llama-server
minilm                  embeddings of 12 to 31 words, 32 clients. Compared with sentence-transformers behind FastAPI
marian                  translations of 15 words, beam 4, 32 new tokens, 32 clients. Compared with CTranslate2 behind FastAPI

Both servers run. Each round measures one server after the other, so that one of them is always idle. A client sends a
fixed number of requests, one after the other. Prints one line of JSON for each cell and number of clients, with
medians over the rounds, then a table. Needs the packages of bench/peers/serve_models.py, fastapi and uvicorn. All
cells take about ten minutes.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORDS = "the river runs through an old town where people build boats and sell fish in the morning".split()
PEER_PORT = 18081
NEW_TOKENS = {"llama": 64, "marian": 32, "minilm": 0}
REQUESTS = {("llama", 1): 3, ("llama", 8): 2, ("llama", 32): 2, ("minilm", 32): 20, ("marian", 32): 2}  # requests of each client
REQUIRED = {("llama-f32", 1): 1.0, ("llama-f32", 8): 1.5, ("llama-f32", 32): 1.5, ("llama-int8", 1): 1.0,
            ("llama-int8", 8): 1.5, ("llama-int8", 32): 1.5, ("minilm", 32): 1.5, ("marian", 32): 1.3}

EMBEDDINGS_PEER = """
import sys, fastapi, uvicorn, torch
from sentence_transformers import SentenceTransformer
torch.set_num_threads(int(sys.argv[2]))
model, app = SentenceTransformer(sys.argv[1], device="cpu"), fastapi.FastAPI()
@app.post("/v1/embeddings")
def embed(body: dict):
    vectors = model.encode(body["input"], normalize_embeddings=True, show_progress_bar=False).tolist()
    return {"data": [{"index": i, "embedding": one} for i, one in enumerate(vectors)]}
uvicorn.run(app, port=int(sys.argv[3]), log_level="error")
"""

# Each core computes one translation. With many clients, this is faster than all cores for one translation.
TRANSLATION_PEER = """
import sys, fastapi, uvicorn, ctranslate2, transformers
translator = ctranslate2.Translator(sys.argv[1] + "-ct2", intra_threads=1, inter_threads=int(sys.argv[2]))
tokenizer, app = transformers.AutoTokenizer.from_pretrained(sys.argv[1]), fastapi.FastAPI()
@app.post("/translate")
def translate(body: dict):
    tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode(body["q"]))
    best = translator.translate_batch([tokens], beam_size=4, max_decoding_length=32, min_decoding_length=32)[0].hypotheses[0]
    return {"translatedText": tokenizer.decode(tokenizer.convert_tokens_to_ids(best), skip_special_tokens=True), "tokens": len(best)}
uvicorn.run(app, port=int(sys.argv[3]), log_level="error")
"""


def words_of(number, count):
    return " ".join(WORDS[(number * 7 + i * 3) % len(WORDS)] for i in range(count))


def request_of(task, number):
    """Return the bytes of one request; every request has another input."""
    if task == "llama":
        draw = random.Random(number)
        ids = [draw.randrange(300, 32000) for _ in range(32)]
        path, body = "/v1/completions", {"prompt": ids, "max_tokens": NEW_TOKENS[task], "temperature": 0, "ignore_eos": True}
    elif task == "minilm":
        path, body = "/v1/embeddings", {"input": [words_of(number, 12 + number % 20)], "model": "served"}
    else:
        path, body = "/translate", {"q": words_of(number, 15), "source": "en", "target": "xx"}
    text = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


class Client:
    """A connection that sends its requests one after the other."""

    def __init__(self, port, requests):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests, self.received, self.times, self.last = requests, b"", [], b""

    def send(self):
        self.begun = time.perf_counter()
        self.socket.sendall(self.requests.pop())

    def receive(self):
        """Returns whether a response is complete."""
        self.received += (part := self.socket.recv(1 << 16))
        if not part:
            raise SystemExit(f"the server closed the connection: {self.received!r}")
        head = self.received.find(b"\r\n\r\n")
        if head < 0:
            return False
        length = int(re.search(rb"content-length: *(\d+)", self.received[:head], re.I)[1])
        if len(self.received) < head + 4 + length:
            return False
        if not self.received.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"a request failed: {self.received!r}")
        self.last, self.received = self.received[head + 4:], b""
        self.times.append(time.perf_counter() - self.begun)
        return True


def load(port, task, clients, each, seed):
    """Return the requests per second, the tokens of the last response, and the times of the requests."""
    selector, waiting = selectors.DefaultSelector(), clients
    all_ = [Client(port, [request_of(task, seed + c * 1009 + i) for i in range(each)]) for c in range(clients)]
    begin = time.perf_counter()
    for one in all_:
        selector.register(one.socket, selectors.EVENT_READ, one)
        one.send()
    while waiting > 0:
        for key, _ in selector.select():
            if not key.data.receive():
                continue
            if key.data.requests:
                key.data.send()
            else:
                selector.unregister(key.data.socket)
                key.data.socket.close()
                waiting -= 1
    return clients * each / (time.perf_counter() - begin), json.loads(all_[0].last), [t for one in all_ for t in one.times]


def wait_until_ready(process, path):
    """Wait for at most ten minutes; ends the program if the process does not answer."""
    for _ in range(1200):
        if process.poll() is not None:
            raise SystemExit(f"the server ended before it was ready: {process.args}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PEER_PORT, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status in (200, 404, 405):
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise SystemExit("the server did not start")


def start_ours(options, cell, task):
    command = [options.program, "serve", "--name", f"served={options.models / task}", "--port", "0", "--access-log", "",
               "-t", str(options.threads), "--max-concurrent", "64", "--cache-tokens", "16384"]
    command += ["--languages", "served=en:xx"] if task == "marian" else []
    command += ["--quantize", "int8"] if cell == "llama-int8" else []
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if found := re.search(r"on http://[^ ]*:(\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, int(found[1])
    raise SystemExit("regard serve did not start")


def start_peer(options, cell, task, clients, folder):
    if task == "llama":
        file = options.models / f"llama-{'q8_0' if cell == 'llama-int8' else 'f32'}.gguf"
        command = [options.llama_server, "-m", str(file), "--port", str(PEER_PORT), "--parallel", str(clients), "-t",
                   str(options.threads), "-c", str(256 * clients), *options.llama_options.split()]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until_ready(process, "/v1/models")
        while True:  # 503 until the weights are loaded
            connection = http.client.HTTPConnection("127.0.0.1", PEER_PORT, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return process
            time.sleep(0.5)
    script = pathlib.Path(folder) / "peer.py"
    script.write_text(EMBEDDINGS_PEER if task == "minilm" else TRANSLATION_PEER)
    process = subprocess.Popen([sys.executable, script, str(options.models / task), str(options.threads), str(PEER_PORT)])
    wait_until_ready(process, "/docs")
    return process


def check_lengths(task, answers):
    """Check that both results have the same number of tokens, or the same size."""
    if task == "minilm":
        found = [len(one["data"][0]["embedding"]) for one in answers]
    elif task == "llama":
        found = [one["usage"]["completion_tokens"] for one in answers]
    else:
        found = [len(one["translatedText"].split()) for one in answers]
    if found[0] != found[1]:
        raise SystemExit(f"the results differ in length: {found}")
    return found[0]


def measure(options, cell, task, clients, port):
    each, ours, theirs, times = REQUESTS[task, clients], [], [], ([], [])
    for turn in range(options.rounds):
        rate, own, durations = load(port, task, clients, each, 100_000 * turn)
        ours.append(rate), times[0].extend(durations)
        rate, other, durations = load(PEER_PORT, task, clients, each, 100_000 * turn)
        theirs.append(rate), times[1].extend(durations)
        length = check_lengths(task, (own, other))
    tokens = NEW_TOKENS[task] or 1
    row = {"cell": cell, "clients": clients, "unit": "tokens/s" if NEW_TOKENS[task] else "requests/s", "length": length,
           "regard": statistics.median(ours) * tokens, "peer": statistics.median(theirs) * tokens,
           "ratio": statistics.median(a / b for a, b in zip(ours, theirs)), "required": REQUIRED[cell, clients],
           "p50": [round(statistics.median(one), 4) for one in times]}
    print(json.dumps(row), flush=True)
    return row


def run(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cell in options.cells.split(","):
            task = cell.split("-")[0]
            own, port = start_ours(options, cell, task)
            try:
                for clients in sorted(c for name, c in REQUIRED if name == cell):
                    peer = start_peer(options, cell, task, clients, folder)
                    try:
                        for which in (port, PEER_PORT):
                            load(which, task, clients, 1, 7)  # warm-up
                        rows.append(measure(options, cell, task, clients, port))
                    finally:
                        peer.kill()
                        peer.wait()
            finally:
                own.kill()
                own.wait()
    print("\n| cell | clients | regard | peer | unit | ratio | required |\n|---|---|---|---|---|---|---|")
    for row in rows:
        print("| {cell} | {clients} | {regard:.1f} | {peer:.1f} | {unit} | {ratio:.2f} | {required} |".format(**row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--llama-server", default="llama-server")
    parser.add_argument("--llama-options", default="", help="more options of it, such as --no-repack where its AMX kernels crash")
    parser.add_argument("--cells", default="llama-f32,llama-int8,minilm,marian")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    run(parser.parse_args())


main()
