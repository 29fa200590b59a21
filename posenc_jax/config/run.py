"""A run and an ablation, checked when they are made: a wrong one raises a ValueError with the value, the rule and the
way out, before anything is compiled.
"""

import collections
import dataclasses
import functools
import re
from collections.abc import Iterable
from typing import Any

from posenc_jax.config.own_names import check_names
from posenc_jax.config.settings import Evaluation, Execution, Optimizer, Training
from posenc_jax.config.stored import config_hash
from posenc_jax.data.tasks.base import Task
from posenc_jax.encodings import REGISTERED, spec
from posenc_jax.encodings.interface.base import Dims
from posenc_jax.encodings.interface.slots import Slot, check_mapped, elements, position_axes
from posenc_jax.encodings.interface.value import Value
from posenc_jax.files.names import file_name
from posenc_jax.models.checks import check_model
from posenc_jax.models.config import Slots, Transformer, model_dims
from posenc_jax.refusals import refuse_twice

MOST_REPLICAS = 2**16
"""Of one run."""
CELL = "cell:"
"""What `Run.init_from` begins with where it names a cell of the same ablation."""


@dataclasses.dataclass(frozen=True)
class Run(Value):
    """One cell: a task, a model, its encodings, and all its replicas (``seeds`` x ``learning_rates``).

    Attributes:
      task, model, optimizer, training, evaluation, execution: see their classes.
      posenc: encodings of every self-attention, as in "randomized(max_position=2048)|rope(base=5e5)".
      posenc_encoder: encodings of the encoder of an encoder-decoder (None: those of ``posenc``).
      posenc_cross: encodings of cross-attention.
      seeds: seeds to train, one replica for each seed and learning rate; at most 65536 replicas. The default of 8 seeds
        is the number needed to claim a difference (`posenc_jax.statistics.CLAIM_SEEDS`).
      learning_rates: peaks of the learning-rate schedule, as float32 numbers; the best one is chosen by validation on
        training lengths.
      init_from: directory of a finished run whose parameters (of the same seed) replace the random initial ones; those
        of the encoding only where they fit. Or a file of `posenc weights export`, whose parameters are the start of
        every seed. Or `as_start` of an earlier cell of the same ablation.
      label: name of the cell (default: the encodings).
      table: name of the table that holds the cell (default: the task).
      note: remark on this cell for readers of the table.
    """

    task: Task
    model: Transformer = Transformer()  # noqa: RUF009  (frozen)
    posenc: Slot = ()
    posenc_encoder: Slot | None = None
    posenc_cross: Slot = ()
    optimizer: Optimizer = Optimizer()  # noqa: RUF009  (frozen)
    training: Training = Training()  # noqa: RUF009  (frozen)
    evaluation: Evaluation = Evaluation()  # noqa: RUF009  (frozen)
    execution: Execution = Execution()  # noqa: RUF009  (frozen)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    learning_rates: tuple[float, ...] = (1e-3,)
    init_from: str | None = None
    label: str = ""
    table: str = ""
    note: str = ""

    def check_fields(self) -> None:
        """Refuses settings that do not fit together."""
        check_names(self)
        if not self.label:
            object.__setattr__(self, "label", spec(self.posenc))
        if not self.table:
            object.__setattr__(self, "table", getattr(self.task, "kind", self.task.name))
        for field in ("label", "table"):
            if not any(letter.isprintable() and not letter.isspace() for letter in getattr(self, field)):
                raise ValueError(
                    f"{field} = {getattr(self, field)!r} shows nothing: write a word, or leave {field} out"
                )
        _check_members("seeds", self.seeds, lambda s: 0 <= s < 2**31, "from 0 to 2147483647")
        _check_members("learning_rates", self.learning_rates, lambda r: r > 0, "positive")
        if len(self.seeds) * len(self.learning_rates) > MOST_REPLICAS:
            raise ValueError(
                f"{len(self.seeds)} seeds at {len(self.learning_rates)} learning rates are more than {MOST_REPLICAS} "
                "replicas: divide them among several runs"
            )
        for length in self.evaluation.lengths:
            self.task.check_length(length)
        if self.evaluation.decoded_examples and not self.task.writes_text:
            raise ValueError(
                f"evaluation.decoded_examples = {self.evaluation.decoded_examples}: task {self.task.name!r} writes no "
                "text; set it to 0"
            )
        if self.task.model_kind != "encoder_decoder":
            for field in ("posenc_encoder", "posenc_cross"):
                if getattr(self, field):
                    raise ValueError(
                        f"{field} is for encoder-decoder models; "
                        f"task {self.task.name!r} trains a {self.task.model_kind} one: use posenc"
                    )
        self._check_axes()
        self._check_token_types()
        self._check_attributes()
        of_task = self.task.position_axes if position_axes(self.posenc) is not None else None
        slots = (self.posenc, self.posenc_encoder or (), self.posenc_cross)
        _check_mapped(slots, of_task, self.task.real_positions)
        if self.model.tie_embeddings and not self.task.one_vocabulary:
            raise ValueError(
                f"model.tie_embeddings = True gives source and target one table, and task {self.task.name!r} has two "
                "vocabularies: set model.tie_embeddings to False"
            )
        self.task.check_strata(self.training.length_strata)
        self.task.check_curriculum(self.training.curriculum_every, self.training.steps)
        rows = self.training.batch_size // self.training.microbatches
        if rows % self.execution.data:
            raise ValueError(f"execution.data = {self.execution.data} does not divide the {rows} rows of a microbatch")
        self.task.check_division(self.execution.data)
        for field, size in self.model.split_sizes.items():
            if size % self.execution.model:
                raise ValueError(
                    f"execution.model = {self.execution.model} does not divide model.{field} = {size}: "
                    "every device holds equally many heads and hidden units"
                )
        check_model(self.task.model_kind, self.model, self.slots, self.dims, num_classes=self.task.num_classes)

    def _check_axes(self) -> None:
        wanted = position_axes(self.posenc)
        if wanted is not None and wanted != self.task.position_axes:
            has = self.task.position_axes or 1
            raise ValueError(
                f"{spec(self.posenc)} reads positions of {wanted} axes, and those of task {self.task.name!r} have "
                f"{has}: choose another encoding, or put grid(width=...) before it, which makes two of one"
            )
        whole = [element for element in elements(self.posenc) if element.integer_positions]
        if wanted is not None and self.task.real_positions and whole:
            raise ValueError(
                f"{spec((whole[0],))} reads whole positions, and those of task {self.task.name!r} are real numbers: "
                "choose another encoding"
            )

    def _check_token_types(self) -> None:
        mask = self.model.mask
        if mask is not None and mask.needs_outline and not self.task.has_outline:
            raise ValueError(
                f"model.mask = {mask!r} reads where tokens stand in a document, and task {self.task.name!r} does not "
                "say: set task.structure of a classification, or choose a mask that reads token types"
            )
        slots = (self.posenc, self.posenc_encoder or (), self.posenc_cross)
        if self.task.has_token_types:
            sizes = {"model.token_types": self.model.token_types or None}
            sizes |= {repr(e): e.known_token_types for slot in slots for e in elements(slot)}
            for name, size in sizes.items():
                if size is not None and size < self.task.num_token_types:
                    raise ValueError(
                        f"{name} has {size} token types, and task {self.task.name!r} makes {self.task.num_token_types} "
                        f"of its sections and padding: set token_types to {self.task.num_token_types}"
                    )
            return
        reading = [repr(e) for slot in slots for e in elements(slot) if e.needs_token_types]
        if self.model.token_types:
            reading.append(f"model.token_types = {self.model.token_types}")
        if mask is not None:
            reading.append(f"model.mask = {mask!r}")
        if reading:
            raise ValueError(
                f"{reading[0]} reads token types (header, body, footer), and task {self.task.name!r} has none: leave "
                "it out, or take a task with documents (classification)"
            )

    def _check_attributes(self) -> None:
        slots = (self.posenc, self.posenc_encoder or (), self.posenc_cross)
        for element in (e for slot in slots for e in elements(slot)):
            if element.needs_attributes or element.needs_pairs:
                what = "attributes of tokens" if element.needs_attributes else "attributes of pairs of tokens"
                raise ValueError(
                    f"{element!r} reads {what}, and task {self.task.name!r} has none: leave it out, or call a model of "
                    "`posenc_jax.models.build` with attributes= and pairs= of your own data"
                )

    @property
    def slots(self) -> Slots:
        """The encodings of each stack."""
        encoder = self.posenc if self.posenc_encoder is None else self.posenc_encoder
        return {
            "decoder_only": Slots(decoder=self.posenc),
            "encoder_only": Slots(encoder=self.posenc),
            "encoder_decoder": Slots(encoder=encoder, decoder=self.posenc, cross=self.posenc_cross),
        }[self.task.model_kind]

    @property
    def max_len(self) -> int:
        """Positions ``0 .. max_len-1`` occur in training or evaluation, those of padding included."""
        return self.task.num_positions(self.evaluation.lengths)

    @property
    def dims(self) -> Dims:
        """The sizes of the model that encodings are given."""
        return model_dims(self.model, vocab_size=self.task.vocab_size, max_len=self.max_len)

    @property
    def replicas(self) -> tuple[tuple[int, float], ...]:
        """(seed, learning rate) of every replica."""
        return tuple((seed, rate) for rate in self.learning_rates for seed in self.seeds)

    @property
    def directory_name(self) -> str:
        """The cell's directory: a short label and 8 hex digits of the config's hash (seeds, learning rates and names
        apart).
        """
        words = re.sub(r"[\W_]+", "-", f"{self.table}-{self.label}".lower())
        return file_name(words[:40].strip("-"), config_hash(self))

    @property
    def as_start(self) -> str:
        """The value of ``init_from`` with which a later cell of the ablation starts from this run. It holds the hash of
        this config, so another one here is another one there.
        """
        return f"{CELL}{self.directory_name}"


