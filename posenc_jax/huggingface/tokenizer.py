"""Tokenizers of checkpoints: a ``tokenizer.json``, or the vocabulary inside a GGUF file."""

import json
from pathlib import Path
from typing import Any

from posenc_jax.data.checkpoint_tokenizers import CheckpointTokenizer, MarianTokenizer
from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.shapes import Json, loads, problem
from posenc_jax.huggingface.config import FILE, short, token_id
from posenc_jax.huggingface.gguf import Gguf

_LONGEST = 2**27
_MARIAN = ("source.spm", "target.spm", "vocab.json")

# By the names that llama.cpp has for them: how a text is cut before merges join its bytes.
_GPT2: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_BYTES = {**_GPT2, "use_regex": False}
# SmolLM2's own tokenizer.json has Digits and then ByteLevel, and llama.cpp's "smollm" and "starcoder" cut at every
# \p{N} too. transformers 5.24 leaves the digits together when it reads a GGUF file, so its tokens of numbers are wrong.
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
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
_SPACE = "\u2581"
_LONGEST_PIECE = 512


def of_directory(directory: Path, config: Json, vocab_size: int) -> Tokenizer | None:
    """The tokenizer in a directory, a ``tokenizer.json`` or Marian's three files; None without them."""
    path = directory / "tokenizer.json"
    if path.is_file():
        return _made(_read(path), path, config, directory / FILE, vocab_size)
    files = [directory / name for name in _MARIAN]
    if not all(file.is_file() for file in files):
        return None
    source, target, vocabulary = map(_read, files)
    bos, eos = _bos_and_eos(config, {}, directory / FILE, vocab_size)
    try:
        return MarianTokenizer(source, target, vocabulary, vocab_size=vocab_size, bos=bos, eos=eos)
    except DataError as error:
        raise DataError(f"{directory}: {error}") from None


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _LONGEST)
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): fetch it again") from None


def of_gguf(found: Gguf, config: Json, vocab_size: int) -> CheckpointTokenizer:
    """The tokenizer of the vocabulary in a GGUF file: pieces of bytes that merges join, as GPT-2 has them, or pieces of
    SentencePiece with scores (``llama``).
    """
    fields = found.fields
    kind, cut = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre", "default")
    if kind != "llama" and (kind != "gpt2" or cut not in tuple(_CUTS)):
        raise DataError(
            f"{found.path} has a vocabulary of the kind {short(kind)}, {short(cut)}, and 'llama' and 'gpt2' with one "
            f"of {', '.join(_CUTS)} are read: name a directory with tokenizer.json"
        )
    third, of = ("scores", float) if kind == "llama" else ("merges", str)
    parts: dict[str, Any] = {name: fields.get(f"tokenizer.ggml.{name}") for name in ("tokens", "token_type", third)}
    tokens, types, own = parts.values()
    whole = not problem(parts, {"tokens": [str], "token_type": [int], third: [of]})
    whole = whole and len(types) == len(tokens) <= vocab_size and max(map(len, tokens), default=0) <= _LONGEST_PIECE
    if whole:
        words = {word for merge in own for word in merge.split(" ")} if third == "merges" else set()
        whole = words.issubset(tokens) and (third == "merges" or len(own) == len(tokens))
    if not whole:
        raise DataError(f"{found.path} has no whole vocabulary, or that of another model: fetch it again")
    special = [
        {"id": number, "content": token, "special": kind == _CONTROL, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    rest: Json
    if kind == "llama":
        rest = _sentencepiece(tokens, types, own, bool(fields.get("tokenizer.ggml.add_space_prefix", True)))
    else:
        # Llama 3 takes a word that is a token as it is.
        model = {"merges": own, "ignore_merges": cut == "llama-bpe"}
        rest = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": _CUTS[cut]}, "decoder": _GPT2, "model": model}
    rest["model"] |= {"type": "BPE", "vocab": {token: number for number, token in enumerate(tokens)}}
    data = {"version": "1.0", "added_tokens": special, **rest}
    return _made(json.dumps(data).encode(), found.path, config, found.path, vocab_size)


def _sentencepiece(tokens: list[str], types: list[Any], scores: list[float], prefix: bool) -> Json:
    """Pieces joined as llama.cpp joins them: of all neighbours first the two whose piece has the highest score, and a
    character without a piece is its bytes. ``prefix``: whether a space comes before a text.
    """
    own = {token: score for token, kind, score in zip(tokens, types, scores) if kind == _NORMAL}
    pairs = (
        (token[:at], token[at:]) for token in sorted(own, key=lambda token: -own[token]) for at in range(1, len(token))
    )
    unknown = next((token for token, kind in zip(tokens, types) if kind == _UNKNOWN), None)
    spaces: list[Json] = [{"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}]
    back: list[Json] = [{**spaces[0], "pattern": {"String": _SPACE}, "content": " "}, {"type": "ByteFallback"}]
    back += [{"type": "Fuse"}] + ([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else [])
    before = [{"type": "Prepend", "prepend": _SPACE}] if prefix else []
    return {
        "normalizer": {"type": "Sequence", "normalizers": before + spaces},
        "decoder": {"type": "Sequence", "decoders": back},
        "model": {
            "merges": [pair for pair in pairs if pair[0] in own and pair[1] in own],
            **{"unk_token": unknown, "fuse_unk": True, "byte_fallback": True},
        },
    }


def _made(data: bytes, where: Path, config: Json, of_config: Path, vocab_size: int) -> CheckpointTokenizer:
    bos, eos = _bos_and_eos(config, _around(data), of_config, vocab_size)
    try:
        return CheckpointTokenizer(data, vocab_size=vocab_size, bos=bos, eos=eos)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _bos_and_eos(config: Json, around: Json, of_config: Path, vocab_size: int) -> tuple[int, int]:
    """The ids of bos and eos in the config, one serving for both if need be, else those ``around`` a text."""
    ids = {name: token_id(of_config, config, name, vocab_size) for name in ("bos", "eos")}
    known = {name: value for name, value in ids.items() if value is not None} or around
    if not known:
        raise DataError(f"{of_config}: the config has neither bos_token_id nor eos_token_id: add one of them")
    bos, eos = (known.get(name, next(iter(known.values()))) for name in ("bos", "eos"))
    return bos, eos


def _around(data: bytes) -> Json:
    """Ids of the tokens that BERT's tokenizers have before and after a text; its configs say none."""
    try:
        content = loads(data)
    except ValueError:
        content = None
    if problem(content, {"added_tokens": [{"content": str, "id": int}]}):
        return {}
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    return {name: added[word] for name, word in (("bos", "[CLS]"), ("eos", "[SEP]")) if word in added}
