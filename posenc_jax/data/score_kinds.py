"""Properties of each score: its name in words, its range, which way is better, how it is averaged and written."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, Literal


@dataclasses.dataclass(frozen=True)
class ScoreKind:
    """One kind of score.

    Attributes:
      title: its name in words.
      unit: what its numbers are, where the name does not tell.
      highest: the largest possible value (None: no limit); the smallest is 0.
      better: "higher" or "lower".
      decimals: digits after the point; None: three significant ones.
      logarithmic: its means are geometric, its differences are ratios and its axes logarithmic, because it is the
        exponential of a mean loss.
      whole_axis: axes show the whole range from 0 to ``highest``.
    """

    title: str
    unit: str = ""
    highest: float | None = 1.0
    better: Literal["higher", "lower"] = "higher"
    decimals: int | None = 3
    logarithmic: bool = False
    whole_axis: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest `inner` value; none for logarithmic kinds."""
        return (-math.inf, math.inf) if self.logarithmic else (0.0, math.inf if self.highest is None else self.highest)

    def mean(self, values: Iterable[float]) -> float:
        """The arithmetic mean; of a logarithmic kind the geometric one."""
        values = [self.inner(value) for value in values]
        return self.outer(math.fsum(values) / len(values))

    def inner(self, value: float) -> float:
        """The value in which sums and differences make sense: itself, or its logarithm."""
        return math.log(value) if self.logarithmic else value

    def outer(self, value: float) -> float:
        """The inverse of `inner`."""
        return math.exp(min(value, 700.0)) if self.logarithmic else value

    def show(self, value: float, sign: bool = False) -> str:
        """A value as text; never -0.000."""
        if self.decimals is None:
            return significant(value)
        value = round(value, self.decimals) + 0.0
        return f"{value:+.{self.decimals}f}" if sign and value else f"{value:.{self.decimals}f}"

    def show_difference(self, value: float) -> str:
        """A difference with its sign; of a logarithmic kind a ratio, ``×0.934``."""
        if not self.logarithmic:
            return self.show(value, sign=True)
        return f"×{value:.3f}" if 0.01 <= value < 10 else f"×{significant(value)}"

    @property
    def d3_format(self) -> str:
        """The d3 format of plotly's hover texts that writes a score like `show`."""
        return ",.3r" if self.decimals is None else f".{self.decimals}f"


def significant(value: float) -> str:
    """About three significant digits: 4.56, 12.3, 123, 1,234, 5.2e+21, 3.1e-05."""
    if abs(value) >= 1e6 or 0 < abs(value) < 0.01:
        return f"{value:.1e}"
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{decimals}f}"


# Every score that rows of results may have, in the order of tables.
KINDS: dict[str, ScoreKind] = {
    "exact_match": ScoreKind("exact match", whole_axis=True),
    "chrf": ScoreKind("chrF", "0 to 100", highest=100.0, decimals=1),
    "bleu": ScoreKind("BLEU", "0 to 100", highest=100.0, decimals=1),
    "rouge_l": ScoreKind("ROUGE-L"),
    "rouge_1": ScoreKind("ROUGE-1"),
    "rouge_2": ScoreKind("ROUGE-2"),
    "accuracy": ScoreKind("accuracy", whole_axis=True),
    "macro_f1": ScoreKind("macro F1", whole_axis=True),
    "exact_match_of_clauses": ScoreKind("exact match of new clauses", whole_axis=True),
    "new_role_exact_match": ScoreKind("exact match of new subjects", whole_axis=True),
    "near_accuracy": ScoreKind("accuracy, near", whole_axis=True),
    "far_accuracy": ScoreKind("accuracy, far", whole_axis=True),
    "position_error": ScoreKind("wrong position", better="lower", whole_axis=True),
    "token_error": ScoreKind("wrong token", better="lower", whole_axis=True),
    "read_error": ScoreKind("wrong bits", better="lower", decimals=None, whole_axis=True),
    "sparse_read_error": ScoreKind("wrong bits, few reads", better="lower", decimals=None, whole_axis=True),
    "dense_read_error": ScoreKind("wrong bits, many reads", better="lower", decimals=None, whole_axis=True),
    "perplexity": ScoreKind("perplexity", highest=None, better="lower", decimals=None, logarithmic=True),
    "loss": ScoreKind("loss", "nats", highest=None, better="lower"),
}

_OF_TARGETS = {"accuracy": "token accuracy", "perplexity": "perplexity of the targets"}


def kind_of(name: str, writes_text: bool = False) -> ScoreKind:
    """The kind of a score; an unknown one is a fraction.

    Args:
      writes_text: the task scores decoded outputs, and single tokens with the true past given beside them.
    """
    kind = KINDS.get(name) or ScoreKind(name.replace("_", " "), whole_axis=True)
    return dataclasses.replace(kind, title=_OF_TARGETS[name]) if writes_text and name in _OF_TARGETS else kind


def of_sacrebleu(signature: str) -> bool:
    """True if the signature of a score has sacrebleu's form, and is not the end of a sentence."""
    return "|" in signature


def signed(name: str, signature: str) -> str:
    """A sentence that says how a score is computed."""
    return f"{kind_of(name).title}{' of sacrebleu:' * of_sacrebleu(signature)} {signature}."


def headline(task: Any, decoded_examples: int) -> str:
    """The task's metric; where outputs would have to be decoded for it and none is, what learning rates are chosen
    by.
    """
    return task.validation_metric if task.writes_text and not decoded_examples else task.metric
