"""Summarisation with a decoder-only model."""

import dataclasses
import importlib.util
from collections.abc import Mapping

import numpy as np

from posenc_jax.data.metrics import chrf, rouge
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.tasks.base import MANY
from posenc_jax.data.text.base import NEARLY_ALL, Data, Encoded, PairTask, Row, TextTask, in_fours, length_of_most
from posenc_jax.data.tokenizer import BOS, EOS, SEP, Tokenizer
from posenc_jax.encodings.interface.value import limited


@dataclasses.dataclass(frozen=True)
class Summarization(PairTask):
    """Summarise a document: one sequence ``BOS document SEP summary EOS``, loss on the summary and its EOS.

    Attributes:
      source, target: columns of the corpus.
      max_summary: the longest summary in tokens, 1 to 1048576; pairs with a longer one are left out, in training and in
        testing alike.

    Length is the number of the document's tokens. In training a longer document is cut to its first ``max_length``
    tokens, and counted; a test document is never cut, it belongs to its own length.
    """

    data: Data = Data(name="own/descriptions-summaries")  # noqa: RUF009  (frozen)
    max_summary: int = 24
    source: str = "document"
    target: str = "summary"

    name = "summarization"
    citation = """@inproceedings{liu2018generating, author = {Liu and others}, title = {{Generating Wikipedia by
        Summarizing Long Sequences}}, booktitle = {ICLR}, year = {2018}, eprint = {1801.10198}}"""
    metric = "rouge_l"
    length_unit = "document tokens"
    limits = limited(**PairTask.limits, max_summary=MANY)
    model_kind = "decoder_only"

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

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Pairs that are not empty and whose summary fits."""
        pairs = self.pairs(tokenizer, split)
        kept = [i for i, (document, summary) in enumerate(pairs) if document and 0 < len(summary) <= self.max_summary]
        cut = self.max_length if training else None
        shown = [(pairs[i][0][:cut], pairs[i][1]) for i in kept]
        measure = np.array([len(document) for document, _ in shown], np.int32)
        records = Records(
            inputs=Ragged.of([[BOS, *document, SEP, *summary, EOS] for document, summary in shown]),
            given=measure + 2,
        )
        truncated = sum(len(pairs[i][0]) > len(document) for i, (document, _) in zip(kept, shown, strict=True))
        return Encoded(records, np.array(kept, np.int64), measure, len(split) - len(kept), truncated)

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        """The task with the beginnings of documents, and room for nearly all summaries."""
        document, summary = (
            in_fours(min(length_of_most(map(len, side), NEARLY_ALL), longest))
            for side in zip(*self.pairs(tokenizer, texts["train"]), strict=True)
        )
        return self.lengthened(max_length=document, max_summary=summary)

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with room for the summaries of the splits without a pair."""
        rows = [row for name in lacking for row in texts[name]]
        lengths = [len(summary) for _, summary in self.pairs(tokenizer, rows) if summary]
        longest = max(self.max_summary, int(length_of_most(lengths)) if lengths else 0)
        return self.lengthened(max_summary=longest), f"no summary of its {' and '.join(lacking)} split is so short"


def _with_chrf() -> bool:
    return importlib.util.find_spec("sacrebleu") is not None
