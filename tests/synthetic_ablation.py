"""A small ablation directory as a real run leaves it, with a diverged seed and an unfinished cell."""

import math
from pathlib import Path

import sealed_files

RSC_LENGTHS = (2, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16)
EVEN_LENGTHS = (5, 10, 12, 15, 20, 30, 40)
SEEDS = (0, 1, 2, 3)
RATES = (1e-3, 3e-3)
T5_NOTE = "8 buckets to distance 32, chosen after the default of 32 to 128 had failed; only T5 got a second try."

# label -> (encoding, citation, own parameters, length where the curve falls to one half, its slope)
VASWANI = """@misc{vaswani2017attention, author = {Vaswani and others}, title = {{Attention Is All You Need}},
    year = {2017}, url = {https://arxiv.org/abs/1706.03762}}"""


def _work(key, author, year, title):
    return f"@misc{{{key}, author = {{{author} and others}}, title = {{{{{title}}}}}, year = {{{year}}}}}"


RAFFEL = _work("raffel2020exploring", "Raffel", 2020, "Exploring the Limits")
PRESS = _work("press2022train", "Press", 2022, "Train Short, Test Long")
RUOSS = _work("ruoss2023randomized", "Ruoss", 2023, "Randomized Positions")
RSC = {
    "nope": ("()", "", 0, 60, 3.0),
    "t5": ("t5_bias(num_buckets=8, max_distance=32)", RAFFEL, 32, 13.4, 1.2),
    "alibi": ("alibi()", PRESS, 0, 10.6, 0.8),
    "rope": ("rope()", _work("su2021roformer", "Su", 2021, "RoFormer"), 0, 8.5, 0.1),
    "sinusoidal": ("sinusoidal()", VASWANI, 0, 8.5, 0.1),
}
EVEN = {
    "sinusoidal": ("sinusoidal()", VASWANI, 0, 11, 0.7),
    "randomized": ("randomized(max_position=128)|sinusoidal()", RUOSS, 0, 90, 30),
}
SOURCE = "Kazemnejad et al. 2023, result files of the paper, mean of 3 seeds"


def _published(task_label, label, value, direction, metric, lengths, source):
    names = ("task_label", "label", "value", "direction", "metric", "lengths", "source")
    return dict(zip(names, (task_label, label, value, direction or "", metric, lengths, source)))


PUBLISHED = [
    *(
        _published("rsc", label, value, None, "exact_match", "21..40", SOURCE)
        for label, value in {"nope": 0.986, "t5": 0.771, "alibi": 0.289, "rope": 0.0, "sinusoidal": 0.0}.items()
    ),
    _published("even_pairs", "sinusoidal", None, "near chance", "accuracy", "41..500", "Ruoss et al. 2023"),
    _published("even_pairs", "randomized", None, "clearly above chance", "accuracy", "41..500", "Ruoss et al. 2023"),
]


def _cell(task_label, label, posenc, citation, own):
    return {
        "task_label": task_label,
        "label": label,
        "posenc": posenc,
        "config_hash": f"{sum(map(ord, task_label + label)):08x}",
        "directory": f"{task_label}-{label}",
        "num_parameters": 105_472 + own,
        "num_posenc_parameters": own,
        "citations": [citation] if citation else [],
        "note": T5_NOTE if label == "t5" else None,
        "lengths": list({"rsc": RSC_LENGTHS, "even_pairs": EVEN_LENGTHS}.get(task_label, ())),
    }


def complete(info):
    """The content of ``ablation.json`` with every member that is written, empty where ``info`` does not say it."""
    tasks = list(dict.fromkeys(cell["task_label"] for cell in info["cells"]))
    common = {"title": info["name"], "description": "", "baseline": None, "published": [], "size_note": ""}
    common |= {name: {} for name in ("length_names", "signatures", "task_notes", "environment", "environments")}
    common |= {"validation_metric": dict(info["metric"]), "writes_text": dict.fromkeys(tasks, False)}
    common |= {"length_unit": dict.fromkeys(tasks, ""), "chance": dict.fromkeys(tasks)}
    common |= {"task": {}, "config": {"runs": []}, "learning_rates": [1e-3]}
    of_cell = {"num_parameters": None, "num_posenc_parameters": None, "citations": [], "note": None, "bit_exact": True}
    of_cell |= {"code": [], "changed_code": False, "by_position": []}
    of_cell |= {"seeds": info["seeds"], "learning_rates": info.get("learning_rates", [1e-3])}
    return {**common, **info, "cells": [{**of_cell, **cell} for cell in info["cells"]]}


