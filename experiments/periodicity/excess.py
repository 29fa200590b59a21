"""The alias-excess tables of finished ablations: of the first reading, or of any other of these tasks.

    python -m experiments.periodicity.excess runs/periodicity-full                            # prints Markdown
    python -m experiments.periodicity.excess runs/periodicity-small runs/periodicity-more --write
    python -m experiments.periodicity.excess --write                                          # the tables alone

The second writes first-reading.json, the figures and the tables of first-reading.md, the third the tables from what is
kept. Every number of a table is computed from the scores of each seed that the JSON has.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from experiments.periodicity import figures
from experiments.periodicity.measures import alias_excess, both_signs, pair_excess
from experiments.periodicity.outcome import ALIAS, CONTROL, FAST, HOME, OFFSET, Arm, rank_of, read
from experiments.records import NAMED, short
from posenc_jax.analysis.kernels import lobes
from posenc_jax.config import config_hash
from posenc_jax.drawing.markdown import grid
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import unseal
from posenc_jax.runs.directory import load_stored
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import Interval, mean_interval

HERE = Path(__file__).parent
FILE, PAGE = HERE / "first-reading.json", HERE / "first-reading.md"
_BLOCK = re.compile(r"(<!-- (first|lobes|pairs): ([\w-]+) / ([^>]+) -->\n)(.*?)(<!-- end of first -->)", re.DOTALL)
DRAWN = "periodicity-small"
"""The ablation of the figures: tables of the others have the same names."""
NEAR = (OFFSET - 1, OFFSET, OFFSET + 1)
Json = dict[str, Any]


def numbers(arm: Arm) -> Json:
    """The kept part of an arm: its kernel where tables look, and the scores of every seed; confusion and excess in %
    and points, None for a seed that diverged.
    """
    predicted = arm.predicted()
    found = None if predicted is None else lobes(predicted[: arm.positions - 1])
    lobe = None if found is None or found.offset is None or found.offset < 2 else found.offset

    def of_seed(scores: Json) -> Json:
        asked = scores["asked_by_offset"]
        own = {
            "accuracy": scores["accuracy"],
            "confusion": {k: 100 * both_signs(scores["given_by_offset"], asked, k) for k in (1, FAST, *NEAR)},
            "excess": {k: 100 * alias_excess(scores["given_contrast"], asked, k) for k in (FAST, CONTROL, OFFSET)},
            "of the argmax": 100 * alias_excess(scores["said_contrast"], asked, OFFSET),
        }
        if predicted is not None:
            own["rank"] = rank_of(predicted, scores)
        if lobe is not None:
            own["lobe"] = [
                100 * both_signs(scores["given_by_offset"], asked, lobe),
                100 * alias_excess(scores["given_contrast"], asked, lobe),
            ]
        if "confusion_given" in scores:
            own["pair"] = [100 * part for part in pair_excess(scores["confusion_given"], HOME, ALIAS)]
        return own

    return {
        "table": arm.run.table,
        "label": arm.run.label,
        "config": config_hash(arm.run),
        "kernel": None if predicted is None else {k: float(predicted[k]) for k in NEAR},
        "lobe": None if found is None or lobe is None else [lobe, float(found.level)],
        "seeds": {seed: of_seed(arm.seeds[seed]) if seed in arm.seeds else None for seed in arm.run.seeds},
    }


def collected(directory: Path) -> tuple[str, Json]:
    """The name of an ablation, and what is kept of it."""
    arms = [numbers(arm) for arm in read(directory) if arm.positions - 1 > OFFSET]
    began = [unseal(path.read_bytes())["began"] for path in sorted(directory.glob("*/*/environment.json"))]
    same = {name: began[0][name] for name in NAMED if all(one.get(name) == began[0].get(name) for one in began)}
    return load_stored(directory).name, {"environment": same, "arms": arms}


def as_text(kept: Json) -> str:
    """The file: an arm a line, numbers to five significant digits."""
    parts = []
    for name, one in kept.items():
        arms = ",\n".join(f"  {json.dumps(short(arm))}" for arm in one["arms"])
        parts.append(f'{json.dumps(name)}: {{"environment": {json.dumps(one["environment"])}, "arms": [\n{arms}\n]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def over_seeds(arm: Json, measure: Callable[[Json], float | None], **bounds: float) -> Interval:
    """The mean of a measure over the seeds of an arm."""
    return mean_interval((None if one is None else measure(one) for one in arm["seeds"].values()), **bounds)


def tables(arms: Iterable[Json]) -> str:
    """Markdown, one block for each table of an ablation."""
    arms, lines = list(arms), []
    for name in dict.fromkeys(arm["table"] for arm in arms):
        members = [arm for arm in arms if arm["table"] == name]
        lines += [f"### {name}", "", excess_table(members), "", lobe_table(members), ""]
        if any(_has(arm, "pair") for arm in members):
            lines += [pair_table(members), ""]
    return "\n".join(lines)


def excess_table(arms: list[Json]) -> str:
    """Alias excess at 63, what is beside it, and how far the kernel says all of it."""
    head = (
        "arm",
        "accuracy",
        "kernel at 62, 63, 64",
        "confusion at 1, %",
        "at 62, 63, 64, %",
        "alias excess at 63, points",
        "of the argmax",
        f"excess at {FAST}",
        f"at {CONTROL}",
        "rank correlation with the kernel",
    )
    rows = []
    for arm in arms:
        confusion = [over_seeds(arm, lambda s, k=k: s["confusion"][str(k)]) for k in (1, *NEAR)]
        rows.append(
            (
                arm["label"],
                _mean(over_seeds(arm, lambda s: s["accuracy"]), 3),
                ", ".join(f"{value:.3f}" for value in (arm["kernel"] or {}).values()),
                _mean(confusion[0]),
                ", ".join(map(_mean, confusion[1:])),
                _shown(over_seeds(arm, lambda s: s["excess"][str(OFFSET)])),
                _shown(over_seeds(arm, lambda s: s["of the argmax"])),
                *(_shown(over_seeds(arm, lambda s, k=k: s["excess"][str(k)])) for k in (FAST, CONTROL)),
                _shown(over_seeds(arm, lambda s: s["rank"], lower=-1, upper=1)) if _has(arm, "rank") else "",
            )
        )
    return grid(head, "l" * len(head), rows)


def lobe_table(arms: list[Json]) -> str:
    """Alias excess where theory says it should be largest: at the highest side lobe of each arm's own kernel."""
    rows = []
    for arm in arms:
        if arm["lobe"] is not None:
            offset, level = arm["lobe"]
            there, more = (over_seeds(arm, lambda s, i=i: s["lobe"][i]) for i in (0, 1))
            rows.append((arm["label"], str(offset), f"{level:.3f}", _mean(there), _shown(more)))
    head = ("arm", "highest side lobe at", "kernel", "confusion there, %", "alias excess there, points")
    return grid(head, "l" * len(head), rows)


