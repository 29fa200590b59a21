"""``posenc evaluate RUN``: a finished run at other lengths, or with other positions at test time."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import as_path, refusing
from posenc_jax.cli.overrides import override
from posenc_jax.cli.own_files import read_metrics, read_slot, refuse_unusable
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import of_config, prepare_jax, stoppable, trust
from posenc_jax.shapes import Json

DESCRIPTION = (
    "Measures every replica of a finished run (the directory of a run, of a cell of an ablation, or of one group) with "
    "the parameters that it was trained to."
)
USAGE = f"""usage: posenc evaluate RUN [--lengths N ...] [--posenc ENCODINGS] [--metrics METRICS] [--data NAME]
                           [--shuffle-words] [--steps N ...] [--trust RUN] [--accept-changed-code]

{DESCRIPTION}
`posenc evaluate --help` explains the options."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Settings of the measurement."""

    lengths: tuple[int, ...] = ()
    """Task lengths, ascending (none: those of the run's config)."""
    posenc: str | None = None
    """Encodings to use instead of the trained ones, e.g. "rope(base=5e5)" (None: the trained ones)."""
    metrics: str | None = None
    """Scores of your own to measure, e.g. "mine.py:TopK(k=5)|mine.py:Brier" (None: those of the run's config)."""
    data: str | None = None
    """Tasks on text: the corpus whose test split is used, e.g. descriptions/en-de (None: that of the run)."""
    shuffle_words: bool = False
    """Tasks on text: whether the words of every input stand in a random order."""
    steps: tuple[int, ...] = ()
    """Checkpoints to measure, of those that training.keep_every left (none: what the result is of)."""
    trust: Path | None = None
    """A run whose own Python files may be run: they are not run unasked, and are named with their digests (None)."""
    accept_changed_code: bool = False
    """Whether to measure with an encoding, task or metric of your own that has changed since; the file then says so."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    return of_config(arguments, USAGE, lambda: _evaluate("RUN", ["--help"]), _evaluate)


def _evaluate(directory: str, arguments: list[str]) -> int:
    options: Options = override(Options, Options(), arguments, f"posenc evaluate {directory}", DESCRIPTION)
    prepare_jax()  # before files of the user's: one that computes would fix the devices
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.scores import score_table
    from posenc_jax.runs.directory import load_config
    from posenc_jax.runs.evaluation import changed_config, evaluate

    run_directory = as_path(directory)
    if options.trust is not None:
        trust(options.trust, here=options.accept_changed_code)
    with refusing("--posenc: "):
        posenc = None if options.posenc is None else read_slot(options.posenc)
    metrics = None if options.metrics is None else read_metrics(options.metrics)
    config = load_config(run_directory)
    lengths = options.lengths or config.evaluation.lengths
    other: dict[str, Any] = {"data": options.data, "shuffle_words": options.shuffle_words}
    with refusing():
        changed = changed_config(config, lengths, config.posenc if posenc is None else posenc, metrics=metrics, **other)
    refuse_unusable(changed)
    with TerminalReporter() as reporter, stoppable() as stop:
        path, rows = evaluate(
            run_directory,
            lengths,
            posenc,
            metrics=metrics,
            **other,
            steps=options.steps or None,
            accept_changed_code=options.accept_changed_code,
            reporter=reporter,
            stop=stop,
        )
    of_text = (f"on {options.data}" if options.data else "", "words shuffled" if options.shuffle_words else "")
    changed = dataclasses.replace(changed, label=", ".join(filter(None, (changed.label, *of_text))))
    measured: dict[int | None, dict[tuple[int, float], list[Json]]] = {}
    for row in rows:
        replicas = measured.setdefault(row.get("step"), {})
        replicas.setdefault((row["seed"], row["learning_rate"]), []).append(row)
    for step, replicas in measured.items():
        if step is not None:
            show(f"after step {step}:")
        scores = [
            {"seed": seed, "learning_rate": rate, "evaluation": found, "diverged_at": found[0].get("diverged_at")}
            for (seed, rate), found in replicas.items()
        ]
        show(score_table(changed, scores))
    show(f"written: {path}")
    return 0
