"""The card: what a verdict found, as data and as text."""

import collections
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from posenc_jax.data.score_kinds import ScoreKind, significant
from posenc_jax.drawing.latex import latex_table
from posenc_jax.drawing.markdown import escaped
from posenc_jax.drawing.quantities import difference, p_value
from posenc_jax.drawing.text_table import TextTable, filled, markdown_table, text
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import hint
from posenc_jax.statistics import CLAIM_SEEDS, mean_interval
from posenc_jax.verdict.cells import device
from posenc_jax.verdict.headline import headline
from posenc_jax.verdict.judging import Finding, breaks_at, findings, sentence
from posenc_jax.verdict.measuring import Measured, Scored
from posenc_jax.verdict.other_scores import TEMPERATURES, WAYS
from posenc_jax.verdict.tables import CHECKPOINTS, Table

SCHEMA = 1
"""The version of `record`. Within one, members are only added; files without it are earlier ones."""


@dataclasses.dataclass(frozen=True)
class Card:
    """A verdict.

    Attributes:
      label: the encoding that is judged. baselines: those that it is compared with, by label.
      tables: name -> table, in order. measured: label -> table -> scores. findings: of every baseline and table, after
        the last step of training. otherwise: the same of other ways to score.
      seeds: those compared. environments: versions, processor or device and commit of the runs, each once,
        whoever made them. seconds: of all runs behind it. elsewhere: what differs between these environments by which
        results differ by rounding.
    """

    label: str
    baselines: tuple[str, ...]
    tables: Mapping[str, Table]
    measured: Mapping[str, Mapping[str, Measured]]
    findings: tuple[Finding, ...]
    otherwise: tuple[Finding, ...]
    seeds: tuple[int, ...]
    environments: tuple[Json, ...]
    seconds: float
    elsewhere: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, one sentence a baseline; of few seeds it is called a hint."""
        end = "." if len(self.seeds) >= CLAIM_SEEDS else f" ({len(self.seeds)} seeds: a hint)."
        said = (sentence(self.findings, self.label, baseline) for baseline in self.baselines)
        return tuple(own.removesuffix(".") + end for own in said)

    @property
    def needs_more_seeds(self) -> bool:
        """True where the words are of too few seeds for a claim."""
        return len(self.seeds) < CLAIM_SEEDS

    @property
    def headline(self) -> tuple[str, ...]:
        """The card in five lines."""
        return headline(self.label, self.measured, self.findings, self.kinds, len(self.seeds))

    @property
    def kinds(self) -> dict[str, ScoreKind]:
        """Table -> what its score is."""
        return {name: table.kind for name, table in self.tables.items()}


def judged(card: Card, of: Callable[[Table, Measured], Measured] = lambda _, measured: measured) -> Card:
    """The card with the findings that its scores give; of: what replaces each cell before."""
    measured = {
        label: {name: of(card.tables[name], own) for name, own in by_table.items()}
        for label, by_table in card.measured.items()
    }
    ours, theirs = measured[card.label], {baseline: measured[baseline] for baseline in card.baselines}
    return dataclasses.replace(
        card,
        measured=measured,
        findings=findings(card.tables, ours, theirs),
        otherwise=tuple(found for way in WAYS for found in findings(card.tables, ours, theirs, way)),
    )


def record(card: Card) -> Json:
    """The card as JSON: every number that it shows, and every seed's scores behind them."""
    return {
        "schema": SCHEMA,
        "needs_more_seeds": card.needs_more_seeds,
        "label": card.label,
        "baselines": list(card.baselines),
        "verdict": list(card.sentences),
        "findings": [_finding(own) for own in card.findings],
        "otherwise": [_finding(own) for own in card.otherwise],
        "measured": {
            label: {name: _measured(measured) for name, measured in by_table.items()}
            for label, by_table in card.measured.items()
        },
        "tables": {
            name: {"question": table.question, "source": table.source, "metric": table.metric}
            for name, table in card.tables.items()
        },
        "seeds": list(card.seeds),
        "environments": list(card.environments),
        "elsewhere": list(card.elsewhere),
        "seconds": card.seconds,
    }


