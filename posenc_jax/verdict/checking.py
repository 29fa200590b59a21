"""A check of a stored card: the verdict is recomputed from the card's scores and compared with its text."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.drawing.plain import short
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.checksums import DamagedError, unseal
from posenc_jax.files.shapes import Json, Shape, loads, problem
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import select_by_seed
from posenc_jax.verdict.card import SCHEMA, Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import text_card
from posenc_jax.verdict.measuring import Measured, of_lengths
from posenc_jax.verdict.question import KeptQuestion

_DIGITS = 1e-9
_NAMED = "name a card.json of `posenc verdict`"
_NULL = type(None)
_BY_SEED: Shape = {str: float}
_CELL: Shape = {
    **{"spec": str, "label": str, "memory": str, "config?": str, "question?": str},
    **{"num_parameters": int, "num_posenc_parameters": int, "seconds": float, "milliseconds_per_step?": float},
    **{"learning_rates": _BY_SEED, "tried": {str: {str: (float, _NULL)}}, "diverged": [int], "untimed?": [str]},
    **{"by_length": {str: _BY_SEED}, "scores?": _BY_SEED, "in_range?": _BY_SEED, "otherwise?": {str: _BY_SEED}},
}
_QUESTION: Shape = {
    **{"question": str, "source": str, "metric": str, "chance": (float, _NULL), "steps?": int, "finished?": bool},
    **{"trained_lengths": [int], "score_lengths": [int], "length_unit?": str, "length_names?": {str: str}},
}
_ENVIRONMENT: Shape = {
    **{"version": str, "commit": (str, _NULL), "jax": str, "flax": str, "platform": str},
    **{"device_count": int, "device_kind": (str, _NULL), "cpu": (str, _NULL)},
}
_FINDING: Shape = {"label?": str, "table": str, "baseline": str, "way": str}
_CARD: Shape = {
    **{"schema?": int, "label": str, "labels?": [str], "baselines": [str], "seeds": [int], "seconds": float},
    **{"tables": {str: _QUESTION}, "measured": {str: {str: _CELL}}, "environments": [_ENVIRONMENT]},
    **{"findings": [_FINDING], "otherwise": [_FINDING], "verdict": [str]},
    **{"elsewhere?": [str], "unequal?": [str]},
}
_CARD["twice?"] = dict(_CARD)
"""What a card of any version has, as far as its verdict is judged from it."""


def check(path: Path) -> tuple[Card, tuple[str, ...]]:
    """The card that the scores in a file give, and a line for each difference from what the file says.

    Compared are the checksum, the seconds, the mean score and the learning rate of every seed, the direction and the
    best value of every score, every number and word of every finding, and the sentences.

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
    kept.pop("checksum", None)
    try:
        for own in (*kept["findings"], *kept["otherwise"]):
            own.setdefault("label", kept["label"])  # of one encoding, before there could be several
        again = judged(card_of(kept), _recomputed)
        text_card(again, 100)  # a member that it cannot show is damaged as well
        return again, (*differs, *_differences(kept, record(again)))
    except KeyError as error:
        raise RefusedError(_not_whole(path, f"one of its members lacks {error.args[0]!r}")) from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        which = f": {error}" if isinstance(error, ValueError) else ""  # others name parts of this code
        raise RefusedError(_not_whole(path, f"its members do not fit together{which}")) from None


def _card(path: Path, content: bytes) -> Json:
    """The card in a file, with all members that a verdict needs; RefusedError where there is none."""
    if not content.strip():
        raise RefusedError(f"{path} is empty: {_NAMED}")
    try:
        kept = loads(content)
    except ValueError as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else error
        raise RefusedError(f"{path} is no JSON ({why}): {_NAMED}") from None
    if not isinstance(kept, dict) or not {"measured", "findings", "tables", "seeds"} <= kept.keys():
        raise RefusedError(f"{path} holds no card: {_NAMED}")
    for own in (kept, kept.get("twice")):
        schema = own.get("schema") if isinstance(own, dict) else None
        if isinstance(schema, int) and schema > SCHEMA:
            raise RefusedError(
                f"{path} has schema {schema}, and this version reads {SCHEMA}: check it with a later one"
            )
        if isinstance(schema, int) and schema < 1:
            raise RefusedError(_not_whole(path, f"its schema is {schema}"))
    if wrong := problem(kept, _CARD) or _missing(kept):
        raise RefusedError(_not_whole(path, wrong))
    return kept


