"""The table of a card on costs and settings: parameters, times, learning rates, and where the runs were made."""

import collections

from posenc_jax.data.score_kinds import significant
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.files.shapes import Json
from posenc_jax.statistics import at_ends, lead, tied
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.cells import device
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.tables import MOST_RATES


def cost_table(card: Card) -> TextTable:
    """A row for each table and arm."""
    entries = []
    for name, label in ((name, label) for name in card.tables for label in card.arms):
        measured = card.measured[label][name]
        time = measured.milliseconds_per_step
        entries.append(
            (
                *(name, label, f"{measured.num_parameters:,}", f"{measured.num_posenc_parameters:,}"),
                *("-" if time is None else significant(time), measured.memory, _rates(measured), _lead(measured)),
                ", ".join(map(str, measured.diverged)) or "none",
            )
        )
    grids: dict[str, dict[str, None]] = {}
    for name, own in ((name, own) for by_table in card.measured.values() for name, own in by_table.items()):
        if own.tried:
            grids.setdefault(", ".join(f"{rate:g}" for rate in sorted(own.tried)), {})[name] = None
    rates = "; ".join(own + f" ({', '.join(names)})" * (len(grids) > 1) for own, names in grids.items())
    untimed = [why for by_table in card.measured.values() for own in by_table.values() for why in own.untimed]
    where = "; ".join(map(_machine, card.environments)) or "Where they ran is not recorded"
    return TextTable(
        title="Cost and settings",
        columns=(
            *("table", "encoding", "parameters", "of the encoding", "ms per step", "memory", "learning rates (seeds)"),
            *("lead", "diverged seeds"),
        ),
        align="llrrrlrrl",
        entries=tuple(entries),
        notes=(
            _of_one_rate(rates)
            if _one_rate(card)
            else f"Every seed is trained at the learning rates {rates}, and keeps the one that is best in its own "
            "validation at the trained lengths, so that the intervals include the chance in this choice. lead: how far "
            "it is ahead of the second best in validation, mean over seeds; near 0, validation cannot tell the rates "
            "apart, though they may differ at longer lengths. "
            f"{_ends(card)}{_ties(card)}",
            "ms per step: of the models that train together, with whatever else the machine did at the time. memory: "
            "of attention on an accelerator, by the length T; in blocks the logits are computed twice.",
            f"{where}. {_of_commits(card)}{_minutes(card)}",
            *_fields(card),
            *([f"Not included, since they are not known: the times of {'; '.join(untimed)}."] if untimed else []),
            *(
                [f"The runs are of several environments, which differ by rounding: {'; '.join(card.elsewhere)}."]
                if card.elsewhere
                else ()
            ),
        ),
    )


def _minutes(card: Card) -> str:
    """A sentence on the time of all runs; of finished ablations compilation is not known."""
    minutes = [f"{own.seconds / 60:.0f}" for own in (card, *([] if card.twice is None else [card.twice]))]
    later = f", and {minutes[1]} with twice the steps" if minutes[1:] else ""
    compiling = "without" if _finished(card) else "including"
    return f"All runs together: {minutes[0]} minute{'s' * (minutes[0] != '1')}{later}, {compiling} compilation."


def _of_commits(card: Card) -> str:
    """A sentence where the runs are of several commits, since a difference may be theirs."""
    several = len({*map(_commit, card.environments)}) > 1
    return "Between these commits scores may move, as their code differs. " * several


def _commit(environment: Json) -> str:
    return (environment["commit"] or "")[:8] or "of no repository"


def _one_rate(card: Card) -> bool:
    return all(len(own.tried) == 1 for by_table in card.measured.values() for own in by_table.values())


def _of_one_rate(rates: str) -> str:
    return f"Every seed is trained at one learning rate, {rates}, which may suit one arm better than another."


def _lead(measured: Measured) -> str:
    found = lead(measured.tried)
    return "-" if found is None else f"{found:.3f}"


def _ends(card: Card) -> str:
    """A sentence on the arms that prefer an end of the grid."""
    found = []
    for name in card.tables:
        for label in card.arms:
            tried = card.measured[label][name].tried
            low, high, seeds = at_ends(tried)
            ends = ((low, min(tried, default=0.0)), (high, max(tried, default=0.0)))
            found += [
                f"{label} on {name} ({rate:g}: {count} of {seeds})" for count, rate in ends if 2 * count >= seeds > 0
            ]
    grown = (
        "The grid is extended for all arms while at least half of the seeds of any arm do best at an end, up to "
        f"{MOST_RATES} rates"
    )
    if _finished(card):
        grown = "The learning rates are those of the ablation"
    at = f"at least half of the seeds still do best at an end: {'; '.join(found)}" if found else ""
    return f"{grown}; {at}." if at else f"{grown}; no arm prefers an end."


def _ties(card: Card) -> str:
    """A sentence on the arms whose seeds have the same best score at several rates; the lowest of them is taken."""
    counts = {(label, name): tied(card.measured[label][name].tried) for name in card.tables for label in card.arms}
    found = [
        f"{label} on {name} ({count} of {len(card.seeds)} seeds)" for (label, name), count in counts.items() if count
    ]
    return f" Equal in validation at several rates, of which the lowest is taken: {'; '.join(found)}." if found else ""


def _fields(card: Card) -> list[str]:
    specs: dict[str, list[str]] = {}
    for label, by_table in card.measured.items():
        for name, own in by_table.items():
            if "(" in own.spec:
                specs.setdefault(f"{label} is {own.spec}", []).append(name)
    said = "; ".join(f"{own} on {', '.join(names)}" for own, names in specs.items())
    rule = (
        " Fields that are about distances or the training length are set from the trained lengths, unless the spec "
        "gives one of them, as those behind some names of the catalogue do."
    )
    return [f"Fields: {said}.{'' if _finished(card) else rule}"] if said else []


def _finished(card: Card) -> bool:
    return any(asked.finished for asked in card.tables.values())


def _rates(measured: Measured) -> str:
    """Learning rates with their numbers of seeds, such as ``0.0005 (6), 0.001 (2)``."""
    counted = collections.Counter(measured.learning_rates.values())
    return ", ".join(f"{rate:g} ({count})" for rate, count in sorted(counted.items())) or "none"


def _machine(environment: Json) -> str:
    posenc = f"posenc_jax {environment['version']} ({_commit(environment)})"
    versions = f"{posenc}, jax {environment['jax']}, flax {environment['flax']}"
    return f"{versions}, {device(environment)}"
