"""Configs: frozen dataclasses that say everything about a run or an ablation, their JSON form, hash and differences.

A config is checked when it is made: a wrong one raises a ValueError with the value, the rule and the way out, before
anything is compiled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from typing import Any, Literal

from posenc_jax.data.tasks.base import Task
from posenc_jax.encodings.base import Dims
from posenc_jax.encodings.slots import Slot, elements
from posenc_jax.encodings.value import Value
from posenc_jax.models.checks import check_model
from posenc_jax.models.config import Slots, Transformer, model_dims
from posenc_jax.models.decoding_config import Decoding, Greedy, Sampling


@dataclasses.dataclass(frozen=True)
class Optimizer(Value):
    """AdamW with global-norm clipping and a schedule whose peak is 1; a replica's learning rate multiplies it.

    schedule: what follows the warm-up: "constant", "linear" and "cosine" down to ``final_fraction`` at the last step,
      "inverse_sqrt" as 1/sqrt(step). warmup_steps: steps of the linear rise to 1. final_fraction: where "linear" and
      "cosine" end.
    weight_decay: decoupled, of matrices only: biases, slopes, norms and positional tables get none.
    b1, b2, eps: Adam's. clip_norm: the largest global norm of a gradient (None: no clipping).
    """

    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "cosine"
    warmup_steps: int = 0
    final_fraction: float = 0.0
    weight_decay: float = 0.0
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    clip_norm: float | None = 1.0

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        if self.warmup_steps < 0:
            raise ValueError(f"optimizer.warmup_steps = {self.warmup_steps} must not be negative")
        rules = {
            "b1": (0 <= self.b1 < 1, "at least 0 and below 1"),
            "b2": (0 <= self.b2 < 1, "at least 0 and below 1"),
            "eps": (self.eps > 0, "positive"),
            "weight_decay": (self.weight_decay >= 0, "at least 0"),
            "final_fraction": (0 <= self.final_fraction <= 1, "from 0 to 1, a fraction of the learning rate"),
            "clip_norm": (self.clip_norm is None or self.clip_norm > 0, "positive, or None for no clipping"),
        }
        for field, (allowed, rule) in rules.items():
            if not allowed:
                raise ValueError(f"optimizer.{field} = {getattr(self, field)} must be {rule}")
        if self.schedule == "inverse_sqrt" and self.warmup_steps == 0:
            raise ValueError(
                "optimizer.schedule = 'inverse_sqrt' decays from the warm-up on: "
                "set optimizer.warmup_steps to at least 1"
            )


@dataclasses.dataclass(frozen=True)
class Training(Value):
    """How long, on how much, and how often something is written.

    All cadences count steps and are multiples of ``steps_per_call``.

    steps: updates in all. batch_size: examples of an update. microbatches: equal parts of a batch whose gradients are
      added (on CPU this keeps temporaries in cache, on accelerators it saves memory).
    steps_per_call: steps that one call of the compiled program scans over. log_every: steps between rows of metrics.
      checkpoint_every: steps between checkpoints (0: only at the end). validate_every: steps between validations in
      range (0: only at the end). validation_batches: batches of a validation.
    """

    steps: int = 1000
    batch_size: int = 32
    microbatches: int = 1
    steps_per_call: int = 50
    log_every: int = 50
    checkpoint_every: int = 0
    validate_every: int = 0
    validation_batches: int = 16

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        for field in ("steps", "batch_size", "microbatches", "steps_per_call", "log_every", "validation_batches"):
            if getattr(self, field) < 1:
                raise ValueError(f"training.{field} = {getattr(self, field)} must be at least 1")
        if self.batch_size % self.microbatches:
            raise ValueError(
                f"training.microbatches = {self.microbatches} does not divide training.batch_size = {self.batch_size}: "
                "the parts of a batch are equal"
            )
        for field in ("steps", "log_every", "checkpoint_every", "validate_every"):
            value = getattr(self, field)
            if value < 0:
                raise ValueError(f"training.{field} = {value} must not be negative: 0 means only at the end")
            if value % self.steps_per_call:
                below = value // self.steps_per_call * self.steps_per_call
                near = " or ".join(str(v) for v in (below, below + self.steps_per_call) if v > 0)
                raise ValueError(
                    f"training.{field} = {value} is no multiple of training.steps_per_call = {self.steps_per_call}: "
                    f"take {near}, or another steps_per_call"
                )


@dataclasses.dataclass(frozen=True)
class Evaluation(Value):
    """What is measured after training: every length on its own, in chunks that fit the memory budget.

    lengths: in the task's own measure, ascending. num_examples: test examples of each length (a finite test set gives
      at most what it has). draws: how many draws of random positions share them.
    memory_budget_mb: what the activations of a chunk may take.
    decoded_examples: test examples of each length whose output is also decoded and scored as text (tasks on text).
    decoding: how: greedily, by beam search, or by sampling.
    """

    lengths: tuple[int, ...] = ()
    num_examples: int = 256
    draws: int = 1
    memory_budget_mb: int = 512
    decoded_examples: int = 0
    decoding: Decoding = Greedy()  # noqa: RUF009  (frozen)

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        for field in ("num_examples", "draws", "memory_budget_mb"):
            if getattr(self, field) < 1:
                raise ValueError(f"evaluation.{field} = {getattr(self, field)} must be at least 1")
        if self.decoded_examples < 0:
            raise ValueError(f"evaluation.decoded_examples = {self.decoded_examples} must be at least 0")
        if self.decoding.num_outputs > 1 and isinstance(self.decoding, Sampling):
            raise ValueError(f"evaluation.decoding = {self.decoding!r} is scored by one output: set num_samples to 1")
        if self.num_examples % self.draws:
            raise ValueError(
                f"evaluation.draws = {self.draws} does not divide evaluation.num_examples = {self.num_examples}"
            )
        for before, after in zip(self.lengths, self.lengths[1:]):
            if after <= before:
                raise ValueError(
                    f"evaluation.lengths are out of order: {after} comes after {before}; "
                    "write each length once, ascending"
                )


@dataclasses.dataclass(frozen=True)
class Execution(Value):
    """How replicas are laid on devices; recorded with every result, since bits are the same only within one such
    setting.

    mode: "devices" (one replica per device at a time: bits depend on neither neighbours nor number), "vmap" (for
      accelerators), "map" (one device, one replica after the other). group_size: replicas of one program; None is the
      number of devices (of one mesh row in "vmap").
    data, model: devices that share a batch, and a layer's matrices ("vmap" only).
    """

    mode: Literal["devices", "vmap", "map"] = "devices"
    group_size: int | None = None
    data: int = 1
    model: int = 1

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        if self.group_size is not None and self.group_size < 1:
            raise ValueError(f"execution.group_size = {self.group_size} must be at least 1")
        for field in ("data", "model"):
            if getattr(self, field) < 1:
                raise ValueError(f"execution.{field} = {getattr(self, field)} must be at least 1")
            if getattr(self, field) > 1 and self.mode != "vmap":
                raise ValueError(
                    f"execution.{field} = {getattr(self, field)} needs execution.mode = 'vmap', not {self.mode!r}"
                )


@dataclasses.dataclass(frozen=True)
class Run(Value):
    """One cell: a task, a model, its encodings, and all its replicas (``seeds`` x ``learning_rates``).

    task, model, optimizer, training, evaluation, execution: as their classes say.
    posenc: encodings of every self-attention, as in "randomized(max_position=2048)|rope(base=5e5)".
      posenc_encoder: others for the encoder of an encoder-decoder (None: the same). posenc_cross: those of
      cross-attention.
    seeds: one replica each, at each learning rate. learning_rates: peaks of the schedule; the best one is chosen by
      validation in range.
    init_from: directory of a finished run; its parameters (of the same seed) are the start instead of random ones, the
      encoding's own where they fit. Or a file of `posenc weights export`, whose parameters are the start of every seed.
    label, table: the name of the cell and of the table that it stands in (defaults: the encodings and the task).
    note: what a reader of the table should know about this cell.
    """

    task: Task
    model: Transformer = Transformer()  # noqa: RUF009  (frozen)
    posenc: Slot = ()
    posenc_encoder: Slot | None = None
    posenc_cross: Slot = ()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    evaluation: Evaluation = Evaluation()
    execution: Execution = Execution()
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    learning_rates: tuple[float, ...] = (1e-3,)
    init_from: str | None = None
    label: str = ""
    table: str = ""
    note: str = ""

    def check_fields(self) -> None:
        """Refuses settings that do not fit together."""
        from posenc_jax.encodings import spec

        if not self.label:
            object.__setattr__(self, "label", spec(self.posenc))
        if not self.table:
            object.__setattr__(self, "table", getattr(self.task, "kind", self.task.name))
        _check_members("seeds", self.seeds, lambda s: 0 <= s < 2**31, "from 0 to 2147483647")
        _check_members("learning_rates", self.learning_rates, lambda r: 0 < r < float("inf"), "positive")
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
        self._check_token_types()
        rows = self.training.batch_size // self.training.microbatches
        if rows % self.execution.data:
            raise ValueError(f"execution.data = {self.execution.data} does not divide the {rows} rows of a microbatch")
        mlp_dim = self.model.mlp_dim or 4 * self.model.d_model
        split = {"num_heads": self.model.num_heads, "num_kv_heads": self.model.kv_heads, "mlp_dim": mlp_dim}
        for field, size in split.items():
            if size % self.execution.model:
                raise ValueError(
                    f"execution.model = {self.execution.model} does not divide model.{field} = {size}: "
                    "every device holds equally many heads and hidden units"
                )
        check_model(self.task.model_kind, self.model, self.slots, self.dims, num_classes=self.task.num_classes)

    def _check_token_types(self) -> None:
        """Refuses what reads token types where the task has none."""
        if self.task.has_token_types:
            return
        slots = (self.posenc, self.posenc_encoder or (), self.posenc_cross)
        reading = [repr(e) for slot in slots for e in elements(slot) if e.needs_token_types]
        if self.model.token_types:
            reading.append(f"model.token_types = {self.model.token_types}")
        if reading:
            raise ValueError(
                f"{reading[0]} reads token types (header, body, footer), and task {self.task.name!r} has none: leave "
                "it out, or take a task with documents (classification)"
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
        return self.max_len_for(self.evaluation.lengths)

    def max_len_for(self, lengths: tuple[int, ...]) -> int:
        """As `max_len`, for other evaluated lengths."""
        return self.task.num_positions(lengths)

    @property
    def dims(self) -> Dims:
        """What the encodings are told about the model."""
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
        words = f"{self.table}-{self.label}".lower()
        short = "".join(c if c.isalnum() else "-" for c in words)
        while "--" in short:
            short = short.replace("--", "-")
        return f"{short[:40].strip('-')}-{config_hash(self)}"


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

    baseline: label of the cell that the others are compared with, in every table that has it. size_note: how our model
      and training differ from the published ones.
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
        cells = [(run.table, run.label) for run in self.runs]
        for cell in cells:
            if cells.count(cell) > 1:
                raise ValueError(
                    f"two runs of the ablation are called {cell[1]!r} in table {cell[0]!r}: "
                    "give each a label of its own"
                )
        labels = sorted({run.label for run in self.runs})
        if self.baseline and self.baseline not in labels:
            raise ValueError(f"baseline = {self.baseline!r} is no cell of the ablation; it has {', '.join(labels)}")


# Fields that say which replicas exist or how a cell is called, not what a replica computes.
_NOT_IDENTITY = ("seeds", "learning_rates", "label", "table", "note")


def _check_members(field: str, values: tuple, allowed: Any, rule: str) -> None:
    if not values:
        raise ValueError(f"{field} is empty: give at least one")
    for value in values:
        if not allowed(value):
            raise ValueError(f"{field}: {value!r} must be {rule}")
        if values.count(value) > 1:
            raise ValueError(f"{field}: {value!r} is given twice; each replica must be different")


def to_json(value: Any) -> Any:
    """The config as JSON values, every field included; a value carries its class as ``"type": "module:Class"``."""
    if isinstance(value, Value):
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}  # type: ignore[arg-type]
        return {"type": f"{type(value).__module__}:{type(value).__qualname__}", **fields}
    if isinstance(value, tuple):
        return [to_json(v) for v in value]
    return value


def from_json(data: Any) -> Any:
    """The inverse of `to_json`."""
    if isinstance(data, dict):
        module, _, name = data["type"].partition(":")
        cls = getattr(importlib.import_module(module), name)
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{k: from_json(v) for k, v in data.items() if k in known})
    if isinstance(data, list):
        return tuple(from_json(v) for v in data)
    return data


def config_hash(run: Run) -> str:
    """8 hex digits of the SHA-256 of the run's config without its seeds, learning rates and names."""
    return hashlib.sha256(json.dumps(identity(to_json(run)), sort_keys=True).encode()).hexdigest()[:8]


def identity(data: dict) -> dict:
    """The part of a run's JSON that decides what a replica computes."""
    return {k: v for k, v in data.items() if k not in _NOT_IDENTITY}


def difference(old: Any, new: Any, path: str = "") -> list[str]:
    """The fields in which two JSON configs differ, one line each: ``path: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict) and old.get("type") == new.get("type"):
        lines = []
        for field in [*old, *(k for k in new if k not in old)]:
            lines += difference(old.get(field), new.get(field), f"{path}.{field}" if path else field)
        return lines
    return [] if old == new else [f"{path}: {_short(old)} -> {_short(new)}"]


def _short(data: Any) -> str:
    if isinstance(data, dict):
        return (
            f"{data['type'].partition(':')[2]}({', '.join(f'{k}={_short(v)}' for k, v in data.items() if k != 'type')})"
        )
    if isinstance(data, list):
        return f"({', '.join(map(_short, data))})"
    return repr(data)
