"""The first sentences of a card: the verdict, the row with the smallest p, seeds, costs, and what is often missed."""

import statistics
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.quantities import difference, p_value
from posenc_jax.statistics import CLAIM_SEEDS, Comparison, Share
from posenc_jax.verdict.finding import WORDS, Finding, in_prose, listed, of_rows, with_p
from posenc_jax.verdict.looks import EarlierRow, named
from posenc_jax.verdict.measuring import Measured

MOST = 4  # names in a sentence; the table below it has all


def headline(
    sentences: tuple[str, ...],
    measured: Mapping[str, Mapping[str, Measured]],
    findings: tuple[Finding, ...],
    kinds: Mapping[str, ScoreKind],
    seeds: tuple[int, ...],
    earlier: tuple[EarlierRow, ...],
    corrected: int,
) -> tuple[str, ...]:
    """At most five sentences; the columns of the table of findings say the same of every row.

    Args:
      sentences: the verdict in words, one sentence an encoding and baseline.
      measured: label -> table -> scores.
      kinds: table -> what its score is.
      seeds: those compared.
      earlier: rows of earlier cards.
      corrected: how many rows were corrected together.
    """
    labels = tuple(dict.fromkeys(own.label for own in findings))
    pairs = dict.fromkeys((own.label, own.baseline) for own in findings)
    rows = [(row_name(own, labels, findings), own) for own in findings]
    return (
        sentences[0] if len(sentences) == 1 else _by_word(rows, corrected),
        _most_certain(rows, kinds),
        _seeds(findings, seeds, earlier),
        f"Cost: {_some((_cost(measured, *pair) for pair in pairs), '; ')}.",
        *_missed(rows, kinds, len(seeds)),
    )


def row_name(found: Finding, labels: tuple[str, ...], findings: Iterable[Finding]) -> str:
    """The name of a row among others: its table, its encoding, or both, and its baseline, as far as they differ."""
    every = list(findings)
    tables = {own.table for own in every}
    where = found.table if len(labels) == 1 else f"{found.label} on {found.table}" if len(tables) > 1 else found.label
    return f"{where} (to {found.baseline})" if len({own.baseline for own in every}) > 1 else where


def effect(found: Finding, kind: ScoreKind) -> str:
    """The difference with its interval; where an arm is all or nothing, the share of seeds that solve it instead, and
    where nothing is measurable no interval.
    """
    if found.solved:
        return shares(found.comparison, kind, found.solved)
    ends = found.word == "not measurable here"
    return difference(found.comparison._replace(low=None, high=None) if ends else found.comparison, kind)


def shares(found: Comparison, kind: ScoreKind, solved: tuple[Share, Share]) -> str:
    """The difference, and the share of seeds that solve it with Wilson's interval, of both arms."""
    ours, theirs = map(share, solved)
    return f"{difference(found._replace(low=None, high=None), kind)} (solved by {ours} against {theirs})"


def share(own: Share) -> str:
    """A share in words, such as ``3 of 8 [0.14, 0.69]``."""
    return f"{own.solving} of {own.of} [{own.low:.2f}, {own.high:.2f}]"


def _by_word(rows: list[tuple[str, Finding]], corrected: int) -> str:
    """The rows of each word with its qualification, and their p."""
    of: dict[str, list[str]] = {}
    for name, own in sorted(rows, key=lambda row: WORDS.index(row[1].word)):
        of.setdefault(in_prose(own.said, own.comparison.pairs), []).append(with_p(name, own))
    parts = (f"{said}: {_some(names)}" for said, names in of.items())
    return f"{len(rows)} rows ({of_rows(corrected)}): {'; '.join(parts)}."


def _most_certain(rows: list[tuple[str, Finding]], kinds: Mapping[str, ScoreKind]) -> str:
    blind = "neither beats an answer that does not look"
    tested = [(own.p, name, own) for name, own in rows if own.p is not None and own.word != blind]
    if not tested:
        return "No difference could be tested."
    p, name, own = min(tested, key=lambda one: one[0])
    return f"Smallest p: {p_value(p)}, for {name}: {effect(own, kinds[own.table])}."


def _seeds(findings: tuple[Finding, ...], seeds: tuple[int, ...], earlier: tuple[EarlierRow, ...]) -> str:
    fewest = min((own.comparison.pairs for own in findings), default=len(seeds))
    chosen = "" if seeds == tuple(range(len(seeds))) else f" ({named(seeds)}, which were chosen)"
    cards = [str(n) for n in sorted({len(own.seeds) for own in earlier})]
    before = f", after earlier cards of {listed(cards)} seeds" if cards else ""
    lost = "" if fewest == len(seeds) else f", of which a row has {fewest} pairs, since others diverged"
    hint = "" if fewest >= CLAIM_SEEDS else f"; with fewer than {CLAIM_SEEDS}, all of this is only a hint"
    return f"Paired seeds: {len(seeds)}{chosen}{lost}{before}{hint}."


def _cost(measured: Mapping[str, Mapping[str, Measured]], label: str, baseline: str) -> str:
    tables = [name for name in measured[label] if name in measured[baseline]]
    shared = [(measured[label][name], measured[baseline][name]) for name in tables]
    time, found = "", [own for name in tables if (own := time_ratio(measured, name, label, baseline)) is not None]
    if found:
        clock = "processor time" if any(own["platform"] == "cpu" for own in shared[0][0].environments) else "time"
        ratio, spread = statistics.median(ratio for ratio, _ in found), max(spread for _, spread in found)
        runs = f"runs of one arm differ by a factor of {spread:.2f} at most"
        time = f"{ratio:.2f} times {baseline}'s {clock} per step ({runs}); "
    own, other = (max(side.num_posenc_parameters for side in of) for of in zip(*shared))
    return f"{label}: {time}{own:,} parameters of the encoding ({baseline}: {other:,})"


def time_ratio(
    measured: Mapping[str, Mapping[str, Measured]], table: str, label: str, baseline: str
) -> tuple[float, float] | None:
    """The time of a step of training, divided by that of the baseline, and that of the slowest group of any arm of the
    table, divided by that of its fastest; None where the second is as large.
    """
    arms = {name: of[table] for name, of in measured.items() if table in of}
    (ours, our_spread), (theirs, their_spread) = (
        (own.milliseconds_per_step, own.time_spread) for own in (arms[label], arms[baseline])
    )
    if not (ours and theirs and our_spread and their_spread):
        return None
    ratio, spread = ours / theirs, max(own.time_spread or 1.0 for own in arms.values())
    return (ratio, spread) if max(ratio, 1 / ratio) > spread else None


def _missed(rows: list[tuple[str, Finding]], kinds: Mapping[str, ScoreKind], seeds: int) -> Iterable[str]:
    """A sentence on the differences that would often be missed, where a row has none."""
    small = []
    for name, own in rows:
        kind, least = kinds[own.table], own.comparison.detectable
        if own.word == "no difference seen":
            if least is None or least >= kind.bounds[1] - kind.bounds[0]:
                small.append(f"of any size for {name}")
            else:
                size = "within a factor of" if kind.logarithmic else "below"
                small.append(f"{size} {kind.show(kind.outer(least))} for {name}")
    return [f"Differences that {seeds} seeds often miss: {_some(small)}."] if small else []


def _some(names: Iterable[str], between: str = ", ") -> str:
    """The first `MOST`, and how many others there are."""
    every = list(names)
    kept = every if len(every) <= MOST + 1 else every[:MOST]
    return between.join(kept) + (f" and {len(every) - len(kept)} more in the table" if len(kept) < len(every) else "")
