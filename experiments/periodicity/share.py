"""The second reading in tables and a figure, from what `along.py` kept.

    python -m experiments.periodicity.share --from runs/periodicity-along/seeds   # writes side-lobes.json, and the rest
    python -m experiments.periodicity.share                                       # the page and the figure alone

The page is side-lobes.md; every number on it is computed from side-lobes.json and power.json. Other pages have the
short table between two comments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.along import ARMS, LEVELS, SEEDS, Arm, at_accuracy, file_of
from experiments.periodicity.claims import (
    MAIN,
    MEASURES,
    claims,
    later_claims,
    over_seeds,
    through,
    wide_claims,
    widest_claims,
)
from experiments.periodicity.power import FILE as POWER
from experiments.periodicity.share_figures import along_training, by_width, rope_heads
from experiments.periodicity.side_lobes import side_lobes
from experiments.records import NAMED
from posenc_jax.drawing.markdown import grid
from posenc_jax.statistics import Interval, detectable, holm, p_value

HERE = Path(__file__).parent
FILE, PAGE, READING = HERE / "side-lobes.json", HERE / "side-lobes.md", HERE / "second-reading.md"
GUIDE = HERE.parent.parent / "scripts" / "docs" / "guides" / "positions-that-look-alike.md"
Json = dict[str, Any]


def collected(directory: Path, before: Json) -> Json:
    """The kept part of the arms: each seed's measures at each accuracy, and its accuracy and share along training.

    Args:
      before: what was kept until now; of it arms stay that have no file in the directory and are still what they were.
    """
    arms: Json = {}
    for arm in ARMS:
        path, name = file_of(arm, directory), f"{arm.name}, {arm.task}"
        if not path.exists():
            if name in before and before[name]["arm"] == dataclasses.asdict(arm):
                arms[name] = before[name]
            continue
        found = json.loads(path.read_text())
        arms[name] = {
            "arm": found["arm"],
            "environment": {name: found["environment"][name] for name in NAMED if found["environment"].get(name)},
            "processor_seconds": found["processor_seconds"],
            "at": {
                str(level): {
                    seed: _short({m: at_accuracy(_in_percent(rows), level, m) for m in MEASURES})
                    for seed, rows in found["seeds"].items()
                }
                for level in LEVELS
            },
            "last accuracy": {seed: _digits(rows[-1]["accuracy"]) for seed, rows in found["seeds"].items()},
            "along": {
                seed: [[_digits(row["accuracy"]), _digits(row["share"])] for row in rows]
                for seed, rows in found["seeds"].items()
            },
        }
    return {"arms": arms}


def _in_percent(rows: list[Json]) -> list[Json]:
    """The measures with the lift in % of the right answer's logit."""
    return [{**row, "lift": 100 * row["lift"] / row["right"]} for row in rows]


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _short(values: Json) -> Json | None:
    return None if None in values.values() else {name: _digits(value) for name, value in values.items()}


def page(found: Json, power: Json) -> str:
    """The tables in Markdown."""
    parts = [HEAD, "## Claims\n", _claims_table(claims(found)), LATER, _claims_table(later_claims(found))]
    if wide := wide_claims(found):
        parts += [WIDE, _claims_table(wide)]
    if widest := widest_claims(found):
        parts += [WIDEST, _claims_table(widest)]
    for task, title in TITLES.items():
        if not any(arm["arm"]["task"] == task for arm in found["arms"].values()):
            continue
        parts += [f"\n## `{task}`: {title}, at accuracy {MAIN}\n", _arms_table(found, task)]
        measure = "share" if task == "position_of" else "lift"
        parts += [f"\nThe {measure} at every accuracy (seeds that reach it):\n", _levels_table(found, task, measure)]
        parts += [
            "\nThe same of those seeds only that reach all four:\n",
            _levels_table(found, task, measure, all_four=True),
        ]
    parts += ["\n## What could have been seen\n", POWER_TEXT, _power_table(power["rows"], found), ""]
    parts += _computed(found["arms"])
    parts += [f"The simulation: {_machine(power['environment'])}."]
    return "\n".join(parts) + "\n"


def _computed(arms: Json) -> list[str]:
    """A line for each machine and code that arms were computed with."""
    minutes: dict[str, list[float]] = {}
    for arm in arms.values():
        minutes.setdefault(_machine(arm["environment"]), []).append(arm["processor_seconds"] / 60)
    return [f"{len(of)} arms: {machine}, {sum(of):.0f} processor minutes." for machine, of in minutes.items()]


def _machine(run: Json) -> str:
    return (
        f"{run.get('device_count')} devices of {run.get('device_kind')} ({run.get('cpu')}), jax {run.get('jax')}, "
        f"Python {run.get('python')}, code of commit {str(run.get('commit'))[:12]}"
    )


