"""``posenc tune CONFIG``: which microbatches, strata and steps per call train fastest on this machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from posenc_jax.cli.errors import UsageError, guarded
from posenc_jax.cli.session import load_config, prepare_jax
from posenc_jax.config import Ablation, Run

if TYPE_CHECKING:
    from posenc_jax.runs.tuning import Tuned

DESCRIPTION = "Times how a training step may be cut up on this machine, and prints what to write into the config."
USAGE = f"""usage: posenc tune CONFIG [--seconds S]

{DESCRIPTION}
Of an ablation the first run of each table is tuned. Nothing is written: microbatches and strata are part of a
result's identity.

  --seconds S  how long each pair of settings is timed, besides compiling (default 10)"""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _tune(arguments[0], arguments[1:]))


def _tune(config_file: str, options: list[str]) -> int:
    seconds = _seconds(options)
    config = load_config(config_file, (Run, Ablation), "tune")
    runs = [config] if isinstance(config, Run) else list({run.table: run for run in reversed(config.runs)}.values())
    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.tuning import tune

    for run in reversed(runs):
        with TerminalReporter() as reporter:
            tuned = tune(run, seconds, reporter)
        print("\n".join([f"{run.table} {run.label}", *_table(tuned), *_advice(tuned)]))
    return 0


def _seconds(options: list[str]) -> float:
    if not options:
        return 10.0
    try:
        ((name, value),) = [options]
        seconds = float(value)
    except ValueError:
        seconds, name = math.nan, options[0]
    if name != "--seconds" or not 0 < seconds <= 3600:
        raise UsageError(f"{' '.join(options)!r} is no option of posenc tune: say --seconds S, with S from 0 to 3600")
    return seconds


def _table(tuned: Tuned) -> list[str]:
    head = ("microbatches", "length_strata", "steps_per_call", "compile", "a step", "speed")
    rows = [
        (
            *(str(value) for value in (t.training.microbatches, t.training.length_strata, t.training.steps_at_once)),
            f"{t.compile_seconds:.1f} s",
            f"{t.milliseconds:.2f} ms",
            f"{t.speed:.2f}",
        )
        for t in (tuned.own, *tuned.others, tuned.best)
        if t is tuned.own or t.training != tuned.own.training
    ]
    return ["  ".join(f"{word:>{max(9, len(title))}}" for word, title in zip(row, head)) for row in (head, *rows)]


def _advice(tuned: Tuned) -> list[str]:
    from posenc_jax.runs.tuning import GAIN, SEARCHES

    own, best = tuned.own.training, tuned.best.training
    changed = {field: getattr(best, field) for field, _ in SEARCHES if getattr(best, field) != getattr(own, field)}
    if not changed or tuned.best.speed < 1 + GAIN:
        return [f"No setting is more than {100 * GAIN:.0f} % faster than the config's own (the first row): leave it."]
    written = ", ".join(f"{field}={value}" for field, value in changed.items())
    said = " ".join(f"--training.{field.replace('_', '-')} {value}" for field, value in changed.items())
    return [
        f"The last row is {tuned.best.speed:.2f} times as fast as the first. Write into Training(...) of the config:",
        f"    {written}",
        f"or say {said}. It is another setting, so nothing of finished runs is used.",
    ]
