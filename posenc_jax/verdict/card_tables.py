"""The card as text: its first sentences and the table of findings, for a terminal, a page and a paper."""

import dataclasses
import math
from collections.abc import Iterator

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.latex import latex_table
from posenc_jax.drawing.markdown import escaped
from posenc_jax.drawing.quantities import NONE, p_value
from posenc_jax.drawing.text_table import TextTable, filled, markdown_table, text, without
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import hint
from posenc_jax.statistics import at_ends, mean_interval
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.cells import device
from posenc_jax.verdict.coverage import coverage
from posenc_jax.verdict.finding import ALPHA, TIED, Finding, listed, with_p
from posenc_jax.verdict.headline import effect, row_name, time_ratio
from posenc_jax.verdict.looks import FACTOR, named, times
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.rule import LEARNED

_UNMEASURED = (
    "not measurable here: both are at chance, or both near the best score, or there are fewer than two pairs of seeds."
)


def text_card(card: Card, width: int) -> str:
    """The card for a terminal: its headline, and the columns of its table that the page does not explain at length."""
    notes = (_UNMEASURED,) if any(found.word == "not measurable here" for found in card.findings) else ()
    own = dataclasses.replace(table(card, brief=True), title="", notes=notes)
    for column in ("within", "detectable", "time", "parameters"):
        own = without(own, column)
    return "\n".join([*filled(card.headline, width), text(own, width)])


def markdown_card(card: Card) -> str:
    """The card in Markdown."""
    lines = [f"# {escaped(card.label)}", "", *(f"- {escaped(line)}" for line in card.headline), ""]
    return "\n".join([*lines, markdown_table(table(card)) + "\n"])


def latex_card(card: Card) -> str:
    """The findings as a booktabs table."""
    return latex_table(table(card), f"tab:verdict-{card.label}") + "\n"


def table(card: Card, *, brief: bool = False) -> TextTable:
    """A row for each finding: the word, both scores, the difference, how sure it is, and what it costs; ``brief``: the
    word as in figures.
    """
    one, against = len(card.labels) == 1, len(card.baselines) == 1
    names = (*(() if one else ("encoding",)), "table", *(() if against else ("against",)))
    p = f"p ({card.corrected} row{'s' * (card.corrected != 1)})"
    sides = (card.label if one else "encoding's", card.baselines[0] if against else "baseline")
    return TextTable(
        title=f"{card.label} against {', '.join(card.baselines)}",
        columns=(*names, "result", "within", *sides, "difference [95 %]", p, "detectable", "time", "parameters"),
        align="l" * len(names) + "lrrrrrrrr",
        entries=tuple(_row(card, found, brief) for found in card.findings),
        notes=(
            *([few] if (few := hint(own.comparison.pairs for own in card.findings)) else []),
            f"Means over {len(card.seeds)} seeds ({named(card.seeds)}), paired: the same data and the same other "
            "parameters. within: the mean scores of both at the trained lengths. p: two-sided, corrected for so many "
            f"rows by Holm's method{', in brackets after twice the steps' * (card.twice is not None)}; better and "
            "worse require 0.05 or less. detectable: the smallest true difference that this many seeds find in 8 "
            "of 10 repeats, with this correction and whatever the other rows show. time, parameters: of a step of "
            "training, divided by the baseline's, where groups of seeds of one arm differ less than the arms do; and "
            "of the model, beyond the baseline's. The intervals are not corrected, so one that excludes 0 may stand "
            f'beside "no difference seen". {coverage(card)}',
            f"{_UNMEASURED} neither beats an answer that does not look: both score at most 0.02 above the most "
            "frequent answer of each length, for which no input is read. explained by a shortcut: the higher score is "
            "no more than that of the answer in brackets, which reads everything but what is asked. did not learn the "
            "task: the encoding "
            f"is worse, and at the trained lengths it covers less than {100 * LEARNED:.0f} % of the way from chance, "
            "or from an answer that does not look, to the best score, so longer lengths are not judged; the result "
            "after training both again with twice the steps is in brackets, corrected together with the other rows. "
            "cannot be told: neither a perfect arm nor one that guesses would have had a p of 0.05; with the seeds in "
            "brackets a perfect one would have. Such a row can be judged with more seeds at no cost; one in which no "
            f"difference was seen is judged at 1/{FACTOR} of the level when seeds are added, since this is decided "
            "after looking. length N alone: more than half of the difference, summed over lengths, is at this length, "
            "and what is left without it is not significant or of the other sign. not at length N: no significant "
            "difference of this sign is at this length, the first beyond those of training.",
            *(f"{line}." for line in card.unequal),
            *(
                f"{name}: {own.kind.title} on {own.question} ({own.source})"
                f"{''.join(f'; {who} scores {own.kind.show(score)}' for who, score in own.floor_names.items())}"
                f"{f'; not a test of what was published {own.not_a_test}' * bool(own.not_a_test)}."
                for name, own in card.tables.items()
            ),
            *_looks(card),
            *_of_runs(card),
        ),
    )