CELLS = [
    *(_cell("rsc", label, *row[:3]) for label, row in RSC.items()),
    *(_cell("even_pairs", label, *row[:3]) for label, row in EVEN.items()),
]
INFO = {
    "name": "copy_and_pairs",
    "title": "Copying and even pairs by encoding",
    "description": "Small models, trained on short sequences and tested on longer ones.",
    "task": {"rsc": {"name": "copying", "kind": "rsc", "max_length": 8}, "even_pairs": {"name": "even_pairs"}},
    "baseline": "sinusoidal",
    "seeds": list(SEEDS),
    "learning_rates": list(RATES),
    "cells": CELLS,
    "published": PUBLISHED,
    "train_lengths": {"rsc": [2, 8], "even_pairs": [1, 10]},
    "metric": {"rsc": "exact_match", "even_pairs": "accuracy"},
    "chance": {"rsc": 0.0, "even_pairs": 0.5},
    "config": {"runs": [], "model": {"d_model": 64, "num_layers": 2}, "training": {"steps": 1200, "batch_size": 16}},
    "environment": {"python": "3.11.7", "jax": "0.10.2", "device": "cpu", "threads": 2, "commit": "0123abcd"},
    "size_note": "2 layers of width 64 and 1200 steps; the paper trains 12 layers of width 768 for 40,000 steps.",
}


def score(task_label, label, seed, rate, length):
    """The headline metric: a falling curve whose place depends on seed and learning rate."""
    half, slope = (RSC if task_label == "rsc" else EVEN)[label][-2:]
    shift = 0.06 * half * math.sin(37.0 * seed + len(label)) - (0 if rate == RATES[0] else 0.05 * half)
    raw = 1 / (1 + math.exp(min((length - half - shift) / slope, 50.0)))
    if task_label == "even_pairs":
        raw = 0.5 + 0.5 * raw + 0.01 * math.sin(seed + 5.0 * length)
    return round(min(raw, 1.0), 4)


def write_ablation(directory: Path) -> Path:
    """5 encodings on rsc, 2 on even_pairs, 4 seeds, 2 rates.

    T5's seed 2 diverged at step 340 (and seeds 0 and 1 at the larger rate), ALiBi's seed 3 is unfinished at the smaller
    rate, and the cell rsc / rope has not run.
    """
    directory.mkdir(parents=True, exist_ok=True)
    sealed_files.write(directory / "ablation.json", complete(INFO))
    rows: list[dict] = []
    for cell in CELLS:
        task_label, label = cell["task_label"], cell["label"]
        if (task_label, label) == ("rsc", "rope"):
            continue
        for seed in SEEDS:
            for rate in RATES:
                rows += _rows(cell, task_label, label, seed, rate)
    sealed_files.write_rows(directory / "results.jsonl", rows)
    return directory


def begin_group(group: Path, replicas=()) -> None:
    """The directory of a group as its maker begins it, of the cell in whose directory it lies."""
    group.mkdir(parents=True, exist_ok=True)
    own = [cell["config_hash"] for cell in CELLS if cell["directory"] == group.parent.name]
    config = {"replicas": list(replicas), "group_size": 1, "config_hash": own[0] if own else "own"}
    sealed_files.write(group / "config.json", config)


def _rows(cell, task_label, label, seed, rate):
    diverged = {(2, 1e-3): 340, (0, 3e-3): 55, (1, 3e-3): 55}.get((seed, rate)) if label == "t5" else None
    for length in RSC_LENGTHS if task_label == "rsc" else EVEN_LENGTHS:
        if (label, seed, rate) == ("alibi", 3, 1e-3) and length > 14:
            continue
        value = score(task_label, label, seed, rate, length)
        yield {
            **{name: cell[name] for name in ("task_label", "label", "posenc", "config_hash")},
            "seed": seed,
            "learning_rate": rate,
            "length": length,
            "range": "within" if length <= max(INFO["train_lengths"][task_label]) else "beyond",
            "accuracy": round((1 + value) / 2, 4) if task_label == "rsc" else value,
            "exact_match": value if task_label == "rsc" else 0.0,
            "loss": round(1 - value, 4),
            "count": 256.0,
            "validation": score(task_label, label, seed, rate, 6),
            "diverged_at": diverged,
            "mode": "devices",
            "group_size": 2,
            "device_kind": "cpu",
            "threads": 2,
        }


def rewrite(directory: Path, change) -> None:
    """Replaces the rows by those that ``change(row)`` returns (None drops one)."""
    path = directory / "results.jsonl"
    rows = map(change, sealed_files.read_rows(path))
    sealed_files.write_rows(path, [row for row in rows if row is not None])


# Tasks on text: label -> (encoding, quality, octaves of length that cost a factor e of it)
ON_TEXT = {"sinusoidal": ("sinusoidal()", 0.9, 0.7), "rope": ("rope()", 1.0, 1.4), "alibi": ("alibi()", 0.95, 6.0)}
SIGNATURES = {"chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0", "bleu": "nrefs:1|tok:13a"}
NOT_WMT = "About half a million words of one domain rank encodings; these scores do not compare with BLEU on WMT."
POSITIONS = [(0, 0), (1, 1), *((2**i, 2 ** (i + 1) - 1) for i in range(1, 10))]


