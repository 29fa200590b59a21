"""Classification of documents with header, body and footer by an encoder."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.metrics import macro_f1
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.text.base import Data, Encoded, Row, TextTask
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.base import Array
from posenc_jax.model_kind import ModelKind

HEADER, BODY, FOOTER = 1, 2, 3
"""Token types; 0 is padding."""

HELP_MODULES = ("sbasic", "scalc", "schart", "sdatabase", "sdraw", "shared", "simpress", "smath", "swriter")
"""The classes of help/modules."""

PACKAGE_SECTIONS = (
    *("admin", "devel", "doc", "games", "gnu-r", "golang", "haskell", "java", "javascript", "libdevel", "libs"),
    *("misc", "net", "perl", "python", "ruby", "science", "sound", "utils", "x11"),
)
"""The classes of descriptions/sections."""

SECTIONS = {"header": HEADER, "body": BODY, "footer": FOOTER}


@dataclasses.dataclass(frozen=True)
class Classification(TextTask):
    """Name the class of a document: header, body and footer, one after the other, told apart by token types.

    labels: the classes, in the order of their numbers. sections: which parts of a document are shown.

    Length is the number of tokens. In training a longer document loses the end of its body, then of its header, and is
    counted; a test document is never cut, it belongs to its own length.
    """

    data: Data = Data(name="help/modules")  # noqa: RUF009  (frozen)
    max_length: int = 256
    row: int = 256
    batching: Literal["packed", "buckets", "fitted", "plain"] = "buckets"
    labels: tuple[str, ...] = HELP_MODULES
    sections: tuple[str, ...] = ("header", "body", "footer")

    name = "classification"
    citation = "Devlin et al. 2019"
    paper = "arXiv:1810.04805"
    metric = "accuracy"
    length_unit = "tokens"
    has_token_types = True
    columns = ("header", "body", "footer", "label")
    input_columns = ("header", "body", "footer")

    def check_fields(self) -> None:
        """Refuses packing, and classes or sections that cannot be."""
        super().check_fields()
        if self.batching == "packed":
            raise ValueError(
                "task.batching = 'packed' has no place for one class a row: take 'fitted', 'buckets' or 'plain'"
            )
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"task.labels = {self.labels} must name at least two classes, each once")
        unknown = [section for section in self.sections if section not in SECTIONS]
        if unknown or not self.sections:
            raise ValueError(f"task.sections = {self.sections} must be some of {', '.join(SECTIONS)}")

    @property
    def model_kind(self) -> ModelKind:
        """An encoder."""
        return "encoder_only"

    @property
    def num_classes(self) -> int:
        """One per label."""
        return len(self.labels)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def width(self, max_length: int) -> int:
        """The document."""
        return max_length

    def tokenizer_lines(self, row: Row) -> list[str]:
        """All sections."""
        return [row[section] for section in SECTIONS]

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Documents that are not empty."""
        parts = {name: tokenizer.encode_all([row[name] for row in split]) for name in self.sections}
        numbers = {label: i for i, label in enumerate(self.labels)}
        tokens, types, labels, kept, truncated = [], [], [], [], 0
        for i, row in enumerate(split):
            if row["label"] not in numbers:
                raise DataError(
                    f"{self.data.name} has a document of class {row['label']!r}, and task.labels has "
                    f"{', '.join(self.labels)}: name every class of the corpus"
                )
            document = {name: parts[name][i] for name in self.sections}
            if training:
                shown = shortened(document, self.max_length)
                truncated += sum(map(len, shown.values())) < sum(map(len, document.values()))
                document = shown
            if not any(document.values()):
                continue
            kept.append(i)
            tokens.append([token for part in document.values() for token in part])
            types.append([SECTIONS[name] for name, part in document.items() for _ in part])
            labels.append(numbers[row["label"]])
        return Encoded(
            Records(Ragged.of(tokens), types=Ragged.of(types).tokens, labels=np.array(labels, np.int32)),
            np.array(kept, np.int64),
            np.array([len(document) for document in tokens], np.int32),
            left_out=len(split) - len(kept),
            truncated=truncated,
        )

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """``confusion [C, C]``: how often class ``i`` was called ``j``."""
        classes = jnp.arange(self.num_classes)
        said = (jnp.argmax(logits[:, 0], axis=-1)[:, None] == classes[None]).astype(jnp.float32)
        true = (example.targets[:, :1] == classes[None]) * example.weights
        return {"confusion": true.T @ said}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """With macro-F1, NaN without an example, and the confusion matrix as counts."""
        rest = {name: value for name, value in scores.items() if name != "confusion"}
        confusion = np.asarray(scores["confusion"])
        f1 = macro_f1(confusion) if confusion.any() else np.nan
        return {**rest, "macro_f1": f1, "confusion": confusion.astype(int).tolist()}


def shortened(document: dict[str, list[int]], max_length: int) -> dict[str, list[int]]:
    """The sections within ``max_length`` tokens: the body gives way first, then the header, then the footer."""
    shown = dict(document)
    for name in ("body", "header", "footer"):
        excess = sum(map(len, shown.values())) - max_length
        if excess > 0 and name in shown:
            shown[name] = shown[name][: max(len(shown[name]) - excess, 0)]
    return shown
