"""Tokenizers of checkpoints: a ``tokenizer.json``, or the vocabulary inside a GGUF file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import CheckpointTokenizer
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.gguf import Gguf

_LONGEST = 2**27

# By the names that llama.cpp has for them: how a text is cut before merges join its bytes.
_GPT2: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_BYTES = {**_GPT2, "use_regex": False}
# llama.cpp's "smollm" and "starcoder" cut at every \p{N}. transformers 5.24 does not when it reads a GGUF file, so its
# tokens of numbers are others.
_DIGITS = {"type": "Digits", "individual_digits": True}
_TEMPLATE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _split(digits: str) -> Json:
    pattern = {"Regex": _TEMPLATE.format(digits=digits)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


_CUTS: dict[str, list[Json]] = {
    "default": [_GPT2],
    "gpt-2": [_GPT2],
    "smollm": [_DIGITS, _GPT2],
    "starcoder": [_DIGITS, _GPT2],
    "llama-bpe": [_split("{1,3}"), _BYTES],
    "qwen2": [_split(""), _BYTES],
}
_CONTROL, _USER_DEFINED = 3, 4


def of_directory(directory: Path, config: Json, vocab_size: int) -> CheckpointTokenizer | None:
    """The tokenizer in a directory; None where there is no ``tokenizer.json``."""
    path = directory / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        data = read_regular(path, _LONGEST)
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): fetch it again") from None
    return _made(data, config, vocab_size, str(path))


def of_gguf(found: Gguf, config: Json, vocab_size: int) -> CheckpointTokenizer:
    """The tokenizer of the vocabulary in a GGUF file: pieces of bytes that merges join, as GPT-2 has them."""
    fields = found.fields
    kind, cut = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2" or cut not in _CUTS:
        raise DataError(
            f"{found.path} has a vocabulary of the kind {kind!r}, {cut!r}, and 'gpt2' with one of "
            f"{', '.join(_CUTS)} is read: name a directory with tokenizer.json"
        )
    parts: list[Any] = [fields.get(f"tokenizer.ggml.{name}") for name in ("tokens", "merges", "token_type")]
    tokens, merges, types = parts
    if not _texts(tokens) or not _texts(merges) or not isinstance(types, list) or len(types) != len(tokens):
        raise DataError(f"{found.path} has no whole vocabulary: fetch it again")
    special = [
        {"id": number, "content": token, "special": kind == _CONTROL, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    data = {
        "version": "1.0",
        "added_tokens": special,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _CUTS[cut]},
        "decoder": _GPT2,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
            # Llama 3 takes a word that is a token as it is.
            "ignore_merges": cut == "llama-bpe",
        },
    }
    return _made(json.dumps(data).encode(), config, vocab_size, str(found.path))


def _made(data: bytes, config: Json, vocab_size: int, where: str) -> CheckpointTokenizer:
    ids = [config.get(name) for name in ("bos_token_id", "eos_token_id")]
    bos, eos = (value[0] if isinstance(value, list) and value else value for value in ids)
    known = [value for value in (bos, eos) if isinstance(value, int) and not isinstance(value, bool)]
    if not known:
        raise DataError(f"{where}: the config has neither bos_token_id nor eos_token_id: add one of them")
    bos, eos = (value if value in known else known[0] for value in (bos, eos))
    try:
        return CheckpointTokenizer(data, vocab_size=vocab_size, bos=bos, eos=eos)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
