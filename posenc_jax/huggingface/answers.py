"""The tokens and search settings that a checkpoint declares for the answers of its decoder."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.config import checked_id, read_object, short, token_id
from posenc_jax.huggingface.family import Family

FILE = "generation_config.json"
# Settings that change the most probable tokens and are not read, with the value that changes nothing.
_WITHOUT = {
    "begin_suppress_tokens": None,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "exponential_decay_length_penalty": None,
    "force_words_ids": None,
    "min_length": 0,
    "min_new_tokens": None,
    "no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "sequence_bias": None,
}


def read_generation(directory: Path) -> Json:
    """The values of ``generation_config.json``; none where there is no such file."""
    path = directory / FILE
    return read_object(path) if path.is_file() else {}


def languages(directory: Path) -> dict[str, str]:
    """The ``source`` and ``target`` languages in Marian's ``tokenizer_config.json``; empty unless it names both."""
    path = directory / "tokenizer_config.json"
    said = read_object(path) if path.is_file() else {}
    found = {side: str(said.get(f"{side}_lang", "")) for side in ("source", "target")}
    return found if all(re.fullmatch("[A-Za-z_]{2,20}", name) for name in found.values()) else {}


def answer_ids(family: Family, settings: Mapping[str, Any], vocab_size: int, where: Path) -> AnswerIds:
    """The ids as transformers reads them: bos serves for a start that is missing, and of several ends the first is
    taken.

    Raises:
      DataError: an id is none of the model.
    """

    def declared(name: str) -> Any:
        value = token_id(where, settings, name, vocab_size)
        return family.ids.get(name) if value is None else value

    start = "bos" if declared("decoder_start") is None else "decoder_start"
    ids = (checked_id(where, f"{name}_token_id", declared(name), vocab_size) for name in (start, "eos", "pad"))
    first, eos, pad = ids
    return AnswerIds(first, eos, pad, _never(settings, vocab_size, eos, where))


def _never(settings: Mapping[str, Any], vocab_size: int, eos: int, where: Path) -> tuple[int, ...]:
    """Tokens that no answer has; an end among them is not."""
    words, single = settings.get("bad_words_ids") or [], settings.get("suppress_tokens") or []
    if not isinstance(words, list) or not isinstance(single, list):
        raise DataError(f"{where}: bad_words_ids and suppress_tokens must be lists: mend the config")
    found: dict[int, None] = {}
    for word in (*words, *([token] for token in single)):
        if not isinstance(word, list) or len(word) != 1:
            raise DataError(
                f"{where}: bad_words_ids has {short(word)}, and words of one token are kept out of answers: take the "
                "others away"
            )
        found[checked_id(where, "bad_words_ids: a word", word[0], vocab_size)] = None
    return tuple(token for token in found if token != eos)


def unread(settings: Mapping[str, Any]) -> list[str]:
    """The settings of search that are not read, ``name = value`` each."""
    return [
        f"{name} = {short(settings[name])}"
        for name, without in _WITHOUT.items()
        if settings.get(name) not in (None, without, [])
    ]
