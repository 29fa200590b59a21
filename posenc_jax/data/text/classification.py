"""Classification of documents by an encoder: of named sections, or of a text whose structure is read."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.corpora.store import is_own, origin_of
from posenc_jax.data.documents import NotNested, Part, document_parts
from posenc_jax.data.errors import DataError, UnfitError
from posenc_jax.data.example import Example
from posenc_jax.data.metrics import macro_f1
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.text.base import NEARLY_ALL, Data, Encoded, Row, TextTask, in_fours, length_of_most
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.interface.base import Array

# Token types of these three; 0 is padding.
HEADER, BODY, FOOTER = 1, 2, 3

# The classes of the corpus help-modules of `experiments/corpora`.
HELP_MODULES = ("sbasic", "scalc", "schart", "sdatabase", "sdraw", "shared", "simpress", "smath", "swriter")

SECTIONS = {"header": HEADER, "body": BODY, "footer": FOOTER}

# The column with a whole document.
DOCUMENT = "body"

# With padding, and one type for all others, as many as a model has token types.
MOST_SECTIONS = 2**16 - 2


@dataclasses.dataclass(frozen=True)
class Classification(TextTask):
    """Name the class of a document: its sections, one after the other, told apart by token types.

    Attributes:
      labels: the classes, in the order of their numbers.
      sections: which parts of a document are shown, up to 65534: columns of the corpus, of any names. Their token types
        are 1 = header, 2 = body, 3 = footer; of other names their places in this list, from 1 on.
      structure: "sections" reads those columns. "markdown", "html" and "spans" (`posenc_jax.data.documents`) read a
        whole document from the column body, and where each sentence stands, as (section, subsection, paragraph,
        sentence): for encodings that read four axes of positions, and for ``model.mask``. Its outermost headings are
        the names of sections; one that ``sections`` does not name is of one more type, the last.

    Length is the number of tokens. In training a longer document loses the end of its body, then of its header, of
    other sections the end of the longest, and of a whole document its end, and is counted; a test document is never
    cut, it belongs to its own length.
    """

    data: Data = Data(name="own/help-modules")  # noqa: RUF009  (frozen)
    max_length: int = 256
    row: int = 256
    batching: Literal["packed", "buckets", "fitted", "plain"] = "buckets"
    labels: tuple[str, ...] = HELP_MODULES
    sections: tuple[str, ...] = ("header", "body", "footer")
    structure: Literal["sections", "markdown", "html", "spans"] = "sections"

    name = "classification"
    citation = """@inproceedings{devlin2019bert, author = {Devlin and others}, title = {{BERT: Pre-training of Deep
        Bidirectional Transformers for Language Understanding}}, booktitle = {NAACL}, year = {2019},
        eprint = {1810.04805}}"""
    one_answer = True
    model_kind = "encoder_only"
    length_unit = "tokens"
    has_token_types = True

    def check_fields(self) -> None:
        super().check_fields()
        if self.batching == "packed":
            raise ValueError(
                "task.batching = 'packed' does not fit one class per row: take 'fitted', 'buckets' or 'plain'"
            )
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"task.labels = {self.labels} must name at least two classes, each once")
        if not self.sections or len(set(self.sections)) < len(self.sections) or len(self.sections) > MOST_SECTIONS:
            raise ValueError(
                f"task.sections = {self.sections} must name sections, each once: some of {', '.join(SECTIONS)}, or "
                f"up to {MOST_SECTIONS} names of your own"
            )
        if "label" in self.sections:
            raise ValueError("task.sections: 'label' is the column of the classes: give the section another name")
        if self.structure != "sections" and not self.data.in_memory:
            raise ValueError(
                f"task.structure = {self.structure!r} is read into memory: set data.in_memory to True, or read sections"
            )

    def check_facts(self, facts: Mapping[str, Any]) -> None:
        added, named = facts.get("structure"), facts.get("named_as")
        found = added or named
        if not self.has_outline or found in (None, self.structure):
            return
        how = f"was added with --structure {found}" if added else f"is of files that are {found} by their names"
        raise DataError(
            f"data.name = {self.data.name!r} {how}, and task.structure = {self.structure!r}: set task.structure to "
            f"{found!r}, or add documents in {self.structure} with --structure {self.structure}"
        )

    @property
    def position_axes(self) -> int | None:
        """The axes of a whole document (section, subsection, paragraph, sentence)."""
        return 4 if self.has_outline else None

    @property
    def has_outline(self) -> bool:
        return self.structure != "sections"

    @property
    def types(self) -> dict[str, int]:
        """Section -> its token type; "" -> that of all others, of a whole document."""
        known = SECTIONS if SECTIONS.keys() >= set(self.sections) else {s: i for i, s in enumerate(self.sections, 1)}
        found = {section: known[section] for section in self.sections}
        return found | ({"": max(found.values()) + 1} if self.has_outline else {})

    @property
    def num_token_types(self) -> int:
        """The number of sections, and one for padding."""
        return 1 + max(self.types.values())

    @property
    def input_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The sections, or the column with the whole document."""
        if self.has_outline:
            return (DOCUMENT,)
        # The tokenizer is made of all three, whichever are shown.
        return tuple(SECTIONS) if SECTIONS.keys() >= set(self.sections) else self.sections

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are read."""
        return (*self.input_columns, "label")

    @property
    def num_classes(self) -> int:
        return len(self.labels)

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.labels

    def chance_at(self, length: int) -> float:
        """The share of the most frequent class in the test split; of a guess where the corpus is not there."""
        try:
            counts = collections.Counter(row["label"] for row in load_split(self.data.name, "test"))
        except DataError:
            return super().chance_at(length)
        return max(counts.values()) / counts.total()

    def width(self, max_length: int) -> int:
        return max_length

    def tokenizer_lines(self, row: Row) -> list[str]:
        if self.has_outline:
            return [part.text for part in self._parts(row)]
        return [row[section] for section in self.input_columns]

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        documents = self._documents(tokenizer, split, self.max_length if training else None)
        numbers = {label: i for i, label in enumerate(self.labels)}
        found, labels, kept, truncated = [], [], [], 0
        for i, (row, (document, size)) in enumerate(zip(split, documents, strict=True)):
            if row["label"] not in numbers:
                raise UnfitError(
                    f"{self.data.name} has a document of class {row['label']!r}, and task.labels has "
                    f"{', '.join(self.labels)}: name every class of the corpus"
                )
            truncated += len(document.tokens) < size
            if not document.tokens:
                continue
            kept.append(i)
            found.append(document)
            labels.append(numbers[row["label"]])
        return Encoded(
            dataclasses.replace(records_of(found), labels=np.array(labels, np.int32)),
            np.array(kept, np.int64),
            np.array([len(document.tokens) for document in found], np.int32),
            left_out=len(split) - len(kept),
            truncated=truncated,
        )

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        sizes = [size for _, size in self._documents(tokenizer, texts["train"], None)]
        length = in_fours(min(length_of_most(sizes, NEARLY_ALL), longest))
        return dataclasses.replace(self, max_length=length, row=length)

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with the classes of the corpus, if these differ."""
        found = sorted({row["label"] for rows in texts.values() for row in rows})
        if set(found) <= set(self.labels):
            return self, ""
        if len(found) < 2:
            raise DataError(f"{self.data.name} has the class {found[0]!r} alone: use texts of at least two classes")
        return dataclasses.replace(self, labels=tuple(found)), f"its classes are {', '.join(map(repr, found))}"

    def _documents(self, tokenizer: Tokenizer, split: list[Row], most: int | None) -> Iterator[tuple[Tokens, int]]:
        if self.has_outline:
            for row in split:
                whole = self._tokens(tokenizer, self._parts(row))
                yield whole.cut(most), len(whole.tokens)
        else:
            parts = {name: tokenizer.encode_all([row[name] for row in split]) for name in self.sections}
            for i in range(len(split)):
                sections = {name: part[i] for name, part in parts.items()}
                yield self.joined(shortened(sections, most)), sum(map(len, sections.values()))

    def sections_of(self, text: str, what: str) -> dict[str, str]:
        """The sections of a text, as rows of a corpus have them that `posenc data add` made of texts: all of it is the
        body, or the only section.

        Raises:
          DataError: ``what`` has sections of other names.
        """
        if self.input_columns != tuple(SECTIONS) and len(self.sections) > 1:
            raise DataError(
                f"{what} is one text, and this run reads the sections {', '.join(self.sections)}: name them, in a file "
                "as .json, .md or .html"
            )
        return {self.sections[0] if len(self.sections) == 1 else DOCUMENT: text}

    def joined(self, sections: Mapping[str, list[int]]) -> Tokens:
        """A document of the tokens of its sections, one after the other."""
        types = self.types
        tokens = [token for part in sections.values() for token in part]
        return Tokens(tokens, [types[name] for name, part in sections.items() for _ in part])

    def _parts(self, row: Row) -> list[Part]:
        """The parts of a document of the corpus; DataError with the origin, if known, of one that does not nest."""
        name, text = self.data.name, row[DOCUMENT]
        what = f"{name}, document {row['doc']}" if "doc" in row else f"{name}, the document {text[:40]!r}"
        try:
            return document_parts(text, self.structure, what)
        except NotNested as error:
            origin = origin_of(name, text)
            message = str(error)
            if origin:
                place, why = error.at(origin[0], of_many_lines=origin[1])
                message = f"{name}, {place}: {why}"
            if is_own(name):
                message += f"; or leave such documents out: posenc data add ... --structure {self.structure} --rebuild"
            raise DataError(message) from None

    def read(self, tokenizer: Tokenizer, text: str, what: str) -> Tokens:
        """A whole document, ``what`` in messages; DataError when its structure does not nest."""
        return self._tokens(tokenizer, document_parts(text, self.structure, what))

    def _tokens(self, tokenizer: Tokenizer, parts: list[Part]) -> Tokens:
        types = self.types
        found = Tokens([], [], [])
        for part, tokens in zip(parts, tokenizer.encode_all([part.text for part in parts]), strict=True):
            found.tokens.extend(tokens)
            found.types.extend([types.get(part.section, types[""])] * len(tokens))
            assert found.outline is not None
            found.outline.extend([part.coordinates] * len(tokens))
        return found

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """``confusion [C, C]``: how often class ``i`` was called ``j``; NaN where a logit is."""
        classes, first = jnp.arange(self.num_classes), logits[:, 0]
        said = (jnp.argmax(first, axis=-1)[:, None] == classes[None]).astype(jnp.float32)
        said = jnp.where(jnp.isnan(first).any(axis=-1, keepdims=True), jnp.nan, said)
        true = (example.targets[:, :1] == classes[None]) * example.weights
        return {"confusion": true.T @ said}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with macro-F1, NaN without an example or with a logit that is NaN, and the confusion matrix as counts
        (0 for those).
        """
        rest = {name: value for name, value in scores.items() if name != "confusion"}
        confusion = np.asarray(scores["confusion"])
        f1 = macro_f1(confusion) if confusion.any() and np.isfinite(confusion).all() else np.nan
        return {**rest, "macro_f1": f1, "confusion": np.nan_to_num(confusion).astype(int).tolist()}


@dataclasses.dataclass(frozen=True)
class Tokens:
    """A document as a model reads it: ids, token types and, of a whole document, `structure.Coordinates`."""

    tokens: list[int]
    types: list[int]
    outline: list[tuple[int, ...]] | None = None

    def cut(self, max_length: int | None) -> Tokens:
        """Its first tokens, or all."""
        outline = None if self.outline is None else self.outline[:max_length]
        return Tokens(self.tokens[:max_length], self.types[:max_length], outline)


def records_of(documents: list[Tokens]) -> Records:
    """Records without labels."""
    outline = None
    if documents and documents[0].outline is not None:
        coordinates = [numbers for document in documents for numbers in document.outline or ()]
        outline = np.array(coordinates, np.int32).reshape(-1, 4)
    return Records(
        Ragged.of([document.tokens for document in documents]),
        types=Ragged.of([document.types for document in documents]).tokens,
        outline=outline,
    )


def shortened(document: dict[str, list[int]], max_length: int | None) -> dict[str, list[int]]:
    """The sections within ``max_length`` tokens, or all of them.

    The body is cut first, then the header, then the footer. With other sections the longest ones lose their ends, so
    that all sections that are cut have about the same length.

    >>> {name: len(part) for name, part in shortened({"a": [1] * 9, "b": [2], "c": [3] * 5}, 9).items()}
    {'a': 4, 'b': 1, 'c': 4}
    """
    if max_length is None:
        return document
    shown = dict(document)
    if not SECTIONS.keys() >= shown.keys():
        return _levelled(shown, max_length)
    for name in ("body", "header", "footer"):
        excess = sum(map(len, shown.values())) - max_length
        if excess > 0 and name in shown:
            shown[name] = shown[name][: max(len(shown[name]) - excess, 0)]
    return shown


def _levelled(document: dict[str, list[int]], max_length: int) -> dict[str, list[int]]:
    room, shown = max_length, dict(document)
    for number, name in enumerate(sorted(document, key=lambda name: len(document[name]))):
        shown[name] = document[name][: room // (len(document) - number)]
        room -= len(shown[name])
    return shown
