"""The ``config.json`` of a model, read as data: files come from anywhere, and no code that one names is run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.shapes import loads
from posenc_jax.files.user_paths import full
from posenc_jax.refusals import first_line

FILE = "config.json"
# The largest known ones have lists of labels and some 4 MB.
MOST_BYTES = 16 * 2**20


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The values of a config.

    Args:
      path: the file, or the folder with a ``config.json``.

    Raises:
      DataError: there is no such file, it is larger than `MOST_BYTES`, or no JSON object.
    """
    file = full(path)
    if file.is_dir():
        file = file / FILE
    if not file.is_file():
        raise DataError(f"{path}: there is no file {file.name}: name a config.json, or the folder that has one")
    return read_object(file)


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of at most `MOST_BYTES`; `DataError` where there is none."""
    try:
        values = loads(read_regular(path, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no JSON ({first_line(error)}): fetch it again, or name another") from None
    if not isinstance(values, dict):
        raise DataError(f"{path} holds a JSON {type(values).__name__}, and must be an object: fetch it again")
    return values


def of_text(config: dict[str, Any]) -> dict[str, Any]:
    """The settings of a text model, which in models that read images too stand in an object of their own."""
    inner = config.get("text_config")
    if not isinstance(inner, dict):
        return config
    tied = config.get("tie_word_embeddings") or inner.get("tie_word_embeddings")
    return {**config, **inner, "tie_word_embeddings": tied}


# Names of one setting.
SAME = (
    (
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "encoder_layers",
        "decoder_layers",
        "num_decoder_layers",
    ),
    ("hidden_size", "n_embd", "n_embed", "d_model", "embed_dim"),
    ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"),
    ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length"),
)
_SPELLINGS = {names[0]: names for names in SAME}


def setting(config: Mapping[str, Any], name: str) -> Any:
    """A value by any of its names; None where it is missing or null."""
    return next((config[n] for n in _SPELLINGS.get(name, (name,)) if config.get(n) is not None), None)


def integer(value: Any) -> Any:
    """Whole numbers written as 128.0 become 128; other values stay."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole(config: Mapping[str, Any], name: str) -> int | None:
    """A whole number above 0, 128.0 too, or None; `DataError` for another value."""
    value = integer(setting(config, name))
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31):
        limit = " and below 2^31" if isinstance(value, int) and value >= 2**31 else ""
        raise _wrong(name, value, f"a whole number above 0{limit}")
    return value


def natural(config: Mapping[str, Any], name: str, default: int) -> int:
    """A whole number, 0 too, or ``default``; `DataError` for another value."""
    return 0 if config.get(name) == 0 and config[name] is not False else whole(config, name) or default


def needed(config: Mapping[str, Any], name: str, why: str) -> int:
    """Like `whole`, with a `DataError` where the value is missing."""
    value = whole(config, name)
    if value is None:
        raise DataError(f"the config lacks {name}, {why}: add it")
    return value


def number(config: Mapping[str, Any], name: str, where: str = "") -> float | None:
    """A finite number above 0, or None; `DataError` for another value."""
    value = config.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e300:
        raise _wrong(where + name, value, "a number above 0")
    return float(value)


def _wrong(name: str, value: Any, rule: str) -> DataError:
    if isinstance(value, list):
        return DataError(f"{name} = {short(value)} is one for each layer, and one for all is read: name another config")
    return DataError(f"{name} = {short(value)} must be {rule}: mend the config")


def token_id(where: object, config: Mapping[str, Any], name: str, vocab_size: int) -> int | None:
    """The id of a token such as ``bos``, the first of several; None where it is missing or null; `DataError` for one
    that is none of the model.
    """
    given = config.get(f"{name}_token_id")
    if given is None:
        return None
    several = given if isinstance(given, list) and given else [given]
    first, *_ = (checked_id(where, f"{name}_token_id", one, vocab_size) for one in several)
    return first


def checked_id(where: object, name: str, value: Any, vocab_size: int) -> int:
    """An id; `DataError` for one that is none of the model."""
    value = integer(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < vocab_size:
        raise DataError(
            f"{where}: {name} = {short(value)} must be a token of the {vocab_size:,} that there are: mend the config"
        )
    return value


def flag(config: Mapping[str, Any], name: str) -> bool | None:
    """True or false, or None; `DataError` for another value."""
    value = config.get(name)
    if value is not None and not isinstance(value, bool):
        raise DataError(f"{name} = {short(value)} must be true or false: mend the config")
    return value


def short(value: Any) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}..."
