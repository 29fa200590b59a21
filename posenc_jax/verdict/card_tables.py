"""The card as text: tables for a terminal, a page and a paper."""

import dataclasses
import statistics
from collections.abc import Iterator

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.latex import latex_table
from posenc_jax.drawing.markdown import escaped
from posenc_jax.drawing.quantities import difference, p_value
from posenc_jax.drawing.text_table import TextTable, filled, markdown_table, text
from posenc_jax.results.averages import hint
from posenc_jax.statistics import mean_interval
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.card_costs import cost_table
from posenc_jax.verdict.coverage import coverage
from posenc_jax.verdict.finding import Finding, OfRange, Scored, listed
from posenc_jax.verdict.headline import effect, row_name
from posenc_jax.verdict.judging import breaks_at
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.other_scores import TEMPERATURES
from posenc_jax.verdict.rule import LEARNED
from posenc_jax.verdict.tables import CHECKPOINTS


def text_tables(card: Card) -> tuple[TextTable, ...]:
    """The tables of a card: findings, also by ranges of lengths, by another protocol and by other scores; costs."""
    again = () if card.twice is None else (_found(card.twice), cost_table(card.twice))
    twice = (dataclasses.replace(own, title=f"{own.title}, with twice the steps") for own in again)
    first = _found(card), _ranges(card), _protocols(card), *([_otherwise(card)] if card.otherwise else [])
    return *first, _lengths(card), _at_equal_time(card), cost_table(card), *twice


def text_card(card: Card, width: int) -> str:
    """The card for a terminal."""
    return "\n".join([*filled(card.headline, width), "", *(text(table, width) for table in text_tables(card))])


def markdown_card(card: Card) -> str:
    """The card in Markdown."""
    lines = [f"# {escaped(card.label)}", "", *(f"- {escaped(line)}" for line in card.headline), ""]
    return "\n".join([*lines, *(markdown_table(table) + "\n" for table in text_tables(card))])


def latex_card(card: Card) -> str:
    """The findings as a booktabs table."""
    return latex_table(_found(card), f"tab:verdict-{card.label}") + "\n"


def _found(card: Card) -> TextTable:
    entries = []
    for found in card.findings:
        p = "-" if found.p is None else p_value(found.p)
        detectable = _detectable(found, card.kinds[found.table])
        within = " / ".join("-" if mean is None else card.kinds[found.table].show(mean) for mean in found.within)
        entries.append((*_names(card, found), found.said, within, *_scores(card, found), p, detectable))
    names, sides = _columns(card)
    return TextTable(
        title=f"{card.label} against {', '.join(card.baselines)}",
        columns=(*names, "result", "within", *sides, "difference [95 %]", "p", "detectable"),
        align="l" * len(names) + "lrrrrrr",
        entries=tuple(entries),
        notes=(
            *([few] if (few := hint(own.comparison.pairs for own in card.findings)) else []),
            f"Means over {len(card.seeds)} seeds. {_pairing(card)} within: the mean scores of both at the trained "
            "lengths. p: two-sided, corrected for all rows by Holm's method; better and worse require 0.05 or less. "
            "detectable: the smallest true difference that this many seeds find in 8 of 10 repeats, with this "
            "correction and whatever the other rows show. The intervals are not corrected, so one that excludes 0 may "
            f'stand beside "no difference seen". {coverage(card)}',
            "not measurable here: both are at chance, or both near the best score, or there are fewer than two pairs "
            "of seeds. did not learn the task: the encoding is worse, and at the trained lengths it covers less than "
            f"{100 * LEARNED:.0f} % of the way from chance to the best score, so longer lengths are not judged; the "
            "result after training both again with twice the steps is in brackets, corrected among the rows of "
            "that training. cannot be told: neither a perfect arm nor one that guesses would have differed "
            "significantly from the baseline; with the seeds in brackets a perfect one would have. length N alone: "
            "more than half of the difference, summed over lengths, is at this length, and what is left without it is "
            "not significant or of the other sign.",
            *_unseen(card),
            *(f"{line}." for line in card.unequal),
            *_without_order(card),
            *(
                f"{name}: {own.kind.title} on {own.question} ({own.source})"
                f"{f'; not a test of what was published {own.not_a_test}' * bool(own.not_a_test)}."
                for name, own in card.tables.items()
            ),
        ),
    )


