"""Tokenizers of others, a ``tokenizer.json`` read by the package tokenizers; two tokenizers as one; all from bytes."""

from __future__ import annotations

from collections.abc import Iterable

from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import NUM_SPECIAL, ByteTokenizer, SentencePieceTokenizer, Tokenizer
from posenc_jax.extras import needed

JSON = "a tokenizer.json (data.tokenizer)"

_TWO = b"two tokenizers 1\n"  # no other tokenizer is stored as bytes that begin so


class JsonTokenizer(Tokenizer):
    """A ``tokenizer.json`` as the package tokenizers reads it: its id ``i`` is ``5 + i`` here, after our special ids.

    If the tokenizer changes case or spaces, or leaves out unknown characters, ``decode(encode(text))`` is another text.
    It adds no special tokens, cuts nothing and pads nothing.

    DataError: bytes that are no such file. MissingExtraError: there is no package tokenizers.
    """

    def __init__(self, data: bytes):
        with needed("text", JSON):
            import tokenizers
        self._data = data
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(data.decode())
        except Exception as error:  # the library has no class of its own
            raise DataError(
                f"{len(data):,} bytes are no tokenizer.json ({error}): name the file that "
                "tokenizers.Tokenizer.save wrote"
            ) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._size = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    @property
    def vocab_size(self) -> int:
        """Our special ids and those of the file."""
        return NUM_SPECIAL + self._size

    def encode(self, text: str) -> list[int]:
        """Ids of the file, moved."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text, in one call of the library."""
        try:
            found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        except Exception as error:  # the library has no class of its own
            raise DataError(
                f"a text cannot be read with this tokenizer.json ({error}): give it a token for what it does not know, "
                "or train it on these texts"
            ) from None
        return [[NUM_SPECIAL + token for token in encoding.ids] for encoding in found]

    def _text(self, ids: list[int]) -> str:
        return self._tokenizer.decode([token - NUM_SPECIAL for token in ids])

    def to_bytes(self) -> bytes:
        """The file."""
        return self._data


class TwoTokenizers(Tokenizer):
    """A tokenizer for the sources of pairs, which this is, and another one for their targets (`Tokenizer.target`)."""

    def __init__(self, source: Tokenizer, target: Tokenizer):
        self._source, self._target = source, target

    @property
    def target(self) -> Tokenizer:
        """The other one."""
        return self._target

    @property
    def source(self) -> Tokenizer:
        """The one of the sources, alone."""
        return self._source

    @property
    def vocab_size(self) -> int:
        """The size of the vocabulary of the sources."""
        return self._source.vocab_size

    def encode(self, text: str) -> list[int]:
        """A source."""
        return self._source.encode(text)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Sources."""
        return self._source.encode_all(texts)

    def _text(self, ids: list[int]) -> str:
        return self._source._text(ids)

    def to_bytes(self) -> bytes:
        """Both, the length of the first before them."""
        source = self._source.to_bytes()
        return _TWO + len(source).to_bytes(8, "big") + source + self._target.to_bytes()


def tokenizer_from_bytes(data: bytes) -> Tokenizer:
    """The tokenizer whose `Tokenizer.to_bytes` these are. ValueError or DataError: other bytes."""
    if data.startswith(_TWO):
        begin = len(_TWO) + 8
        end = begin + int.from_bytes(data[len(_TWO) : begin], "big")
        return TwoTokenizers(tokenizer_from_bytes(data[begin:end]), tokenizer_from_bytes(data[end:]))
    if data == ByteTokenizer().to_bytes():
        return ByteTokenizer()
    return JsonTokenizer(data) if data.lstrip()[:1] == b"{" else SentencePieceTokenizer(data)
