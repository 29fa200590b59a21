"""The tables that a verdict is made of: each a published comparison, at a size that two cores train.

Sizes were set so that plain encodings are neither at chance nor perfect within the training lengths, and looking at
baselines only (NoPE, learned, sinusoidal, RoPE, ALiBi), never at a method that is to win.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from posenc_jax.config import Evaluation, Execution, Optimizer, Run, Training
from posenc_jax.data.score_kinds import Kind, headline, kind_of
from posenc_jax.data.tasks import (
    ArrowGrid,
    BucketSort,
    Copying,
    Counting,
    EvenPairs,
    FlipFlop,
    IndirectIndexing,
    ReverseString,
    Task,
    WordProblem,
)
from posenc_jax.encodings.slots import Slot
from posenc_jax.models.config import Transformer

SEEDS = tuple(range(8))
"""Of the runs that are compared, each at every learning rate of its table."""
CHECKPOINTS = 4
"""At equal distances along training, the last one at its end."""


@dataclasses.dataclass(frozen=True)
class Table:
    """One question.

    Attributes:
      question: what the scores answer. source: where the comparison was published.
      run: everything but the encoding, which is NoPE here; its ``learning_rates`` are the grid that each seed
        chooses from.
      full: the same at a size for an accelerator, near the published one. quick: whether ``--quick`` asks it.
    """

    name: str
    question: str
    source: str
    run: Run
    full: Run
    quick: bool = False

    @property
    def at_full_size(self) -> Table:
        """The table whose ``run`` is the full one."""
        return dataclasses.replace(self, run=self.full)

    @property
    def metric(self) -> str:
        """The name of its score."""
        return headline(self.run.task, self.run.evaluation.decoded_examples)

    @property
    def kind(self) -> Kind:
        """What its score is."""
        return kind_of(self.metric, self.run.task.writes_text)

    @property
    def score_lengths(self) -> tuple[int, ...]:
        """The lengths that a seed's score is the mean over: those never trained, or all where each was."""
        lengths = self.run.evaluation.lengths
        return tuple(n for n in lengths if self.run.task.range_of(n) == "beyond") or lengths

    @property
    def steps_kept(self) -> tuple[int, ...]:
        """The steps of training whose checkpoints are measured, the last one at the end."""
        steps = self.run.training.steps
        return tuple(range(steps // CHECKPOINTS, steps + 1, steps // CHECKPOINTS))

    def cell(self, slot: Slot, label: str, seeds: tuple[int, ...]) -> Run:
        """The run of an encoding, which keeps the checkpoints of `steps_kept`."""
        every = self.steps_kept[0]
        training = dataclasses.replace(self.run.training, checkpoint_every=every, keep_every=every)
        return dataclasses.replace(self.run, posenc=slot, label=label, seeds=seeds, training=training)

    def seed_means(self, by_length: Mapping[int, Mapping[int, float]], lengths: tuple[int, ...]) -> dict[int, float]:
        """Seed -> mean over the lengths, of the seeds that have them all; ``by_length``: length -> seed -> score."""
        if not lengths:
            return {}
        seeds = set.intersection(*(set(by_length[length]) for length in lengths))
        return {seed: self.kind.mean(by_length[length][seed] for length in lengths) for seed in sorted(seeds)}


_SMALL = Transformer(d_model=64, num_layers=2, num_heads=4)
_RATES = (5e-4, 1e-3)
_STRINGS_SOURCE = "Delétang et al. 2023; Ruoss et al. 2023"


_FULL_RATES = (1e-4, 3e-4, 1e-3)


def _full(
    table: str,
    task: Task,
    model: Transformer,
    steps: int,
    batch_size: int,
    lengths: tuple[int, ...],
    num_examples: int,
    draws: int = 1,
) -> Run:
    """A run for an accelerator, all of whose replicas are one program if they fit."""
    return Run(
        table=table,
        task=task,
        model=model,
        optimizer=Optimizer(schedule="cosine", warmup_steps=steps // 20),
        training=Training(steps=steps, batch_size=batch_size, steps_per_call=100, log_every=steps // 40),
        evaluation=Evaluation(lengths=lengths, num_examples=num_examples, draws=draws),
        execution=Execution(mode="vmap"),
        seeds=SEEDS,
        learning_rates=_FULL_RATES,
    )


def _full_strings(task: Task) -> Run:
    """The model of Delétang et al., lengths to 40, tested to 500; 10,000 steps instead of a million."""
    model = Transformer(d_model=64, num_layers=5, num_heads=8, mlp_dim=256)
    return _full(task.name, task, model, 10_000, 128, (10, 20, 40, *range(60, 501, 40)), num_examples=512, draws=16)


def _strings(task: Task, steps: int, lengths: tuple[int, ...], num_examples: int) -> Run:
    """One of the tasks on strings, with an encoder."""
    return Run(
        table=task.name,
        task=task,
        model=_SMALL,
        optimizer=Optimizer(schedule="constant"),
        training=Training(steps=steps, batch_size=32, microbatches=2, steps_per_call=50, log_every=250),
        evaluation=Evaluation(lengths=lengths, num_examples=num_examples, draws=16),
        seeds=SEEDS,
        learning_rates=_RATES,
    )


TABLES = {
    table.name: table
    for table in (
        Table(
            name="copy",
            question="copies of one repeated token, longer than any in training",
            source="Kazemnejad et al. 2023, 'rsc'",
            quick=True,
            run=Run(
                table="copy",
                task=Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
                model=dataclasses.replace(_SMALL, norm_type="rms"),
                optimizer=Optimizer(schedule="linear", warmup_steps=50),
                training=Training(steps=1200, batch_size=16, microbatches=2, steps_per_call=50, log_every=100),
                evaluation=Evaluation(lengths=(2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16), num_examples=10),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "copy",
                Copying(kind="rsc", min_length=1, max_length=20, num_symbols=100),
                Transformer(d_model=256, num_layers=4, num_heads=4, norm_type="rms"),
                20_000,
                64,
                (5, 10, 15, *range(20, 41)),
                num_examples=100,
            ),
        ),
        Table(
            name="copy_digits",
            question="copies of digits that differ, longer than any in training",
            source="Kazemnejad et al. 2023, 'cmc'",
            run=Run(
                table="copy_digits",
                task=Copying(kind="cmc", min_length=2, max_length=8, num_symbols=10),
                model=dataclasses.replace(_SMALL, norm_type="rms"),
                optimizer=Optimizer(schedule="linear", warmup_steps=50),
                training=Training(steps=3000, batch_size=16, microbatches=2, steps_per_call=50, log_every=250),
                evaluation=Evaluation(lengths=(2, 4, 6, 8, 9, 10, 11, 12), num_examples=256),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "copy_digits",
                Copying(kind="cmc", min_length=1, max_length=20, num_symbols=100),
                Transformer(d_model=256, num_layers=4, num_heads=4, norm_type="rms"),
                20_000,
                64,
                (5, 10, 15, *range(20, 41)),
                num_examples=256,
            ),
        ),
        Table(
            name="flip_flop",
            question="the bit that was written last, with 98 of 100 instructions to be ignored",
            source="Liu et al. 2023; Yang et al. 2025, table 1",
            run=Run(
                table="flip_flop",
                task=FlipFlop(length=64),
                model=Transformer(d_model=64, num_layers=1, num_heads=2),
                optimizer=Optimizer(schedule="cosine", warmup_steps=100),
                training=Training(steps=4000, batch_size=16, microbatches=2, steps_per_call=50, log_every=500),
                evaluation=Evaluation(lengths=(64,), num_examples=768),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "flip_flop",
                FlipFlop(length=512),
                Transformer(d_model=64, num_layers=1, num_heads=2),
                20_000,
                32,
                (512,),
                num_examples=30_000,
            ),
        ),
        Table(
            name="even_pairs",
            question="whether the first and the last of many tokens are equal, beyond the lengths of training",
            source=_STRINGS_SOURCE,
            quick=True,
            run=_strings(EvenPairs(max_length=10), 2000, (2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40), 512),
            full=_full_strings(EvenPairs(max_length=40)),
        ),
        Table(
            name="bucket_sort",
            question="tokens in order, beyond the lengths of training",
            source=_STRINGS_SOURCE,
            quick=True,
            run=_strings(BucketSort(max_length=10), 1000, (2, 4, 6, 8, 10, 12, 15, 20, 30, 40), 256),
            full=_full_strings(BucketSort(max_length=40)),
        ),
        Table(
            name="reverse_string",
            question="strings backwards, beyond the lengths of training",
            source=_STRINGS_SOURCE,
            run=_strings(ReverseString(max_length=10), 3000, (2, 4, 6, 8, 10, 12, 15, 20, 30, 40), 256),
            full=_full_strings(ReverseString(max_length=40)),
        ),
        Table(
            name="parity",
            question="the parity of so many bits, with one layer",
            source="Movahedi et al. 2025",
            run=Run(
                table="parity",
                task=WordProblem(group="s2", min_length=2, max_length=32),
                model=Transformer(d_model=64, num_layers=1, num_heads=4),
                optimizer=Optimizer(schedule="cosine", warmup_steps=100),
                training=Training(steps=3000, batch_size=32, microbatches=2, steps_per_call=50, log_every=250),
                evaluation=Evaluation(lengths=(8, 16, 24, 32), num_examples=512),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "parity",
                WordProblem(group="s2", min_length=2, max_length=128),
                Transformer(d_model=128, num_layers=1, num_heads=4),
                20_000,
                128,
                (32, 64, 96, 128),
                num_examples=2048,
            ),
        ),
        Table(
            name="counting",
            question="the value of one of three variables after so many statements",
            source="Golovneva et al. 2024",
            run=Run(
                table="counting",
                task=Counting(min_length=3, max_length=24, num_variables=3, pass_weight=8, increment_weight=7),
                model=dataclasses.replace(_SMALL, norm="post"),
                optimizer=Optimizer(schedule="linear", warmup_steps=100),
                training=Training(steps=1500, batch_size=32, microbatches=4, steps_per_call=50, log_every=100),
                evaluation=Evaluation(lengths=(8, 16, 24), num_examples=1024),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "counting",
                Counting(num_variables=3),
                Transformer(d_model=256, num_layers=4, num_heads=4, norm="post", dtype="bfloat16"),
                15_000,
                64,
                (64, 128, 256, 384, 512),
                num_examples=2048,
            ),
        ),
        Table(
            name="arrow_grid",
            question="the letter that an arrow on a grid points to, cells in the order of reading or by row and column",
            source="Ostmeier et al. 2024",
            run=Run(
                table="arrow_grid",
                task=ArrowGrid(size=5, num_arrows=5, num_letters=3),
                model=_SMALL,
                optimizer=Optimizer(schedule="cosine", warmup_steps=100),
                training=Training(steps=2000, batch_size=32, microbatches=4, steps_per_call=50, log_every=250),
                evaluation=Evaluation(lengths=(5,), num_examples=2048),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "arrow_grid",
                ArrowGrid(size=9, num_arrows=8, num_letters=6),
                Transformer(d_model=512, num_layers=8, num_heads=8, dtype="bfloat16"),
                6000,
                128,
                (9,),
                num_examples=4096,
            ),
        ),
        Table(
            name="indirect_indexing",
            question="the letter so many places from another one",
            source="Gopalakrishnan et al. 2025, table 1",
            run=Run(
                table="indirect_indexing",
                task=IndirectIndexing(min_length=6, max_length=12, max_shift=3, num_letters=24),
                model=dataclasses.replace(_SMALL, norm_type="rms"),
                optimizer=Optimizer(schedule="cosine", warmup_steps=100, b2=0.99, weight_decay=0.01),
                training=Training(steps=4000, batch_size=32, microbatches=2, steps_per_call=50, log_every=500),
                evaluation=Evaluation(lengths=(8, 10, 12), num_examples=1024),
                seeds=SEEDS,
                learning_rates=_RATES,
            ),
            full=_full(
                "indirect_indexing",
                IndirectIndexing(),
                Transformer(d_model=512, num_layers=8, num_heads=8, norm_type="rms", dtype="bfloat16"),
                100_000,
                64,
                (20, 30, 40),
                num_examples=2048,
            ),
        ),
    )
}
"""By name, in the order of a card."""