def _pairing(card: Card) -> str:
    """A sentence on what pairing by seed brings."""
    found = [own.correlation for own in card.findings if own.correlation is not None]
    if not found:
        return "Seeds are paired: the same data and the same other parameters."
    mean = statistics.fmean(found)
    of = f"the correlation over seeds is {mean:.2f}{', averaged over rows' if len(found) > 1 else ''}"
    brings = (
        f"which reduces the variance of the differences: {of}."
        if mean >= WORTH_PAIRING
        else f"which hardly reduces the variance here: {of}. The paired interval is valid all the same."
    )
    return f"Seeds are paired, with the same data and the same other parameters, {brings}"


WORTH_PAIRING = 0.2
"""The correlation from which pairing lowers the standard deviation of a difference by a tenth."""


def _unseen(card: Card) -> Iterator[str]:
    """Notes on rows without a difference in which not both directions could have been seen."""
    for own in card.findings:
        case = own.best_case
        if own.word != "no difference seen" or case is None or len(case.seen) == 2 or not case.seen:
            continue
        if "worse" in case.seen and case.would_do is None:
            why = f"{own.baseline} already has the best score"
        elif "worse" in case.seen:
            enough = f"{case.would_do} seeds would show it"
            why = f"even a perfect one would have p {p_value(case.better or 0.0)}; {enough}"
        else:
            why = f"{own.baseline} is already near chance"
        other = "better" if "worse" in case.seen else "worse"
        yield f"{row_name(own, card.labels, card.findings)}: a {other} arm could not have been seen, since {why}."


def _without_order(card: Card) -> Iterator[str]:
    """A note on the arms that no number of steps helps where the order of tokens matters."""
    for label, by_table in card.measured.items():
        names = [name for name in by_table if card.orderless(label, name)]
        if names:
            yield (
                f"{label} on {listed(names)}: an encoder without positions does not see the order of tokens, so no "
                "number of steps teaches it what depends on their order."
            )


def _ranges(card: Card) -> TextTable:
    entries = []
    for found in card.findings:
        kind = card.kinds[found.table]
        for own in found.ranges:
            means = [kind.show(mean) for mean in own.means]
            where = _where(own)
            known = own.comparison if own.lengths else own.comparison._replace(low=None, high=None)
            entries.append((*_names(card, found), where, *means, difference(known, kind), own.word))
    names, sides = _columns(card)
    return TextTable(
        title="By range of lengths",
        columns=(*names, "lengths", *sides, "difference [95 %]", "result"),
        align="l" * len(names) + "lrrrl",
        entries=tuple(entries),
        notes=(
            "Trained lengths, lengths up to twice the longest of them, and longer ones; p is corrected by Holm's "
            "method for all rows of this table. Lengths at which both are at chance, or both near the best score, are "
            "left out and named in brackets.",
        ),
    )


def _where(own: OfRange) -> str:
    name = {"within": "trained", "to twice": "to twice", "beyond twice": "beyond twice"}[own.place]
    listed = ", ".join(map(str, own.lengths)) or "none"
    return f"{name}: {listed}" + (f" (left out: {', '.join(map(str, own.blind))})" if own.blind else "")


def _protocols(card: Card) -> TextTable:
    """Our words beside those of arXiv:2511.19794."""
    entries = []
    for found in card.findings:
        kind, own = card.kinds[found.table], found.two_tests
        said = "-" if own is None else own.word
        interval = "-" if own is None else f"[{kind.show(kind.outer(own.low))}, {kind.show(kind.outer(own.high))}]"
        flips = "-" if own is None else p_value(own.p)
        correlation = "-" if found.correlation is None else f"{found.correlation:.2f}"
        entries.append((*_names(card, found), found.said, said, interval, flips, correlation))
    names, _ = _columns(card)
    return TextTable(
        title="By another protocol",
        columns=(*names, "ours", "arXiv:2511.19794", "BCa [95 %]", "p of sign flips", "correlation"),
        align="l" * len(names) + "llrrr",
        entries=tuple(entries),
        notes=(
            "arXiv:2511.19794 (Du 2025) requires a BCa bootstrap interval that excludes 0 and a sign-flip p below "
            "0.05. It judges each row by itself, where ours is corrected for all rows of the card, and considers "
            "neither chance nor what was learned; with fewer than six seeds it never finds a difference, since p is at "
            "least 2^(1 - seeds). correlation: of the two arms over seeds.",
        ),
    )


