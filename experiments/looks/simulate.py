"""How often cards of equal arms say "better" or "worse", by the way in which somebody uses `posenc verdict`.

    python -m experiments.looks.simulate

Scores of both arms are smoothed resamples of committed ones (Shaw's on `copy`, RoPE's on `even_pairs` and
`bucket_sort`), so no word is true. "Before" judges every card by itself, as rule 2 did; "after" is the rule as it is:
`posenc_jax.statistics.judge` with the factors and the other rows of `posenc_jax.verdict.looks`. Written are looks.json
beside this file and the table of the README.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from posenc_jax.data.score_kinds import KINDS
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.statistics import Comparison, judge, paired_comparison
from posenc_jax.verdict.finding import Word
from posenc_jax.verdict.looks import EarlierRow, Pair, elsewhere, times
from posenc_jax.verdict.rule import best_case

CARDS, MOST, SEEDS = 1000, 20, 8
FOLDER = Path(__file__).resolve().parent
RECORD, README = FOLDER / "looks.json", FOLDER / "README.md"
BEGIN, END = "<!-- looks: written by simulate.py -->", "<!-- end of looks -->"
SOURCE = FOLDER.parent / "verdicts" / "shaw-against-rope.json"
ARMS = {"copy": "Shaw", "even_pairs": "RoPE", "bucket_sort": "RoPE"}
RAISED = ((4, 8), (8, 12, 16, 20), (4, 6, 8, 10, 12), tuple(range(4, 21)))
Scores = tuple[np.ndarray, np.ndarray]  # of both arms, [seeds]
_NOTHING: Word = "no difference seen"


def drawn(pool: np.ndarray, seeds: int, rng: np.random.Generator) -> Scores:
    """Scores of two equal arms: a kernel estimate of the pool with its mean and variance."""
    width = pool.std(ddof=1) * len(pool) ** -0.2
    own = pool[rng.integers(0, len(pool), (2, seeds))] + width * rng.standard_normal((2, seeds))
    first, second = np.clip(pool.mean() + (own - pool.mean()) / np.sqrt(1 + width**2 / pool.var()), 0, 1)
    return first, second


def compared(rows: Sequence[Scores], seeds: int) -> list[Comparison]:
    """The comparisons of the first seeds."""
    return [paired_comparison(ours[:seeds].tolist(), theirs[:seeds].tolist()) for ours, theirs in rows]


def card(
    rows: Sequence[Scores],
    found: Sequence[Comparison],
    earlier: Sequence[EarlierRow],
    names: Sequence[str],
    last: bool = True,
) -> list[EarlierRow]:
    """The rows of a card that knows earlier ones, by the functions of the rule.

    Args:
      found: the comparisons of the card.
      last: whether no card comes later, which would ask what could not be told.
    """
    seeds = found[0].pairs
    these = tuple(range(seeds))
    pairs: list[Pair] = [("ours", name, "theirs") for name in names]
    price = times(earlier, dict.fromkeys(pairs, ("", "")), these)
    others = elsewhere(earlier, [(*pair, "", "") for pair in pairs])
    factors = [price[pair] for pair in pairs]
    p = [min(1.0, factor * (own.p or 1.0)) for factor, own in zip(factors, found, strict=True)]
    said = []
    for number, own in enumerate(judge([(own, "higher") for own in found], factors, others)):
        word: Word = own.word
        if word == _NOTHING and not last:
            beside = (*p[:number], *p[number + 1 :], *others)
            theirs = dict(enumerate(rows[number][1][:seeds].tolist()))
            case = best_case(KINDS["accuracy"], None, theirs, beside, factors[number])
            word = word if case.seen else "cannot be told"
        said.append(EarlierRow(*pairs[number], ("", ""), these, found[number].p, word))
    return said


def found(rows: Sequence[EarlierRow]) -> bool:
    """Whether any row has a word."""
    return any(row.word in ("better", "worse") for row in rows)


def alone(comparisons: Sequence[Comparison], others: Sequence[float] = ()) -> bool:
    """Whether a card that knows no others has a word."""
    return any(own.word in ("better", "worse") for own in judge([(own, "higher") for own in comparisons], (), others))


def ways(pools: dict[str, np.ndarray], rng: np.random.Generator) -> Iterator[tuple[str, bool, bool]]:
    """Of one user: way -> whether a word came, before and after."""
    rows = [drawn(pool, MOST, rng) for pool in pools.values()]
    of = functools.cache(lambda seeds: compared(rows, seeds))
    plain, look = alone(of(SEEDS)), (compared(rows[:1], 2)[0].p or 1.0) <= 0.05
    yield "the command as it is: 8 seeds, 3 tables", plain, found(card(rows, of(SEEDS), (), [*pools]))
    yield (
        "stopped at the first look, of 2 seeds, if its uncorrected interval excludes 0; else the card",
        plain or look,
        plain,
    )
    for looks in RAISED:
        before, said, earlier = False, False, list[EarlierRow]()
        for seeds in looks:
            before = before or alone(of(seeds))
            if not said:
                earlier += card(rows, of(seeds), earlier, [*pools], seeds == looks[-1])
                said = found(earlier)
        step = ", ".join(map(str, looks)) if len(looks) < 6 else f"{looks[0]}, {looks[1]}, ..., {looks[-1]}"
        yield f"`--seeds` {step}, stopped at the first word", before, said
    for count in (3, 10):
        chosen = [*pools.values()] if count == 3 else [pools["bucket_sort"]] * count
        first, second = (compared([drawn(pool, SEEDS, rng) for pool in chosen], SEEDS) for _ in range(2))
        together = alone([*first, *second])
        yield f"a word of either training, {count} tables", alone(first) or alone(second), together
    ten = [drawn(pools["bucket_sort"], SEEDS, rng) for _ in range(10)]
    names = [f"table {number}" for number in range(10)]
    every = card(ten, compared(ten, SEEDS), (), names)
    best = min(range(10), key=lambda number: every[number].p or 1.0)
    one = compared([ten[best]], SEEDS)
    again = card([ten[best]], one, every, [names[best]])
    yield "10 tables, then the best one alone by `--tables`", alone(one), found(again)
    ours, theirs = (arm[:12] for arm in rows[2])
    subsets = np.array([*itertools.combinations(range(12), SEEDS)])
    apart = (ours - theirs)[subsets]
    most = subsets[np.argmax(abs(apart.mean(1)) / np.maximum(apart.std(1), 1e-12))]
    picked = alone(compared([(ours[most], theirs[most])], SEEDS))
    yield "the best 8 of 12 seeds of an ablation by `--on DIR`, 1 table", picked, picked


def table(kept: dict) -> str:
    """The table as Markdown."""
    rows = [[name, *(f"{100 * share:.1f}" for share in own)] for name, own in kept["ways"].items()]
    error = 100 * (0.05 * 0.95 / kept["cards"]) ** 0.5
    return (
        f"{grid(('way', 'before', 'after'), 'lrr', rows)}\n\n"
        f"Of {kept['cards']:,} users each; at 5 of 100 the standard error of the simulation is {error:.1f}."
    )


def main() -> None:
    """Writes the record and the page."""
    argparse.ArgumentParser(description=__doc__.partition("\n\n")[0]).parse_args()
    scores = json.loads(SOURCE.read_text())["measured"]
    pools = {name: np.array([*scores[label][name]["scores"].values()]) for name, label in ARMS.items()}
    rng, counted = np.random.default_rng(5), dict[str, np.ndarray]()
    for _ in range(CARDS):
        for name, *hits in ways(pools, rng):
            counted[name] = counted.get(name, np.zeros(2)) + hits
    kept = {"cards": CARDS, "ways": {name: (own / CARDS).round(4).tolist() for name, own in counted.items()}}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, table(kept), END))


if __name__ == "__main__":
    main()