def _missing(kept: Json) -> str:
    """The first thing that a card names and has nothing of, in words; or ""."""
    measured, labels = kept["measured"], kept.get("labels", [kept["label"]])
    if not labels or not kept["baselines"]:
        return f"its {'baselines' if labels else 'labels'} are an empty list"
    for label in (*labels, *kept["baselines"]):
        if not measured.get(label):
            return f"it has no scores of {label!r}"
    others = (name for by_table in measured.values() for name in by_table if name not in kept["tables"])
    return next((f"tables lacks {name!r}" for name in others), "")


def _not_whole(path: Path, why: str) -> str:
    return f"{path} is not a whole card ({short(why)}): restore it, or run `posenc verdict` again"


def _recomputed(asked: KeptQuestion, measured: Measured) -> Measured:
    """A cell with the mean scores and the learning rates that its scores give; a rate without validation stays."""
    rates = {**measured.learning_rates, **select_by_seed(measured.tried)}
    return dataclasses.replace(of_lengths(asked, measured), learning_rates=rates)


_SOURCES = {"scores": "scores by length", "in_range": "scores by length", "learning_rates": "validation scores"}
"""Members of a cell by seed, and what they follow from."""


def _differences(said: Json, found: Json) -> Iterator[str]:
    """Differences of a card from what its scores give, those of single seeds first."""
    for label, by_table in found["measured"].items():
        for name, cell in by_table.items():
            if cell["learning_rates"] and not cell["tried"] and not found["tables"][name]["finished"]:
                yield f"{label} on {name}: there are no validation scores that its learning rates follow from"
            for member, source in _SOURCES.items():
                for seed, value in cell[member].items():
                    kept = said["measured"][label][name].get(member, {}).get(seed)
                    if not _same(kept, value):
                        yield (
                            f"{label} on {name}, seed {seed}: its {source} give {member} {_shown(value)}, the card "
                            f"says {_shown(kept)}"
                        )
    for name, asked in found["tables"].items():
        of_metric = {member: asked[member] for member in ("better", "best")}
        yield from _of_values(f"tables: {name}", said["tables"][name], of_metric)
    for name in ("label", "rule", "needs_more_seeds"):
        yield from _of_values(name, said.get(name), found[name])
    if strangers := found["measured"].keys() - {*found["labels"], *found["baselines"]}:
        yield f"measured: {', '.join(sorted(strangers))} is neither an encoding nor a baseline of the card"
    scored = {int(seed) for cells in found["measured"].values() for own in cells.values() for seed in own["scores"]}
    lost = {int(seed) for cells in found["measured"].values() for own in cells.values() for seed in own["diverged"]}
    if sorted(scored | lost) != sorted(found["seeds"]):
        yield f"seeds: the scores are of {sorted(scored | lost)}, the card says {found['seeds']}"
    cells = [cell["seconds"] for by_table in found["measured"].values() for cell in by_table.values()]
    yield from _of_values("seconds", said["seconds"], math.fsum(cells))
    for part in ("findings", "otherwise"):
        kept = {_name(own): own for own in said[part]}
        if len(kept) < len(said[part]):
            yield f"{part}: one of them is there twice"
        for own in found[part]:
            if _name(own) in kept:
                yield from _of_values(_name(own), kept.pop(_name(own)), own)
            else:
                yield f"{part}: {_name(own)} is missing, and its scores are there"
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
