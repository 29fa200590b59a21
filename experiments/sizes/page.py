"""The pages on results over sizes, and their picture, from the files in `kept`.

    python -m experiments.sizes.page

A table that has been run to its end is kept there by ``python -m experiments.sizes.trend runs/... --keep FILE``.
"""

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from experiments.sizes.grid import BASELINE, TABLES, WIDTHS, full
from experiments.sizes.trend import Row, joined, rows_of, table_of
from experiments.tables.results import Results, Selection, read_results
from posenc_jax.drawing.markdown import code, grid, refilled
from posenc_jax.drawing.paper import figure_of, legend, png, source_of_png
from posenc_jax.drawing.plots import Axis, Lines, PlotLine
from posenc_jax.drawing.printed import draw_lines
from posenc_jax.drawing.style import styles
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import target
from posenc_jax.statistics import holm, mean_interval, p_value
from posenc_jax.verdict.finding import listed

FOLDER = Path(__file__).parent
KEPT = FOLDER / "kept"
README = FOLDER / "README.md"
PICTURE = FOLDER / "leads.png"
BEGIN, END = "<!-- Leads: written by page.py -->", "<!-- end of leads -->"
GUIDE = FOLDER.parent.parent / "scripts" / "docs" / "guides" / "which-encoding-when.md"
BEGIN_GUIDE, END_GUIDE = "<!-- Sizes: written by experiments/sizes/page.py -->", "<!-- end of sizes -->"


def main(arguments: list[str] | None = None) -> None:
    """Writes both pages, and the picture where it shows something else."""
    parser = argparse.ArgumentParser(prog="python -m experiments.sizes.page", description=__doc__)
    parser.parse_args(arguments)
    try:
        found = kept()
        texts = pages(found)
    except ValueError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    for path, text in texts.items():
        path.write_text(text)
    if source_of_png(PICTURE) != digest():
        PICTURE.write_bytes(drawn(rows_of(found)))


def kept() -> Results:
    """The results of all tables that are kept, in the order of `TABLES`.

    Raises:
      ValueError: there are none, or a file is not named after a table or damaged.
    """
    every = {path.stem: read_results(path) for path in sorted(KEPT.glob("*.json"))}
    names = [name.replace(" ", "_") for name in TABLES]
    if not every or (others := sorted(every.keys() - {*names})):
        wrong = f"{', '.join(others)} is not named after one" if every else "there is none"
        raise ValueError(f"{KEPT} has a file for each table, of {', '.join(names)}, and {wrong}")
    return joined([own for name in names if (own := every.get(name)) is not None])


def pages(found: Results) -> dict[Path, str]:
    """The README with the results, and the guide with a summary of them."""
    rows = rows_of(found)
    picture = f"![The lead at each size]({PICTURE.name})"
    parts = [summary(rows), not_run(rows), picture, table_of(rows), of_baseline(found) + unused(found)]
    parts += [rates(found), cost(found)]
    text = "\n\n".join(part for part in parts if part)
    question = (
        f"Does a lead over {BASELINE} change with the size of the model? [Three sizes](../../../experiments/sizes/"
        f"README.md) were compared: {listed([*WIDTHS])}, named by the width, each with about four times the parameters "
        "of the one before (fewer on `python docs`, whose vocabulary does not grow)."
    )
    guide = f"{question} {summary(rows)}{falls(found)}{unused(found)}"
    return {
        README: refilled(README.read_text(), BEGIN, text, END),
        GUIDE: refilled(GUIDE.read_text(), BEGIN_GUIDE, guide, END_GUIDE),
    }


def summary(rows: tuple[Row, ...]) -> str:
    """How many leads grow and shrink, and a table of which."""
    tables = tuple(dict.fromkeys(row.table for row in rows))
    of, turned = {(row.label, row.table): row for row in rows}, turns(rows)
    entries = [
        [label, *("" if (own := of.get((label, table))) is None else _cell(own, turned) for table in tables)]
        for label in dict.fromkeys(row.label for row in rows)
    ]
    grow, shrink, unknown = (sum(row.word == word for row in rows) for word in ("grows", "shrinks", "cannot be told"))
    first, *_, last = WIDTHS
    return (
        f"Of {len(rows)} leads over {BASELINE}, {grow} grow with size, {shrink} shrink, and {unknown} cannot be told "
        "(-):\n\n"
        f"{grid(('encoding', *map(code, tables)), 'l' * (1 + len(tables)), entries)}\n\n"
        f"Words are corrected for all {len(rows)} leads. An asterisk marks leads with a size at which an arm did not "
        f"learn the task. {'In brackets: leads that have' if turned else 'No lead has'} another sign at {last} than at "
        f"{first} with a p of at most 0.05 at both, corrected for these {2 * len(rows)} by Holm's method."
    )