def _row(card: Card, found: Finding, brief: bool) -> tuple[str, ...]:
    kind = card.kinds[found.table]
    where = found.table, found.label, found.baseline
    ours, theirs = (card.measured[label][found.table] for label in where[1:])
    time, extra = time_ratio(card.measured, *where), ours.num_parameters - theirs.num_parameters
    least = found.comparison.detectable
    return (
        *(() if len(card.labels) == 1 else (found.label,)),
        found.table,
        *(() if len(card.baselines) == 1 else (found.baseline,)),
        found.brief if brief else found.said,
        " / ".join(NONE if mean is None else kind.show(mean) for mean in found.within),
        *(mean_text(own, kind) for own in (ours, theirs)),
        effect(found, kind),
        NONE if found.p is None else p_value(found.p) + _later(card, found) * (not brief),
        NONE if least is None or math.isinf(least) else kind.show(kind.outer(least)),
        NONE if time is None else f"×{time[0]:.2f}",
        f"{extra:+,}" if extra else "0",
    )


def _later(card: Card, found: Finding) -> str:
    """In brackets the p of a row after training with twice the steps."""
    row = (found.label, found.table, found.baseline)
    later = () if card.twice is None or found.with_twice is None else card.twice.findings
    return "".join(f" ({p_value(own.p)})" for own in later if (own.label, own.table, own.baseline) == row and own.p)


def _looks(card: Card) -> Iterator[str]:
    """Notes on earlier cards, and on seeds that were chosen."""
    if card.seeds != tuple(range(len(card.seeds))):
        yield "The seeds are not 0 to N-1, so somebody chose them; a choice after looking at scores is not corrected."
    said: dict[tuple[tuple[int, ...], str], list[str]] = {}
    for own in card.earlier:
        where = own.table if len(card.configs) == len(card.tables) else f"{own.label} on {own.table} to {own.baseline}"
        said.setdefault((own.seeds, own.word), []).append(where)
    if not said:
        return
    words = (
        f"{len(seeds)} seeds ({named(seeds)}): {word} on {listed([*dict.fromkeys(on)])}"
        for (seeds, word), on in said.items()
    )
    yield f"Earlier cards of this question: {'; '.join(words)}."
    if lower := [
        f"{' '.join(pair)} at {ALPHA / price:g}"
        for part in card.trainings
        for pair, price in times(card.earlier, part.configs, part.seeds).items()
        if price > 1
    ]:
        yield (
            f"A look with other seeds saw no difference before, so p has a factor of {FACTOR} for each such look: "
            f"{'; '.join(lower)}."
        )
    if only := len(card.only_earlier):
        yield f"{only} row{'s' * (only != 1)} that only earlier cards have are corrected together with those above."