def text_score(label, seed, length, trained):
    """Between 0 and 1: falls beyond the trained length, by the encoding."""
    _, quality, octaves = ON_TEXT[label]
    beyond = max(math.log2(length / trained), 0.0)
    return quality * math.exp(-beyond / octaves) * (1 + 0.02 * math.sin(5.0 * seed + length + len(label)))


def text_loss(label, seed, length, trained):
    """Nats: falls as the context grows, rises beyond the trained length."""
    return 3.6 - 0.12 * math.log2(min(length, trained) + 1) + 1.5 * (1 - text_score(label, seed, length, trained))


def _translation_scores(label, seed, length, trained):
    value = text_score(label, seed, length, trained)
    return {
        "accuracy": 0.3 + 0.3 * value,
        "exact_match": 0.0,
        "loss": text_loss(label, seed, length, trained),
        "count": 512.0 - 4 * length,
        "chrf": 46.4 * value,
        "bleu": 17.1 * value,
        "decoded": 128,
    }


def _summary_scores(label, seed, length, trained):
    value = text_score(label, seed, length, trained)
    rouge = {"rouge_1": 0.34 * value, "rouge_2": 0.12 * value, "rouge_l": 0.31 * value}
    return {"accuracy": 0.2 + 0.2 * value, "loss": 3 - value, "count": 300.0, **rouge, "decoded": 100}


def _class_scores(label, seed, length, trained):
    right = 0.33 + 0.4 * text_score(label, seed, length, trained)
    return {"accuracy": right, "exact_match": right, "loss": 2 - right, "count": 200.0, "macro_f1": right - 0.05}


def _window_scores(label, seed, length, trained):
    loss = text_loss(label, seed, length, trained)
    both = {"loss": loss, "perplexity": math.exp(loss)}
    return {"accuracy": 0.5 - 0.1 * loss / 3, "exact_match": 0.0, "count": 128.0, **both}


# task_label -> (scores, metric, writes text, unit of lengths, do lengths stand for ranges)
TEXT_TASKS = {
    "en-de": (_translation_scores, "chrf", True, "source tokens", True),
    "summaries": (_summary_scores, "rouge_l", True, "document tokens", True),
    "modules": (_class_scores, "accuracy", False, "tokens", True),
    "lm": (_window_scores, "perplexity", False, "tokens of a window", False),
}


def write_text_ablation(directory: Path, tasks: dict, seeds=SEEDS, labels=tuple(ON_TEXT)) -> Path:
    """An ablation of tasks on text; ``tasks``: task_label -> (longest training length, evaluated lengths)."""
    directory.mkdir(parents=True, exist_ok=True)
    cells, rows = [], []
    for task_label, (trained, lengths) in tasks.items():
        scores_of, *_ = TEXT_TASKS[task_label]
        for label in labels:
            cell = _cell(task_label, label, ON_TEXT[label][0], VASWANI, 0) | {
                "by_position": [],
                "lengths": list(lengths),
            }
            for seed in seeds:
                for length in lengths:
                    where = "within" if length <= trained else "beyond"
                    scores = scores_of(label, seed, length, trained)
                    rows.append(
                        {name: cell[name] for name in ("task_label", "label", "posenc", "config_hash")}
                        | {"seed": seed, "learning_rate": 1e-3, "length": length, "range": where}
                        | {**scores, "validation": text_score(label, seed, 1, trained), "diverged_at": None}
                        | {"mode": "vmap", "group_size": 4, "device_kind": "cpu", "threads": 2}
                    )
                    if "perplexity" in scores:
                        ranges = [
                            [first, last, math.exp(text_loss(label, seed, first + 1, trained))]
                            for first, last in POSITIONS
                            if first < length
                        ]
                        cell["by_position"].append(
                            {"seed": seed, "learning_rate": 1e-3, "length": length, "perplexity": ranges}
                        )
            cells.append(cell)
    of = {label: TEXT_TASKS[label] for label in tasks}
    info = {
        "name": "on_text",
        "title": "Tasks on text by encoding",
        "description": "Trained short, tested long.",
        "baseline": "sinusoidal",
        "seeds": list(seeds),
        "learning_rates": [1e-3],
        "cells": cells,
        "published": [],
        "train_lengths": {label: [1, trained] for label, (trained, _) in tasks.items()},
        "metric": {label: task[1] for label, task in of.items()},
        "validation_metric": dict.fromkeys(tasks, "accuracy"),
        "writes_text": {label: task[2] for label, task in of.items()},
        "length_unit": {label: task[3] for label, task in of.items()},
        "length_names": {
            label: {str(n): f"{n // 2 + 1}-{n}" for n in tasks[label][1]} for label, task in of.items() if task[4]
        },
        "signatures": {label: SIGNATURES for label in tasks if label == "en-de"},
        "task_notes": {label: NOT_WMT for label in tasks if label == "en-de"},
        "chance": dict.fromkeys(tasks, 0.0),
    }
    sealed_files.write(directory / "ablation.json", complete(info))
    sealed_files.write_rows(directory / "results.jsonl", rows)
    return directory