def _cell(row: Row, turned: dict[tuple[str, str], str]) -> str:
    said = "-" if row.word == "cannot be told" else row.word + "\\*" * bool(row.unlearned)
    return said + turned.get((row.label, row.table), "")


def turns(rows: tuple[Row, ...]) -> dict[tuple[str, str], str]:
    """(encoding, table) -> words on a lead whose sign is another at the largest size than at the smallest, where p of
    both ends is at most 0.05, corrected for both ends of all leads.
    """
    ends = {
        (row.label, row.table, place): mean_interval([*list(row.leads.values())[place].values()])
        for row in rows
        for place in (0, -1)
    }
    p = holm({str(end): known for end, own in ends.items() if (known := p_value(own)) is not None})
    sides = {
        end: "" if own.mean is None or p.get(str(end), 1.0) > 0.05 else "ahead" if own.mean > 0 else "behind"
        for end, own in ends.items()
    }
    both = {(row.label, row.table): [sides[row.label, row.table, place] for place in (0, -1)] for row in rows}
    return {name: f" (from {old} to {new})" for name, (old, new) in both.items() if {old, new} == {"ahead", "behind"}}


def not_run(rows: tuple[Row, ...]) -> str:
    """The tables that have no results yet; "" if there are none."""
    lacking = [code(name) for name in TABLES if code(name) not in _tables(rows)]
    return f"Not run yet: {listed(lacking)}." if lacking else ""


def _tables(rows: tuple[Row, ...]) -> list[str]:
    return [code(name) for name in dict.fromkeys(row.table for row in rows)]


def of_baseline(found: Results) -> str:
    """The baseline's own scores at every size, beyond the training lengths."""
    said = []
    for name in _names(found):
        every = [Selection(f"{name} {size}") for size in WIDTHS]
        kind = found.kind(every[0])
        shown = [kind.show(kind.mean(found.scores(own, BASELINE).values())) for own in every]
        said.append(f"{kind.title} {listed(shown)} on {code(name)}")
    scores = f"The scores of {BASELINE} itself at {listed([*WIDTHS])}, beyond the training lengths: {'; '.join(said)}."
    return scores + falls(found)


def falls(found: Results) -> str:
    """A sentence on the tables where the baseline is worse at the largest size than at the one before, with a p of at
    most 0.05, corrected for all tables; "" if there are none.
    """
    *_, before, largest = WIDTHS
    changes = {}
    for name in _names(found):
        first, last = (Selection(f"{name} {size}") for size in (before, largest))
        kind, old, new = found.kind(first), found.scores(first, BASELINE), found.scores(last, BASELINE)
        sign = 1 if kind.better == "higher" else -1
        changes[name] = mean_interval(
            sign * (kind.inner(new[seed]) - kind.inner(old[seed])) for seed in old if seed in new
        )
    p = holm({name: known for name, own in changes.items() if (known := p_value(own)) is not None})
    lower = [code(name) for name, own in changes.items() if own.mean and own.mean < 0 and p.get(name, 1.0) <= 0.05]
    if not lower:
        return ""
    return (
        f" On {listed(lower)} {BASELINE} itself is worse at {largest} than at {before} (corrected for {len(changes)} "
        "tables), which adds to every lead there."
    )