def _finding(finding: Finding) -> Json:
    return dataclasses.asdict(finding) | {"comparison": finding.comparison._asdict()}


def _measured(measured: Measured) -> Json:
    fields = {field.name: getattr(measured, field.name) for field in dataclasses.fields(measured)}
    elsewhere = ("by_metric", "environments")  # by length, and of all together, once
    kept = {name: value for name, value in fields.items() if name not in elsewhere}
    return {name: _keys(value) for name, value in (kept | {"by_length": measured.by_length}).items()}


def _keys(found: Any) -> Any:
    return {str(key): _keys(value) for key, value in found.items()} if isinstance(found, Mapping) else found


def text_tables(card: Card) -> tuple[TextTable, ...]:
    """Tables of the findings, of findings by other scores, of scores by length, and of costs."""
    return _found(card), *([_otherwise(card)] if card.otherwise else []), _lengths(card), _cost(card)


def text_card(card: Card, width: int) -> str:
    """For a terminal."""
    return "\n".join([*filled(card.headline, width), "", *(text(table, width) for table in text_tables(card))])


def markdown_card(card: Card) -> str:
    """For a page."""
    lines = [f"# {card.label}", "", *(f"- {escaped(line)}" for line in card.headline), ""]
    return "\n".join([*lines, *(markdown_table(table) + "\n" for table in text_tables(card))])


def latex_card(card: Card) -> str:
    """The findings as a booktabs table."""
    return latex_table(_found(card), f"tab:verdict-{card.label}") + "\n"


def _found(card: Card) -> TextTable:
    entries = []
    for found in card.findings:
        p = "-" if found.p is None else p_value(found.p)
        detectable = _detectable(found, card.kinds[found.table])
        entries.append((*_names(card, found), found.word, *_scores(card, found), p, detectable))
    names, sides = _columns(card)
    return TextTable(
        title=f"{card.label} against {', '.join(card.baselines)}",
        columns=(*names, "seen", *sides, "difference [95 %]", "p", "detectable"),
        align="l" * len(names) + "lrrrrr",
        entries=tuple(entries),
        notes=(
            *([few] if (few := hint(own.comparison.pairs for own in card.findings)) else []),
            f"Means over {len(card.seeds)} seeds, paired: the same data and the same other parameters. "
            "p: two-sided, corrected for all rows by Holm's method; better and worse from 0.05 down. "
            "detectable: the smallest true difference that such seeds find in 8 of 10 cases, with that correction and "
            "whatever the other rows show. Each interval is its own 95 %: one without 0 may stand beside "
            '"no difference seen".',
            "not measurable here: both at chance, or both near the best score, or fewer than two pairs of seeds.",
            *(f"{name}: {own.kind.title} on {own.question} ({own.source})." for name, own in card.tables.items()),
        ),
    )


def _otherwise(card: Card) -> TextTable:
    final = {(own.table, own.baseline): own.word for own in card.findings}
    entries = [
        (*_names(card, own), own.way, *_scores(card, own), _words(own, final[own.table, own.baseline]))
        for own in sorted(card.otherwise, key=lambda own: list(final).index((own.table, own.baseline)))
    ]
    names, sides = _columns(card)
    return TextTable(
        title="Scored otherwise",
        columns=(*names, "score", *sides, "difference [95 %]", "seen"),
        align="l" * (1 + len(names)) + "rrrl",
        entries=tuple(entries),
        notes=(
            f"The same models. best checkpoint: of each seed the best of {CHECKPOINTS} checkpoints along training. "
            f"best temperature: the best with logits divided by {', '.join(map(str, (1, *TEMPERATURES)))}. "
            "Both are chosen by the very scores they report, so they flatter; they have no part in the verdict. p is "
            "corrected by Holm's method, for each of the two by itself. If the last step has another word, both are "
            "told.",
        ),
    )


def _words(own: Finding, final: str) -> str:
    """The word, and the one after the last step if that is another, with the reason between them."""
    return own.word if own.word == final else f"{own.word}, as chosen on these scores; after the last step {final}"