def _of_runs(card: Card) -> Iterator[str]:
    """Notes on what was run: fields, learning rates, seeds without a score, environments and times."""
    cells = [(label, name, own) for label, by_table in card.measured.items() for name, own in by_table.items()]
    specs: dict[str, list[str]] = {}
    for label, name, own in cells:
        if "(" in own.spec:
            specs.setdefault(f"{label} is {own.spec}", []).append(name)
    if specs:
        yield "; ".join(f"{own} on {', '.join(names)}" for own, names in specs.items()) + "."
    if blind := [f"{label} on {name}" for label, name, _ in cells if card.orderless(label, name)]:
        yield (
            f"{'; '.join(blind)}: an encoder without positions does not see the order of tokens, so no number of "
            "steps teaches it what depends on their order."
        )
    rates = sorted({rate for *_, own in cells for rate in own.tried})
    if any(len(own.tried) > 1 for *_, own in cells):
        ends = "; ".join(f"{label} on {name}" for label, name, own in cells if _at_an_end(own))
        yield (
            f"Learning rates from {rates[0]:g} to {rates[-1]:g}; every seed keeps the one that is best in its own "
            "validation at the trained lengths. At least half of the seeds do best at an end of the grid: "
            f"{ends or 'of no arm'}."
        )
        yield from _ties(card)
    elif rates:
        yield f"Learning rate: {', '.join(f'{rate:g}' for rate in rates)}, which may suit one arm better than another."
    lost = (f"{label} on {name} ({', '.join(map(str, own.diverged))})" for label, name, own in cells if own.diverged)
    yield f"Diverged seeds: {'; '.join(lost) or 'none'}."
    where = "; ".join(map(_machine, card.environments)) or "Where they ran is not recorded"
    parts = [card] if card.twice is None else [card, card.twice]
    minutes = " and, with twice the steps, ".join(f"{own.seconds / 60:.0f}" for own in parts)
    several = "; ".join(card.elsewhere)
    yield f"{where}. Minutes of all runs: {minutes}." + f" Environments differ by rounding: {several}." * bool(several)
    if untimed := [why for *_, own in cells for why in own.untimed]:
        yield f"Not included, since they are not known: the times of {'; '.join(untimed)}."


def _ties(card: Card) -> Iterator[str]:
    """Notes on learning rates that validation does not tell apart, by whether validation losses are known."""
    arms: dict[bool, list[str]] = {}
    for label, by_table in card.measured.items():
        for name, own in by_table.items():
            if tied := own.tied:
                arms.setdefault(bool(own.losses), []).append(
                    f"{label} on {name} ({len(tied)} of {len(own.seeds)} seeds)"
                )
    for losses, named_arms in arms.items():
        kept = "the one with the lowest loss in validation" if losses else "the lowest, as no losses were kept,"
        yield f"Several rates share the best score in validation, of which {kept} is taken: {', '.join(named_arms)}."
    if rows := [own for own in card.otherwise if own.way == TIED]:
        names = (f"{row_name(own, card.labels, rows)} {with_p(own.word, own)}" for own in rows)
        said = (f"{name}, {effect(own, card.kinds[own.table])}" for name, own in zip(names, rows))
        yield f"With the one of them that would be taken last: {'; '.join(said)}."


def _at_an_end(own: Measured) -> bool:
    low, high, seeds = at_ends(own.tried)
    return 2 * max(low, high) >= seeds > 0


def _machine(environment: Json) -> str:
    commit = (environment["commit"] or "")[:8] or "of no repository"
    versions = f"posenc_jax {environment['version']} ({commit}), jax {environment['jax']}, flax {environment['flax']}"
    return f"{versions}, {device(environment)}"


def mean_text(measured: Measured, kind: ScoreKind) -> str:
    """The mean over seeds as it is shown."""
    mean = mean_interval(map(kind.inner, measured.scores.values())).mean
    return NONE if mean is None else kind.show(kind.outer(mean))
