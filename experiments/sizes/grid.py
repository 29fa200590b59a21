"""The ablation over sizes: tables of verdicts and the language model at three sizes, of four times the parameters each.

A width is doubled and the heads with it, so that every head keeps its dimension and an encoding its frequencies.
"""

import dataclasses

from experiments.language_model.small import base as language_model
from posenc_jax import Ablation, Run, parse
from posenc_jax.verdict.own_questions import SHORT_LIST
from posenc_jax.verdict.tables import SEEDS, Table, tables

BASELINE = "rope"
WIDTHS = {"d32": 32, "d64": 64, "d128": 128}
HEAD = 16
TABLES = ("copy", "copy_digits", "even_pairs", "bucket_sort", "python docs")


def sized(run: Run, table: str, size: str) -> Run:
    """The run at a size, as a table of its own."""
    width = WIDTHS[size]
    model = dataclasses.replace(run.model, d_model=width, num_heads=width // HEAD)
    return dataclasses.replace(run, table=f"{table} {size}", model=model)


def questions(names: tuple[str, ...]) -> dict[str, Run]:
    """The runs that are asked at every size, the encoding left open."""
    known = tables()
    return {name: language_model if name == "python docs" else known[name].run for name in names}


def ablation(name: str, names: tuple[str, ...], encodings: tuple[str, ...] = SHORT_LIST, **changed: object) -> Ablation:
    """Every encoding on every question at every size; fields are set from the training lengths, as in verdicts.

    Args:
      changed: fields of all runs.
    """
    runs = []
    for table, run in questions(names).items():
        for size in WIDTHS:
            own = dataclasses.replace(sized(run, table, size), label="", posenc=(), **changed)
            asked = Table(own.table, "", "", own, own, published=False)
            runs += [asked.cell(parse(text), text, own.seeds) for text in encodings]
    return Ablation(name=name, runs=tuple(runs), baseline=BASELINE, description=__doc__ or "")


def full() -> Ablation:
    """Four tables and the language model, eight encodings, eight seeds."""
    return ablation("sizes", TABLES, seeds=SEEDS)