HEAD = f"""# Side lobes: the second reading

    python -m experiments.periodicity.along    # two and a quarter hours on 2 cores, arm by arm, resumable
    python -m experiments.periodicity.share --from runs/periodicity-along/seeds

What is measured, what was expected and how it is tested was written down before the run:
[directions.md](directions.md). `share` is 1 where a model's mean logits rise and fall with the side lobes of the kernel
as much as within its main lobe, and 0 where side lobes count nothing (`side_lobes.py`). `lift`: what
the lobes add to the logit at the peak side lobe, in % of the right answer's. `alias excess`: of the first reading,
points of probability at offset 63 over its neighbours. All at equal accuracy, the seeds of {SEEDS[0]} to {SEEDS[-1]}
that reach it (column "seeds"), mean [95 %]. "can see": the smallest true mean that so many seeds find with power 0.8,
from their own deviation.

![Share along training](side-lobes.png)

Each line is a seed. A learned table has no main lobe, so its share is noise over nothing, and goes beyond the
picture; its lift is what counts. The axes of d 256 and d 512 go further than the others, and the lines of
d 512 begin at accuracy 0.2: before, its shares are noise. A share above 1 is not "as the kernel": logits then follow
the side lobes more than the main one.

![RoPE by the width of its head](side-lobes-rope.png)

![Other encodings by the width of the head](side-lobes-heads.png)
"""

LATER = """
Not among these 13, and corrected as a family of their own: direction 7, written down before the run but without a test;
and what was seen in the numbers ("seen"), of which no test is as good as one that was written down before.
"""

POWER_TEXT = """Simulated observers who name positions by the plain sinusoid's kernel with its side lobes in a
planted share, plus noise of each pair of positions (`power.py`): the smallest share that 12 seeds find with power 0.8,
by the share and by the measure of the first reading, the excess of an offset over its two neighbours, at 63 and at the
peak side lobe. "-": not even a share of 1 is found in this simulation.

Observers of one share differ far less from each other than trained seeds do, so 12 seeds are given the standard
deviation between trained seeds of the plain sinusoid ("spread"; those of the nearest accuracy, then width, where too
few got there), or the simulated one where that is larger. A small share may vary less, and then more is found. The
excess at the peak is given the spread of that at 63: no other was measured.

"measured": the excess at 63 of trained models, whose share is that of the tables above. At accuracy 0.7 and 0.9 and
widths 16 to 64 it lies above that of the whole kernel in simulation: trained models err in ways that these observers
do not, some positions more than others perhaps. So for the excess this is a sketch and no bound, and a "-" does not
say that nothing can be seen.
"""


TITLES = {
    "position_of": "naming a position",
    "token_back": "reading eight positions back",
    "token_at": "reading the position that a token names",
}
WIDE = """
Wide heads of other encodings, and `token_at`: directions 8 to 11, a family of 37.
"""

WIDEST = """
The plain sinusoid at d_model 256 and 512: direction 12, a family of two.
"""

ANSWER = (
    *(f"sinusoidal, d {d}" for d in (8, 16, 32, 64, 128, 256, 512)),
    *(f"{label}, d {d}" for label in ("low side lobes", "learned") for d in (8, 64)),
)
"""The arms of `position_of` that pages show; of `token_back` they show all."""
_BLOCK = re.compile(r"(<!-- side lobes(, by head|) -->\n)(.*?)(<!-- end of side lobes -->)", re.DOTALL)


def answer(found: Json) -> str:
    """The short table that other pages show: naming positions, by encoding and width."""
    there = (name for name in ANSWER if f"{name}, position_of" in found["arms"])
    rows = [(name, *_of_each(found, f"{name}, position_of")) for name in there]
    return grid(("encoding", *_SHOWN_OF_EACH), "lrrrrr", rows) + "\n"


