#!/usr/bin/env python3
"""Train tiny runs by several processes under mpirun and compare the bits of their weights with one process.

Usage: check_mpi.py PROGRAM [KILLS] [--kills-only]   KILLS: random kills of runs on four ranks, divided among four tasks (default 4)

Covers 1, 2 and 4 ranks for three tasks, a sharded optimiser, sharded data, different transports and algorithms of Open MPI,
resuming on another number of ranks, stop signals, a killed rank, a rank that does not respond, and numbers of ranks
that are refused.
"""
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
KILLS_ONLY = "--kills-only" in sys.argv
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 4
MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
SECONDS = 300

RUN = """task = "{task}"
seed = 5
[data]
{data}
[tokenizer]
type = "{tokenizer}"
[model]
{model}
hidden_size = 16
heads = 2
feed_forward_size = 32
dropout = 0.1
[training]
learning_rate = 1e-2
warmup_steps = 10
{batch}
accumulate = 4
max_steps = 50
average_last = 2
[validation]
every_steps = 20
{validation}
[output]
folder = "run"
checkpoint_every_steps = 7
log_every_steps = 5
keep = 3
"""


LORA = """task = "classification"
seed = 5
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [2, 1]
max_length = 32
[model]
from = "base"
[lora]
rank = 2
[training]
learning_rate = 1e-2
batch_size = 4
accumulate = 4
max_steps = 50
[validation]
every_steps = 20
metrics = ["accuracy"]
[output]
folder = "run"
checkpoint_every_steps = 7
keep = 3
"""


def write_task(folder, task):
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(7)
    english, german = "one two three four five six".split(), "eins zwei drei vier fünf sechs".split()
    for name, count in (("train", 200), ("valid", 21)):
        pairs = [[draw.randrange(6) for _ in range(draw.randint(1, 6))] for _ in range(count)]
        (folder / f"{name}.en").write_text("".join(" ".join(english[w] for w in words) + "\n" for words in pairs))
        (folder / f"{name}.de").write_text("".join(" ".join(german[w] for w in reversed(words)) + "\n" for words in pairs))
        (folder / f"{name}.tsv").write_text(
            "".join(f"{'long' if len(words) > 3 else 'short'}\t{' '.join(english[w] for w in words)}\n" for words in pairs))
    kinds = {
        "translation": dict(data='train = ["train.en", "train.de"]\nvalid = ["valid.en", "valid.de"]', tokenizer="char",
                            model="encoder_layers = 1\ndecoder_layers = 1", batch="batch_tokens = 60",
                            validation='metrics = ["loss", "bleu"]\nbeam = 2'),
        "language-model": dict(data='train = ["train.en"]\nvalid = ["valid.en"]', tokenizer="char", model="layers = 1",
                               batch="batch_size = 3\ncontext = 16", validation="samples = 1"),
        "classification": dict(data='train = ["train.tsv"]\nvalid = ["valid.tsv"]\ncolumns = [2, 1]\nmax_length = 32',
                               tokenizer="wordpiece\"\nvocab_size = 60\nlower_case = true #\"", model='family = "bert"\nlayers = 1',
                               batch="batch_size = 4", validation='metrics = ["accuracy"]'),
    }
    kind = "classification" if task == "lora" else task
    (folder / "run.toml").write_text(RUN.format(task=kind, **kinds[kind]))
    if task != "lora":
        return
    train(folder, 1, "output.folder=base", "training.average_last=0", "training.max_steps=10", "validation.every_steps=10")
    (folder / "run.toml").write_text(LORA)


def command(ranks, arguments, mca=()):
    train = [str(PROGRAM), "train", *arguments, "-t", "1"]
    if ranks == 1:
        return train
    return [*MPIRUN, *[part for name, value in mca for part in ("--mca", name, value)], "-n", str(ranks), *train]