def pair_table(arms: list[Json]) -> str:
    """Positions 5 and 68 themselves, of the arms that were asked about them."""
    rows = []
    for arm in arms:
        if _has(arm, "pair"):
            here, beside, more = (over_seeds(arm, lambda s, i=i: s["pair"][i]) for i in range(3))
            rows.append((arm["label"], _mean(here), _mean(beside), _shown(more)))
    head = ("arm", f"{HOME} taken for {ALIAS} or back, %", "the places beside, %", "excess, points")
    return grid(head, "l" * len(head), rows)


def _has(arm: Json, name: str) -> bool:
    return any(one is not None and one.get(name) is not None for one in arm["seeds"].values())


def _mean(one: Interval, digits: int = 2) -> str:
    return "" if one.mean is None else f"{one.mean:.{digits}f}"


def _shown(one: Interval) -> str:
    """``+1.23 [0.45, 2.01]``."""
    if one.mean is None:
        return ""
    mean = f"{one.mean:+.2f}".replace("-0.00", "+0.00")
    if one.all_equal:
        return f"{mean} (all seeds equal)"
    return mean if one.low is None else f"{mean} [{one.low:.2f}, {one.high:.2f}]"


def filled(text: str, kept: Json) -> str:
    """A page with its tables as they are now: ``<!-- first: ABLATION / TABLE -->`` and so ``lobes`` and ``pairs``."""
    makers = {"first": excess_table, "lobes": lobe_table, "pairs": pair_table}

    def table(match: re.Match[str]) -> str:
        begin, which, ablation, name, _, end = match.groups()
        arms = [arm for arm in kept[ablation]["arms"] if arm["table"] == name]
        return f"{begin}{makers[which](arms)}\n{end}"

    return _BLOCK.sub(table, text)


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables, or writes them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.excess", description=__doc__)
    parser.add_argument("directories", type=Path, nargs="*", help="finished ablations of full.py, small.py or more.py")
    parser.add_argument("--write", action="store_true", help="write first-reading.json, its page and figures")
    given = parser.parse_args(arguments)
    if not (given.directories or given.write):
        parser.error("name the directory of a finished ablation, or --write the page from what is kept")
    try:
        found = dict(collected(directory) for directory in given.directories)
        if not given.write:
            print("\n".join(tables(one["arms"]) for one in json.loads(as_text(found)).values()))
            return 0
        if found:
            before = json.loads(FILE.read_text()) if FILE.exists() else {}
            write_atomically(FILE, as_text({**before, **found}))
        for name, directory in zip(found, given.directories, strict=True):
            for path in figures.write(read(directory), HERE) if name == DRAWN else ():
                print(f"wrote {path}", file=sys.stderr)
    except RefusedError as error:
        print(f"excess: {error}", file=sys.stderr)
        return 2
    PAGE.write_text(filled(PAGE.read_text(), json.loads(FILE.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
