"""Committed verdicts: judged by the rule as it is, and the pages that show them.

python scripts/documenting/verdicts.py      # a part of scripts/regenerate, in seconds
"""

from __future__ import annotations

import dataclasses
import json
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from documenting import not_tests
from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.data.tasks import Task
from posenc_jax.data.tasks.floors import floors
from posenc_jax.drawing.markdown import code, escaped, grid, refilled
from posenc_jax.drawing.quantities import p_value
from posenc_jax.files.checksums import seal, unseal
from posenc_jax.statistics import at_ends, judge
from posenc_jax.verdict.card import Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card, mean_text
from posenc_jax.verdict.evidence import Evidence, as_text, collected
from posenc_jax.verdict.finding import Finding, listed
from posenc_jax.verdict.headline import effect
from posenc_jax.verdict.measuring import of_lengths
from posenc_jax.verdict.tables import tables

ROOT = Path(__file__).resolve().parent.parent.parent
VERDICTS = ROOT / "experiments" / "verdicts"
OWN = ROOT / "experiments" / "own_encoding" / "verdict.json"
QUESTIONS = ROOT / "experiments" / "own_questions"
EVIDENCE = ROOT / "posenc_jax" / "verdict" / "evidence.json"
BEGIN, END = "<!-- The verdicts: written by scripts/regenerate -->", "<!-- end of the verdicts -->"
BEGIN_WHOLE, END_WHOLE = "<!-- On all tables: written by scripts/regenerate -->", "<!-- end of all tables -->"
BEGIN_MATCHED, END_MATCHED = "<!-- Matched: written by scripts/regenerate -->", "<!-- end of matched -->"
Cards = list[tuple[Path, Card]]


def texts() -> dict[Path, str]:
    """Every file that committed verdicts are in or make: the text that it is to have."""
    quick, whole, matched = cards(), cards("all_tables/*.json"), cards("matched/*.json")
    asked: Cards = [(path, rejudged(path)) for path in sorted(QUESTIONS.glob("*.json"))]
    every: Cards = [*quick, *whole, *matched, *asked, (OWN, rejudged(OWN))]
    readme = VERDICTS / "README.md"
    page = refilled(readme.read_text(), BEGIN, verdicts_table(quick), END)
    page = refilled(page, BEGIN_MATCHED, matched_table(matched), END_MATCHED)
    return {
        **{path: json.dumps(_sealed(card), indent=1) + "\n" for path, card in every},
        **{path.with_suffix(".md"): markdown_card(card) for path, card in every if path.with_suffix(".md").exists()},
        QUESTIONS / "README.md": _questions((QUESTIONS / "README.md").read_text(), asked),
        EVIDENCE: as_text(evidence()),
        readme: refilled(page, BEGIN_WHOLE, whole_table(whole), END_WHOLE),
    }


def cards(pattern: str = "*.json") -> Cards:
    """Committed verdicts and their files, by the label."""
    found = [(path, rejudged(path)) for path in sorted(VERDICTS.glob(pattern))]
    return sorted(found, key=lambda one: one[1].label.lower())


def named(label: str) -> str:
    """A label as it stands in a list of several: without a comma.

    >>> named("KERPLE, logarithmic")
    'KERPLE (logarithmic)'
    """
    first, comma, rest = escaped(label).partition(", ")
    return f"{first} ({rest})" if comma else first


def evidence() -> tuple[Evidence, ...]:
    """Evidence of all cards on rows of the catalogue."""
    every = [*cards(), *cards("all_tables/*.json")]
    return collected((path.relative_to(ROOT).as_posix(), record(card)) for path, card in every)


def rejudged(path: Path) -> Card:
    """The card in a file by the rule as it is, with the shortcuts that tasks declare, and floors, which are measured
    for a file that has none.
    """
    kept = unseal(path.read_bytes())
    lacking = {name for name, own in kept["tables"].items() if "floors" not in own}
    return judged(_floored(card_of(kept), lacking, path.with_suffix(".py")), of_lengths)


def _floored(card: Card, lacking: set[str], file: Path) -> Card:
    """The card with floors of these tables; ``file``: where the task of a question stands that is no table's."""
    asked = dict(card.tables)
    for name, own in card.tables.items():
        if (task := _task(name, file)) is not None:
            score = task.shortcut_score(own.score_lengths)
            asked[name] = dataclasses.replace(own, shortcut=task.shortcut, shortcut_score=score)
            lengths = dict.fromkeys((*own.trained_lengths, *own.score_lengths))
            asked[name] = asked[name].with_floors(floors(task, lengths) if name in lacking else own.floors)
    twice = None if card.twice is None else _floored(card.twice, lacking, file)
    return dataclasses.replace(card, tables=asked, twice=twice)