def train(folder, ranks, *settings, resume=False, mca=(), expect=0, environment={}):
    arguments = (["--resume", "run"] if resume else ["run.toml"]) + [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(command(ranks, arguments, mca), cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=os.environ | environment)
    if (done.returncode == 0) != (expect == 0) or expect > 0 and done.returncode != expect:
        sys.exit(f"{folder.name}: {ranks} ranks {settings}: exit code {done.returncode}, expected {expect}\n{done.stderr}")
    return done.stderr


def bits(folder, run="run", step=50):
    found = {}
    for name in ("model.safetensors", "optimizer.safetensors", "adapter_model.safetensors"):
        if name != "model.safetensors" and not (folder / run / "checkpoints" / str(step) / name).exists():
            continue
        found[name] = hashlib.sha256((folder / run / "checkpoints" / str(step) / name).read_bytes()).hexdigest()
    return found


def log_values(folder):
    """Return the losses and metrics of log.jsonl, which must be equal too."""
    values = []
    for line in (folder / "run" / "log.jsonl").read_text().splitlines():
        line = json.loads(line)
        values.append([line.get(key) for key in ("step", "loss", "gradient_norm", "validation")])
    return [value for value in values if value[1:] != [None, None, None]]


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")
    print(f"ok: {text}", flush=True)


def rank_processes(mpirun):
    """Return the process ids of the ranks that mpirun started, in order of ranks."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent != mpirun.pid:
                continue
            for variable in (entry / "environ").read_bytes().split(b"\0"):
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry.name)
        except OSError:
            continue
    return [found[rank] for rank in sorted(found)]


def wait_for_ranks(mpirun, ranks):
    """Return the process ids of the ranks when all have started, or fewer ids if mpirun ends before that."""
    found = []
    while mpirun.poll() is None and len(found) < ranks:
        time.sleep(0.01)
        found = rank_processes(mpirun)
    return found


def start(folder, ranks, *settings, resume=True):
    arguments = ["run.toml", *(["--resume"] if resume else [])] + [part for setting in settings for part in ("--set", setting)]
    return subprocess.Popen(command(ranks, arguments), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for_steps(process, folder, step):
    until = time.monotonic() + SECONDS
    while not ((folder / f"run/checkpoints/{step}/manifest.json").exists() and (folder / "run/latest").is_symlink()):
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"no checkpoint of step {step}: {process.stderr.read()}")
        time.sleep(0.02)


def same_bits(base):
    for task in ("translation", "language-model", "classification"):
        alone = base / f"{task}-1"
        write_task(alone, task)
        train(alone, 1)
        for ranks, settings, mca in (
                (2, (), ()), (4, (), ()), (2, ("distributed.shard_optimizer=true",), ()),
                (4, ("distributed.shard_optimizer=true",), (("btl", "self,tcp"),)),
                (4, (), (("coll_tuned_use_dynamic_rules", "1"), ("coll_tuned_allreduce_algorithm", "4"),
                         ("coll_tuned_bcast_algorithm", "1"))),
                (4, (), (("coll", "basic,self,libnbc"), ("btl", "self,vader")))):
            if task != "translation" and mca:
                continue
            folder = base / f"{task}-{ranks}"
            write_task(folder, task)
            train(folder, ranks, *settings, mca=mca)
            check(bits(folder) == bits(alone), f"{task}: {ranks} ranks {' '.join(settings)} {' '.join('='.join(m) for m in mca)}")
            check(log_values(folder) == log_values(alone), f"{task}: {ranks} ranks: the values of log.jsonl")
            check((folder / "run/best").readlink() == (alone / "run/best").readlink(), f"{task}: {ranks} ranks: the best step")
            for entry in folder.iterdir():
                if entry.is_dir():
                    subprocess.run(["rm", "-r", str(entry)], check=True)


def same_bits_in_bf16(base):
    """Compare runs with precision bf16, if the processor has the instructions, also where they are slower than f32."""
    if "avx512_bf16" not in (processor := Path("/proc/cpuinfo").read_text()):
        return print("not run: bf16, because the processor has no bf16 instructions", flush=True)
    for task in ("translation", "language-model", "classification"):
        results = []
        for ranks in (1, 2, 4):
            folder = base / f"{task}-bf16-{ranks}"
            write_task(folder, task)
            train(folder, ranks, 'training.precision="bf16"', environment={} if "amx_bf16" in processor else {"REGARD_ISA": "avx512"})
            results.append(bits(folder))
        check(results[0] == results[1] == results[2] != bits(base / f"{task}-1"), f"{task}: bf16, 1, 2 and 4 ranks")


def resume_on_others(base, alone):
    for ranks in ((4, 2), (1, 4), (2, 1)):
        folder = base / f"resume-{ranks[0]}-{ranks[1]}"
        write_task(folder, "translation")
        train(folder, ranks[0], "training.max_steps=23", "distributed.shard_optimizer=true", "training.average_last=0")
        train(folder, ranks[1], "training.max_steps=50", "training.average_last=0", resume=True)
        check(bits(folder) == alone, f"begun on {ranks[0]} ranks, resumed on {ranks[1]}")


def resumed_alike(base, folder, ranks, text):
    """Resume a run for a few steps. Its bits must be those of one process that was never stopped."""
    step = int((folder / "run/latest").readlink().name) + 5
    settings = (f"training.max_steps={step}", "training.average_last=0")
    alone = base / f"{folder.name}-alone"
    write_task(alone, "translation")
    train(alone, 1, *settings)
    train(folder, ranks, *settings, resume=True)
    check(bits(folder, step=step) == bits(alone, step=step), f"{text}: resumed to the same bits at step {step}")


def stop_and_resume(base):
    folder = base / "stopped"
    write_task(folder, "translation")
    process = start(folder, 2, "training.max_steps=1000000", "training.average_last=0")
    wait_for_steps(process, folder, 7)
    os.kill(rank_processes(process)[1], signal.SIGTERM)  # a signal to any rank stops all
    text = process.communicate(timeout=SECONDS)[1]
    check(process.returncode != 0 and "stopped at step" in text, "a signal to one rank stops all, with a checkpoint")
    steps = int(text.split("stopped at step")[1].split(";")[0])
    check((folder / f"run/checkpoints/{steps}/manifest.json").exists(), f"the checkpoint of step {steps}")
    resumed_alike(base, folder, 2, "stopped")


def killed_rank(base):
    for victim in (0, 1):
        folder = base / f"killed-{victim}"
        write_task(folder, "translation")
        process = start(folder, 2, "training.max_steps=1000000", "training.average_last=0")
        wait_for_steps(process, folder, 7)
        os.kill(rank_processes(process)[victim], signal.SIGKILL)
        text = process.communicate(timeout=SECONDS)[1]
        check(process.returncode != 0 and text != "", f"rank {victim} killed: exit code {process.returncode}, with a message")
        resumed_alike(base, folder, 1, f"rank {victim} killed")


def silent_rank(base):
    folder = base / "silent"
    write_task(folder, "translation")
    process = start(folder, 2, "training.max_steps=1000000", "distributed.timeout=2")
    wait_for_steps(process, folder, 7)
    os.kill(rank_processes(process)[1], signal.SIGSTOP)
    time.sleep(0.5)
    before = sorted(entry.name for entry in (folder / "run/checkpoints").iterdir())
    begin = time.monotonic()
    text = process.communicate(timeout=SECONDS)[1]
    check(process.returncode == 4 and "rank 0 of 2 has waited 2 s for rank 1" in text,
          f"a rank that does not answer: ended after {time.monotonic() - begin:.0f} s with a message")
    check(sorted(entry.name for entry in (folder / "run/checkpoints").iterdir()) == before, "no checkpoint was written then")


def refused(base):
    folder = base / "refused"
    write_task(folder, "translation")
    text = train(folder, 3, expect=2)
    check("4 micro-batches" in text and "3 ranks" in text and not (folder / "run").exists(), "4 micro-batches on 3 ranks are refused")
    (folder / "run.toml").write_text((folder / "run.toml").read_text().replace("train.en", "missing.en"))
    text = train(folder, 2, expect=4)
    check(text.count("missing.en") == 1, "an error of all ranks is reported once")


def sharded_data(base):
    """The training files are shards: ranks read different files, with the bits of one process that reads all."""
    expected = None
    for ranks in (1, 2, 4):
        folder = base / f"sharded-{ranks}"
        write_task(folder, "translation")
        english, german = ((folder / f"train.{side}").read_text().splitlines() for side in ("en", "de"))
        lines = []
        for shard in range(6):
            for side, texts in (("en", english), ("de", german)):
                (folder / f"part-{shard}.{side}").write_text("\n".join(texts[shard::6]) + "\n")
            lines.append(f"part-{shard}.en\tpart-{shard}.de\n")
        (folder / "shards.txt").write_text("".join(lines))
        train(folder, 1, "output.folder=first", "training.max_steps=1", "training.average_last=0")  # makes the tokenizer
        text = (folder / "run.toml").read_text().replace('train = ["train.en", "train.de"]', 'train_list = "shards.txt"\nsharded = true')
        (folder / "run.toml").write_text(text.replace('type = "char"', 'file = "first/tokenizer.json"'))
        train(folder, ranks)
        expected = expected or bits(folder)
        check(bits(folder) == expected, f"sharded data: {ranks} ranks")


def has_ended(process):
    """Return True if a process has ended, also if its parent has not waited for it."""
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def end_of(mpirun, ranks):
    """Wait for mpirun and return what it printed. If a rank is killed while it starts, Open MPI's mpirun (4.1.4)
    sometimes does not exit although all ranks have ended. In this case, kill mpirun."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return mpirun.communicate(timeout=20)[1], False
        except subprocess.TimeoutExpired:
            if all(has_ended(rank) for rank in ranks):
                mpirun.kill()
                return mpirun.communicate()[1], True
            if time.monotonic() > until:
                raise


def kills(base, task, count):
    """Repeatedly kill one process of a run on four ranks at a random time, and resume the run."""
    draw = random.Random(11)
    folder = base / f"kills-{task}"
    write_task(folder, task)
    settings = () if task == "lora" else ("training.average_last=0",)
    train(folder, 1, *settings)
    alone = bits(folder)
    subprocess.run(["rm", "-r", str(folder / "run")], check=True)
    whole = None  # seconds from the start of the ranks to the end of an undisturbed run
    done, late, stuck = 0, 0, 0
    while done < count:
        process = start(folder, 4, *settings)
        victims = wait_for_ranks(process, 4)
        begin = time.monotonic()
        if whole is not None:
            time.sleep(draw.uniform(0, whole * draw.choice((1, 0.2))))
        killed = whole is not None and process.poll() is None
        if killed:
            victim = draw.choice(victims + [process.pid])
            try:
                for one in (process.pid, *victims) if victim == process.pid else (victim,):  # a killed mpirun ends no ranks
                    os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                killed = victim == process.pid
            done += killed
        text, hung = end_of(process, victims)
        stuck += hung
        if not killed and process.returncode != 0:
            sys.exit(f"failed: {task}: after {done} kills a resumed run ends with exit code {process.returncode}\n{text}")
        if process.returncode == 0:
            late += 1
            whole = min(whole or SECONDS, time.monotonic() - begin)
            check(bits(folder) == alone, f"{task}: after {done} kills: the same bits")
            subprocess.run(["rm", "-r", str(folder / "run")], check=True)
    train(folder, 4, *settings, resume=(folder / "run").exists())
    check(bits(folder) == alone, f"{task}: {done} kills of a run on four ranks, {late} runs to the end between them, "
          f"mpirun did not return {stuck} times: the same bits")


def main():
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        if not KILLS_ONLY:
            same_bits(base)
            same_bits_in_bf16(base)
            folder = base / "alone"
            write_task(folder, "translation")
            train(folder, 1, "training.average_last=0")
            resume_on_others(base, bits(folder))
            sharded_data(base)
            stop_and_resume(base)
            killed_rank(base)
            silent_rank(base)
            refused(base)
        for index, task in enumerate(("translation", "language-model", "classification", "lora")):
            kills(base, task, KILLS // 4 + (index < KILLS % 4))
    print("several processes: everything passed")


main()
