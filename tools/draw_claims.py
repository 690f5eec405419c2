#!/usr/bin/env python3
"""Draw the charts of docs/why-attention.md from results.json and results-long.json in recipes/claims:
tools/draw_claims.py writes docs/images/claims-*.svg."""
import json, math, pathlib, statistics
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = ["#2166ac", "#b2182b", "#1b7837", "#e08214", "#762a83", "#555555"]


def chart(name, title, x_label, y_label, series, y_log=False, y_range=None):
    """series: {label: [(x, y)]}; x is drawn on a logarithmic axis."""
    width, height, left, top, right, bottom = 420, 300, 62, 30, 130, 46
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    scale = math.log10 if y_log else (lambda y: y)
    low, high = y_range or (min(ys), max(ys))
    low, high = scale(low), scale(high)
    place_x = lambda x: left + (math.log(x / xs[0]) / math.log(xs[-1] / xs[0])) * (width - left - right)
    place_y = lambda y: height - bottom - (scale(y) - low) / (high - low) * (height - top - bottom)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="18">{escape(y_label)}</text>',
        f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">{escape(x_label)}</text>',
        f'<path d="M{left} {top}V{height - bottom}H{width - right}" fill="none" stroke="black"/>',
    ]
    for x in xs:
        out.append(f'<text x="{place_x(x):.1f}" y="{height - bottom + 17}" text-anchor="middle">{x}</text>')
    for step in range(5):
        value = low + (high - low) * step / 4
        label = f"1e{value:.0f}" if y_log else f"{value:g}"
        y = height - bottom - (height - top - bottom) * step / 4
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        out.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#dddddd"/>')
    # Draw the labels at the last points, moved vertically so that they do not overlap.
    ends = sorted((place_y(points[-1][1]), label) for label, points in series.items())
    places, last = {}, -100.0
    for y, label in ends:
        last = max(y + 4, last + 16)
        places[label] = last
    for colour, (label, points) in zip(COLOURS, series.items()):
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in points:
            out.append(f'<circle cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3" fill="{colour}"/>')
        out.append(f'<text x="{width - right + 8}" y="{places[label]:.1f}" fill="{colour}">{escape(label)}</text>')
    out.append("</svg>\n")
    (ROOT / f"docs/images/claims-{name}.svg").write_text("\n".join(out), encoding="utf-8")


def mean(values):
    return sum(values) / len(values)


results = json.loads((ROOT / "recipes/claims/results.json").read_text(encoding="utf-8"))

recall = {}
for row in results["first_word"]:
    recall.setdefault(row["family"], []).append((row["length"], 100 * mean(row["accuracy"])))
chart("recall", "Which word came first? Accuracy by length", "words", "accuracy, %", recall, y_range=(0, 100))

names = {("rnn", 0.8): "rnn, W × 0.8", ("rnn", 1.5): "rnn, W × 1.5", ("rnn", 3): "rnn, W × 3",
         ("lstm", 0): "lstm", ("lstm", 3): "lstm, gates open", ("attention", 0): "attention"}
gradients = {}
for row in results["gradients"]:
    for distance, norm in row["norms"].items():
        key = names[(row["network"], row["setting"])]
        gradients.setdefault(key, {}).setdefault(int(distance), []).append(norm)
gradients = {key: [(x, statistics.median(y)) for x, y in sorted(points.items())] for key, points in gradients.items()}
chart("gradients", "Norm of the gradient by distance", "steps back", "gradient norm", gradients, y_log=True,
      y_range=(1e-22, 1e10))

cost = {"attention": [], "recurrence": []}
for row in results["inference_cost"]:
    cost["attention"].append((row["words"], row["attention_ms"]))
    cost["recurrence"].append((row["words"], row["recurrent_ms"]))
chart("cost", "Processor time of one layer by length", "words", "ms", cost, y_log=True, y_range=(0.01, 100))

idioms = {}
for row in results["idioms"]:
    idioms.setdefault(row["projections"], {}).setdefault(row["words_between"], []).append(100 * row["accuracy"])
idioms = {key: [(x + 1, mean(y)) for x, y in sorted(points.items())] for key, points in idioms.items()}
chart("idioms", "Idiom or food? Accuracy by distance", "words from the subject to 'a'", "accuracy, %", idioms,
      y_range=(50, 100))

labels = {"transformer": "Transformer", "attention": "with attention", "gru": "GRU", "lstm": "LSTM"}
copies = {}
for row in results["copy"]:
    if row["fillers"]:  # the axis is logarithmic
        copies.setdefault(labels[row["network"]], []).append((row["fillers"], 100 * mean(row["right"])))
chart("copy", "Four words copied without a mistake, by distance", "words after them", "texts, %", copies, y_range=(0, 100))

long = json.loads((ROOT / "recipes/claims/results-long.json").read_text(encoding="utf-8"))
labels = {"transformer": "Transformer", "attention": "with attention", "none": "no attention"}
translation = {}
for row in long["translation_by_length"]:
    translation.setdefault(labels[row["network"]], []).append((round(row["words"]), row["bleu"]))
chart("translation", "BLEU of translations by length of the source", "words of the source", "BLEU", translation,
      y_range=(0, 10 * math.ceil(max(row["bleu"] for row in long["translation_by_length"]) / 10)))
