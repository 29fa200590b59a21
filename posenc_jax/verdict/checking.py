"""A check of a stored card: the verdict is recomputed from the card's scores and compared with its text."""

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.files.atomic import read_regular
from posenc_jax.files.checksums import DamagedError, unseal
from posenc_jax.files.shapes import Json, loads
from posenc_jax.runs.errors import RefusedError
from posenc_jax.verdict.card import SCHEMA, Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import text_card
from posenc_jax.verdict.measuring import of_lengths

_DIGITS = 1e-9


def check(path: Path) -> tuple[Card, tuple[str, ...]]:
    """The card that the scores in a file give, and a line for each difference from what the file says.

    Compared are the checksum, the mean score of every seed, every number and word of every finding, and the sentences.

    Raises:
      RefusedError: the file holds no card, or one of a later version.
    """
    content = read_regular(path)
    try:
        kept = loads(content)
    except ValueError as error:
        raise RefusedError(f"{path} is no JSON ({error}): name a card.json of `posenc verdict`") from None
    if not isinstance(kept, dict) or not {"measured", "findings", "tables", "seeds"} <= kept.keys():
        raise RefusedError(f"{path} holds no card: name a card.json of `posenc verdict`")
    schema = kept.get("schema", 0)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise RefusedError(f"{path} has schema {schema}, and this version reads {SCHEMA}: check it with a later one")
    differs = []
    try:
        unseal(content)
    except DamagedError as error:
        differs.append(f"checksum: {error}")
    kept.pop("checksum", None)
    try:
        for own in (*kept["findings"], *kept["otherwise"]):
            own.setdefault("label", kept["label"])  # of one encoding, before there could be several
        again = judged(card_of(kept), of_lengths)
        text_card(again, 100)  # a member that it cannot show is damaged as well
        return again, (*differs, *_differences(kept, record(again)))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {error}"
        raise RefusedError(f"{path} is not a whole card ({what}): restore it") from None


def _differences(said: Json, found: Json) -> Iterator[str]:
    """Differences of a card from what its scores give, those of single seeds first."""
    for label, by_table in found["measured"].items():
        for name, cell in by_table.items():
            for mean in ("scores", "in_range"):
                for seed, score in cell[mean].items():
                    kept = said["measured"][label][name].get(mean, {}).get(seed)
                    if not _same(kept, score):
                        yield (
                            f"{label} on {name}, seed {seed}: its scores by length give {mean} {_shown(score)}, the "
                            f"card says {_shown(kept)}"
                        )
    for name in ("label", "rule", "needs_more_seeds"):
        yield from _of_values(name, said.get(name), found[name])
    if strangers := found["measured"].keys() - {*found["labels"], *found["baselines"]}:
        yield f"measured: {', '.join(sorted(strangers))} is neither an encoding nor a baseline of the card"
    scored = {int(seed) for cells in found["measured"].values() for own in cells.values() for seed in own["scores"]}
    lost = {int(seed) for cells in found["measured"].values() for own in cells.values() for seed in own["diverged"]}
    if scored | lost != {*found["seeds"]}:
        yield f"seeds: the scores are of {sorted(scored | lost)}, the card says {found['seeds']}"
    for part in ("findings", "otherwise"):
        kept = {_name(own): own for own in said[part]}
        if len(kept) < len(said[part]):
            yield f"{part}: one of them is there twice"
        for own in found[part]:
            yield from _of_values(_name(own), kept.pop(_name(own), {}), own)
        for name in kept:
            yield f"{name}: no scores are there for it"
    for kept, sentence in itertools.zip_longest(said["verdict"], found["verdict"]):
        if kept != sentence:
            yield f"verdict: the scores give {sentence!r}, the card says {kept!r}"
    if found["twice"] is not None:
        yield from (f"with twice the steps: {line}" for line in _differences(said["twice"], found["twice"]))


def _name(finding: Json) -> str:
    """The name of a finding, such as ``FIRE on copy against RoPE, best checkpoint``."""
    return f"{finding['label']} on {finding['table']} against {finding['baseline']}, {finding['way']}"


def _of_values(where: str, said: Any, found: Any) -> Iterator[str]:
    if isinstance(found, Mapping) and isinstance(said, Mapping):
        for name, value in found.items():
            yield from _of_values(f"{where}: {name}", said.get(name), value)
    elif isinstance(found, list | tuple) and isinstance(said, list | tuple) and len(found) == len(said):
        for number, value in enumerate(found):
            yield from _of_values(f"{where} {number}", said[number], value)
    elif not _same(said, found):
        yield f"{where}: the scores give {_shown(found)}, the card says {_shown(said)}"


def _same(said: Any, found: Any) -> bool:
    """True of equal values, and of numbers that differ by rounding."""
    if isinstance(said, float | int) and isinstance(found, float | int):
        return math.isclose(said, found, rel_tol=_DIGITS, abs_tol=_DIGITS * _DIGITS)
    return bool(said == found)


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