def _otherwise(card: Card) -> TextTable:
    final = {(own.label, own.table, own.baseline): own for own in card.findings}
    entries = [
        (*_names(card, own), own.way, *_scores(card, own), _words(own, final[own.label, own.table, own.baseline]))
        for own in sorted(card.otherwise, key=lambda own: list(final).index((own.label, own.table, own.baseline)))
    ]
    names, sides = _columns(card)
    return TextTable(
        title="Scored otherwise",
        columns=(*names, "score", *sides, "difference [95 %]", "result"),
        align="l" * (1 + len(names)) + "rrrl",
        entries=tuple(entries),
        notes=(
            f"The same models. best checkpoint: for each seed, the best of {CHECKPOINTS} checkpoints during training. "
            f"best temperature: the best with logits divided by {', '.join(map(str, (1, *TEMPERATURES)))}. "
            "Both are selected on the scores that they report, so they are optimistic; they do not enter the verdict. "
            "p is corrected by Holm's method, separately for each of the two. Where the result after the last step "
            "differs, both are given.",
        ),
    )


def _words(own: Finding, final: Finding) -> str:
    """The word, and the one after the last step if that is another, with the reason between them."""
    same = own.word == final.word
    return own.said if same else f"{own.said}, selected on these scores; after the last step {final.said}"


def _columns(card: Card) -> tuple[tuple[str, ...], tuple[str, str]]:
    one, against = len(card.labels) == 1, len(card.baselines) == 1
    names = (*(() if one else ("encoding",)), "table", *(() if against else ("against",)))
    return names, (card.label if one else "encoding's", card.baselines[0] if against else "baseline")


def _names(card: Card, found: Finding) -> tuple[str, ...]:
    label = () if len(card.labels) == 1 else (found.label,)
    return (*label, found.table, *(() if len(card.baselines) == 1 else (found.baseline,)))


def _scores(card: Card, found: Finding) -> tuple[str, ...]:
    kind = card.kinds[found.table]
    means = (mean_text(card.measured[label][found.table], kind, found.way) for label in (found.label, found.baseline))
    return (*means, effect(found, kind))


def _detectable(finding: Finding, kind: ScoreKind) -> str:
    found = finding.comparison
    return "-" if found.detectable is None else kind.show(kind.outer(found.detectable))


def _lengths(card: Card) -> TextTable:
    labels, entries = card.arms, []
    for name, table in card.tables.items():
        trained = table.trained_lengths
        breaks = (breaks_at(card.measured[label][name], table) for label in labels)
        words = ("never here" if length is None else table.length_name(length) for length in breaks)
        entries.append((name, str(max(trained)) if trained else "-", *words))
    return TextTable(
        title="Where each breaks",
        columns=("table", "longest trained", *labels),
        align="l" + "r" * (1 + len(labels)),
        entries=tuple(entries),
        notes=("The first measured length whose mean score is below the midpoint between chance and the best score.",),
    )


SAME_TIME = 1.05
"""The ratio of the times of two steps up to which they are equal."""


def _at_equal_time(card: Card) -> TextTable:
    entries = []
    for found in card.findings:
        ours, theirs = (card.measured[own][found.table] for own in (found.label, found.baseline))
        times = ours.milliseconds_per_step, theirs.milliseconds_per_step
        ratio = times[0] / times[1] if times[0] and times[1] else None
        extra = ours.num_parameters - theirs.num_parameters
        share = f"{extra:+,} ({100 * extra / theirs.num_parameters:+.1f} %)" if extra else "none"
        shown = "-" if ratio is None else f"{ratio:.2f}"
        entries.append((*_names(card, found), found.said, shown, _by_time(found.word, ratio), share))
    names, _ = _columns(card)
    return TextTable(
        title="At equal time",
        columns=(*names, "result", "time per step", "at equal time", "extra parameters"),
        align="l" * len(names) + "lrlr",
        entries=tuple(entries),
        notes=(
            "time per step: the encoding's, divided by the baseline's. at equal time: the result stands where the arm "
            f"that is ahead took no longer for as many steps (up to {SAME_TIME} times), on the assumption that fewer "
            "steps bring no better score; otherwise it cannot be told. extra parameters: how "
            "many more the encoding has than the baseline; --matched adds a baseline that has as many.",
        ),
    )


def _by_time(word: str, ratio: float | None) -> str:
    """The word that is left where both have the same time."""
    if ratio is None or word not in ("better", "worse", "did not learn"):
        return "-"
    ahead = ratio if word == "better" else 1 / ratio
    return word if ahead <= SAME_TIME else "cannot be told"


def mean_text(measured: Measured, kind: ScoreKind, way: Scored = "final") -> str:
    """The mean over seeds as it is shown."""
    mean = mean_interval(map(kind.inner, measured.scored(way).values())).mean
    return "-" if mean is None else kind.show(kind.outer(mean))