def without_effect(runs: Iterable[Run]) -> list[str]:
    """A line for each setting of the runs that is not the default, and that so few steps or such a schedule leave
    without an effect.
    """
    found: list[str] = []
    for run in runs:
        optimizer, training, steps = run.optimizer, run.training, run.training.steps
        if optimizer.warmup_steps > steps:
            found.append(
                f"optimizer.warmup_steps = {optimizer.warmup_steps} is more than training.steps = {steps}: the "
                f"learning rate gets to {steps / optimizer.warmup_steps:.0%} of its peak"
            )
        for name in ("log_every", "validate_every", "checkpoint_every", "keep_every"):
            every = getattr(training, name)
            if every > steps and every != getattr(Training, name):
                found.append(f"training.{name} = {every} is more than training.steps = {steps}: it never comes")
        if optimizer.final_fraction and optimizer.schedule in ("constant", "inverse_sqrt"):
            found.append(
                f"optimizer.final_fraction = {optimizer.final_fraction} is of 'linear' and 'cosine', and "
                f"optimizer.schedule = {optimizer.schedule!r} does not end there"
            )
    return list(dict.fromkeys(found))


@functools.lru_cache(maxsize=256)  # cells of an ablation share slots
def _check_mapped(slots: tuple[Slot, ...], axes: int | None, real: bool) -> None:
    """`check_mapped` of slots. Encodings of the user's are left out: what they do with positions is asked when they are
    called.
    """
    for slot in slots:
        if {type(element) for element in elements(slot)} <= {*REGISTERED}:
            check_mapped(slot, axes, real)