def _task(name: str, file: Path) -> Task | None:
    if name in tables():
        return tables()[name].run.task
    return runpy.run_path(str(file))["config"].task if file.exists() else None


def _sealed(card: Card) -> dict[str, Any]:
    return seal(json.loads(json.dumps(record(card))))


def verdicts_table(cards: Cards) -> str:
    """One row for each card and baseline: the difference on each table with its interval, and the result."""
    names = list(dict.fromkeys(name for _, card in cards for name in card.tables))
    rows = []
    for path, card in cards:
        for baseline in card.baselines:
            found = {own.table: own for own in card.findings if own.baseline == baseline}
            cells = [_reasoned(found[name], card.kinds[name]) if name in found else "-" for name in names]
            parts = [card] if card.twice is None else [card, card.twice]
            commits = dict.fromkeys((own["commit"] or "?")[:8] for part in parts for own in part.environments)
            environment = f"{' and '.join(commits)}, {sum(part.seconds for part in parts) / 60:.0f} min"
            rows.append([f"[{card.label}]({path.name})", baseline, *cells, str(len(card.seeds)), environment])
    columns = ("encoding", "against", *names, "seeds", "commit, time of all its runs")
    summary = grid(columns, "l" * (2 + len(names)) + "rl", rows)
    scores = f"Mean scores:\n\n{_scores(cards)}"
    return "\n\n".join((_asked(cards), summary, scores, *filter(None, (_orderless(cards), _ends(cards)))))


def _asked(cards: Cards) -> str:
    """A line for each table: what is asked, at which lengths, on how many examples."""
    every = tables()
    lines = []
    for name, own in {name: own for _, card in cards for name, own in card.tables.items()}.items():
        examples = every[name].run.evaluation.num_examples
        lines.append(
            f"- {code(name)}: {own.question}; {own.kind.title}; lengths {span(own.trained_lengths)} in training, "
            f"{span(own.score_lengths)} beyond; {examples} test examples a length and seed."
        )
    return "\n".join(lines)


