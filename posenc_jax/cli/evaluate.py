"""``posenc evaluate RUN``: a finished run at other lengths, or with other positions at test time."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from posenc_jax.cli.session import UsageError, guarded, override, prepare_jax, stoppable
from posenc_jax.encodings import parse

USAGE = """usage: posenc evaluate RUN [--lengths N ...] [--posenc ENCODINGS]

Measures every replica of a finished run (the directory of a run or of one of its groups) with the parameters that it was trained to."""


@dataclasses.dataclass(frozen=True)
class Options:
    """What to measure."""

    lengths: tuple[int, ...] = ()
    """Task lengths, ascending (default: those of the run's config)."""
    posenc: str | None = None
    """Encodings to use instead of the trained ones, e.g. "rope(base=5e5)" (default: the trained ones)."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _evaluate(arguments))


def _evaluate(arguments: list[str]) -> int:
    options = override(Options, Options(), arguments[1:], f"posenc evaluate {arguments[0]}", USAGE)
    try:
        posenc = None if options.posenc is None else parse(options.posenc)
    except ValueError as error:
        raise UsageError(f"--posenc: {error}") from None
    directory = Path(arguments[0])
    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.evaluation import changed_config, evaluate
    from posenc_jax.cell import load_config

    config = load_config(directory.expanduser())
    try:
        changed_config(config, options.lengths or config.evaluation.lengths, config.posenc if posenc is None else posenc)
    except ValueError as error:
        raise UsageError(str(error)) from None
    with TerminalReporter() as reporter, stoppable() as stop:
        path, rows = evaluate(directory, options.lengths or None, posenc, reporter=reporter, stop=stop)
    metric = config.task.metric
    lengths = sorted({row["length"] for row in rows})
    print(f"{metric} by length")
    print("seed        rate  " + "".join(f"{length:>8}" for length in lengths))
    for seed, rate in sorted({(row["seed"], row["learning_rate"]) for row in rows}):
        values = {row["length"]: row[metric] for row in rows if (row["seed"], row["learning_rate"]) == (seed, rate)}
        print(f"{seed:<6}{rate:>10g}  " + "".join(f"{values[length]:8.3f}" for length in lengths))
    print(f"written: {path}")
    return 0
