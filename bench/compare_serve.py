#!/usr/bin/env python3
"""Compare the speed of `regard serve` with that of other servers, on the same machine, one after the other.

usage: bench/compare_serve.py [--clients 1,8,32] [--seconds 30] PROGRAM completions FOLDER --llama-server PROGRAM --gguf FILE
       bench/compare_serve.py …                                   PROGRAM embeddings FOLDER
       bench/compare_serve.py …                                   PROGRAM translation FOLDER --ctranslate2 FOLDER

completions   llama.cpp's own server (from the source inside llama-cpp-python's package: cmake -B build vendor/llama.cpp;
              cmake --build build --target llama-server) with --parallel as many as clients; the same weights as GGUF
embeddings    sentence-transformers behind FastAPI
translation   CTranslate2 behind FastAPI, with the folder that ct2-transformers-converter makes

Each client sends one request after the other. Prints, for each number of clients, requests and tokens per second of both
servers, their ratio, and the 50th and 99th percentile of a request's time. Needs fastapi and uvicorn for the peers in Python.
"""
import argparse
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

WORDS = "the river runs through an old town where people build boats and sell fish in the morning".split()
PEER_PORT = 18081

EMBEDDINGS_PEER = """
import sys, fastapi, uvicorn, torch
from sentence_transformers import SentenceTransformer
torch.set_num_threads(int(sys.argv[2]))
model, app = SentenceTransformer(sys.argv[1], device="cpu"), fastapi.FastAPI()
@app.post("/v1/embeddings")
def embed(body: dict):
    vectors = model.encode(body["input"], normalize_embeddings=True).tolist()
    return {"data": [{"index": i, "embedding": one} for i, one in enumerate(vectors)]}
uvicorn.run(app, port=int(sys.argv[3]), log_level="error")
"""

TRANSLATION_PEER = """
import sys, fastapi, uvicorn, ctranslate2, transformers
translator = ctranslate2.Translator(sys.argv[1], intra_threads=int(sys.argv[2]), inter_threads=1)
tokenizer, app = transformers.AutoTokenizer.from_pretrained(sys.argv[4]), fastapi.FastAPI()
@app.post("/translate")
def translate(body: dict):
    tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode(body["q"]))
    best = translator.translate_batch([tokens])[0].hypotheses[0]
    return {"translatedText": tokenizer.decode(tokenizer.convert_tokens_to_ids(best), skip_special_tokens=True), "tokens": len(best)}
uvicorn.run(app, port=int(sys.argv[3]), log_level="error")
"""


def text_of(number, words):
    return " ".join(WORDS[(number * 7 + i * 3) % len(WORDS)] for i in range(words))


def request_of(task, number):
    """Path and body of one request; the texts differ."""
    if task == "completions":
        return "/v1/completions", {"prompt": text_of(number, 32), "max_tokens": 64, "temperature": 0, "seed": 1}
    if task == "embeddings":
        return "/v1/embeddings", {"input": [text_of(number, 12 + number % 20)], "model": "served"}
    return "/translate", {"q": text_of(number, 15), "source": "en", "target": "xx"}


def tokens_of(task, answer):
    return answer.get("usage", {}).get("completion_tokens", 0) if task == "completions" else 0


class Load:
    """Clients that send requests until a time; counts what comes back."""

    def __init__(self, port, task, clients, seconds):
        self.port, self.task, self.end = port, task, time.time() + seconds
        self.lock, self.times, self.tokens, self.failures = threading.Lock(), [], 0, 0
        threads = [threading.Thread(target=self.client, args=(index,)) for index in range(clients)]
        begin = time.time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.time() - begin

    def client(self, index):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        number = index * 100003
        while time.time() < self.end:
            path, body = request_of(self.task, number)
            number += 1
            begin = time.time()
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
            with self.lock:
                self.failures += response.status != 200
                self.times.append(time.time() - begin)
                self.tokens += tokens_of(self.task, answer)

    def percentile(self, share):
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]

    def row(self):
        return {"requests_per_second": len(self.times) / self.seconds, "tokens_per_second": self.tokens / self.seconds,
                "p50": self.percentile(0.5), "p99": self.percentile(0.99), "failures": self.failures}


def wait_until_ready(process, port, path):
    """Wait for at most ten minutes; ends the process if it does not answer."""
    for _ in range(1200):
        if process.poll() is not None:
            raise SystemExit("the server ended before it was ready")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status in (200, 404, 405):
                return
        except OSError:
            pass
        time.sleep(0.5)
    process.kill()
    raise SystemExit("the server did not start")


def ours(options):
    command = [options.program, "serve", "--name", f"served={options.folder}", "--port", "0", "--access-log", "",
               "-t", str(options.threads), "--max-concurrent", "64", "--cache-tokens", "32768"]
    if options.task == "translation":
        command += ["--languages", "served=en:xx"]
    if options.int8:
        command += ["--quantize", "int8"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if found := re.search(r"on http://[^ ]*:(\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, int(found[1])
    raise SystemExit("regard serve did not start")


def peer(options, clients, folder):
    if options.task == "completions":
        command = [options.llama_server, "-m", options.gguf, "--port", str(PEER_PORT), "--parallel", str(clients),
                   "-t", str(options.threads), "-c", str(256 * clients), "--no-webui"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until_ready(process, PEER_PORT, "/health")
        return process, PEER_PORT
    script = pathlib.Path(folder) / "peer.py"
    script.write_text(EMBEDDINGS_PEER if options.task == "embeddings" else TRANSLATION_PEER)
    model = options.folder if options.task == "embeddings" else options.ctranslate2
    process = subprocess.Popen([sys.executable, script, model, str(options.threads), str(PEER_PORT), options.folder])
    wait_until_ready(process, PEER_PORT, "/docs")
    return process, PEER_PORT


def measure(start, options, clients):
    process, port = start()
    try:
        Load(port, options.task, clients, min(5, options.seconds))  # warm-up
        return Load(port, options.task, clients, options.seconds).row()
    finally:
        process.terminate()
        process.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("task", choices=["completions", "embeddings", "translation"])
    parser.add_argument("folder")
    parser.add_argument("--clients", default="1,8,32")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--int8", action="store_true", help="quantise our weights; give a Q8_0 GGUF for the same of llama.cpp")
    parser.add_argument("--llama-server"), parser.add_argument("--gguf"), parser.add_argument("--ctranslate2")
    options = parser.parse_args()
    unit = "tokens_per_second" if options.task == "completions" else "requests_per_second"
    with tempfile.TemporaryDirectory() as folder:
        for clients in map(int, options.clients.split(",")):
            own = measure(lambda: ours(options), options, clients)
            other = measure(lambda: peer(options, clients, folder), options, clients)
            print(json.dumps({"clients": clients, "regard": own, "peer": other, "ratio": own[unit] / max(other[unit], 1e-9)}))


main()