def by_head(found: Json) -> str:
    """The other one: reading eight positions back, by family, width and number of heads."""
    families: dict[str, list[tuple[str, ...]]] = {}
    for name, kept in found["arms"].items():
        arm = kept["arm"]
        if arm["task"] == "token_back":
            family = re.sub(r", (head \d+|\d+ heads of \d+)$", "", arm["name"])
            row = (family, str(arm["d_model"] // arm["heads"]), str(arm["heads"]), *_of_each(found, name))
            families.setdefault(family, []).append(row)
    rows = [row for of in families.values() for row in of]
    return grid(("encoding", "head_dim", "heads", *_SHOWN_OF_EACH), "lrrrrrrr", rows) + "\n"


_SHOWN_OF_EACH = (
    "seeds",
    "share of the side lobes",
    "lift, % of the right logit",
    "kernel's own lift, %",
    "alias excess at 63, points",
)


def _of_each(found: Json, arm: str) -> list[str]:
    share, lift, excess = (over_seeds(found, arm, MAIN, measure) for measure in MEASURES)
    own = own_lift(found["arms"][arm]["arm"])
    return [str(share.n), _shown(share), _shown(lift), f"{own:.2f}", _shown(excess)]


def own_lift(arm: Json) -> float:
    """The lift, in %, in the kernel itself that an arm is looked at with: of a model whose logits are its multiple."""
    values = Arm(**arm).predicted()
    pairs = np.append(len(values), 2 * np.arange(len(values) - 1, 0, -1))
    return 100 * side_lobes(values, values, pairs).lift / float(values[0])


def pages() -> list[Path]:
    """Pages that show `answer` or `by_head`."""
    return [page for page in (HERE / "README.md", READING, GUIDE) if _BLOCK.search(page.read_text())]


def filled(text: str, found: Json) -> str:
    """A page with the tables as they are now."""
    return _BLOCK.sub(lambda match: f"{match[1]}{(by_head if match[2] else answer)(found)}{match[4]}", text)


def _claims_table(tested: dict[str, Interval]) -> str:
    adjusted = holm({name: p for name, one in tested.items() if (p := p_value(one)) is not None})
    rows = [
        (name, str(one.n), _shown(one), _seen(one), f"{adjusted[name]:.2g}" if name in adjusted else "")
        for name, one in tested.items()
    ]
    return grid(("claim", "seeds", "mean [95 %]", "can see", "p, Holm"), "lrrrr", rows)


def _arms_table(found: Json, task: str) -> str:
    naming = task == "position_of"
    rows = []
    for name, kept in found["arms"].items():
        if kept["arm"]["task"] != task:
            continue
        one = {measure: over_seeds(found, name, MAIN, measure) for measure in MEASURES}
        main = one["share" if naming else "lift"]
        last = kept["last accuracy"].values()
        rows.append(
            (
                kept["arm"]["name"],
                str(main.n),
                _shown(main),
                _seen(main),
                *([_shown(one["lift"])] if naming else []),
                _shown(one["alias_excess"]),
                f"{min(last):.2f} to {max(last):.2f}",
            )
        )
    head = ("arm", "seeds", "share" if naming else "lift, %", "can see", *(["lift, %"] if naming else []))
    return grid((*head, "alias excess, points", "accuracy in the end"), "l" + "r" * (len(head) + 1), rows)


def _levels_table(found: Json, task: str, measure: str, all_four: bool = False) -> str:
    rows = []
    for name, kept in found["arms"].items():
        if kept["arm"]["task"] == task:
            seeds = through(found, name, LEVELS) if all_four else SEEDS
            each = [over_seeds(found, name, level, measure, seeds=seeds) for level in LEVELS]
            if any(one.n for one in each):
                rows.append((kept["arm"]["name"], *(f"{_shown(one)} ({one.n})" if one.n else "" for one in each)))
    return grid(("arm", *(f"at {level}" for level in LEVELS)), "l" + "r" * len(LEVELS), rows)


def _power_table(power: list[Json], found: Json) -> str:
    rows = []
    for row in power:
        share, alias, peak = (row[name] for name in ("share", "alias excess", "excess at the peak"))
        arm = f"sinusoidal, d {row['d_model']}, position_of"
        real = over_seeds(found, arm, row["accuracy"], "alias_excess") if arm in found["arms"] else None
        rows.append(
            (
                *(str(row[name]) for name in ("d_model", "accuracy")),
                f"{share['deviation']:.2g}",
                share["seeds"] if share["deviation"] == share["between seeds"] else "simulated",
                _smallest(share),
                f"{alias['of the whole kernel'][0]:.2g}",
                "" if real is None or real.mean is None else _shown(real, 3),
                _smallest(alias),
                _smallest(peak),
            )
        )
    head = ("d_model", "accuracy", "spread of the share", "of seeds", "share found by the share")
    excess = ("excess at 63, whole kernel", "measured", "share found by it", "by that at the peak")
    return grid((*head, *excess), "rrrlrrrrr", rows)


def _smallest(measure: Json) -> str:
    return "-" if measure["smallest found"] is None else f"{measure['smallest found']:.2g}"


def _shown(one: Interval, digits: int = 2) -> str:
    if one.mean is None:
        return ""
    mean, *ends = (None if x is None else f"{x:.{digits}f}" for x in (one.mean, one.low, one.high))
    return f"{mean}" if None in ends else f"{mean} [{ends[0]}, {ends[1]}]"


def _seen(one: Interval) -> str:
    return f"{detectable(one.deviation, one.n):.2f}" if one.deviation else ""


def main(arguments: list[str] | None = None) -> int:
    """Writes what follows from what is kept."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.share", description=__doc__)
    parser.add_argument("--from", dest="directory", type=Path, help="where along.py kept the arms")
    given = parser.parse_args(arguments)
    if given.directory is not None:
        if not any(file_of(arm, given.directory).exists() for arm in ARMS):
            parser.error(f"{given.directory} has no arm: run python -m experiments.periodicity.along first")
        found = collected(given.directory, json.loads(FILE.read_text())["arms"])
        arms = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kept)}" for name, kept in found["arms"].items())
        FILE.write_text(f'{{"arms": {{\n{arms}\n}}}}\n')
    found = json.loads(FILE.read_text())
    PAGE.write_text(page(found, json.loads(POWER.read_text())))
    for other in pages():
        other.write_text(filled(other.read_text(), found))
    along_training(found, HERE / "side-lobes.png")
    rope_heads(found, HERE / "side-lobes-rope.png")
    by_width(found, HERE / "side-lobes-heads.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
