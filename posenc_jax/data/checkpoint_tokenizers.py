"""Tokenizers of checkpoints, with the ids of their models, and the reader of the tokenizers that runs keep."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import (
    BYTES,
    PIECES,
    TWO,
    ByteTokenizer,
    JsonTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    of_two_sides,
)
from posenc_jax.extras import needed
from posenc_jax.files.shapes import loads, problem

_OF_CHECKPOINT = b"checkpoint tokenizer 1\n"  # what a tokenizer.json of a checkpoint is stored after
_MARIAN = b"marian tokenizer 1\n"
_SPECIAL = ("<pad>", "</s>", "<unk>")
_SPACE = "\u2581"
_LANGUAGE = re.compile(">>.*?<<", re.DOTALL)


class CheckpointTokenizer(JsonTokenizer):
    """The tokenizer of a checkpoint: ids are those of its ``tokenizer.json``, as the model has them.

    A text may encode to its special tokens, as its templates for chats rely on; `decode` leaves them out.

    Args:
      data: the ``tokenizer.json``.
      vocab_size: the rows of the model's table, which may be more than there are tokens.
      bos, eos: ids of the file.

    Raises:
      DataError: bytes that are no such file, or ids that the vocabulary does not have.
    """

    _first = 0

    def __init__(self, data: bytes, *, vocab_size: int, bos: int, eos: int):
        super().__init__(data)
        wrong = [f"vocab_size = {vocab_size}"] if vocab_size < self._size else []
        wrong += [f"{name} = {token}" for name, token in (("bos", bos), ("eos", eos)) if not 0 <= token < vocab_size]
        if wrong:
            raise DataError(
                f"the tokenizer of the checkpoint has {self._size} tokens, and {wrong[0]} does not fit: take the "
                "tokenizer.json of the same checkpoint"
            )
        about = json.dumps({"vocab_size": vocab_size, "bos": bos, "eos": eos})
        self.files, self._stored = {"tokenizer.json": data}, _OF_CHECKPOINT + about.encode() + b"\n" + data
        self.bos, self.eos, self._size = bos, eos, vocab_size

    @property
    def mask(self) -> int | None:
        """The token that replaces hidden ones, or None."""
        found = (self._tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>"))
        return next((token for token in found if token is not None), None)

    def name_of(self, token: int) -> str:
        """A special token by its own name."""
        return self.decode([token]) or self._tokenizer.id_to_token(token) or "·"

    def _is_special(self, token: int) -> bool:
        return False  # the library leaves them out


class MarianTokenizer(Tokenizer):
    """The tokenizer of Marian: pieces of one SentencePiece model for sources and of another for targets, numbered by
    one list. A text may begin with the code of its target, as in ``>>fra<<``.

    Args:
      source, target, vocabulary: contents of ``source.spm``, ``target.spm`` and ``vocab.json``.
      vocab_size: the rows of the model's table.
      bos, eos: ids of the list.

    Raises:
      DataError: contents that are no such files, or ids that the vocabulary does not have.
    """

    def __init__(self, source: bytes, target: bytes, vocabulary: bytes, *, vocab_size: int, bos: int, eos: int):
        self._source, self._target = _pieces("source.spm", source), _pieces("target.spm", target)
        try:
            ids = loads(vocabulary)
        except ValueError as error:
            raise DataError(f"vocab.json is no JSON ({error}): fetch it again") from None
        if wrong := problem(ids, {str: int}):
            raise DataError(f"vocab.json is no list of pieces ({wrong}): fetch it again")
        if missing := [piece for piece in _SPECIAL if piece not in ids]:
            raise DataError(f"vocab.json has no {missing[0]}: fetch it again")
        if outside := [piece for piece, number in ids.items() if not 0 <= number < vocab_size]:
            raise DataError(
                f"vocab.json has {ids[outside[0]]} for {outside[0]!r}, and there are {vocab_size} tokens: take the "
                "files of one checkpoint"
            )
        self._ids: dict[str, int] = ids
        self._names = {number: piece for piece, number in ids.items()}
        self._special = {ids[piece] for piece in _SPECIAL} | {eos}
        self._size, self.bos, self.eos = vocab_size, bos, eos
        self.files = {"source.spm": source, "target.spm": target, "vocab.json": vocabulary}
        about = {"vocab_size": vocab_size, "bos": bos, "eos": eos, "sizes": [len(source), len(target)]}
        self._stored = _MARIAN + json.dumps(about).encode() + b"\n" + source + target + vocabulary

    @property
    def vocab_size(self) -> int:
        """Rows of the model's table."""
        return self._size

    def encode(self, text: str) -> list[int]:
        """Ids of a source; those of a target are given by `target`."""
        code = _LANGUAGE.match(text)
        begin = 0 if code is None else code.end()
        pieces = ([] if code is None else [code[0]]) + self._source.encode(text[begin:], out_type=str)
        return [self._ids.get(piece, self._ids["<unk>"]) for piece in pieces]

    @property
    def target(self) -> Tokenizer:
        """This tokenizer for targets: the same ids, with the pieces of the targets' model."""
        other = copy.copy(self)
        other._source = self._target
        return other

    def name_of(self, token: int) -> str:
        """The piece itself, without the sign of a space."""
        return self._names.get(token, "").replace(_SPACE, " ").strip() or "·"

    def _is_special(self, token: int) -> bool:
        return token in self._special or token not in self._names

    def _text(self, ids: list[int]) -> str:
        decoded: str = self._target.decode_pieces([self._names[token] for token in ids]) if ids else ""
        return decoded.replace(_SPACE, " ").strip()


def _pieces(name: str, model: bytes) -> Any:
    with needed("text", PIECES):
        import sentencepiece
    try:
        if model:
            return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        pass
    raise DataError(f"{name} is no model of SentencePiece: fetch it again")


def tokenizer_from_bytes(data: bytes) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_bytes` wrote. ValueError or DataError: other bytes."""
    if data.startswith(TWO):
        begin = len(TWO) + 8
        end = begin + int.from_bytes(data[len(TWO) : begin], "big")
        return of_two_sides(tokenizer_from_bytes(data[begin:end]), tokenizer_from_bytes(data[end:]))
    if data == BYTES:
        return ByteTokenizer()
    if data.startswith(_OF_CHECKPOINT):
        about, _, file = data.removeprefix(_OF_CHECKPOINT).partition(b"\n")
        return CheckpointTokenizer(file, **json.loads(about))
    if data.startswith(_MARIAN):
        about, _, files = data.removeprefix(_MARIAN).partition(b"\n")
        given = json.loads(about)
        first, second = given.pop("sizes")
        return MarianTokenizer(files[:first], files[first : first + second], files[first + second :], **given)
    return JsonTokenizer(data) if data.lstrip()[:1] == b"{" else SentencePieceTokenizer(data)
