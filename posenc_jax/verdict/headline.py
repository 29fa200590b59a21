"""The five lines of a card: what is better and where, by how much, how sure, at what cost, and what stays unknown."""

import statistics
from collections.abc import Callable, Container, Iterable, Mapping

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.quantities import difference, p_value
from posenc_jax.statistics import CLAIM_SEEDS, Comparison, Share
from posenc_jax.verdict.finding import WORDS, Finding, listed
from posenc_jax.verdict.measuring import Measured

FOUND = ("better", "worse")
MOST = 4  # of a line; the table below it has all


def headline(
    labels: tuple[str, ...],
    measured: Mapping[str, Mapping[str, Measured]],
    findings: tuple[Finding, ...],
    kinds: Mapping[str, ScoreKind],
    seeds: int,
    orderless: Container[tuple[str, str]] = (),
) -> tuple[str, str, str, str, str]:
    """The five lines, each a sentence or two.

    Args:
      labels: of the encodings that are judged.
      measured: label -> table -> scores.
      kinds: table -> what its score is.
      seeds: how many were compared.
      orderless: arms and tables for which more steps do not help, as encoders without positions.
    """
    pairs: dict[tuple[str, str], list[Finding]] = {}
    for own in findings:
        pairs.setdefault((own.label, own.baseline), []).append(own)
    costs = {pair: _cost(measured[pair[0]], measured[pair[1]], pair[1]) for pair in pairs}
    if len(labels) == 1:
        first = f"{labels[0]} is {'; '.join(_where(own, baseline, orderless) for (_, baseline), own in pairs.items())}"
        cost = "; ".join(costs.values())
    else:
        first = "; ".join(_ranked(findings, baseline, kinds) for baseline in dict.fromkeys(own for _, own in pairs))
        cost = _some(f"{label} {said}" for (label, _), said in costs.items())

    def name(own: Finding) -> str:
        return row_name(own, labels, findings)

    at = "on" if len(labels) == 1 else "for"  # rows are named by their tables, or by their encodings

    return (
        f"{first}.",
        f"By how much: {_amounts(findings, kinds, name)}.",
        f"How sure: {_sureness(findings, seeds)}.",
        f"At what cost: {cost}.",
        f"What cannot be told: {_untold(findings, kinds, seeds, name, at, orderless)}.",
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


def _ranked(findings: Iterable[Finding], baseline: str, kinds: Mapping[str, ScoreKind]) -> str:
    """Encodings by word, the best first: ``Against RoPE on copy: better: ALiBi, T5 bias; no difference seen: NoPE``."""
    own = [one for one in findings if one.baseline == baseline]
    tables = list(dict.fromkeys(one.table for one in own))

    def height(one: Finding) -> float:
        difference = one.comparison.difference or 0.0
        return difference if kinds[one.table].better == "higher" else -difference

    parts = []
    for word in WORDS:
        those = sorted((one for one in own if one.word == word), key=height, reverse=True)
        names = (one.label + f" on {one.table}" * (len(tables) > 1) + _limited(one, " at") + one.later for one in those)
        parts += [f"{word}: {_some(names)}"] * bool(those)
    return f"Against {baseline} on {listed(tables)}: {'; '.join(parts)}"


def _where(found: list[Finding], baseline: str, orderless: Container[tuple[str, str]]) -> str:
    """The comparison in words: ``better than RoPE on 2 of 3 tables (copy and even_pairs), worse on none``."""
    of = {word: [_told(own) for own in found if own.word == word] for word in FOUND}
    unlearned = [own for own in found if own.word == "did not learn"]
    blind = [own.table for own in unlearned if (own.label, own.table) in orderless]
    few = [_told(own) + own.later for own in unlearned if own.table not in blind]
    end = f"; it did not learn {listed(few)} at this budget" if few else ""
    end += f"; it did not learn {listed(blind)}, {_WITHOUT_ORDER}" if blind else ""
    again: dict[str, list[str]] = {}
    for own in found:
        if own.with_twice and own.word != "did not learn":
            again.setdefault(own.with_twice, []).append(own.table)
    others = [f"{word} on {listed(names)}" for word, names in again.items()]
    end += f"; with twice the steps, since not both arms learned the task: {listed(others)}" if others else ""
    return _compared(found, baseline, of) + end


_WITHOUT_ORDER = "as an encoder without positions, which does not see the order of tokens"


def _told(found: Finding) -> str:
    return found.table + _limited(found, " at")


def _limited(found: Finding, at: str) -> str:
    """The one length that carries a difference, if one does; that a better arm did not learn the task, or that the
    baseline did not either.
    """
    if found.word == "did not learn":
        return f" (nor did {found.baseline})" * (found.learned[1] is False)
    alone = "" if found.carried_by is None else f"{at} length {found.carried_by.length} alone"
    return alone + " without learning it" * (found.word == "better" and found.learned[0] is False)


def _compared(found: list[Finding], baseline: str, of: Mapping[str, list[str]]) -> str:
    first, second = sorted(FOUND, key=lambda word: not of[word])
    if len(found) == 1:
        word = f"{first} than {baseline}" if of[first] else _UNDECIDED[found[0].word].format(baseline)
        return f"{word} on {found[0].table}, the only table{_limited(found[0], ', at') if of[first] else ''}"
    if not of[first]:
        rows = {said: [own.table for own in found if own.word == word] for word, said in _UNDECIDED.items()}
        (said, tables), *others = [(said, tables) for said, tables in rows.items() if tables]
        rest = (f"{own.format('it')} on {len(names)} ({listed(names)})" for own, names in others)
        return ", ".join((f"{said.format(baseline)} on {len(tables)} of {len(found)} tables ({listed(tables)})", *rest))
    other = f"{second} on {len(of[second])} ({listed(of[second])})" if of[second] else f"{second} on none"
    return f"{first} than {baseline} on {len(of[first])} of {len(found)} tables ({listed(of[first])}), {other}"


_UNDECIDED = {
    "no difference seen": "not seen to differ from {}",
    "cannot be told": "not told from {} by this many seeds",
    "not measurable here": "not comparable with {}",
    "did not learn": "not judged against {}",
}
"""What is said of an arm that is better or worse nowhere, by the word of its row."""


def _amounts(findings: tuple[Finding, ...], kinds: Mapping[str, ScoreKind], name: Callable[[Finding], str]) -> str:
    def amount(own: Finding) -> str:
        return f"{name(own)} {effect(own, kinds[own.table])}"

    found = [own for own in findings if own.word in (*FOUND, "did not learn")]
    if found:
        return _some(map(amount, found))
    tested = {own.p: own for own in reversed(findings) if own.p is not None}
    if not tested:
        return "no difference could be tested"
    least = min(tested)
    return f"no difference was found; the closest is {amount(tested[least])}, with p {p_value(least)}"


def _sureness(findings: tuple[Finding, ...], seeds: int) -> str:
    found = [own.p for own in findings if own.word in (*FOUND, "did not learn") and own.p is not None]
    rows = f"corrected for {len(findings)} row{'s' * (len(findings) != 1)}"
    said = f"no p is 0.05 or less, {rows}"
    if found:
        chance = p_value(max(found))
        chance = chance.replace("<", "below") if "<" in chance else chance + " at most" * (len(found) > 1)
        said = f"p is {chance}, {rows}"
    fewest = min((own.comparison.pairs for own in findings), default=seeds)
    lost = "" if fewest == seeds else f", of which a row has {fewest} pairs, since others diverged"
    hint = "" if fewest >= CLAIM_SEEDS else f"; with fewer than {CLAIM_SEEDS} seeds, all of this is only a hint"
    return f"{seeds} seeds{lost}; {said}{hint}"


def _cost(ours: Mapping[str, Measured], theirs: Mapping[str, Measured], baseline: str) -> str:
    shared = [(ours[name], theirs[name]) for name in ours if name in theirs]
    timed = [(a.milliseconds_per_step, b.milliseconds_per_step) for a, b in shared]
    ratios = [a / b for a, b in timed if a and b]
    ends = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    ratio = f"{statistics.median(ratios):.2f} times {baseline}'s time per step{ends}" if ratios else ""
    own, other = (max(side.num_posenc_parameters for side in of) for of in zip(*shared))
    return f"{ratio or 'times are not known'}; {own:,} parameters of the encoding ({baseline}: {other:,})"


def _untold(
    findings: tuple[Finding, ...],
    kinds: Mapping[str, ScoreKind],
    seeds: int,
    name: Callable[[Finding], str],
    at: str,
    orderless: Container[tuple[str, str]],
) -> str:
    small, unseen, blind, few, unscored, unlearned, still = (list[str]() for _ in range(7))
    for own in findings:
        row, case = name(own), own.best_case
        if own.word == "no difference seen":
            small.append(f"{_missed(own.comparison.detectable, kinds[own.table])} {at} {row}")
            unseen += [f"{own.unseen} {at} {row}"] * (own.unseen is not None)
        elif own.word == "not measurable here":
            (blind if own.comparison.pairs > 1 else unscored).append(row)
        elif own.word == "cannot be told":
            needed = case.would_do if case is not None else None
            enough = "no number would be enough" if needed is None else f"{needed} would show a perfect one"
            few.append(f"{row} ({enough})")
        later = own.unseen_with_twice
        unseen += [f"{later} {at} {row} with twice the steps"] * (later is not None)
        arms = zip((own.label, own.baseline), own.last_learned, strict=True)
        if any(known is False and (label, own.table) not in orderless for label, known in arms):
            (unlearned if own.with_twice is None else still).append(row)
    parts = [f"differences {_some(small)}, which {seeds} seeds often miss"] if small else []
    parts += [f"differences that could not have been seen: {_some(unseen)}"] if unseen else []
    parts += [f"anything with {seeds} seeds {at} {_some(few)}"] if few else []
    parts += [f"anything {at} {_some(blind)}, where both are at chance or near the best score"] if blind else []
    parts += [f"anything {at} {_some(unscored)}, which has fewer than two pairs of seeds"] if unscored else []
    where = "where not both arms learned the task"
    parts += [f"the result with more steps {at} {_some(unlearned)}, {where}"] if unlearned else []
    parts += [f"the result with more than twice the steps {at} {_some(still)}, {where} with these"] if still else []
    fewest = min((own.comparison.pairs for own in findings), default=seeds)
    nothing = (
        f"whether this holds with {CLAIM_SEEDS} seeds"
        if fewest < CLAIM_SEEDS
        else "other tasks, lengths, sizes and budgets; every row has a result"
    )
    return "; ".join(parts) or nothing


def _missed(least: float | None, kind: ScoreKind) -> str:
    """The differences that are often missed: those below the detectable one, or all."""
    if least is None or least >= kind.bounds[1] - kind.bounds[0]:
        return "of any size"
    return f"below {kind.show(kind.outer(least))}"


def _some(names: Iterable[str]) -> str:
    """The first `MOST`, and how many others there are."""
    every = list(names)
    kept = every if len(every) <= MOST + 1 else every[:MOST]
    return ", ".join(kept) + (f" and {len(every) - len(kept)} more in the table" if len(kept) < len(every) else "")
