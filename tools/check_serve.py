#!/usr/bin/env python3
"""Start `regard serve` with tiny models and use it through the clients of its protocols.

usage: tools/check_serve.py PROGRAM [--no-fuzz] [--no-node]

The clients are the packages of tools/serve_peers.txt (openai, huggingface_hub, libretranslatepy) and of
tools/serve_node (openai for Node). schemathesis sends generated requests for every route of /openapi.json. Responses
are compared with the output of the program's commands. All addresses are loopback addresses.
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from huggingface_hub import InferenceClient
from libretranslatepy import LibreTranslateAPI
from openai import NotFoundError, OpenAI

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
WHISPER = DATA / "sound/whisper-small"
KEY = "0123456789abcdef0123456789abcdef"

RUN_FILE = """
task = "{task}"
[data]
{data}
valid_fraction = 0.2
[tokenizer]
type = "char"
[model]
{layers}
hidden_size = 16
heads = 2
feed_forward_size = 16
[training]
max_steps = 40
{training}
[validation]
every_steps = 40
metrics = ["loss"]
samples = 0
[output]
folder = "{folder}"
"""


def run(*arguments, text=None, cwd=None):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, cwd=cwd, check=True)
    return done.stdout


def make_models(folder):
    """Train a decoder and a translator of characters for a few steps."""
    animals = ["dog", "fox", "cat", "bird", "river", "bank"]
    lines = [f"the quick {one} jumps over a lazy {other}" for one in animals for other in animals]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    (folder / "upper.txt").write_text("\n".join(line.upper() for line in lines) + "\n")
    (folder / "gpt.toml").write_text(RUN_FILE.format(
        task="language-model", data='train = ["text.txt"]', layers="layers = 1",
        training="batch_size = 4\ncontext = 64", folder="gpt"))
    (folder / "up.toml").write_text(RUN_FILE.format(
        task="translation", data='train = ["text.txt", "upper.txt"]', 
        layers="encoder_layers = 1\ndecoder_layers = 1", training="batch_tokens = 256", folder="up"))
    for name in ("gpt", "up"):
        run("train", f"{name}.toml", "-q", cwd=folder)


class Server:
    """Runs the program as a server and ends it with SIGTERM."""

    def __init__(self, folder):
        (folder / "keys").write_text(KEY + "\n")
        named = [f"{name}={path}" for name, path in {
            "gpt": folder / "gpt", "up": folder / "up", "embed": DATA / "hf-more/st-mean",
            "nli": DATA / "hf-more/bert-nli", "ner": DATA / "hf-more/bert-ner", "qa": DATA / "tasks/roberta-qa",
            "fill": DATA / "tasks/roberta-fill", "whisper": WHISPER}.items()]
        options = [part for one in named for part in ("--name", one)]
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *options, "--port", "0", "--languages", "up=en:hi", "--chat-template", "chatml",
             "--api-key-file", str(folder / "keys"), "--access-log", str(folder / "access.log"),
             "--detect", str(DATA / "hf-more/bert-nli"), "--max-tokens", "64"],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"on (http://\S+)", line):
                self.url = found[1]
                return
        raise SystemExit("the server did not start")

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=60)
        assert code == 0, f"exit code {code}: {self.process.stderr.read()}"


def check_openai(server, folder):
    client = OpenAI(base_url=server.url + "/v1", api_key=KEY, max_retries=0, timeout=60)
    assert {model.id for model in client.models.list()} >= {"gpt", "up", "embed"}
    assert client.models.retrieve("gpt").id == "gpt"
    prompt = "the quick"
    expected = run("generate", str(folder / "gpt"), "--prompt", prompt, "--max-new", "12", "-q")[len(prompt):].rstrip("\n")
    answer = client.completions.create(model="gpt", prompt=prompt, max_tokens=12, temperature=0, logprobs=2)
    assert answer.choices[0].text == expected, (answer.choices[0].text, expected)
    assert len(answer.choices[0].logprobs.token_logprobs) == answer.usage.completion_tokens
    pieces = client.completions.create(model="gpt", prompt=prompt, max_tokens=12, temperature=0, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == expected
    chat = dict(model="gpt", messages=[{"role": "user", "content": "a dog"}], max_completion_tokens=10, seed=3)
    whole = client.chat.completions.create(**chat, n=2, logprobs=True, top_logprobs=3)
    assert len(whole.choices) == 2 and len(whole.choices[0].logprobs.content[0].top_logprobs) == 3
    one = client.chat.completions.create(**chat)
    stream = list(client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True}))
    streamed = "".join(part.choices[0].delta.content or "" for part in stream if part.choices)
    assert streamed == one.choices[0].message.content, (streamed, one.choices[0].message.content)
    assert stream[-1].usage == one.usage
    again = client.chat.completions.with_streaming_response.create(**chat)
    with again as response:
        assert response.headers["content-type"] == "application/json"
    floats = client.embeddings.create(model="embed", input=["a river"], encoding_format="float").data[0].embedding
    packed = client.embeddings.create(model="embed", input=["a river"]).data[0].embedding  # the client requests base64
    assert [struct.unpack("f", struct.pack("f", x))[0] for x in floats] == list(packed), "float and base64 differ"
    shown = json.loads(run("embed", str(DATA / "hf-more/st-mean"), "--json", "-q", text="a river\n"))
    vector = shown.get("vector") or shown.get("embedding")
    length = sum(x * x for x in vector) ** 0.5
    assert all(abs(a - b / length) < 1e-6 for a, b in zip(floats, vector))
    try:
        client.completions.create(model="none", prompt="a")
        raise SystemExit("an unknown model was accepted")
    except NotFoundError as error:
        assert error.code == "model_not_found"
    print("openai: models, completions, chat, streams, log-probabilities, embeddings")


def check_speech(server):
    """Transcripts in every format equal those of `regard transcribe`."""
    client = OpenAI(base_url=server.url + "/v1", api_key=KEY, max_retries=0, timeout=60)
    sound = WHISPER / "long.wav"
    for name in ("text", "srt", "vtt"):
        expected = run("transcribe", str(WHISPER), str(sound), "--language", "en", "--format", name, "-q")
        with sound.open("rb") as file:
            answer = client.audio.transcriptions.create(model="whisper", file=file, language="en", response_format=name)
        assert answer == expected, (name, answer, expected)
    expected = json.loads(run("transcribe", str(WHISPER), str(sound), "--language", "en", "--json", "-q"))
    with sound.open("rb") as file:
        answer = client.audio.transcriptions.create(model="whisper", file=file, language="en", response_format="verbose_json")
    assert answer.text == expected["text"] and answer.language == "english"
    assert [one.tokens for one in answer.segments] == [one["tokens"] for one in expected["segments"]]
    assert [one.end for one in answer.segments] == [one["end"] for one in expected["segments"]]
    expected = json.loads(run("transcribe", str(WHISPER), str(sound), "--task", "translate", "--json", "-q"))
    with sound.open("rb") as file:
        answer = client.audio.translations.create(model="whisper", file=file)
    assert answer.text == expected["text"], (answer.text, expected["text"])
    print("openai: transcriptions (text, srt, vtt, verbose_json), translations")


def check_node(server, folder):
    node = ROOT / "tools/serve_node"
    shutil.copytree(node, folder / "node", ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(["npm", "ci", "--silent", "--no-fund", "--no-audit"], cwd=folder / "node", check=True)
    sound = WHISPER / "short.wav"
    done = subprocess.run(["node", "check.mjs", server.url + "/v1", KEY, str(sound)], cwd=folder / "node",
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    prompt = "the quick"
    expected = run("generate", str(folder / "gpt"), "--prompt", prompt, "--max-new", "12", "-q")[len(prompt):].rstrip("\n")
    assert answer["completion"] == answer["streamed"] == expected, answer
    assert answer["chat"] == answer["pieces"] and set(answer["models"]) >= {"gpt", "embed", "whisper"}
    assert answer["refused"] == "model_not_found" and abs(sum(x * x for x in answer["vector"]) - 1) < 1e-5
    assert answer["transcript"] == run("transcribe", str(WHISPER), str(sound), "--language", "en", "--format", "srt", "-q")
    print("openai for Node: models, completions, chat, streams, embeddings, transcriptions, errors")


def check_libretranslate(server, folder):
    client = LibreTranslateAPI(server.url + "/", api_key=KEY)
    expected = run("translate", str(folder / "up"), "-q", text="a dog\n").rstrip("\n")
    assert client.translate("a dog", "en", "hi") == expected
    assert [one["code"] for one in client.languages()] == ["en", "hi"]
    best = client.detect("a dog")[0]
    assert set(best) == {"confidence", "language"}
    print("libretranslatepy: translate, languages, detect")


def check_huggingface():
    """Use one server per model, as with text-embeddings-inference, where the URL selects the model."""
    cases = {
        "hf-more/st-mean": lambda c: (
            c.feature_extraction("a river").shape[0] == 1,
            abs(c.sentence_similarity("a dog", ["a dog", "a river"])[0] - 1) < 1e-5),
        "hf-more/bert-nli": lambda c: (len(c.text_classification("a dog")) == 3,),
        "hf-more/bert-ner": lambda c: (isinstance(c.token_classification("the dog in the river"), list),),
        "tasks/roberta-qa": lambda c: (
            c.question_answering(question="what is old", context="the dog is old").answer in "the dog is old",),
        "tasks/roberta-fill": lambda c: (len(c.fill_mask("the <mask> is old")) == 5,),
    }
    for name, check in cases.items():
        process = subprocess.Popen([PROGRAM, "serve", str(DATA / name), "--port", "0", "--access-log", ""],
                                   stderr=subprocess.PIPE, text=True)
        try:
            url = re.search(r"on (http://\S+)", process.stderr.readline())[1]
            assert all(check(InferenceClient(model=url, timeout=60))), name
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0
    print("huggingface_hub: feature_extraction, sentence_similarity, text_classification, token_classification, "
          "question_answering, fill_mask")


def check_schemathesis(server):
    command = [str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", server.url + "/openapi.json",
               "--header", f"Authorization: Bearer {KEY}", "--max-examples", "15", "--seed", "1",
               "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
               "--phases", "examples,coverage,fuzzing", "--request-timeout", "60"]
    done = subprocess.run(command, capture_output=True, text=True)
    failures = done.stdout.find("= FAILURES =")
    print(done.stdout[max(failures, 0):] if done.returncode else "\n".join(done.stdout.splitlines()[-6:]))
    assert done.returncode == 0, "schemathesis found a violation"


def main():
    if "--no-node" not in sys.argv and shutil.which("npm") is None:
        sys.exit("check_serve: Node.js 20 or later with npm is needed; --no-node leaves out its client")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_models(folder)
        check_huggingface()
        server = Server(folder)
        try:
            check_openai(server, folder)
            check_speech(server)
            check_libretranslate(server, folder)
            if "--no-node" not in sys.argv:
                check_node(server, folder)
            if "--no-fuzz" not in sys.argv:
                check_schemathesis(server)
        finally:
            server.stop()
        log = [json.loads(line) for line in (folder / "access.log").read_text().splitlines()]
        assert log and not any("the quick" in json.dumps(line) for line in log), "a text is in the access log"
    print("check-serve: passed")


main()