def unused(found: Results) -> str:
    """A sentence on the encodings whose perplexity differs by less than 1 % from NoPE's at every size, within the
    training lengths too; "" if there are none.
    """
    said = []
    for name in _names(found):
        every = [Selection(f"{name} {size}") for size in WIDTHS]
        kind = found.kind(every[0])
        every += [Selection(own.table, where="within") for own in every]
        means = {
            label: [kind.mean(found.scores(own, label).values()) for own in every]
            for label in dict.fromkeys(cell.label for cell in found.cells if cell.table == every[0].table)
        }
        none = means.pop("nope", None)
        if kind.better == "higher" or none is None:
            continue
        if alike := [label for label, own in means.items() if np.allclose(own, none, rtol=0.01, atol=0)]:
            said.append(f"{listed(alike)} on {code(name)}")
    if not said:
        return ""
    return (
        f" The scores of {listed(said)} differ by less than 1 % from those of nope at every size, so their rows say "
        "little beyond that of nope: these encodings have hardly been trained yet."
    )


def _names(found: Results) -> list[str]:
    return [*dict.fromkeys(table.rpartition(" ")[0] for table in found.tasks)]


def cost(found: Results) -> str:
    """The time of the runs, and of all of them on another machine."""
    plans = [plan_of(run, target("h100")) for run in full().runs]
    minutes = 60 * sum(plan.hours or 0.0 for plan in plans)
    return (
        f"The runs behind these results took {sum(cell.seconds for cell in found.cells) / 3600:.1f} hours on one core. "
        f"On one H100 the matrix products of all {len(TABLES)} tables would take {minutes:.1f} minutes at "
        f"{100 * plans[0].utilisation:g} % of its peak (`posenc plan experiments/sizes/full.py --target h100`), of "
        "which such small models reach less; nobody has run them there."
    )


def rates(found: Results) -> str:
    """How often the largest learning rate of a cell was chosen at each size."""
    shares = []
    for size in WIDTHS:
        cells = [cell for cell in found.cells if cell.table.endswith(f" {size}") and len(cell.tried) > 1]
        chosen = [rate == max(cell.tried) for cell in cells for rate in cell.learning_rates.values()]
        shares.append(f"{sum(chosen)} of {len(chosen)} at {size}")
    return (
        f"The larger of two learning rates was chosen, which takes a higher validation score, for {listed(shares)}. "
        "With two rates every choice is at an end of its grid, so a lead may also change because one of them suits "
        "a size better."
    )


def digest() -> str:
    """Digest of the results that the picture shows, and of what draws it."""
    files = [*sorted(KEPT.glob("*.json")), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def drawn(rows: tuple[Row, ...]) -> bytes:
    """The bytes of a PNG: a panel for each table, the mean lead at each size with its interval over seeds."""
    tables = tuple(dict.fromkeys(row.table for row in rows))
    height, columns = 0.4 + 1.9 * -(-len(tables) // 2), 2
    with figure_of(6.4, height) as figure:
        grid = figure.subplots(-(-len(tables) // columns), columns, squeeze=False)
        named: dict[str, Any] = {}
        for axes, table in zip(grid.flat, tables):
            named |= draw_lines(axes, _panel(table, [row for row in rows if row.table == table]), 7)
            axes.set_title(table, fontsize=8, loc="left", pad=3)
        for axes in grid.flat[len(tables) :]:
            axes.set_visible(False)
        legend(figure, named, beside=7, height=height)
        return png(figure, 200, digest())


def _panel(table: str, rows: list[Row]) -> Lines:
    look = styles(tuple(row.label for row in rows))
    lines = []
    for number, row in enumerate(rows):
        beside = 1.03 ** (number - (len(rows) - 1) / 2)  # so that the bars of two lines do not hide one another
        intervals = [mean_interval([*own.values()]) for own in row.leads.values()]
        lines.append(
            PlotLine(
                name=row.label,
                x=np.array([*row.leads]) * beside,
                y=np.array([own.mean for own in intervals]),
                low=np.array([np.nan if own.low is None else own.low for own in intervals]),
                high=np.array([np.nan if own.high is None else own.high for own in intervals]),
                style=look[row.label],
            )
        )
    x = Axis("width of the model", logarithmic=True, ticks=tuple(rows[0].leads), names=tuple(WIDTHS))
    return Lines(
        slug="",
        title=table,
        x=x,
        y=Axis(f"lead over {BASELINE}"),
        lines=tuple(lines),
        markers=True,
        bars=True,
        levels=((0.0, ""),),
    )


if __name__ == "__main__":
    main()
