"""Published orders of models that were trained on for a little after a change, written down before measuring.

    posenc context runs/context-small --text runs/texts/*.txt --lengths 1x 2x 4x --measure perplexity \\
        --change none nope "yarn(2)" --recalibrate 100 --output runs/on-100

and the same without --recalibrate (runs/on-0) and with 400; as a control of longer texts alone

    posenc train experiments/context/small.py --init-from runs/context-small --task.max-length 256 --task.row 256 \\
        --training.steps 100 --optimizer.warmup-steps 10 --directory runs/context-256
    posenc context runs/context-256 --text runs/texts/*.txt --lengths 128 256 512 --measure perplexity --change none \\
        --output runs/on256-100

and then

    python -m experiments.context.recalibrated runs/on-0 runs/on-100 runs/on256-100 runs/on-400

The model has seen 400 steps at 128 tokens. `none` and `nope` train on at 128 tokens, `yarn(2)` at 256. What trains on
is compared with `none` that trains on as long: more training alone makes a model better. The last of the directions
and its control were added when the others had been measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from experiments.context.directions import README, TRAINED, Direction, page, results
from posenc_jax.drawing.markdown import refilled

RECORD = Path(__file__).with_name("recalibrated.json")
BEGIN, END = "<!-- recalibrated: recalibrated.json -->", "<!-- end of recalibrated -->"
_DROPE, _YARN = "Gelberg et al. 2025, arXiv:2512.12167", "Peng et al. 2023, arXiv:2309.00071"
DIRECTIONS = (
    Direction(("nope + 100", 1), ("nope", 1), "a little training repairs dropped positions", _DROPE),
    Direction(("nope + 400", 1), ("none", 1), "and regains what the model had", _DROPE),
    Direction(("nope + 100", 4), ("none + 100", 4), "then it reads on better than RoPE", _DROPE),
    Direction(("nope + 400", 4), ("none + 400", 4), "the same, trained longer", _DROPE),
    Direction(("nope + 400", 4), ("yarn(2) + 400", 4), "and better than YaRN", _DROPE),
    Direction(("yarn(2) + 100", 2), ("yarn(2)", 2), "a little training makes YaRN better", _YARN),
    Direction(("yarn(2) + 100", 2), ("none + 100", 2), "trained, YaRN reads on better than RoPE", _YARN),
    Direction(("yarn(2) + 400", 2), ("none + 400", 2), "the same, trained longer", _YARN),
    Direction(("yarn(2) + 100", 2), ("none at 256 + 100", 2), "and where both train on longer texts", _YARN),
)


def together(folders: list[str]) -> list[dict[str, Any]]:
    """The entries of the records of folders called on-STEPS, or onLENGTH-STEPS, their changes with both."""
    found = []
    for folder in folders:
        at, _, steps = Path(folder).name.removeprefix("on").partition("-")
        more = (f" at {at}" if at else "") + (f" + {steps}" if steps != "0" else "")
        for own in json.loads((Path(folder) / "record.json").read_text()):
            found.append({**own, "change": own["change"] + more})
    return found


def main(folders: list[str]) -> None:
    """Judges the records, keeps them and fills the page."""
    RECORD.write_text(json.dumps(results(together(folders), TRAINED, DIRECTIONS)) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(json.loads(RECORD.read_text())), END))


if __name__ == "__main__":
    main(sys.argv[1:])
