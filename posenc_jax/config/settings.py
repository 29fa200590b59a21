"""The parts of a run besides its task and its encodings: optimizer, training, evaluation, execution."""

import dataclasses
import math
import struct
from typing import Literal

from posenc_jax.config.own_names import check_names
from posenc_jax.data.metric import Metric, check_metrics
from posenc_jax.encodings.interface.value import Value, above, at_least, limited
from posenc_jax.models.decoding_config import Decoding, Greedy, Sampling


def in_float32(value: float) -> float:
    """The nearest number of float32."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


@dataclasses.dataclass(frozen=True)
class Optimizer(Value):
    """AdamW with global-norm clipping and a schedule with peak 1, multiplied by the learning rate of a replica.

    Attributes:
      schedule: schedule after the warm-up: "constant", "linear" and "cosine" down to ``final_fraction`` at the last
        step, or "inverse_sqrt", which falls as 1/sqrt(step) and is also called "noam" (Vaswani et al. 2017, section
        5.3; their peak is ``(d_model warmup_steps)^-0.5``, 7.0e-4 for the base model).
      warmup_steps: number of steps of the linear warm-up to the peak.
      final_fraction: fraction of the peak at which "linear" and "cosine" end.
      weight_decay: decoupled weight decay of matrices only; biases, slopes, norms and positional tables are not
        decayed.
      b1: decay rate of Adam's mean of gradients.
      b2: decay rate of Adam's mean of squared gradients.
      eps: Adam's epsilon.
      clip_norm: largest global norm of a gradient (None: no clipping).
      mu_dtype: dtype in which Adam's mean of gradients is stored; the mean of squared gradients stays in float32, since
        its changes are too small for bfloat16.
    """

    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt", "noam"] = "cosine"
    warmup_steps: int = 0
    final_fraction: float = 0.0
    weight_decay: float = 0.0
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    clip_norm: float | None = 1.0
    mu_dtype: Literal["float32", "bfloat16"] = "float32"

    part_of_run = "optimizer"
    limits = limited(
        warmup_steps=at_least(0),
        final_fraction=at_least(0, ": it is a fraction of the learning rate", most=1),
        weight_decay=at_least(0),
        eps=above(0),
        clip_norm=above(0, ", or None for no clipping"),
    )

    def check_fields(self) -> None:
        """Refuses impossible settings, and gives a schedule of two names the one that is stored."""
        if self.schedule == "noam":
            object.__setattr__(self, "schedule", "inverse_sqrt")
        for field in ("b1", "b2"):
            if not 0 <= in_float32(getattr(self, field)) < 1:
                raise ValueError(
                    f"optimizer.{field} = {getattr(self, field)} must be at least 0 and below 1, in float32 too"
                )
        if self.schedule == "inverse_sqrt" and self.warmup_steps == 0:
            raise ValueError(
                "optimizer.schedule = 'inverse_sqrt' decays from the warm-up on: "
                "set optimizer.warmup_steps to at least 1"
            )


@dataclasses.dataclass(frozen=True)
class Training(Value):
    """Length of training, batches, and how often metrics and checkpoints are written.

    All cadences count steps. Every number is at most 2147483647; what else bounds a batch is memory.

    Attributes:
      label_smoothing: share of every target that is spread over all classes, at least 0 and below 1 (Vaswani et al.
        2017, section 5.4: 0.1). Only the gradient uses the smoothed loss; logged and evaluated losses are not smoothed.
      steps: number of parameter updates.
      batch_size: number of examples per update.
      microbatches: number of equal parts of a batch whose gradients are accumulated (on CPU this keeps temporaries in
        cache, on accelerators it saves memory).
      length_strata: number of equal parts of a batch, each with lengths from an equal share of the training lengths,
        short ones together, so that each part is padded only to its own longest length (generated tasks). Every length
        is drawn as often, and weighs as much, as without strata; compilation takes longer, since the program has a
        section for each part.
      curriculum_every: number of steps after which the next longer training length is added (generated tasks): training
        starts with the shortest length only, then also draws the second, and so on until all lengths are drawn alike
        (0: all from the start). Validation draws from all lengths.
      steps_per_call: largest number of steps that one call of the compiled program scans over, at most 1000000; a call
        takes the largest such number that divides ``steps`` and all cadences (`steps_at_once`).
      log_every: number of steps between rows of metrics, each the mean over the steps of a call.
      checkpoint_every: number of steps between checkpoints (0: only at the end).
      keep_every: number of steps between checkpoints that are kept, besides the newest two, for ``posenc evaluate RUN
        --steps`` (0: none).
      validate_every: number of steps between validations on training lengths (0: only at the end).
      validation_batches: number of batches per validation, at most 1000000.
      averaged_checkpoints: number of final checkpoints, including that of the last step, over which parameters are
        averaged; the mean is what is evaluated and what a finished run is used with (1: only the last step; Vaswani et
        al. 2017, section 6.1).
    """

    steps: int = 1000
    batch_size: int = 32
    microbatches: int = 1
    length_strata: int = 1
    curriculum_every: int = 0
    steps_per_call: int = 50
    log_every: int = 50
    checkpoint_every: int = 0
    keep_every: int = 0
    validate_every: int = 0
    validation_batches: int = 16
    label_smoothing: float = 0.0
    averaged_checkpoints: int = 1

    part_of_run = "training"
    limits = limited(
        **dict.fromkeys(("steps", "batch_size", "microbatches", "log_every", "averaged_checkpoints"), at_least(1)),
        **dict.fromkeys(("steps_per_call", "validation_batches"), at_least(1, most=10**6)),
        **dict.fromkeys(("checkpoint_every", "keep_every", "validate_every"), at_least(0, ": 0 means only at the end")),
        length_strata=at_least(1, most=64),
        curriculum_every=at_least(0, ": 0 is none"),
    )

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"training.label_smoothing = {self.label_smoothing} must be from 0 to below 1: it is taken from every "
                "target"
            )
        if self.batch_size % self.microbatches:
            raise ValueError(
                f"training.microbatches = {self.microbatches} does not divide training.batch_size = {self.batch_size}: "
                "the parts of a batch are equal"
            )
        if self.microbatches % self.length_strata:
            raise ValueError(
                f"training.length_strata = {self.length_strata} does not divide training.microbatches = "
                f"{self.microbatches}: every share of the lengths has equally many parts of the batch"
            )
        if self.curriculum_every and self.length_strata > 1:
            raise ValueError(
                f"training.curriculum_every = {self.curriculum_every} and training.length_strata = "
                f"{self.length_strata}: shares are those of all lengths; set one of the two to its default"
            )
        if self.keep_every and (self.checkpoint_every == 0 or self.keep_every % self.checkpoint_every):
            raise ValueError(
                f"training.keep_every = {self.keep_every} must be a multiple of training.checkpoint_every = "
                f"{self.checkpoint_every}: only at those steps there is a checkpoint to keep"
            )
        self._check_averaging()

    def _check_averaging(self) -> None:
        count, every = self.averaged_checkpoints, self.checkpoint_every
        if count == 1:
            return
        if every == 0 or self.steps % every:
            raise ValueError(
                f"training.averaged_checkpoints = {count} takes the checkpoints of every training.checkpoint_every = "
                f"{every} steps up to the last, training.steps = {self.steps}: set checkpoint_every to a divisor of it"
            )
        if count * every > self.steps:
            raise ValueError(
                f"training.averaged_checkpoints = {count} is more than the {self.steps // every} checkpoints of "
                f"training.steps = {self.steps} with training.checkpoint_every = {every}: lower one of them"
            )

    @property
    def steps_at_once(self) -> int:
        """Steps of one call: the largest divisor of `steps` and of all cadences that is at most ``steps_per_call``."""
        common = math.gcd(self.steps, self.log_every, self.checkpoint_every, self.validate_every)
        return next(n for n in range(min(common, self.steps_per_call), 0, -1) if common % n == 0)


@dataclasses.dataclass(frozen=True)
class Evaluation(Value):
    """Measurements after training: every length on its own, in chunks that fit the memory budget.

    Attributes:
      lengths: lengths to evaluate, in the unit of the task, ascending, at most 1048576.
      num_examples: number of test examples per length (at most as many as a finite test set has), at most 10000000.
      draws: number of draws of random positions among which the examples are divided.
      memory_budget_mb: memory for the activations of a chunk, in MiB; on a CPU at most 16 are used, which is faster.
      decoded_examples: number of test examples per length whose output is also decoded and scored as text (tasks on
        text), at most 10000000.
      decoding: how outputs are decoded: greedily, by beam search, or by sampling.
      metrics: your own metrics, besides those of the task, as in "mine.py:TopK(k=5)|mine.py:Brier".
    """

    lengths: tuple[int, ...] = ()
    num_examples: int = 256
    draws: int = 1
    memory_budget_mb: int = 512
    decoded_examples: int = 0
    decoding: Decoding = Greedy()  # noqa: RUF009  (frozen)
    metrics: tuple[Metric, ...] = ()

    part_of_run = "evaluation"
    limits = limited(
        num_examples=at_least(1, most=10**7),
        draws=at_least(1),
        memory_budget_mb=at_least(1),
        decoded_examples=at_least(0, most=10**7),
    )

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        if self.decoding.num_outputs > 1 and isinstance(self.decoding, Sampling):
            raise ValueError(f"evaluation.decoding = {self.decoding!r} is scored by one output: set num_samples to 1")
        check_names(self.metrics)
        check_metrics(self.metrics)
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
    """Placement of replicas on devices. It is not part of a result's identity, but is recorded with it, since results
    are identical to the bit only under the same placement.

    Attributes:
      mode: "devices" (one replica per device at a time; its bits depend neither on other replicas nor on their number),
        "vmap" (all replicas of a group in one batch on each accelerator), "map" (one device, one replica after
        another), or "auto": "devices" on CPU, "vmap" elsewhere.
      group_size: largest number of replicas in one program (None: one for each device in "devices", one in "map", all
        in "vmap").
      data: number of devices that share a batch; above 1 only in "vmap", which "auto" then means.
      model: number of devices that share the matrices of a layer; above 1 only in "vmap", which "auto" then means.

    All numbers are at most 65536.
    """

    mode: Literal["auto", "devices", "vmap", "map"] = "auto"
    group_size: int | None = None
    data: int = 1
    model: int = 1

    part_of_run = "execution"
    limits = limited(**dict.fromkeys(("group_size", "data", "model"), at_least(1, most=2**16)))

    @property
    def split(self) -> bool:
        """True if a replica is split over several devices."""
        return self.data * self.model > 1

    def check_fields(self) -> None:
        """Refuses impossible settings."""
        for field in ("data", "model"):
            if getattr(self, field) > 1 and self.mode in ("devices", "map"):
                raise ValueError(
                    f"execution.{field} = {getattr(self, field)} needs execution.mode = 'vmap', not {self.mode!r}"
                )
