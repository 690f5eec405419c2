#!/usr/bin/env python3
"""Write goldens of training steps. Needs torch, transformers and safetensors. Usage: tools/make_training_goldens.py

tests/data/tasks/weighted-cross-entropy.json: torch.nn.functional.cross_entropy with class weights, label smoothing and
ignored rows, and its gradient.
tests/data/tasks/qa-step: loss and gradients of BertForQuestionAnswering (tests/data/hf-tiny/bert-qa) for windows of
equal length, because in transformers the softmax includes padding, and in regard it does not.
tests/data/tasks/qa-windows.json: windows of a question and the tokens of its answers, as transformers' example
run_qa.py (prepare_train_features) marks them."""
import json
import pathlib

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertForQuestionAnswering

torch.manual_seed(5)
cases = []
for classes, rows, smoothing in [(2, 5, 0.0), (3, 7, 0.1), (6, 4, 0.3)]:
    logits = (3 * torch.randn(rows, classes)).requires_grad_()
    labels = torch.randint(0, classes, (rows,))
    labels[1] = -100
    weights = torch.rand(classes) + 0.25
    loss = torch.nn.functional.cross_entropy(logits, labels, weight=weights, label_smoothing=smoothing)
    loss.backward()
    cases.append({
        "label_smoothing": smoothing,
        "logits": logits.tolist(),
        "labels": labels.tolist(),
        "weights": weights.tolist(),
        "loss": loss.item(),
        "gradient": logits.grad.tolist(),
    })
data = pathlib.Path(__file__).resolve().parent.parent / "tests/data"
folder = data / "tasks"
(folder / "weighted-cross-entropy.json").write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=1) + "\n")

model = BertForQuestionAnswering.from_pretrained(data / "hf-tiny/bert-qa").eval()
row = load_file(data / "hf-tiny/bert-qa/golden.safetensors")["input_ids"][:1]
ids = torch.cat([row, row.flip(1), row.roll(3, 1)])
types = (torch.arange(ids.shape[1]) > 4).long().expand_as(ids).contiguous()
start, end = torch.tensor([5, 0, 7]), torch.tensor([8, 0, 7])
out = model(input_ids=ids, token_type_ids=types, start_positions=start, end_positions=end)
out.loss.backward()
tensors = {"input_ids": ids, "token_type_ids": types, "start_positions": start, "end_positions": end,
           "loss": out.loss.detach().reshape(1)}
tensors |= {"grad." + name: p.grad for name, p in model.named_parameters() if p.grad is not None}
(folder / "qa-step").mkdir(exist_ok=True)
save_file({name: t.contiguous() for name, t in tensors.items()}, folder / "qa-step/golden.safetensors")
(folder / "qa-step/case.json").write_text(json.dumps({"torch": torch.__version__}) + "\n")

folder_of_tokenizer = data / "hf-more/bert-qa-stride"
case = json.loads((folder_of_tokenizer / "case.json").read_text())
tokenizer = AutoTokenizer.from_pretrained(folder_of_tokenizer)


def marked(window, answer_start, answer):
    """Return the first and last token of the answer in a window, as run_qa.py does, with one difference: the search
    for the first token ends at the last token of the context. If the answer begins in this token, the search of
    run_qa.py continues to [SEP], whose offsets are (0, 0)."""
    offsets, sequence = window.offsets, window.sequence_ids
    first, last = 0, len(sequence) - 1
    while sequence[first] != 1:
        first += 1
    while sequence[last] != 1:
        last -= 1
    answer_end = answer_start + len(answer)
    if not (offsets[first][0] <= answer_start and offsets[last][1] >= answer_end):
        return [0, 0]
    last_of_context = last
    while first <= last_of_context and offsets[first][0] <= answer_start:
        first += 1
    while offsets[last][1] >= answer_end:
        last -= 1
    return [first - 1, last + 1]


question, context = case["question"], case["context"]
cases = []
for length, stride in [(30, 8), (40, 0), (24, 10)]:
    encoded = tokenizer(question, context, truncation="only_second", max_length=length, stride=stride,
                        return_overflowing_tokens=True)
    answers = []
    for start, end in [(0, 5), (6, 11), (5, 11), (60, 83), (61, 66), (100, 101), (150, 190), (len(context) - 5, len(context))]:
        answers.append({"text": context[start:end], "start": start,
                        "tokens": [marked(window, start, context[start:end]) for window in encoded.encodings]})
    cases.append({"length": length, "stride": stride, "ids": encoded["input_ids"], "answers": answers})
(folder / "qa-windows.json").write_text(json.dumps({"question": question, "context": context, "cases": cases}) + "\n")
