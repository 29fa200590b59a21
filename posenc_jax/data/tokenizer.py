"""Texts to token ids and back: bytes, subwords of SentencePiece with byte fallback, or a ``tokenizer.json``."""

from __future__ import annotations

import abc
import copy
import hashlib
import io
import re
from collections.abc import Iterable, Mapping

from posenc_jax.data.errors import DataError
from posenc_jax.extras import needed

PAD, BOS, EOS, UNK, SEP = range(5)
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>", "<sep>")

NUM_SPECIAL = len(SPECIAL_TOKENS)
# The smallest vocabulary of pieces that a run may ask for: 261 ids come before the first of them.
LEAST_PIECES = 300
PIECES = "a vocabulary of pieces (data.tokenizer = 'bpe')"
JSON = "a tokenizer.json (data.tokenizer)"
BYTES = b"byte tokenizer 1"  # what ByteTokenizer is stored as; no SentencePiece model begins so
TWO = b"two tokenizers 1\n"  # likewise two
_SPACE = "\u2581"  # SentencePiece writes it for a space, and so loses the character itself


class VocabularyError(ValueError):
    """A vocabulary of pieces has more or fewer ids than a text can give.

    Attributes:
      fewest, most: ids that the text can give; None where it was not found out.
    """

    def __init__(self, message: str, *, fewest: int | None = None, most: int | None = None):
        super().__init__(message)
        self.fewest, self.most = fewest, most


class Tokenizer(abc.ABC):
    """Text to ids and back: ``decode(encode(text)) == text`` for every text, newlines and runs of spaces included.

    Ids 0 to 4 are `PAD`, `BOS`, `EOS`, `UNK` and `SEP`; no text encodes to one of them (nor the text "<s>"): callers
    add them. A checkpoint's has its own (`checkpoint_tokenizers`).
    """

    # The ids that stand before a document and after an output.
    bos, eos = BOS, EOS
    # The files by which others know it; none of ours.
    files: Mapping[str, bytes] = {}
    # Of pairs with two vocabularies the tokenizers of the sources, which this one is too, and of the targets.
    sides: tuple[Tokenizer, ...] = ()
    _stored: bytes

    @property
    @abc.abstractmethod
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""

    @abc.abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special ones; the empty text has none."""

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids before the first `EOS`, special ones left out; broken UTF-8 gives U+FFFD.

        Raises:
          ValueError: an id that the vocabulary does not have, wherever it stands.
        """
        ids = [int(token) for token in ids]
        for token in ids:
            if not 0 <= token < self.vocab_size:
                raise ValueError(
                    f"token id {token} is not in the vocabulary (0 to {self.vocab_size - 1}): "
                    "decode with the tokenizer that the model was trained with"
                )
        end = ids.index(self.eos) if self.eos in ids else len(ids)
        return self._text([token for token in ids[:end] if not self._is_special(token)])

    def name_of(self, token: int) -> str:
        """An id as pictures show it; never empty."""
        return {BOS: "<bos>", EOS: "<eos>", SEP: "<sep>"}.get(token) or self.decode([token]) or "·"

    def _is_special(self, token: int) -> bool:
        return token < NUM_SPECIAL

    @abc.abstractmethod
    def _text(self, ids: list[int]) -> str:
        """The text of valid ids without special ones."""

    def to_bytes(self) -> bytes:
        """All of the tokenizer, or of both sides after the length of the first; `tokenizer_from_bytes` reads it."""
        if not self.sides:
            return self._stored
        source, target = (side.to_bytes() for side in self.sides)
        return TWO + len(source).to_bytes(8, "big") + source + target

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of the targets of pairs: itself, unless they have a vocabulary of their own."""
        return self.sides[-1] if self.sides else self

    @property
    def sha256(self) -> str:
        """Hash of `to_bytes`, hexadecimal: equal hashes encode alike."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class ByteTokenizer(Tokenizer):
    """UTF-8 bytes: ``id = 5 + byte``. Needs no training."""

    _stored = BYTES

    @property
    def vocab_size(self) -> int:
        """5 special ids and 256 bytes."""
        return NUM_SPECIAL + 256

    def encode(self, text: str) -> list[int]:
        """One id a byte."""
        return [NUM_SPECIAL + byte for byte in text.encode()]

    def _text(self, ids: list[int]) -> str:
        return bytes(token - NUM_SPECIAL for token in ids).decode(errors="replace")


