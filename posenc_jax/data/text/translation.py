"""Translation with an encoder-decoder."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.errors import DataError
from posenc_jax.data.metrics import bleu, chrf
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.text.base import (
    NEARLY_ALL,
    Data,
    Encoded,
    PairTask,
    Row,
    TextTask,
    in_fours,
    length_of_most,
    named_as_target,
)
from posenc_jax.data.tokenizer import Tokenizer

# Languages whose words sacrebleu finds by packages of their own only.
_WITHOUT_WORDS = ("ja", "ko")


@dataclasses.dataclass(frozen=True)
class Translation(PairTask):
    """Translate a sentence: the encoder reads ``source EOS``, the decoder ``BOS target`` and predicts ``target EOS``.

    Attributes:
      source, target: columns of the corpus, language codes.
      target_ratio: room for the target, in tokens for each token of the source, up to 1000; pairs with a longer target
        are left out, in training and in testing alike.
      target_vocab_size: None: source and target share the vocabulary that ``data`` says. A number: targets have one of
        their own, of so many pieces, made of them alone, and that of ``data`` is made of the sources; the model needs
        ``tie_embeddings=False``.
      target_tokenizer: its kind, as ``data.tokenizer``.
      ids: with ``data.tokenizer = "checkpoint"`` the tokens by which that one answers, as the config of its run has
        them.

    Length is the number of the source's tokens without EOS. Longer pairs are left out of training and counted.
    """

    source: str = "en"
    target: str = "de"
    target_ratio: float = 1.5
    target_vocab_size: int | None = None
    target_tokenizer: str = "bpe"
    ids: AnswerIds = AnswerIds()  # noqa: RUF009  (frozen)

    name = "translation"
    citation = """@inproceedings{vaswani2017attention, author = {Vaswani and others}, title = {{Attention Is All You
        Need}}, booktitle = {NeurIPS}, year = {2017}, eprint = {1706.03762}}"""
    metric = "chrf"
    length_unit = "source tokens"
    model_kind = "encoder_decoder"
    scored_with = "sacrebleu"
    reads_checkpoints = True

    def check_fields(self) -> None:
        if not 0 < self.target_ratio <= 1000:
            raise ValueError(f"task.target_ratio = {self.target_ratio} must be positive, and at most 1000")
        super().check_fields()
        if self.data.tokenizer != "checkpoint" and self.ids != AnswerIds():
            raise ValueError(
                f"task.ids = {self.ids!r} are of a checkpoint's tokenizer, and data.tokenizer = "
                f"{self.data.tokenizer!r} has ids of ours: leave task.ids out"
            )
        if self.data.tokenizer == "checkpoint" and self.target_vocab_size is not None:
            raise ValueError(
                f"task.target_vocab_size = {self.target_vocab_size}: data.tokenizer = 'checkpoint' serves sources and "
                "targets: set it to None"
            )
        if self.target_vocab_size is None and self.target_tokenizer != "bpe":
            raise ValueError(
                f"task.target_tokenizer = {self.target_tokenizer!r} is read with a vocabulary of the targets' own: set "
                "task.target_vocab_size too"
            )
        try:
            _ = self.target_data
        except ValueError as error:
            raise ValueError(named_as_target(str(error))) from None
        self.ids.check_vocabulary(self.num_classes)

    @property
    def target_data(self) -> Data | None:
        if self.target_vocab_size is None:
            return None
        return dataclasses.replace(self.data, tokenizer=self.target_tokenizer, vocab_size=self.target_vocab_size)

    @property
    def signatures(self) -> dict[str, str]:
        found = {"chrf": chrf(["a"], ["a"]).signature}
        if self.target not in _WITHOUT_WORDS:
            found["bleu"] = bleu(["a"], ["a"], self.target).signature
        return found

    def width(self, max_length: int) -> int:
        """A source and its EOS."""
        return max_length + 1

    def decoder_width(self, max_length: int) -> int:
        """The longest target that a source of this length may have, after BOS."""
        return math.ceil(self.target_ratio * max_length) + 8

    def text_scores(self, outputs: list[str], examples: list[Row]) -> dict[str, float]:
        """chrF and BLEU, from 0 to 100 (Japanese and Korean: chrF only, which needs no words)."""
        references = [row[self.target] for row in examples]
        scores = {"chrf": chrf(outputs, references).value}
        if self.target not in _WITHOUT_WORDS:
            scores["bleu"] = bleu(outputs, references, self.target).value
        return scores

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Pairs that are not empty and fit."""
        start, eos = self.ids.start, self.ids.eos
        if tokenizer.eos != eos:
            raise DataError(
                f"task.ids.eos = {eos}, and the end of the tokenizer is {tokenizer.eos}: set task.ids to those of the "
                "run that it is from"
            )
        pairs = self.pairs(tokenizer, split)
        kept = [
            i
            for i, (source, target) in enumerate(pairs)
            if source
            and target
            and (not training or len(source) <= self.max_length)
            and len(target) < self.decoder_width(len(source))
        ]
        records = Records(
            inputs=Ragged.of([[*pairs[i][0], eos] for i in kept]),
            targets=Ragged.of([[start, *pairs[i][1], eos] for i in kept]),
        )
        measure = np.array([len(pairs[i][0]) for i in kept], np.int32)
        return Encoded(records, np.array(kept, np.int64), measure, left_out=len(split) - len(kept))

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        """The task with room for nearly all sources, and for targets up to four times as long as their sources."""
        pairs = [(len(source), len(target)) for source, target in self.pairs(tokenizer, texts["train"]) if source]
        length = in_fours(min(length_of_most((source for source, _ in pairs), NEARLY_ALL), longest))
        return self.lengthened(max_length=length, target_ratio=min(max(_ratio(pairs, NEARLY_ALL), 1), 4))

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with room for sources and targets of the splits without a pair."""
        longest, ratio = self.max_length, self.target_ratio
        for name in lacking:
            found = self.pairs(tokenizer, texts[name])
            pairs = [(len(source), len(target)) for source, target in found if source and target]
            if pairs:
                longest = max(longest, int(length_of_most(source for source, _ in pairs)) if name != "test" else 0)
                ratio = max(ratio, _ratio(pairs, 0.75))
        why = f"no pair of its {' and '.join(lacking)} split is so short"
        return self.lengthened(max_length=longest, target_ratio=ratio), why


def _ratio(pairs: list[tuple[int, int]], share: float) -> float:
    """The ``target_ratio`` with which `Translation.decoder_width` holds this share of (source, target) lengths."""
    return math.ceil(10 * length_of_most(((target - 7) / source for source, target in pairs), share)) / 10