def span(numbers: Iterable[int]) -> str:
    """The least and the largest of some numbers.

    >>> span([20, 15, 1200]), span([64])
    ('15 to 1,200', '64')
    """
    low, high = min(found := [*numbers]), max(found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


class OfAll(NamedTuple):
    """A finding of a card, and its word when all cards are corrected together."""

    card: Card
    found: Finding
    word: str

    @property
    def lost(self) -> bool:
        """Whether the finding's own word does not hold then."""
        return self.of_difference and self.word == "no difference seen"

    @property
    def of_difference(self) -> bool:
        """Whether the finding's own word is one of a difference."""
        return self.found.word in ("better", "worse", "did not learn")


def together(cards: Cards) -> list[OfAll]:
    """Every finding of the cards, all corrected as one family."""
    every = [(card, found) for _, card in cards for found in card.findings]
    judged = judge([(found.comparison, card.kinds[found.table].better) for card, found in every])
    return [OfAll(card, found, own.word) for (card, found), own in zip(every, judged, strict=True)]


def _questions(text: str, cards: Cards) -> str:
    """The page of own questions, with each card's first lines and a row for each encoding."""
    for path, card in cards:
        rows = [
            [found.label, found.said, *_means(card, found), effect(found, card.kinds[found.table]), _p(found)]
            for found in card.findings
        ]
        columns = ("encoding", "result", *_MEANS, "difference [95 %]", "p")
        lines = "\n".join(f"- {escaped(line)}" for line in card.headline)
        seconds = f"{card.seconds / 60:.0f} minutes of runs, including compilation."
        part = f"{lines}\n\n{grid(columns, 'llrrrrrr', rows)}\n\n{seconds}"
        text = refilled(text, f"<!-- card: {path.name} -->", part, "<!-- end of the card -->")
    return text


def _p(finding: Finding) -> str:
    return "-" if finding.p is None else p_value(finding.p)


def whole_table(cards: Cards) -> str:
    """A row for each table of the verdicts on all: both means, the difference, the result, and what could be seen."""
    rows = []
    for path, card in cards:
        for found in card.findings:
            kind = card.kinds[found.table]
            cells = [*_means(card, found), _seen(found, kind), _detectable(found, kind), _other(found)]
            name = not_tests.of_verdicts(found.table)
            rows.append([f"[{card.label}]({path.relative_to(VERDICTS).as_posix()})", name, *cells])
    columns = ("encoding", "table", *_MEANS, "result", "detectable", _OTHER)
    return "\n\n".join((grid(columns, "llrrrrlrl", rows), _ends(cards)))


def matched_table(cards: Cards) -> str:
    """A row for each table and baseline of the cards with wider baselines: parameters of both, scores, and words."""
    rows = []
    for path, card in cards:
        for found in card.findings:
            ours, theirs = (card.measured[own][found.table] for own in (found.label, found.baseline))
            sizes = [f"{own.num_parameters:,}" for own in (ours, theirs)]
            link = f"[{card.label}]({path.relative_to(VERDICTS).as_posix()})"
            seen = _seen(found, card.kinds[found.table])
            rows.append([link, code(found.table), found.baseline, *sizes, *_means(card, found), seen])
    columns = ("encoding", "table", "against", "parameters", "baseline's", *_MEANS, "result")
    return grid(columns, "lllrrrrrrl", rows)


_MEANS = ("score within", "baseline's", "score beyond", "baseline's")


def _means(card: Card, finding: Finding) -> list[str]:
    """Both scores within the training lengths, and both beyond."""
    kind = card.kinds[finding.table]
    within = ["-" if mean is None else kind.show(mean) for mean in finding.within]
    beyond = [mean_text(card.measured[own][finding.table], kind) for own in (finding.label, finding.baseline)]
    return [*within, *beyond]


def _detectable(finding: Finding, kind: ScoreKind) -> str:
    detectable = finding.comparison.detectable
    return "-" if detectable is None else kind.show(detectable)


def _scores(cards: Cards) -> str:
    """One row for each finding: both means, the result, what could have been seen, and what is left of the word when
    all cards are one family.
    """
    rows = []
    of_all = together(cards)
    for own in of_all:
        found, kind = own.found, own.card.kinds[own.found.table]
        left = f"corrected for {len(of_all)} rows: {own.word}" if own.lost else found.said
        cells = [*_means(own.card, found), found.said, _detectable(found, kind), left, _other(found)]
        rows.append([own.card.label, found.baseline, code(found.table), *cells])
    columns = (
        *("encoding", "against", "table", *_MEANS, "result", "detectable"),
        *("result, corrected over all cards", _OTHER),
    )
    return grid(columns, "lllrrrrlrll", rows)


_OTHER = "by arXiv:2511.19794"


def _other(found: Finding) -> str:
    return "-" if found.two_tests is None else found.two_tests.word


def _orderless(cards: Cards) -> str:
    """A line on arms that cannot learn a table; "" where there are none."""
    arms: dict[str, list[str]] = {}
    for _, card in cards:
        for found in card.findings:
            if card.orderless(found.label, found.table):
                arms.setdefault(card.label, []).append(code(found.table))
    if not arms:
        return ""
    which = "; ".join(f"{label} on {listed(names)}" for label, names in arms.items())
    return (
        "Self-attention without an encoding of positions is equivariant to permutations, so in an encoder it cannot "
        f"tell positions apart, and no number of steps teaches it these tables: {which}."
    )


def _ends(cards: Cards) -> str:
    """The arms of which half of the seeds do best at an end of their grid, each once."""
    found = {}
    for _, card in cards:
        for label, by_table in card.measured.items():
            for name, own in by_table.items():
                low, high, seeds = at_ends(own.tried)
                for count, rate in ((low, min(own.tried)), (high, max(own.tried))):
                    if 2 * count >= seeds > 0:
                        found[label, name, rate] = f"{label} on {code(name)} ({rate:g}: {count} of {seeds} seeds)"
    if not found:
        return "No arm prefers the lowest or the highest learning rate of its grid."
    return f"Arms that prefer the lowest or the highest learning rate of their grid: {'; '.join(found.values())}."


def _reasoned(finding: Finding, kind: ScoreKind) -> str:
    """What was seen; beside "better" on another table, with what could have been."""
    shown, unseen = _seen(finding, kind), "no difference seen"
    return shown.replace(unseen, f"{unseen} (detectable: {_detectable(finding, kind)})", int(finding.word == unseen))


def _seen(finding: Finding, kind: ScoreKind) -> str:
    return finding.said if finding.comparison.low is None else f"{finding.said}: {effect(finding, kind)}"


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
