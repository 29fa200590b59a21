"""Summarisation with a decoder-only model."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping

import numpy as np

from posenc_jax.data.metrics import chrf, rouge
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.tasks.base import LONGEST
from posenc_jax.data.text.base import Data, Encoded, Row, TextTask, length_of_most
from posenc_jax.data.tokenizer import BOS, EOS, SEP, Tokenizer
from posenc_jax.model_kind import ModelKind


@dataclasses.dataclass(frozen=True)
class Summarization(TextTask):
    """Summarise a document: one sequence ``BOS document SEP summary EOS``, loss on the summary and its EOS.

    source, target: columns of the corpus. max_summary: the longest summary in tokens, 1 to 1048576; pairs with a longer
    one are left out, in training and in testing alike.

    Length is the number of the document's tokens. In training a longer document is cut to its first ``max_length``
    tokens, and counted; a test document is never cut, it belongs to its own length.
    """

    data: Data = Data(name="descriptions/summaries")  # noqa: RUF009  (frozen)
    max_summary: int = 24
    source: str = "document"
    target: str = "summary"

    name = "summarization"
    citation = """@inproceedings{liu2018generating, author = {Liu and others}, title = {{Generating Wikipedia by
        Summarizing Long Sequences}}, booktitle = {ICLR}, year = {2018}, eprint = {1801.10198}}"""
    paper = "arXiv:1801.10198"
    metric = "rouge_l"
    length_unit = "document tokens"
    writes_text = True

    def check_fields(self) -> None:
        """Refuses summaries without tokens, or with too many."""
        if not 1 <= self.max_summary <= LONGEST:
            raise ValueError(f"task.max_summary = {self.max_summary} must be from 1 to {LONGEST}")
        super().check_fields()

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are read."""
        return (self.source, self.target)

    @property
    def input_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column whose words can be shuffled."""
        return (self.source,)

    @property
    def model_kind(self) -> ModelKind:
        """A decoder-only model."""
        return "decoder_only"

    def width(self, max_length: int) -> int:
        """BOS, the document, SEP and the summary."""
        return max_length + self.max_summary + 2

    def text_scores(self, outputs: list[str], examples: list[Row]) -> dict[str, float]:
        """ROUGE-1, ROUGE-2 and ROUGE-L, F-measures from 0 to 1; and chrF, from 0 to 100, where sacrebleu is there."""
        references = [row[self.target] for row in examples]
        found = rouge(outputs, references)
        scores = {"rouge_1": found["rouge1"], "rouge_2": found["rouge2"], "rouge_l": found["rougeL"]}
        return scores | ({"chrf": chrf(outputs, references).value} if _with_chrf() else {})

    @property
    def signatures(self) -> dict[str, str]:
        """The limits of ROUGE, and the signature of chrF."""
        said = "reads the letters a to z and digits only; texts of other scripts have none and score 0, equal ones too"
        return {"rouge_l": said} | ({"chrf": chrf(["a"], ["a"]).signature} if _with_chrf() else {})

    def tokenizer_lines(self, row: Row) -> list[str]:
        """Document and summary."""
        return [row[self.source], row[self.target]]

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Pairs that are not empty and whose summary fits."""
        documents = tokenizer.encode_all([row[self.source] for row in split])
        summaries = tokenizer.encode_all([row[self.target] for row in split])
        kept = [i for i in range(len(split)) if documents[i] and 0 < len(summaries[i]) <= self.max_summary]
        cut = self.max_length if training else None
        shown = [documents[i][:cut] for i in kept]
        records = Records(
            inputs=Ragged.of([[BOS, *shown[k], SEP, *summaries[i], EOS] for k, i in enumerate(kept)]),
            given=np.array([len(document) + 2 for document in shown], np.int32),
        )
        return Encoded(
            records,
            np.array(kept, np.int64),
            np.array([len(document) for document in shown], np.int32),
            left_out=len(split) - len(kept),
            truncated=sum(len(documents[i]) > len(shown[k]) for k, i in enumerate(kept)),
        )

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with room for the summaries of the splits without a pair."""
        rows = [row for name in lacking for row in texts[name]]
        lengths = [len(summary) for summary in tokenizer.encode_all([row[self.target] for row in rows]) if summary]
        longest = max(self.max_summary, int(length_of_most(lengths)) if lengths else 0)
        return self.lengthened(max_summary=longest), f"no summary of its {' and '.join(lacking)} split is so short"


def _with_chrf() -> bool:
    return importlib.util.find_spec("sacrebleu") is not None
