#!/usr/bin/env python3
"""Make the goldens of tests/metrics: scores of random cases by scikit-learn, scipy, seqeval, sacreBLEU and the
squad_metrics of transformers 4 (version 5 has no such file).

    tools/make_metric_cases.py SQUAD_METRICS

SQUAD_METRICS: transformers/data/metrics/squad_metrics.py of transformers 4.57.1, for example extracted from its wheel.
Writes tests/data/metrics/{classification,correlation,entities,squad,retrieval,significance}.json.
"""
import importlib.metadata
import json
import os
import pathlib
import sys
import types
import warnings

import numpy
import sacrebleu
import scipy
import scipy.stats
import seqeval.metrics.sequence_labeling
import seqeval.metrics.v1
import seqeval.scheme
import sklearn
import sklearn.metrics
from sacrebleu.significance import PairedTest, _bootstrap_resample, estimate_ci

warnings.simplefilter("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "metrics"
random = numpy.random.default_rng(20)


def save(name, library, cases):
    with open(OUT / f"{name}.json", "w", encoding="utf-8") as file:
        json.dump({"library": library, "cases": cases}, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def prf(truth, predicted, **options):
    scores = {}
    for average in ("micro", "macro", "weighted"):
        p, r, f, _ = sklearn.metrics.precision_recall_fscore_support(truth, predicted, average=average, zero_division=0,
                                                                     **options)
        scores[average] = [float(p), float(r), float(f)]
    return scores


def classification():
    cases = []
    for classes, rows, skill in [(2, 40, 0.7), (2, 5, 0.0), (3, 60, 0.5), (5, 200, 0.6), (12, 30, 0.3), (4, 1, 1.0), (3, 8, 1.0)]:
        truth = random.integers(classes, size=rows)
        predicted = numpy.where(random.random(rows) < skill, truth, random.integers(classes, size=rows))
        p, r, f, support = sklearn.metrics.precision_recall_fscore_support(
            truth, predicted, labels=range(classes), zero_division=0)
        cases.append({
            "classes": classes, "truth": truth.tolist(), "predicted": predicted.tolist(),
            "accuracy": float(sklearn.metrics.accuracy_score(truth, predicted)),
            "matthews": float(sklearn.metrics.matthews_corrcoef(truth, predicted)),
            "confusion": sklearn.metrics.confusion_matrix(truth, predicted, labels=range(classes)).ravel().tolist(),
            "by_class": numpy.stack([p, r, f, support], 1).tolist(),
            "occurring": prf(truth, predicted), "all": prf(truth, predicted, labels=range(classes))})
    for labels, rows in [(3, 30), (5, 7), (2, 1)]:
        truth = random.integers(2, size=(rows, labels))
        predicted = numpy.where(random.random((rows, labels)) < 0.6, truth, 1 - truth)
        predicted[:, -1] = 0
        p, r, f, support = sklearn.metrics.precision_recall_fscore_support(truth, predicted, zero_division=0)
        cases.append({"labels": labels, "truth": truth.ravel().tolist(), "predicted": predicted.ravel().tolist(),
                      "accuracy": float(sklearn.metrics.accuracy_score(truth, predicted)),
                      "by_class": numpy.stack([p, r, f, support], 1).tolist(), "all": prf(truth, predicted)})
    save("classification", f"scikit-learn {sklearn.__version__}", cases)


def correlation():
    cases = []
    for rows, ties in [(2, False), (5, False), (50, False), (40, True), (7, True)]:
        x = random.normal(size=rows) * 3
        y = x + random.normal(size=rows)
        if ties:
            x, y = numpy.round(x), numpy.round(y)
        cases.append({"x": x.tolist(), "y": y.tolist(), "pearson": float(scipy.stats.pearsonr(x, y)[0]),
                      "spearman": float(scipy.stats.spearmanr(x, y)[0])})
    save("correlation", f"scipy {scipy.__version__}", cases)


def entity_labels(prefixes, types, skill, truth=None):
    sequences = []
    for length in random.integers(1, 12, size=9) if truth is None else [len(labels) for labels in truth]:
        labels = []
        for i in range(length):
            if truth is not None and random.random() < skill:
                labels.append(truth[len(sequences)][i])
                continue
            prefix = str(random.choice(list(prefixes)))
            labels.append("O" if prefix == "O" else f"{prefix}-{random.choice(types)}")
        sequences.append(labels)
    return sequences


def entity_scores(truth, predicted, **options):
    scores = {}
    module = seqeval.metrics.v1 if options else seqeval.metrics.sequence_labeling  # strict or default mode
    for average in ("micro", "macro", "weighted"):
        p, r, f, support = module.precision_recall_fscore_support(truth, predicted, average=average, **options)
        # Without entities, seqeval's macro average is nan; regard's is 0, like the other averages.
        scores[average] = [float(numpy.nan_to_num(x)) for x in (p, r, f)] + [int(support)]
    report = module.classification_report(truth, predicted, output_dict=True, **options)
    scores["by_type"] = {name: [float(one[key]) for key in ("precision", "recall", "f1-score", "support")]
                         for name, one in report.items() if not name.endswith(" avg")}
    return scores


def entities():
    cases = []
    schemes = {"iob1": "IOB", "ioe1": "IOE", "iob2": "IOB", "ioe2": "IOE", "iobes": "IOBES", "bilou": "BILOU"}
    for name, prefixes in schemes.items():
        for types in (["PER"], ["PER", "LOC", "MISC-X"]):
            for repeat in range(2):
                truth = entity_labels(prefixes, types, 0)
                predicted = entity_labels(prefixes, types, 0.7, truth)
                case = {"scheme": name, "truth": truth, "predicted": predicted,
                        "accuracy": float(seqeval.metrics.sequence_labeling.accuracy_score(truth, predicted)),
                        "default": entity_scores(truth, predicted),
                        "strict": entity_scores(truth, predicted, scheme=getattr(seqeval.scheme, name.upper()))}
                case["entities"] = [list(map(str, one[:1])) + list(one[1:]) for one in
                                    seqeval.metrics.sequence_labeling.get_entities(truth)]
                try:
                    detected = seqeval.scheme.auto_detect(truth)
                    case["detected"] = detected.__name__.lower()
                except ValueError:
                    case["detected"] = ""
                cases.append(case)
    for truth, predicted in [([["NOUN", "VERB", "NOUN"], ["NOUN"]], [["NOUN", "NOUN", "NOUN"], ["VERB"]]),
                             ([["B", "I", "O", "S"], ["I", "I"]], [["B", "I", "I", "S"], ["I", "O"]]),
                             ([["X", "X", "O"], ["X", "O"]], [["X", "O", "O"], ["X", "X"]]),
                             ([["O", "O"]], [["O", "O"]])]:
        case = {"truth": truth, "predicted": predicted,
                "accuracy": float(seqeval.metrics.sequence_labeling.accuracy_score(truth, predicted))}
        if any(label != "O" for labels in truth for label in labels):
            case["default"] = entity_scores(truth, predicted)
        cases.append(case)
    save("entities", f"seqeval {importlib.metadata.version('seqeval')}", cases)


def load_squad_metrics(path):
    """Execute the file with stand-ins for its two imports from transformers, which the scores do not use."""
    names = ("transformers", "transformers.models", "transformers.models.bert", "transformers.utils", "transformers.data",
             "transformers.data.metrics")
    real = {name: sys.modules.get(name) for name in names}
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    sys.modules["transformers.models.bert"].BasicTokenizer = None
    sys.modules["transformers.utils"].logging = types.SimpleNamespace(get_logger=lambda name: None)
    module = types.ModuleType("transformers.data.metrics.squad_metrics")
    module.__package__ = "transformers.data.metrics"
    exec(compile(pathlib.Path(path).read_text(), path, "exec"), module.__dict__)
    for name, loaded in real.items():
        sys.modules.pop(name)
        if loaded is not None:
            sys.modules[name] = loaded
    return module


def squad(path):
    metrics = load_squad_metrics(path)
    texts = ["The  Cat!", "a cat", "", "an", "the", "The quick, brown fox", "quick brown", "fox the fox", "İstanbul", "i̇stanbul",
             "ΟΔΟΣ", "οδος", "don't", "dont", "U.S.A.", "usa", "1,000", "1000", "naïve café", "a\u00a0b", "a\u3000the b",
             "theatre", "the_atre", "thé", "theु cat", "a-b", "नमस्ते the दुनिया", "“the” cat", "12 the 13", "Straße", "STRASSE"]
    pairs = [{"predicted": p, "truth": t, "exact": metrics.compute_exact(t, p), "f1": metrics.compute_f1(t, p)}
             for p in texts for t in texts if random.random() < 0.25 or p == t]
    normalized = [[text, metrics.normalize_answer(text)] for text in texts]
    sets = []
    words = "the a river old bank water London nine maria 1990".split()
    for count, empty in [(1, 0.0), (20, 0.0), (30, 0.4), (5, 1.0)]:
        questions = []
        for i in range(count):
            truths = [] if random.random() < empty else [
                " ".join(random.choice(words, size=random.integers(1, 4))) for _ in range(random.integers(1, 4))]
            predicted = "" if random.random() < empty / 2 else (
                truths[0] if truths and random.random() < 0.5 else " ".join(random.choice(words, size=random.integers(1, 4))))
            questions.append({"predicted": predicted, "truths": truths, "no_answer": round(float(random.random()), 2)})
        examples = [types.SimpleNamespace(qas_id=i, answers=[{"text": text} for text in one["truths"]])
                    for i, one in enumerate(questions)]
        scores = metrics.squad_evaluate(examples, {i: one["predicted"] for i, one in enumerate(questions)},
                                        {i: one["no_answer"] for i, one in enumerate(questions)})
        sets.append({"questions": questions, "scores": scores})
    save("squad", "transformers 4.57.1 squad_metrics", {"pairs": pairs, "normalized": normalized, "sets": sets})


def retrieval():
    cases = []
    for queries, candidates in [(1, 1), (6, 4), (30, 25)]:
        scores = random.normal(size=(queries, candidates)).astype(numpy.float32)
        right = random.integers(candidates, size=queries)
        truth = numpy.eye(candidates)[right]
        at = {} if candidates == 1 else {
            str(k): float(sklearn.metrics.top_k_accuracy_score(right, scores, k=k, labels=range(candidates)))
            for k in (1, 3, 10) if k < candidates}
        cases.append({"candidates": candidates, "scores": [float(x) for x in scores.ravel()], "right": right.tolist(), "at": at,
                      "mrr": float(sklearn.metrics.label_ranking_average_precision_score(truth, scores))})
    save("retrieval", f"scikit-learn {sklearn.__version__}", cases)


def significance():
    words = "the a river old bank water London nine maria 1990 sings quickly under bridges , .".split()

    def noisy(line, amount):
        out = []
        for word in line.split():
            draw = random.random()
            if draw < amount / 3:
                continue
            out.append(str(random.choice(words)) if draw < amount else word)
        return " ".join(out)

    cases = []
    for lines, references in [(25, 1), (40, 2), (1, 1)]:
        first_reference = [" ".join(random.choice(words, size=random.integers(1, 15))) for _ in range(lines)]
        sets = [first_reference] + [[noisy(line, 0.2) for line in first_reference] for _ in range(references - 1)]
        first = [noisy(line, 0.35) for line in first_reference]
        second = [noisy(line, 0.3) for line in first_reference]
        metrics = {"bleu": sacrebleu.BLEU(references=sets), "chrf": sacrebleu.CHRF(references=sets),
                   "ter": sacrebleu.TER(references=sets)}
        case = {"first": first, "second": second, "references": sets, "scores": {}}
        systems = [("first", first), ("second", second)]
        for name, metric in metrics.items():
            one = case["scores"][name] = {}
            _, resampled = _bootstrap_resample(metric._extract_corpus_statistics(first, None), metric, 1000)
            mean, half = estimate_ci(numpy.array([score.score for score in resampled]))
            one["interval"] = [float(mean), float(half)]
            for test, samples in (("bs", 1000), ("ar", 1000)):
                _, scores = PairedTest(systems, {name: metric}, None, test_type=test, n_samples=samples)()
                baseline, system = next(value for key, value in scores.items() if key != "System")
                one[test] = {"scores": [float(baseline.score), float(system.score)], "p": float(system.p_value)}
                if test == "bs":
                    one[test]["interval"] = [float(system.mean), float(system.ci)]
        cases.append(case)
    save("significance", f"sacrebleu {sacrebleu.__version__}", cases)


if __name__ == "__main__":
    os.environ.pop("SACREBLEU_SEED", None)
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    classification()
    correlation()
    entities()
    retrieval()
    significance()
    squad(sys.argv[1])
