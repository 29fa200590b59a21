"""The published orders of `directions` on SmolLM2-135M, whose context is 8,192 tokens, at one and two times of it.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.context.texts runs/smollm2 16384 2 runs/two-texts
    posenc context runs/smollm2 --text runs/two-texts/*.txt --lengths 1x 2x --measure perplexity \\
        --change none ntk yarn self_extend "linear(2)" "yarn(2)"
    python -m experiments.context.smollm2 runs/smollm2/context    # the record of posenc context, judged

And at four times of it:

    python -m experiments.context.texts runs/smollm2 32768 1 runs/one-text
    posenc context runs/smollm2 --text runs/one-text/*.txt --lengths 1x 2x 4x --measure perplexity \\
        --output runs/smollm2-longer --change none linear ntk dynamic_ntk yarn longrope self_extend rerope \\
        leaky_rerope string log_scaling nope
    python -m experiments.context.smollm2 runs/smollm2-longer smollm2-longer

Two texts are too few for an interval: an order holds where it holds in each of them, which two fair coins do in one of
four trials. This rule and the orders were written down before a number was seen. Four times the context came later, by
the same rule and of the orders of `directions`, all that its changes and lengths allow: first under `none`, `ntk` and
`yarn`, then under the others. It is of one text, so what holds there is one trial.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from experiments.context.directions import DIRECTIONS, README, Direction, orders, perplexities
from experiments.records import short
from posenc_jax.drawing.markdown import refilled

STUDIES = ("smollm2", "smollm2-longer")
TRAINED = 8192
SAME = {"linear": "linear(2)", "yarn": "yarn(2)"}
"""Changes that take their factor from the length, and what they are at two times the trained one."""


def asked(entries: list[dict[str, Any]]) -> list[tuple[Direction, list[float]]]:
    """The orders whose two sides were measured, each with its differences by text, lower minus higher, in nats."""
    found = {(own["change"], own["length"]): own["loss"] for own in entries}
    rows = []
    for one in DIRECTIONS:
        sides = [
            found.get((word, round(times * TRAINED)), found.get((SAME.get(word), round(times * TRAINED))))
            for word, times in (one.lower, one.higher)
        ]
        if None not in sides:
            rows.append((one, [low - high for low, high in zip(*sides, strict=True)]))
    return rows


def word(differences: list[float]) -> str:
    """What became of an order."""
    if all(own < 0 for own in differences):
        return "as published"
    return "the other way" if all(own > 0 for own in differences) else "texts disagree"


def page(entries: list[dict[str, Any]]) -> str:
    """Perplexity of every change, and what became of the orders."""
    rows = [(one, ", ".join(f"{own:+.3f}" for own in found), word(found)) for one, found in asked(entries)]
    return "\n".join([perplexities(entries, TRAINED), "", orders(rows, ", by text"), ""])


def record(study: str) -> Path:
    """The file of what is kept of a study."""
    return Path(__file__).with_name(f"{study}.json")


def filled(readme: str, study: str) -> str:
    """The page with the section of a study as its record has it."""
    begin, end = f"<!-- {study}: {study}.json -->", f"<!-- end of {study} -->"
    return refilled(readme, begin, page(json.loads(record(study).read_text())), end)


def main(folder: str, study: str = STUDIES[0]) -> None:
    """Keeps the record of a study and fills the page."""
    record(study).write_text(json.dumps(short(json.loads((Path(folder) / "record.json").read_text()))) + "\n")
    README.write_text(filled(README.read_text(), study))


if __name__ == "__main__":
    main(*sys.argv[1:])