def automatic_names(run: Run) -> dict[str, str]:
    """The fields of a run's automatic names, empty, so that the names follow changed settings."""
    automatic = dataclasses.replace(run, label="", table="")
    return {name: "" for name in ("label", "table") if getattr(run, name) == getattr(automatic, name)}


@dataclasses.dataclass(frozen=True)
class Published(Value):
    """A published result to stand beside ours: a verified ``value``, or only a verified ``direction`` in words."""

    table: str
    label: str
    source: str
    metric: str = ""
    lengths: str = ""
    value: float | None = None
    direction: str = ""


@dataclasses.dataclass(frozen=True)
class Ablation(Value):
    """A comparison: cells whose replicas are paired by seed.

    Attributes:
      baseline: label of the cell that the others are compared with, in every table that has it.
      size_note: how our model and training differ from the published ones.
    """

    name: str
    runs: tuple[Run, ...]
    baseline: str = ""
    title: str = ""
    description: str = ""
    published: tuple[Published, ...] = ()
    size_note: str = ""

    def check_fields(self) -> None:
        """Refuses empty or ambiguous comparisons."""
        if not self.runs:
            raise ValueError("an ablation needs at least one run")
        check_names(self.runs)
        for (table, label), count in collections.Counter((run.table, run.label) for run in self.runs).items():
            if count > 1:
                raise ValueError(
                    f"two runs of the ablation are called {label!r} in table {table!r}: give each a label of its own, "
                    "as posenc_jax.sweep does"
                )
        refuse_twice("published", self.published, lambda one: dataclasses.replace(one, value=None, direction=""))
        self._check_tables()
        self._check_starts()
        labels = sorted({run.label for run in self.runs})
        if self.baseline and self.baseline not in labels:
            raise ValueError(f"baseline = {self.baseline!r} is no cell of the ablation; it has {', '.join(labels)}")

    def _check_starts(self) -> None:
        before: dict[str, Run] = {}
        if not any(run.init_from is not None and run.init_from.startswith(CELL) for run in self.runs):
            return
        for run in self.runs:
            if run.init_from is not None and run.init_from.startswith(CELL):
                if run.init_from not in before:
                    raise ValueError(
                        f"init_from = {run.init_from!r} of {run.label!r} is no cell before it: list the cell that it "
                        "starts from first, and write init_from=THAT_RUN.as_start"
                    )
                there = set(before[run.init_from].seeds)
                missing = [seed for seed in run.seeds if seed not in there]
                if missing:
                    raise ValueError(
                        f"{run.label!r} starts from {before[run.init_from].label!r}, which has no seed "
                        f"{', '.join(map(str, missing))}: give both the same seeds"
                    )
            before[run.as_start] = run

    def _check_tables(self) -> None:
        first: dict[str, Run] = {}
        for run in self.runs:
            other = first.setdefault(run.table, run)
            own, others = (
                (
                    f"trained on lengths {min(one.train_lengths)} to {max(one.train_lengths)}",
                    f"measured by {one.metric}",
                )
                for one in (run.task, other.task)
            )
            for what, of_other in zip(own, others):
                if what != of_other:
                    raise ValueError(
                        f"table {run.table!r} has {other.label!r}, {of_other}, and {run.label!r}, {what}: give them "
                        "different names in `table`"
                    )


def _check_members(field: str, values: tuple[Any, ...], allowed: Any, rule: str) -> None:
    if not values:
        raise ValueError(f"{field} is empty: give at least one")
    for value in values:
        if not allowed(value):
            raise ValueError(f"{field}: {value!r} must be {rule}")
    refuse_twice(field, values)