def _columns(card: Card) -> tuple[tuple[str, ...], tuple[str, str]]:
    """The headings of what is compared, and of both means."""
    if len(card.baselines) > 1:
        return ("table", "against"), (card.label, "baseline")
    return ("table",), (card.label, card.baselines[0])


def _names(card: Card, found: Finding) -> tuple[str, ...]:
    return (found.table, found.baseline) if len(card.baselines) > 1 else (found.table,)


def _scores(card: Card, found: Finding) -> tuple[str, ...]:
    """Both means and their difference."""
    kind = card.kinds[found.table]
    means = (mean_text(card.measured[label][found.table], kind, found.way) for label in (card.label, found.baseline))
    return (*means, difference(found.comparison, kind))


def _detectable(finding: Finding, kind: ScoreKind) -> str:
    found = finding.comparison
    return "-" if found.detectable is None else kind.show(kind.outer(found.detectable))


def _lengths(card: Card) -> TextTable:
    labels = (card.label, *card.baselines)
    entries = []
    for name, table in card.tables.items():
        trained = table.trained_lengths
        breaks = (breaks_at(card.measured[label][name], table) for label in labels)
        words = ("never here" if length is None else table.run.task.length_name(length) for length in breaks)
        entries.append((name, str(max(trained)) if trained else "-", *words))
    return TextTable(
        title="Where each breaks",
        columns=("table", "longest trained", *labels),
        align="l" + "r" * (1 + len(labels)),
        entries=tuple(entries),
        notes=("The first measured length whose mean score lies below the middle between chance and the best score.",),
    )


def _cost(card: Card) -> TextTable:
    entries = []
    for name, label in ((name, label) for name in card.tables for label in (card.label, *card.baselines)):
        measured = card.measured[label][name]
        time = measured.milliseconds_per_step
        entries.append(
            (
                *(name, label, f"{measured.num_parameters:,}", f"{measured.num_posenc_parameters:,}"),
                *("-" if time is None else significant(time), measured.memory, _rates(measured)),
                ", ".join(map(str, measured.diverged)) or "none",
            )
        )
    grids = sorted({" and ".join(f"{rate:g}" for rate in table.run.learning_rates) for table in card.tables.values()})
    untimed = [why for by_table in card.measured.values() for own in by_table.values() for why in own.untimed]
    where = "; ".join(map(_machine, card.environments)) or "Where they ran is not recorded"
    return TextTable(
        title="Cost and settings",
        columns=(
            *("table", "encoding", "parameters", "of them its own", "ms a step", "memory", "learning rates (seeds)"),
            "diverged seeds",
        ),
        align="llrrrlrl",
        entries=tuple(entries),
        notes=(
            f"Every seed is trained at {' or '.join(grids)} and has the learning rate that is best by its own "
            "validation within the training lengths, so that the intervals hold the luck of the choice. ms a step: of "
            "the models that train together, beside whatever else the machine did. memory: of attention on an "
            "accelerator, by the length T; in blocks the logits are computed twice.",
            f"{where}. All runs together: {card.seconds / 60:.0f} minutes, compiling included.",
            *([f"Without times that are not known: {'; '.join(untimed)}."] if untimed else []),
            *(
                [f"In several environments, equal up to rounding: {'; '.join(card.elsewhere)}."]
                if card.elsewhere
                else ()
            ),
        ),
    )


def mean_text(measured: Measured, kind: ScoreKind, way: Scored = "final") -> str:
    """The mean over seeds as it is shown."""
    mean = mean_interval(map(kind.inner, measured.scored(way).values())).mean
    return "-" if mean is None else kind.show(kind.outer(mean))


def _rates(measured: Measured) -> str:
    """For example ``0.0005 (6), 0.001 (2)``: of how many seeds each is."""
    counted = collections.Counter(measured.learning_rates.values())
    return ", ".join(f"{rate:g} ({count})" for rate, count in sorted(counted.items())) or "none"


def _machine(environment: Json) -> str:
    commit = (environment["commit"] or "")[:8] or "of no repository"
    versions = f"posenc_jax {environment['version']} ({commit}), jax {environment['jax']}, flax {environment['flax']}"
    return f"{versions}, {device(environment)}"
