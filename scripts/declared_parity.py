"""Holds what `posenc rope` says of each type of model to what the classes of transformers do.

    TORCH_PYTHON=PYTHON python scripts/declared_parity.py
    python scripts/declared_parity.py --from FILE    # lines that scripts/class_positions.py printed

measures all decoder types with PYTHON, which has torch and transformers, and keeps the configs, what the classes do
with them, and how what is read here compares, in scripts/docs/declared.json; the page that quotes its counts is
written. Types that are measured and are not in `posenc_jax/huggingface/types.toml` are named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.torch_training import python_with

from posenc_jax.data.errors import DataError
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.encodings.absolute.learned import Learned
from posenc_jax.encodings.absolute.sinusoidal import Sinusoidal
from posenc_jax.encodings.interface.base import Sequence
from posenc_jax.encodings.relative.inkling import Inkling
from posenc_jax.huggingface import Declared, Layer, from_hf
from posenc_jax.huggingface.dialects import STILL

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "docs" / "declared.json"
PAGE = ROOT / "scripts" / "docs" / "guides" / "what-a-config-declares.md"
BEGIN, END = "<!-- declared: written by scripts/declared_parity.py -->", "<!-- end of declared -->"
TOLERANCE = 2e-5
"""Of an angle: those of the classes are float32, through powers, sines and cosines."""
FEW = (0, 1, 2, -2, -1)
"""Kept planes: the first, the last, and the quarters between."""

Json = dict[str, Any]


def main() -> int:
    """Measures, compares and writes."""
    parser = argparse.ArgumentParser(prog="scripts/declared_parity.py", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--from", dest="file", type=Path, help="what scripts/class_positions.py printed")
    given = parser.parse_args()
    if given.file is None:
        python = python_with("torch", "transformers")
        if python is None:
            parser.error("TORCH_PYTHON must name a Python with torch and transformers")
        command = [python, "scripts/class_positions.py"]
        lines = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    else:
        lines = given.file.read_text().splitlines()
    versions, *rows = map(json.loads, lines)
    record = {"versions": versions, "types": {row.pop("type"): thinned(row) for row in rows}}
    for row in record["types"].values():
        for name, config in configs(row).items():
            row["cases"][name]["found"] = verdict(config, row["cases"][name])
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(record["types"].items()))
    RECORD.write_text(f'{{"versions": {json.dumps(versions)}, "types": {{\n{text}\n}}}}\n')
    for path, page in pages().items():
        path.write_text(page)
    for name, row in record["types"].items():
        for case, own in row.get("cases", {}).items():
            if not own["found"].startswith(("right", "the class")):
                print(f"{name}, {case}: {own['found']}")
    return 0


def thinned(row: Json) -> Json:
    """A row with a few of the angles, each kind of layer once, and configs by what they have other than the default."""
    if "cases" not in row:
        return row
    default = row["cases"]["default"]["config"]
    for case in row["cases"].values():
        own = case.pop("config")
        case["with"] = {name: value for name, value in own.items() if name not in default or default[name] != value}
        case["without"] = [name for name in default if name not in own]
        for turn in case.get("turns", []):
            turn["at"] = [None if one is None else _few(one) for one in turn["at"]]
        runs = case.pop("layers", [])
        case["kinds"] = [one for n, (_, one) in enumerate(runs) if one not in [row for _, row in runs[:n]]]
        case["order"] = [case["kinds"].index(one) for count, one in runs for _ in range(count)]
    return {"config": default} | row


def configs(row: Json) -> dict[str, Json]:
    """The configs of a row's cases."""
    return {
        name: {k: v for k, v in row["config"].items() if k not in case["without"]} | case["with"]
        for name, case in row.get("cases", {}).items()
    }


