"""A check of a stored card: the verdict is recomputed from the card's scores and compared with its text."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.drawing.plain import short
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.checksums import DamagedError, unseal
from posenc_jax.files.shapes import Json, loads
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import select_by_seed
from posenc_jax.verdict.card import SCHEMA, Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.measuring import Measured, of_lengths
from posenc_jax.verdict.question import KeptQuestion

_DIGITS = 1e-9
_NAMED = "name a card.json of `posenc verdict`"


def check(path: Path) -> tuple[Card, tuple[str, ...]]:
    """The card that the scores in a file give, and a line for each difference from what the file says.

    Compared are the checksum and every member of the card's `record`: the mean score and the learning rate of every
    seed, every number and word of every finding, and the sentences.

    Raises:
      RefusedError: the file holds no card, or one of a later version.
    """
    if path.is_dir():
        raise RefusedError(f"{path} is a directory: name a card.json in it")
    if not path.exists():
        raise RefusedError(f"there is no file {path}: {_NAMED}")
    content = read_regular(path)
    kept = _card(path, content)
    differs = []
    try:
        unseal(content)
    except DamagedError as error:
        differs.append(f"checksum: {error}")
    try:
        again = judged(_of_cells(card_of(kept)), _recomputed)
        markdown_card(again)  # a member that it cannot show is damaged as well
        return again, (*differs, *_untried(again), *_differences(kept, _as_kept(record(again)), ""))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        which = f": {error}" if isinstance(error, ValueError) else ""  # others name parts of this code
        why = f"it lacks {error}" if isinstance(error, KeyError) else f"its members do not fit together{which}"
        raise RefusedError(
            f"{path} is not a whole card ({short(why)}): restore it, or run `posenc verdict` again"
        ) from None


def _card(path: Path, content: bytes) -> Json:
    """The card in a file; RefusedError where there is none."""
    try:
        kept = loads(content)
    except ValueError as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else error
        raise RefusedError(f"{path} is no JSON ({why}): {_NAMED}") from None
    if not isinstance(kept, dict) or not {"schema", "measured", "findings", "tables", "seeds"} <= kept.keys():
        raise RefusedError(f"{path} holds no card: {_NAMED}")
    if kept["schema"] != SCHEMA:
        raise RefusedError(
            f"{path} has schema {kept['schema']}, and this version reads {SCHEMA}: check it with its own"
        )
    return kept


def _of_cells(card: Card) -> Card:
    """The card with the seeds and the seconds of its cells."""
    cells = [own for by_table in card.measured.values() for own in by_table.values()]
    seconds = math.fsum(own.seconds for own in cells)
    seeds = {seed for own in cells for by_seed in (*own.by_length.values(), own.scores) for seed in by_seed}
    return dataclasses.replace(
        card,
        seeds=tuple(sorted(seeds.union(*(own.diverged for own in cells)))),
        seconds=card.seconds if _same(card.seconds, seconds) else seconds,
        twice=None if card.twice is None else _of_cells(card.twice),
    )


def _untried(card: Card) -> Iterator[str]:
    for label, by_table in card.measured.items():
        for name, own in by_table.items():
            if own.learning_rates and not own.tried and not card.tables[name].finished:
                yield f"{label} on {name}: there are no validation scores that its learning rates follow from"


def _recomputed(asked: KeptQuestion, measured: Measured) -> Measured:
    """A cell with the mean scores and the learning rates that its scores give; a rate without validation stays."""
    rates = {**measured.learning_rates, **select_by_seed(measured.tried, measured.losses)}
    return dataclasses.replace(of_lengths(asked, measured), learning_rates=rates)


def _as_kept(value: Any) -> Any:
    """Values as JSON keeps them."""
    if isinstance(value, Mapping):
        return {str(name): _as_kept(own) for name, own in value.items()}
    return [_as_kept(own) for own in value] if isinstance(value, list | tuple) else value


def _differences(said: Any, found: Any, where: str) -> Iterator[str]:
    """A line for each member that differs, by its place; members that only the card has are passed over."""
    if isinstance(found, dict) and isinstance(said, dict):
        for name, value in found.items():
            yield from _differences(said.get(name), value, f"{where}: {name}" if where else name)
    elif isinstance(found, list) and isinstance(said, list) and len(found) == len(said):
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _differences(one, other, f"{where} {_named(other) or number}")
    elif not _same(said, found):
        yield f"{where}: the scores give {_shown(found)}, the card says {_shown(said)}"


def _named(value: Any) -> str:
    """The name of a finding, such as ``FIRE on copy against RoPE, best checkpoint``; "" for other members."""
    is_finding = isinstance(value, dict) and "way" in value
    return f"{value['label']} on {value['table']} against {value['baseline']}, {value['way']}" if is_finding else ""


def _same(said: Any, found: Any) -> bool:
    """True of equal values, and of numbers that differ by rounding."""
    if isinstance(said, float | int) and isinstance(found, float | int):
        return math.isclose(said, found, rel_tol=_DIGITS, abs_tol=_DIGITS * _DIGITS)
    return bool(said == found)


def _shown(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "nothing" if value is None else short(shown)
