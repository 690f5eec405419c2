#!/usr/bin/env python3
"""Run random combinations of generation options with `regard run --generate` and with transformers. The ids must be
equal.

    bench/generation_options.py build/release/bin/regard tests/data/hf-tiny [--count 200] [--seed 1]
    bench/generation_options.py ... --count 40 --seed 2 --write tests/data/generation-options.json

To compare sampling, torch.multinomial is replaced by the inverse of the cumulative distribution at the uniform
numbers that regard draws (Philox4x32-10 keyed by seed, sequence and step). Equal ids then mean equal filtered
distributions. The rows of a case are equally long, or padded on the side that the model needs. Padded cases have no
rules that count padding in transformers (n-grams, lengths), because there transformers differs from its own results
without padding. No case forces two end tokens, because their scores would be exactly equal and the order of equal
scores is arbitrary. If the rules leave too few hypotheses, transformers repeats one with its sentinel score (below
-1e8), and regard returns one with minus infinity: such rows are counted, not compared.

Needs torch, transformers, safetensors. Prints one line for each difference and a summary; fails if any differs.
Runs on one thread.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

SEED = 11  # seed of regard's draws


# Random numbers of regard -----------------------------------------------------------------------------------

def philox(counter, key0, key1):
    for _ in range(10):
        product0, product1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(product1 >> 32) ^ counter[1] ^ key0, product1 & 0xFFFFFFFF,
                   (product0 >> 32) ^ counter[3] ^ key1, product0 & 0xFFFFFFFF]
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return counter


def place_of(name):
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


class Draws:
    """Replaces torch.multinomial with one sample per row. It counts its calls to know the step."""

    def __init__(self, sequences):
        self.sequences, self.step = sequences, 0
        self.key = philox([0, 0, place_of("sampling"), 0x52454741], SEED, 0)[:2]

    def __call__(self, probabilities, num_samples=1, **_):
        assert num_samples == 1
        rows = []
        for row, weights in enumerate(probabilities.double()):
            words = philox([self.step, row % self.sequences, 0, 0], *self.key)
            uniform = (words[0] + words[1] * 2.0 ** -32) * 2.0 ** -32
            left = torch.cumsum(weights, 0) - uniform * weights.sum()
            above = torch.nonzero((left > 0) & (weights > 0))
            rows.append(int(above[0]) if len(above) else int(torch.nonzero(weights)[-1]))
        self.step += 1
        return torch.tensor(rows).unsqueeze(1)


# Random cases -----------------------------------------------------------------------------------------------

def ids(chance, vocabulary, count):
    return sorted(chance.sample(range(3, vocabulary), count))


def rules(chance, vocabulary, encoder, padded):
    arguments = {}

    def maybe(probability, key, value):
        if chance.random() < probability:
            arguments[key] = value() if callable(value) else value

    maybe(0.35, "repetition_penalty", lambda: chance.choice([0.7, 1.1, 1.3, 2.0, 5.0]))
    maybe(0.25, "bad_words_ids", lambda: [ids(chance, vocabulary, chance.choice([1, 1, 2]))
                                         for _ in range(chance.randint(1, 5))])
    maybe(0.2, "suppress_tokens", lambda: ids(chance, vocabulary, chance.randint(1, 20)))
    maybe(0.15, "begin_suppress_tokens", lambda: ids(chance, vocabulary, chance.randint(1, 30)))
    maybe(0.3, "eos_token_id", lambda: ids(chance, vocabulary, chance.randint(1, 4)))
    maybe(0.3, "min_new_tokens", lambda: chance.randint(1, 12))
    maybe(0.15, "forced_eos_token_id", lambda: ids(chance, vocabulary, 1)[0])
    maybe(0.12, "sequence_bias", lambda: [[ids(chance, vocabulary, chance.choice([1, 1, 2, 3])),
                                           chance.choice([-8.0, -2.0, 1.5, 4.0])] for _ in range(3)])
    maybe(0.12, "exponential_decay_length_penalty", lambda: [chance.randint(0, 5), chance.choice([1.05, 1.4, 2.0])])
    maybe(0.1, "renormalize_logits", True)
    if encoder:
        maybe(0.15, "forced_bos_token_id", lambda: ids(chance, vocabulary, 1)[0])
    if not padded:
        maybe(0.3, "no_repeat_ngram_size", lambda: chance.randint(1, 4))
        maybe(0.15, "min_length", lambda: chance.randint(3, 18))
        maybe(0.15, "encoder_repetition_penalty", lambda: chance.choice([0.8, 1.2, 2.0]))
        maybe(0.15, "encoder_no_repeat_ngram_size", lambda: chance.randint(1, 3))
    if arguments.get("forced_eos_token_id") in arguments.get("suppress_tokens", []):
        arguments.pop("suppress_tokens")  # refused by transformers
    if "min_new_tokens" in arguments:
        arguments.pop("min_length", None)
    return arguments


def search(chance):
    kind = chance.choice(["greedy", "beam", "beam", "sample", "sample"])
    if kind == "greedy":
        return {"do_sample": False, "num_beams": 1}
    if kind == "beam":
        beams = chance.randint(2, 6)
        return {"do_sample": False, "num_beams": beams, "num_return_sequences": chance.randint(1, beams),
                "length_penalty": chance.choice([1.0, 1.0, 0.0, 0.6, 2.0, -1.0]),
                "early_stopping": chance.choice([False, True, "never"])}
    arguments = {"do_sample": True, "num_beams": 1, "num_return_sequences": chance.randint(1, 4)}
    choices = {"temperature": [0.3, 0.7, 1.5, 3.0], "top_k": [1, 3, 10, 50], "top_p": [0.2, 0.6, 0.9, 0.99],
               "min_p": [0.02, 0.1, 0.5], "typical_p": [0.2, 0.6, 0.95], "epsilon_cutoff": [1e-3, 0.02, 0.2],
               "eta_cutoff": [1e-3, 0.02, 0.2]}
    for key, values in choices.items():
        if chance.random() < (0.5 if key in ("temperature", "top_k", "top_p") else 0.2):
            arguments[key] = chance.choice(values)
    arguments.setdefault("top_k", 0)
    return arguments


def inputs_of(chance, vocabulary, encoder, padded):
    rows, length = chance.randint(1, 3), chance.randint(1, 12)
    input_ids = torch.tensor([[chance.randrange(3, vocabulary) for _ in range(length)] for _ in range(rows)])
    mask = torch.ones_like(input_ids)
    if padded:
        for row in range(rows):
            holes = chance.randint(0, length - 1)
            hidden = slice(length - holes, length) if encoder else slice(0, holes)
            input_ids[row, hidden], mask[row, hidden] = 0, 0
    return {"input_ids": input_ids, "attention_mask": mask}


class Folder:
    def __init__(self, path):
        self.path = path
        self.config = transformers.AutoConfig.from_pretrained(path)
        self.model = getattr(transformers, self.config.architectures[0]).from_pretrained(path, dtype=torch.float32)
        self.model.eval()
        self.encoder = bool(self.config.is_encoder_decoder)

    def case(self, chance):
        padded = chance.random() < 0.3
        vocabulary = self.config.vocab_size
        inputs = inputs_of(chance, vocabulary, self.encoder, padded)
        arguments = search(chance) | rules(chance, vocabulary, self.encoder, padded)
        if chance.random() < 0.2 and not padded:
            start = 1 if self.encoder else inputs["input_ids"].shape[1]
            arguments["max_length"] = start + chance.randint(1, 16)
        else:
            arguments["max_new_tokens"] = chance.randint(1, 18)
        arguments["pad_token_id"] = 0
        return inputs, arguments

    def generate(self, inputs, arguments):
        arguments = dict(arguments)
        multinomial = torch.multinomial
        torch.multinomial = Draws(arguments.get("num_return_sequences", 1))
        try:
            with torch.no_grad():
                result = self.model.generate(**inputs, **arguments, return_dict_in_generate=True, output_scores=True,
                                             output_logits=True)
        finally:
            torch.multinomial = multinomial
        scores = result.get("sequences_scores")
        return (result["sequences"].tolist(), scores.tolist() if scores is not None else None,
                self.log_probabilities(result))

    def log_probabilities(self, result):
        """Return each token's log-probability: with beams as it was summed, else the model's before any rule."""
        if "beam_indices" in result:
            return self.model.compute_transition_scores(result["sequences"], result["scores"], result["beam_indices"],
                                                        normalize_logits=False).tolist()
        return self.model.compute_transition_scores(result["sequences"], result["logits"],
                                                    normalize_logits=True).tolist()


def run_regard(program, folder, inputs, arguments):
    with tempfile.TemporaryDirectory() as place:
        given, written = f"{place}/in.safetensors", f"{place}/out.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in inputs.items()}, given)
        command = [program, "run", str(folder), "-i", given, "-o", written, "--generate", "-q", "-t", "1", "-s", str(SEED)]
        for key, value in arguments.items():
            command += ["--set", f"{key}={json.dumps(value)}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            return result.stderr.strip(), None
        tensors = load_file(written)
    scores = tensors.get("sequences_scores")
    return tensors["sequences"].tolist(), scores.tolist() if scores is not None else None


def compared(expected, scores, found, found_scores, pad):
    """Return whether the rows are equal, and how many rows are missing for lack of hypotheses."""
    if isinstance(found, str) or len(found) != len(expected) or (scores is None) != (found_scores is None):
        return False, 0
    bare = lambda row: row[:max((i + 1 for i, token in enumerate(row) if token != pad), default=0)]
    missing = 0
    for row, tokens in enumerate(expected):
        if scores and scores[row] < -1e8 and found_scores[row] < -1e8:
            missing += 1
            continue
        if bare(tokens) != bare(found[row]):
            return False, missing
        if scores and abs(scores[row] - found_scores[row]) > 1e-4 * max(1.0, abs(scores[row])):
            return False, missing
    return True, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("regard")
    parser.add_argument("folders", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=pathlib.Path, help="keep the cases as golden results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    folders = [Folder(p) for p in sorted(options.folders.iterdir()) if (p / "generation_config.json").exists()]
    cases, equal, missing, kinds = [], 0, 0, {}
    for number in range(options.count):
        chance = random.Random(f"{options.seed}.{number}")
        folder = folders[number % len(folders)]
        inputs, arguments = folder.case(chance)
        expected, scores, each = folder.generate(inputs, arguments)
        found, found_scores = run_regard(options.regard, folder.path, inputs, arguments)
        kind = "sample" if arguments["do_sample"] else "beam" if arguments["num_beams"] > 1 else "greedy"
        kinds[kind] = kinds.get(kind, 0) + 1
        same, without = compared(expected, scores, found, found_scores, arguments["pad_token_id"])
        equal, missing = equal + same, missing + without
        cases.append({"folder": folder.path.name, "arguments": arguments, "ids": expected}
                     | {name: tensor.tolist() for name, tensor in inputs.items()}
                     | ({"scores": scores} if scores else {})
                     | {"log_probabilities": [[max(round(one, 7), -1e9) for one in row] for row in each]})
        if not same:
            print(json.dumps({"case": number, "folder": folder.path.name, "arguments": arguments,
                              "inputs": inputs["input_ids"].tolist(), "mask": inputs["attention_mask"].tolist(),
                              "transformers": expected, "regard": found, "scores": [scores, found_scores]}))
    print(json.dumps({"cases": options.count, "equal": equal, "rows_without_hypothesis": missing, "seed": options.seed, "folders": len(folders),
                      "transformers": transformers.__version__, **kinds}))
    if options.write:
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        options.write.write_text(f"[\n{lines}\n]\n")
    sys.exit(0 if equal == options.count else 1)


if __name__ == "__main__":
    main()
