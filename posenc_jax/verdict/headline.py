"""A card in five lines: which is better where, by how much, how sure that is, at what cost, and what cannot be told."""

import statistics
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.quantities import difference, p_value
from posenc_jax.statistics import CLAIM_SEEDS, Comparison, Share
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.rule import Finding, listed

FOUND = ("better", "worse")
MOST = 4  # of a line; the table below it has all


def headline(
    label: str,
    measured: Mapping[str, Mapping[str, Measured]],
    findings: tuple[Finding, ...],
    kinds: Mapping[str, ScoreKind],
    seeds: int,
) -> tuple[str, str, str, str, str]:
    """The five lines, each a sentence or two.

    Args:
      label: of the encoding that is judged. measured: label -> table -> scores. kinds: table -> what its score is.
      seeds: how many were compared.
    """
    by_baseline: dict[str, list[Finding]] = {}
    for own in findings:
        by_baseline.setdefault(own.baseline, []).append(own)
    several = len(by_baseline) > 1
    where = "; ".join(_where(own, baseline) for baseline, own in by_baseline.items())
    costs = "; ".join(_cost(measured[label], measured[own], own) for own in by_baseline)
    return (
        f"{label} is {where}.",
        f"By how much: {_amounts(findings, kinds, several=several)}.",
        f"How sure: {_sureness(findings, seeds)}.",
        f"At what cost: {costs}.",
        f"What cannot be told: {_untold(findings, kinds, seeds, several=several)}.",
    )


def effect(found: Finding, kind: ScoreKind) -> str:
    """The difference with its interval; where an arm is all or nothing, the share of seeds that solve it instead."""
    return shares(found.comparison, kind, found.solved) if found.solved else difference(found.comparison, kind)


def shares(found: Comparison, kind: ScoreKind, solved: tuple[Share, Share]) -> str:
    """The difference, and the share of seeds that solve it with Wilson's interval, of both arms."""
    ours, theirs = map(share, solved)
    return f"{difference(found._replace(low=None, high=None), kind)} (solved by {ours} against {theirs})"


def share(own: Share) -> str:
    """For example ``3 of 8 [0.14, 0.69]``."""
    return f"{own.solving} of {own.of} [{own.low:.2f}, {own.high:.2f}]"


def _where(found: list[Finding], baseline: str) -> str:
    """For example ``better than RoPE on 2 of 3 tables (copy and even_pairs), worse on none``."""
    of = {word: [_told(own) for own in found if own.word == word] for word in FOUND}
    unlearned = [own.table for own in found if own.word == "did not learn"]
    end = f"; it did not learn {listed(unlearned)} at this budget" if unlearned else ""
    return _compared(found, baseline, of) + end


def _told(found: Finding) -> str:
    return found.table + (f", length {found.carried_by.length} alone" if found.carried_by is not None else "")


def _compared(found: list[Finding], baseline: str, of: Mapping[str, list[str]]) -> str:
    first, second = sorted(FOUND, key=lambda word: not of[word])
    if len(found) == 1:
        word = first if of[first] else "neither better nor worse"
        return f"{word} than {baseline} on {(of.get(word) or [found[0].table])[0]}, the one table"
    if not of[first]:
        return f"neither better nor worse than {baseline} on any of {len(found)} tables"
    other = f"{second} on {len(of[second])} ({listed(of[second])})" if of[second] else f"{second} on none"
    return f"{first} than {baseline} on {len(of[first])} of {len(found)} tables ({listed(of[first])}), {other}"


def _amounts(findings: tuple[Finding, ...], kinds: Mapping[str, ScoreKind], *, several: bool) -> str:
    def amount(own: Finding) -> str:
        return f"{_name(own, several=several)} {effect(own, kinds[own.table])}"

    found = [own for own in findings if own.word in (*FOUND, "did not learn")]
    if found:
        return _some(map(amount, found))
    tested = {own.p: own for own in reversed(findings) if own.p is not None}
    if not tested:
        return "no difference could be tested"
    least = min(tested)
    return f"nothing is found; the nearest is {amount(tested[least])}, with p {p_value(least)}"


def _sureness(findings: tuple[Finding, ...], seeds: int) -> str:
    found = [own.p for own in findings if own.word in FOUND and own.p is not None]
    rows = f"corrected for {len(findings)} row{'s' * (len(findings) != 1)}"
    said = f"no p, {rows}, is as low as 0.05"
    if found:
        chance = p_value(max(found))
        chance = chance.replace("<", "below") if "<" in chance else chance + " at most" * (len(found) > 1)
        said = f"so much comes by chance with p {chance}, {rows}"
    hint = "" if seeds >= CLAIM_SEEDS else f"; from fewer than {CLAIM_SEEDS} seeds all of it is a hint"
    return f"{seeds} seeds; {said}{hint}"


def _cost(ours: Mapping[str, Measured], theirs: Mapping[str, Measured], baseline: str) -> str:
    shared = [(ours[name], theirs[name]) for name in ours if name in theirs]
    timed = [(a.milliseconds_per_step, b.milliseconds_per_step) for a, b in shared]
    ratios = [a / b for a, b in timed if a and b]
    ends = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    time = f"{statistics.median(ratios):.2f} times {baseline}'s time a step{ends}" if ratios else "times are not known"
    own, other = (max(side.num_posenc_parameters for side in of) for of in zip(*shared))
    return f"{time}; {own:,} own parameters ({baseline}: {other:,})"


def _untold(findings: tuple[Finding, ...], kinds: Mapping[str, ScoreKind], seeds: int, *, several: bool) -> str:
    small, blind, few = [], [], []
    for own in findings:
        name, least = _name(own, several=several), own.comparison.detectable
        if own.word == "no difference seen":
            small.append(f"{_missed(least, kinds[own.table])} on {name}")
        elif own.word == "not measurable here":
            blind.append(name)
        elif own.word == "cannot be told":
            needed = own.best_case.would_do if own.best_case is not None else None
            few.append(f"{name} ({'no number' if needed is None else needed} would do)")
    parts = [f"differences {_some(small)}, which {seeds} seeds often miss"] if small else []
    parts += [f"anything with {seeds} seeds on {_some(few)}"] if few else []
    parts += [f"anything on {_some(blind)}, with both at chance or at the best"] if blind else []
    return "; ".join(parts) or "nothing, every row has a word"


def _missed(least: float | None, kind: ScoreKind) -> str:
    """Differences below the detectable one; where that is more than the score can differ by, all."""
    if least is None or least >= kind.bounds[1] - kind.bounds[0]:
        return "of any size"
    return f"below {kind.show(kind.outer(least))}"


def _name(found: Finding, *, several: bool) -> str:
    return f"{found.table} (to {found.baseline})" if several else found.table


def _some(names: Iterable[str]) -> str:
    """The first `MOST`, and how many others there are."""
    every = list(names)
    kept = every if len(every) <= MOST + 1 else every[:MOST]
    return ", ".join(kept) + (f" and {len(every) - len(kept)} more below" if len(kept) < len(every) else "")