def _few(found: Json) -> Json:
    planes = len(found["planes"])
    kept = sorted({*range(min(2, planes)), planes // 4, planes // 2, planes - 1} & set(range(planes)))
    first = found["planes"][0] if planes else 0
    return {
        "count": planes,
        "first": first,
        "steps": found["steps"],
        "kept": kept,
        "angles": [found["angles"][k] for k in kept],
        "factor": found["factor"],
    }


def verdict(config: Json, case: Json) -> str:
    """ "right", "refused: MESSAGE", or what differs; for a config of which no model was made, who refuses it."""
    if "refused" in case or "failed" in case:
        return f"the class {'refuses it' if 'refused' in case else 'was not measured'}"
    try:
        declared = from_hf(config)
    except DataError as error:
        return f"refused: {str(error)[:150]}"
    return next(differences(declared, case), "right")


def differences(declared: Declared, case: Json) -> Iterator[str]:
    """What is otherwise than in the class, a sentence each."""
    theirs = [case["kinds"][number] for number in case["order"]]
    ours = [layer for layer in declared.layers if layer.kind != "mlp"]
    if len(ours) != len(theirs):  # no class counts those as layers, unless all
        ours = list(declared.layers)
    if theirs and len(ours) < len(theirs):
        yield f"{len(ours)} layers for {len(theirs)}"
        return
    for number, layer in enumerate(ours):
        row = theirs[number] if number < len(theirs) else {}
        for text in _of_layer(layer, row, case["turns"]):
            yield f"layer {number}: {text}"
    tables = [count for _, count in case["tables"] if count]
    learned = [e.max_len for layer in declared.layers[:1] for e in layer.encodings if isinstance(e, Learned)]
    if (tables and learned and tables != learned) or (learned and not tables):
        yield f"tables of {learned} positions for {tables}"
    added = next((e for layer in declared.layers[:1] for e in layer.encodings if isinstance(e, Sinusoidal)), None)
    if sines := case.get("sines"):
        width = sines["width"]
        own = added and added.embed({}, np.zeros((1, 3, width), np.float32), Sequence.of_length(3))[0]
        shown = [0, 1, width // 2 - 1, width // 2, width - 1]
        if own is None or not np.allclose(own[:, shown], sines["rows"], atol=1e-4):
            yield f"adds {None if own is None else own[:, shown]} for {sines['rows']}"


def _of_layer(layer: Layer, row: Json, turns: list[Json]) -> Iterator[str]:
    if "turn" not in row:
        if layer.rotation is not None:
            yield "rotates, and in the class does not"
        if row.get("mask") and layer.kind in STILL and layer.kind != "cross_attention":
            yield f"is of {layer.kind}, and in the class attends"
    elif layer.rotation is None:
        yield "does not rotate, and in the class does"
    else:
        turn = turns[row["turn"]]
        for length, found in zip((2, turn["long"]), turn["at"]):
            if found is not None:
                yield from _of_angles(layer, found, length)
        latent = getattr(layer.rotation, "logit_factor", None)
        if latent is not None and row.get("scaling"):
            scaling = row["scaling"] * row["width"] ** 0.5
            if not np.isclose(latent, scaling, rtol=1e-5):
                yield f"multiplies logits by {latent:.6f} for {scaling:.6f}"
    inkling = next((e for e in layer.encodings if isinstance(e, Inkling)), None)
    ours = inkling and {name: getattr(inkling, name) for name in ("extent", "width", "clip", "floor", "scale")}
    if ours != row.get("relative"):
        yield f"has relative logits {ours} for {row.get('relative')}"
    mask = row.get("mask")
    if mask and (layer.window or None) != mask[1]:
        yield f"has a window of {layer.window} for {mask[1]}"


def _of_angles(layer: Layer, found: Json, length: int) -> Iterator[str]:
    angles = layer.inverse_frequencies(length)
    turning = int(np.count_nonzero(angles))
    if turning != found["count"]:
        yield f"{turning} planes for {found['count']}"
        return
    right = np.array(found["angles"])
    if not np.allclose(angles[found["kept"]], right, rtol=TOLERANCE, atol=1e-12):
        yield f"angles {angles[found['kept']]} for {right} at length {length}"
    if not np.isclose(layer.attention_factor, found["factor"], rtol=1e-5):
        yield f"factor {layer.attention_factor:.6f} for {found['factor']:.6f} at length {length}"
    half = getattr(layer.rotation, "layout", "half") == "half"
    if found["steps"] and half != (found["steps"] != [1]) and found["count"] > 1:
        yield f"pairs {'halves' if half else 'neighbours'}, and the class has steps of {found['steps']}"


WORDS = ("right", "refused", "wrong", "the class refuses it", "the class was not measured")


def counts(record: Json) -> dict[str, Counter[str]]:
    """How many "types", by their default config, and how many "configs" there are of each of `WORDS`; a type of which
    any config is wrong is wrong.
    """
    found: dict[str, Counter[str]] = {"types": Counter(), "configs": Counter()}
    for row in record["types"].values():
        if "cases" in row:
            words = [_word(case["found"]) for case in row["cases"].values()]
            found["types"]["wrong" if "wrong" in words else words[0]] += 1
            found["configs"].update(words)
    return found


def _word(found: str) -> str:
    word = found.partition(":")[0]
    return word if word in WORDS else "wrong"


def pages() -> dict[Path, str]:
    """The page with the counts, as it should be."""
    record = json.loads(RECORD.read_text())
    found = counts(record)
    headings = ["", "all", "right", "refused", "wrong", "refused by the class", "not measured"]
    entries = [
        [name, str(sum(found[name].values())), *(str(found[name][word]) for word in WORDS)]
        for name in ("types", "configs")
    ]
    of = record["versions"]
    said = f"Measured with transformers {of['transformers']} and torch {of['torch'].partition('+')[0]}."
    table = grid(headings, "l" + "r" * (len(headings) - 1), entries)
    return {PAGE: refilled(PAGE.read_text(), BEGIN, f"{table}\n\n{said}", END)}


if __name__ == "__main__":
    raise SystemExit(main())
