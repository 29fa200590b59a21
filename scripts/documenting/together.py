"""The page on all verdicts together, and its pictures: everything on it is computed from committed cards and results.

python scripts/documenting/together.py      # a part of scripts/regenerate, in seconds
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from documenting import not_tests, together_pictures, verdicts
from documenting.not_tests import TABLES
from documenting.together_pictures import PICTURES, drawn
from documenting.verdicts import named, span
from experiments.sizes.grid import WIDTHS
from experiments.sizes.page import kept
from experiments.tables.folders import RESULTS, folders, read_folder
from experiments.tables.judging import CheckedDirection, check_directions
from experiments.tables.results import Results, read_results
from experiments.verdicts.together import Aggregate, Matrix, aggregates, matrix, published, same_baseline, words_by_size
from posenc_jax.drawing.markdown import code, escaped, grid, refilled
from posenc_jax.drawing.paper import source_of_png
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.finding import WORDS, Finding, in_prose, listed
from posenc_jax.verdict.rule import LEARNED

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "scripts" / "docs" / "guides" / "which-encoding-when.md"
FOLDER = verdicts.VERDICTS / "together"
_UP = "../../../experiments"


class Known(NamedTuple):
    """All that the page is made of: cards by file, those on all tables, and results of published tables by folder."""

    cards: verdicts.Cards
    whole: verdicts.Cards
    folders: dict[str, Results]
    aggregates: tuple[Aggregate, ...]
    matrix: Matrix
    sizes: dict[tuple[str, str], set[str]]


def known() -> Known:
    """Reads the committed files."""
    cards, whole = verdicts.cards(), verdicts.cards("all_tables/*.json")
    found = {name: read_results(TABLES / name / RESULTS) for name in folders(TABLES)}
    results = {name: own for name, own in found.items() if own is not None}
    named = [(card.label, card) for _, card in cards]
    named += [(f"{card.label} ({len(card.tables)} tables)", card) for _, card in whole]
    named.sort(key=lambda own: own[1].label.lower())  # an encoding's cards together, the quick one first
    sizes = words_by_size(kept(), WIDTHS, cards[0][1].tables)
    return Known(cards, whole, results, aggregates([card for _, card in cards]), matrix(named, results), sizes)


def texts(own: Known) -> dict[Path, str]:
    """The page."""
    return {PAGE: page(own)}


def pictures(own: Known) -> dict[Path, Callable[[], bytes]]:
    """Pictures that show other numbers than these, and what draws each."""
    digest = digest_of(own)
    paths = {name: FOLDER / f"{name}.png" for name in PICTURES}
    return {
        path: lambda name=name: drawn(name, own.aggregates, own.matrix, digest)  # type: ignore[misc]
        for name, path in paths.items()
        if source_of_png(path) != digest
    }


def digest_of(own: Known) -> str:
    """Digest of all that pictures show, and of what draws them."""
    numbers = [
        (one.label, *(f"{x:.4f}" for x in (*one.mean, *(one.improvement or ()), *one.profile, *one.low, *one.high)))
        for one in sorted(own.aggregates, key=lambda one: one.label)
    ]
    words = [(name, column, found.said) for name, row in own.matrix.rows.items() for column, found in row.items()]
    columns = [(name, not_tests.is_column(name)) for name in own.matrix.columns]
    shown = repr((numbers, columns, words)).encode()
    return hashlib.sha256(shown + Path(together_pictures.__file__).read_bytes()).hexdigest()


def page(own: Known) -> str:
    """The Markdown of the page, of which what stands between its marks is written."""
    text = PAGE.read_text()
    parts = {
        "about": _about(own),
        "sentences": "\n".join(f"{number}. {said}" for number, said in enumerate(sentences(own), 1)),
        "corrected": _corrected(own),
        "means": _means(own),
        "words": _words_table(own),
        "published": _published_table(own),
    }
    for name, part in parts.items():
        text = refilled(text, f"<!-- together: {name} -->", part, f"<!-- end of {name} -->")
    return text


def _about(own: Known) -> str:
    cells = [cell for _, card in own.cards for by_table in card.measured.values() for cell in by_table.values()]
    steps = span(asked.steps for _, card in own.cards for asked in card.tables.values())
    training = statistics.median(cell.seconds / len(cell.seeds) / len(cell.tried) for cell in cells)
    return (
        f"The models of the {len(own.cards)} cards have {span(cell.num_parameters for cell in cells)} parameters and "
        f"are trained for {steps} steps; a training takes about {training:.0f} seconds on one core, with compilation "
        "and tests. What holds for them may not hold for yours."
    )


def sentences(own: Known) -> list[str]:
    """The four sentences on all cards and tables."""
    tables = listed([code(name) for name in own.cards[0][1].tables])
    return [_together(own, tables), _improvements(own, tables), _within(own), _directions(own)]


def _corrected(own: Known) -> str:
    """How much does not hold when all cards are corrected together, or at another size."""
    every = verdicts.together(own.cards)
    return (
        f"Each card is corrected for its own rows only. Corrected for all {len(every)} rows of the cards together, "
        f"{_held(every)}: the [verdicts]({_UP}/verdicts/README.md) have both results of every row, and all scores. "
        f"At [three sizes]({_UP}/sizes/README.md) of the model, {listed([*WIDTHS])}, {_same(own, every)} (better, no "
        "difference seen and so on)."
    )


def _held(every: list[verdicts.OfAll]) -> str:
    """How many words of a difference hold when all cards are corrected together."""
    words = [one for one in every if one.of_difference]
    return f"{sum(not one.lost for one in words)} of {len(words)} differences stay significant"


def _same(own: Known, every: list[verdicts.OfAll]) -> str:
    """How many of the rows whose encodings were trained at three sizes have the same word at each of them."""
    specs = [(one.card.measured[one.found.label][one.found.table].spec, one.found.table) for one in every]
    words = [own.sizes[key] for spec, table in specs if (key := (spec.partition("(")[0], table)) in own.sizes]
    kept = sum(len(found) == 1 for found in words)
    return f"{kept} of {len(words)} words are the same at all sizes"


def _firm(own: Known, of: str, which: Callable[[Finding], bool]) -> str:
    """How many words of these rows hold when all cards are corrected together, and at three sizes."""
    every = verdicts.together(own.cards)
    rows = [one for one in every if which(one.found)]
    return (
        f"of the {len(rows)} rows {of}, corrected for all {len(every)} of the cards, {_held(rows)}; of those trained "
        f"at {listed([*WIDTHS])}, {_same(own, rows)}"
    )


_ORDERLESS = "cannot learn the task with any number of steps, since in an encoder it cannot tell positions apart"


def _words(card: Card, found: Finding) -> str:
    """What was seen of an arm of a card, in prose; where it cannot learn the task, that."""
    if found.word == "did not learn" and card.orderless(found.label, found.table):
        return _ORDERLESS
    return _seen(found)


def _seen(found: Finding) -> str:
    if found.word == "not measurable here" and found.comparison.pairs > 1:
        return "not comparable (both at chance, or both near the best score)"
    return in_prose(found.said, found.comparison.pairs)


def _by_word(found: Iterable[tuple[str, Finding, str]]) -> str:
    """Clauses on arms, by their results: name, finding, and its words."""
    said: dict[str, list[str]] = {}
    for name, _, words in sorted(found, key=lambda one: (WORDS.index(one[1].word), one[1].carried_by is not None)):
        said.setdefault(words, []).append(name)
    return "; ".join(_clause(words, names) for words, names in said.items())


def _clause(words: str, names: list[str]) -> str:
    if words.startswith("no difference"):
        return f"{listed(names)} {'shows' if len(names) == 1 else 'show'} {words}"
    if words.startswith("neither"):
        return f"{listed(names)}: {words}"
    verb = "" if words.startswith(("did not", "cannot")) else "is " if len(names) == 1 else "are "
    return f"{listed(names)} {verb}{words}"


def _together(own: Known, tables: str) -> str:
    base = _baseline(own)
    above = [one for one in own.aggregates if one.mean.low > base.mean.high]
    below = [one for one in own.aggregates if one.mean.high < base.mean.low]
    best = own.aggregates[0]
    return (
        f"**The mean over tables** ({tables}): {_linked(own, best)} has the highest, {_shown(best.mean)}, and "
        f"{base.label} has {_shown(base.mean)}; the interval over seeds is entirely above that of {base.label} for "
        f"{_names(own, above)}, and entirely below it for {_names(own, below)}; {_of_named(own, [*above, *below])}. "
        "With so few tables, one can decide a mean: the results of each are further down. *Not known*: other tasks, "
        "since these tables are not a sample of all tasks."
    )


def _improvements(own: Known, tables: str) -> str:
    arms = [(one, one.improvement) for one in own.aggregates if one.improvement is not None]
    above = [one for one, found in arms if found.low > 0.5]
    below = [one for one, found in arms if found.high < 0.5]
    rest = [one for one, _ in arms if one not in above and one not in below]
    best, found = max(arms, key=lambda arm: arm[1].value)
    return (
        f"**How often a run is better** ({tables}): a run scores above a run of {_baseline(own).label} more often than "
        f"not with {_names(own, above)}, most often with {_linked(own, best)}, {_shown(found)}; less often than not "
        f"with {_names(own, below)}; for {_names(own, rest)} the interval includes one half; "
        f"{_of_named(own, [*above, *below])}. *Not known*: how much is gained (see the scores of the verdicts), and "
        "whether this holds at another budget."
    )


def _of_named(own: Known, named: list[Aggregate]) -> str:
    """How firm the words of these encodings are."""
    labels = {one.label for one in named}
    return _firm(own, f"of these {len(labels)} encodings", lambda found: found.label in labels)


def _within(own: Known) -> str:
    missed = [(path, one, found) for path, one in own.cards for found in one.findings if found.learned[0] is False]
    unable = [row for row in missed if row[1].orderless(row[2].label, row[2].table)]
    reached = [row for row in missed if row[2].with_twice is not None and row[2].learned_with_twice[0]]
    firm = _firm(own, "named here", lambda found: found.learned[0] is False)
    return (
        f"**Inputs no longer than those of training**: {len(own.cards) - len({row[0] for row in missed})} of "
        f"{len(own.cards)} encodings cover at least {100 * LEARNED:.0f} % of the way from the floor to the best score "
        f"on every table; the others are {_with_tables([row for row in missed if row not in unable])} (with twice the "
        f"steps, {_with_tables(reached)} reached this level), and {_with_tables(unable)}, which in an encoder cannot "
        f"tell positions apart, so that more steps cannot help; {firm}. The floor is what the best answer gets that "
        f"does not look at the input. *Not known*: whether encodings differ above {100 * LEARNED:.0f} %, which these "
        "tables are too easy to show."
    )


def _with_tables(rows: list[tuple[Path, Card, Finding]]) -> str:
    """Encodings, each with the tables of its rows."""
    found: dict[str, list[str]] = {}
    for path, card, own in rows:
        found.setdefault(_card(path, card), []).append(code(own.table))
    return listed([f"{name} ({listed(names)})" for name, names in found.items()])


def _directions(own: Known) -> str:
    checked = dict[str, tuple[CheckedDirection, ...]]()
    tested: dict[bool, list[str]] = {True: [], False: []}
    for name, results in own.folders.items():
        folder = read_folder(TABLES / name)
        checked[name] = check_directions(folder, results)
        for one in checked[name]:
            if one.outcome != "not run":
                tested[folder.tests(one.direction)].append(one.outcome)
    every = [
        _folder(name)
        for name, found in checked.items()
        if {one.outcome for one in found if one.outcome != "not run"} == {"held"}
    ]
    return (
        f"**Orders that papers report** ({len(checked)} [published tables and open questions](tables.md)): of "
        f"{len(tested[True]) + len(tested[False])} directions, written down before any run, "
        f"{sum(found.count('held') for found in tested.values())} held at our size: "
        f"{_outcomes(tested[True], 'that this size tests')}, and "
        f"{_outcomes(tested[False], 'that it does not test')} (which it tests was decided after the results were "
        "known, so the first of these shares is too favourable); all directions of a table held for "
        f"{listed(every) if every else 'none'}. *Not known*: the papers' own settings, which are larger and have not "
        "been run; what did not hold here may hold there."
    )


def _outcomes(found: list[str], which: str) -> str:
    """How many held, and what became of the others."""
    others = sorted({*found} - {"held"})
    rest = ", ".join(f"{found.count(outcome)} {outcome}" for outcome in others)
    return f"{found.count('held')} of the {len(found)} {which}{f' (of the others: {rest})' if rest else ''}"


def _baseline(own: Known) -> Aggregate:
    return next(one for one in own.aggregates if one.improvement is None)


def _card(path: Path, card: Card) -> str:
    return f"[{named(card.label)}]({_link(path)})"


def _linked(own: Known, one: Aggregate) -> str:
    paths = {card.label: path for path, card in own.cards}
    return f"[{named(one.label)}]({_link(paths[one.label])})" if one.label in paths else named(one.label)


def _names(own: Known, every: list[Aggregate]) -> str:
    return listed([_linked(own, one) for one in every]) if every else "none"


def _link(path: Path) -> str:
    return f"{_UP}/{path.relative_to(ROOT / 'experiments').as_posix()}"


def _shown(found: tuple[float, float, float]) -> str:
    value, low, high = (f"{round(own, 2) + 0.0:.2f}" for own in found)
    return f"{value} [{low}, {high}]"


def _means(own: Known) -> str:
    first = own.cards[0][1]
    base = _baseline(own).label
    extra = {card.label: _extra(card) for _, card in own.cards} | {base: 0.0}
    rows = []
    for one in own.aggregates:
        better = "-" if one.improvement is None else _shown(one.improvement)
        rows.append([_linked(own, one), _shown(one.mean), better, f"{extra[one.label]:,.0f}"])
    improvement = f"probability of improvement over {base} [95 %]"
    columns = ("encoding", "mean over tables [95 %]", improvement, "extra parameters")
    grids = listed([f"{_grids(own, name)} on {code(name)}" for name in first.tables])
    same = "the same" if same_baseline([card for _, card in own.cards]) else "not the same"
    return (
        f"{grid(columns, 'lrrr', rows)}\n\nThe tables are {listed([code(name) for name in first.tables])}, which all "
        f"{len(own.cards)} cards have, with {span(len(card.seeds) for _, card in own.cards)} seeds each. The runs of "
        f"{base} are {same} in all cards. The grids of learning rates differ between cards: an arm has {grids}. A rank "
        "across cards thus also depends on these grids, and on parameters and time. The last column "
        f"has the parameters that an encoding has more than {base} in its own card, as the median over the tables. For "
        f"Transformer-XL, which has the most, [a card]({_UP}/verdicts/README.md#with-as-many-parameters) also compares "
        f"with a wider {base}."
    )


def _extra(card: Card) -> float:
    """Extra parameters, the median over tables."""
    pairs = [(card.measured[card.label][name], card.measured[card.baselines[0]][name]) for name in card.tables]
    return statistics.median(ours.num_parameters - theirs.num_parameters for ours, theirs in pairs)


def _grids(own: Known, name: str) -> str:
    """The fewest and the most learning rates of an arm on a table."""
    found = span(len(by_table[name].tried) for _, card in own.cards for by_table in card.measured.values())
    return f"{found} rates"


def _words_table(own: Known) -> str:
    """A line for each table of the cards: the encodings by word."""
    asked = dict.fromkeys(name for _, card in (*own.cards, *own.whole) for name in card.tables)
    cards = {card.label: card for _, card in own.cards}
    rows = []
    for column in asked:
        found = [
            (named(name), row[column], _words(cards[name], row[column]) if name in cards else _seen(row[column]))
            for name, row in own.matrix.rows.items()
            if column in row
        ]
        every = [one for one in verdicts.together(own.cards) if one.found.table == column]
        firm = f"{_held(every)}; {_same(own, every)}" if every else "-"
        rows.append([not_tests.of_verdicts(column), _by_word(found), firm])
    columns = "table", "result", f"corrected for all {len(verdicts.together(own.cards))} rows; at {listed([*WIDTHS])}"
    return grid(columns, "lll", rows)


def _published_table(own: Known) -> str:
    """A line for each published table with an arm of RoPE: the other arms by word."""
    rows = []
    for name, results in own.folders.items():
        by_table: dict[str, list[tuple[str, Finding, str]]] = {}
        for cell, found in published(results):
            by_table.setdefault(cell.table, []).append((named(cell.label), found, _seen(found)))
        rows += [
            [_folder(name), not_tests.of_folder(name, table), _by_word(found)] for table, found in by_table.items()
        ]
    return grid(("folder", "table", "result"), "lll", rows)


def _folder(name: str) -> str:
    return f"[{escaped(name)}]({_UP}/tables/{name}/README.md)"


def write() -> list[Path]:
    """Writes what differs, and gives it."""
    own, written = known(), []
    for path, text in texts(own).items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            written.append(path)
    for path, draw in pictures(own).items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(draw())
        written.append(path)
    return written


if __name__ == "__main__":
    for one in write():
        print(f"{one.relative_to(ROOT)}: written")