class SentencePieceTokenizer(Tokenizer):
    """A SentencePiece model whose first ids are ours, as `train_sentencepiece` makes them.

    A space is put before every text and taken away by `decode`: a word has the same piece at the beginning as
    elsewhere. SentencePiece cannot tell U+2581 from a space; here it is encoded as its three bytes.

    Raises:
      ValueError: bytes that are no model, or a model with other special ids or without byte fallback.

    Reference: Kudo and Richardson, "SentencePiece" (EMNLP 2018); BPE: Sennrich et al. (ACL 2016), section 3.2.
    """

    def __init__(self, model: bytes):
        with needed("text", PIECES):
            import sentencepiece

        self._stored = model
        if not model:  # which the library takes, and complains about later
            raise ValueError("0 bytes are not a SentencePiece model")
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"{len(model)} bytes are not a SentencePiece model: {error}") from error
        found = tuple(self._pieces.id_to_piece(i) for i in range(min(NUM_SPECIAL, self._pieces.vocab_size())))
        if found != SPECIAL_TOKENS:
            raise ValueError(
                f"a SentencePiece model whose ids 0 to 4 are {found} will not do: they must be {SPECIAL_TOKENS}; "
                "train one with train_sentencepiece"
            )
        self._byte_ids = [self._pieces.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)]
        if UNK in self._byte_ids:
            raise ValueError(
                "a SentencePiece model without byte fallback will not do: unknown characters must be encoded as "
                "bytes; train one with train_sentencepiece"
            )

    @property
    def vocab_size(self) -> int:
        """Special ids, bytes and pieces."""
        return self._pieces.vocab_size()

    def encode(self, text: str) -> list[int]:
        """Pieces, and bytes for characters that the model does not know."""
        return self._encode_with_space_symbol(text) if _SPACE in text else self._pieces.encode(text)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text, in one call of the library."""
        texts = list(texts)
        encoded = self._pieces.encode([text for text in texts if _SPACE not in text])
        others = iter(encoded)
        return [self._encode_with_space_symbol(text) if _SPACE in text else next(others) for text in texts]

    def _encode_with_space_symbol(self, text: str) -> list[int]:
        # A character that neither the model nor the text knows stands for U+2581: it joins no piece and comes out as
        # its bytes, which are then replaced.
        private = map(chr, range(0xE000, 0xF900))
        stand_in = next(c for c in private if c not in text and self._pieces.piece_to_id(c) == UNK)
        ids, old, new = self._pieces.encode(text.replace(_SPACE, stand_in)), self._bytes(stand_in), self._bytes(_SPACE)
        for start in range(len(ids) - len(old) + 1):
            if ids[start : start + len(old)] == old:
                ids[start : start + len(old)] = new
        return ids

    def _bytes(self, text: str) -> list[int]:
        return [self._byte_ids[byte] for byte in text.encode()]

    def _text(self, ids: list[int]) -> str:
        return self._pieces.decode(ids) if ids else ""


def train_sentencepiece(lines: Iterable[str], vocab_size: int) -> SentencePieceTokenizer:
    """BPE pieces of ``lines``, trained in memory; equal lines and sizes give equal bytes.

    Nothing is normalised. ``vocab_size`` counts 5 special ids, 256 bytes, and pieces (also of spaces only:
    indentation). Characters that make up the rarest 0.05 % of the text are encoded as bytes.

    Raises:
      ValueError: no lines.
      VocabularyError: a vocabulary that is too large or too small for them.
    """
    with needed("text", PIECES):
        import sentencepiece

    lines = list(lines)
    if not any(line.strip("\r\n") for line in lines):
        raise ValueError("a tokenizer cannot be trained on no text: give it the lines of the train split")
    if vocab_size <= NUM_SPECIAL + 256:
        raise ValueError(
            f"vocab_size {vocab_size} is too small: special ids and bytes alone are {NUM_SPECIAL + 256}; "
            "raise it, or use ByteTokenizer"
        )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocab_size,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            allow_whitespace_only_pieces=True,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            control_symbols=[SPECIAL_TOKENS[SEP]],
            # Longer lines would be left out unsaid; SentencePiece takes no limit below 10.
            max_sentence_length=max(10, *(len(line.encode()) for line in lines)),
            num_threads=1,  # the count is written into the model, and so into its hash
            minloglevel=2,
        )
    except RuntimeError as error:
        message = str(error)
        if found := re.search(r"Vocabulary size too high .* <= (\d+)", message):
            raise VocabularyError(
                f"vocab_size {vocab_size} is too large for this text, which gives at most {found[1]} pieces: "
                f"set vocab_size to {found[1]} or less, or train on more text",
                most=int(found[1]),
            ) from error
        if found := re.search(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)", message):
            raise VocabularyError(
                f"vocab_size {vocab_size} is too small: special ids, bytes and the characters of this text alone are "
                f"{found[1]}; set vocab_size to {found[1]} or more, or use ByteTokenizer",
                fewest=int(found[1]),
            ) from error
        raise
    return SentencePieceTokenizer(model.getvalue())


class JsonTokenizer(Tokenizer):
    """A ``tokenizer.json`` as the package tokenizers reads it: its id ``i`` is ``5 + i`` here, after our special ids.

    If the tokenizer changes case or spaces, or leaves out unknown characters, ``decode(encode(text))`` is another text.
    It adds no special tokens, cuts nothing and pads nothing.

    Raises:
      DataError: bytes that are no such file.
      MissingExtraError: there is no package tokenizers.
    """

    _first = NUM_SPECIAL  # what id 0 of the file is here

    def __init__(self, data: bytes):
        with needed("text", JSON):
            import tokenizers
        self._stored = data
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
        return self._first + self._size

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
        return [[self._first + token for token in encoding.ids] for encoding in found]

    def _text(self, ids: list[int]) -> str:
        return self._tokenizer.decode([token - self._first for token in ids])


def of_two_sides(source: Tokenizer, target: Tokenizer) -> Tokenizer:
    """The tokenizer of the sources of pairs, with another one for their targets (`Tokenizer.target`)."""
    both = copy.copy(source)
    both.sides = (source, target)
    return both
