"""The questions that cards keep: what a verdict needs to know of a table, without its training."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from posenc_jax.config import Run
from posenc_jax.config.guessing import chance_of
from posenc_jax.data.score_kinds import ScoreKind, headline, kind_of
from posenc_jax.files.shapes import Json


@dataclasses.dataclass(frozen=True)
class KeptQuestion:
    """One question.

    Attributes:
      question: in words.
      source: where the comparison was published, or who asks.
      metric: the name of the score.
      chance: the score of guessing.
      trained_lengths: the evaluated lengths that were trained.
      score_lengths: the lengths that a seed's score is the mean over: the untrained ones, or all if all were trained.
      writes_text: whether outputs are decoded and scored as text.
      length_unit: what lengths count, where that is said.
      length_names: the names of lengths that stand for several.
      steps: of training; 0 where that is not known.
      finished: whether an ablation asked it, whose learning rates and fields are kept as they were.
      floors: length -> the score of the best answer that does not look at the input, where it is not ``chance``.
      shortcut: an answer that reads everything but what is asked, in words; "" where none is known.
      shortcut_score: its mean score over ``score_lengths``.
      not_a_test: where its table cannot show what was published, such as "at this size"; "" where it can.
      model: the kind of model that is trained; "" where that is not known.
    """

    question: str
    source: str
    metric: str
    chance: float | None
    trained_lengths: tuple[int, ...]
    score_lengths: tuple[int, ...]
    writes_text: bool = False
    length_unit: str = ""
    length_names: Mapping[int, str] = dataclasses.field(default_factory=dict)
    steps: int = 0
    finished: bool = False
    model: str = ""
    not_a_test: str = ""
    floors: Mapping[int, float] = dataclasses.field(default_factory=dict)
    shortcut: str = ""
    shortcut_score: float | None = None

    @classmethod
    def of_run(cls, question: str, source: str, run: Run) -> "KeptQuestion":
        """The question of a run."""
        task, lengths = run.task, run.evaluation.lengths
        names = {n: task.length_name(n) for n in lengths}
        score_lengths = task.score_lengths(lengths)
        return cls(
            question=question,
            source=source,
            metric=headline(task, run.evaluation.decoded_examples),
            chance=chance_of(task),
            trained_lengths=tuple(n for n in lengths if task.range_of(n) == "within"),
            score_lengths=score_lengths,
            writes_text=task.writes_text,
            length_unit=task.length_unit,
            length_names={n: name for n, name in names.items() if name != str(n)},
            steps=run.training.steps,
            model=task.model_kind,
            shortcut=task.shortcut,
            shortcut_score=task.shortcut_score(score_lengths),
        )

    @classmethod
    def of_record(cls, kept: Json) -> "KeptQuestion":
        """The question in a `record`; earlier cards have fewer fields, and later ones may have more."""
        known = [field.name for field in dataclasses.fields(cls)]
        fields: dict[str, Any] = {name: kept[name] for name in known if name in kept}
        lengths = {name: tuple(fields[name]) for name in ("trained_lengths", "score_lengths")}
        by_length = {
            name: {int(n): value for n, value in fields.get(name, {}).items()} for name in ("length_names", "floors")
        }
        return cls(**fields | lengths | by_length)

    def with_floors(self, floors: Mapping[int, float]) -> "KeptQuestion":
        """The question with those floors that are not ``chance``."""
        return dataclasses.replace(self, floors={n: floor for n, floor in floors.items() if floor != self.chance})

    @property
    def record(self) -> Json:
        """The question as JSON, with the direction and the best value of its score."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            **{"better": self.kind.better, "best": self.kind.highest},
            "chance": None if self.kind.highest is None else self.chance,
            **{"trained_lengths": list(self.trained_lengths), "score_lengths": list(self.score_lengths)},
            "length_names": {str(n): name for n, name in self.length_names.items()},
            "floors": {str(n): floor for n, floor in self.floors.items()},
        }

    def floor(self, lengths: Collection[int]) -> float | None:
        """The score over these lengths of the best answer that does not look at the input; None where it is unknown."""
        if not any(n in self.floors for n in lengths):
            return self.chance
        return self.kind.mean(self.floors.get(n, self.chance or 0.0) for n in lengths)

    @property
    def beyond(self) -> float | None:
        """The `floor` of a seed's score."""
        return self.floor(self.score_lengths)

    @property
    def floor_names(self) -> dict[str, float]:
        """The mean floors of a seed's score that are no 0, by what gets them."""
        shortcut = f"a shortcut ({self.shortcut})"
        found = {"an answer that does not look at the input": self.beyond, shortcut: self.shortcut_score}
        return {} if self.kind.highest is None else {name: score for name, score in found.items() if score}

    @property
    def kind(self) -> ScoreKind:
        """The kind of its score."""
        return kind_of(self.metric, self.writes_text)

    def length_name(self, length: int) -> str:
        """An evaluated length in words."""
        return self.length_names.get(length, str(length))
