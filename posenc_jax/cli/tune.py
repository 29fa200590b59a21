"""``posenc tune CONFIG``: which microbatches, strata and steps per call train fastest on this machine."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from posenc_jax.cli.errors import Parser, above_0, guarded
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import load_config, prepare_jax
from posenc_jax.config import Ablation, Run

if TYPE_CHECKING:
    from posenc_jax.runs.tuning import Timed

DESCRIPTION = "Time ways to split a training step on this machine, and print what to write into the config."
SECONDS = """Each setting is timed for --seconds S (default 10) side by side with the fastest so far, and at the end the
first side by side with the fastest. With N settings, about 3 to 10, each table takes (N + 1) * S seconds, plus
compilation of each setting (as long as in `posenc train`)."""
USAGE = f"""usage: posenc tune CONFIG [--seconds S] [overrides]

{DESCRIPTION}
For an ablation, the first run of each table is tuned. Nothing is written: microbatches and strata are part of a
result's identity. Each row is printed as soon as it is timed; an interrupt (Ctrl-C) ends with the fastest so far.

{SECONDS}

Overrides are those of `posenc train` and `posenc ablate`, such as --training.steps 20; `posenc tune CONFIG --help`
lists them. Those about directories (--directory, --track) have no effect here."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        show(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _tune(arguments[0], arguments[1:]))


def _tune(config_file: str, words: list[str]) -> None:
    options, overrides = _options(words)
    prepare_jax()  # before the config: one that computes would fix the devices
    config = load_config(config_file, (Run, Ablation), "tune")
    if overrides:
        from posenc_jax.cli.ablate import overridden

        about = f"{DESCRIPTION} {' '.join(SECONDS.split())} Options of the run:"
        config = overridden(config, overrides, f"posenc tune {config_file}", about)
    runs = [config] if isinstance(config, Run) else list({run.table: run for run in reversed(config.runs)}.values())
    from posenc_jax.cli.own_files import refuse_unusable

    refuse_unusable(config)
    for run in reversed(runs):
        _tune_one(run, options.seconds)


def _tune_one(run: Run, seconds: float) -> None:
    """Prints the settings of a run as they are timed, and what to write; so far when it is interrupted."""
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.tuning import tune

    rows: list[Timed] = []
    out = sys.stdout

    def say(*lines: str) -> None:
        """Prints at once on the standard output of now: Rich's live display takes what is printed to standard error."""
        show("\n".join(lines), stream=sys.stdout if out.isatty() else out, flush=True)

    try:
        with TerminalReporter() as reporter:
            for timed in tune(run, seconds, reporter):
                if not rows:
                    say(f"{run.table} {run.label}", _line(_HEAD))
                if timed.training != run.training or not rows:
                    say(_row(timed))
                rows.append(timed)
    except KeyboardInterrupt:
        if not rows:
            say("Stopped before a setting was timed.")
        else:
            best = max(rows, key=lambda timed: timed.speed)
            say("Stopped before all settings were timed. So far:", *_advice(rows[0], best, "The fastest row"))
        raise
    say(*_advice(rows[0], rows[-1], "The last row"))


def _options(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(prog="posenc tune", add_help=False, allow_abbrev=False)
    rule = "must be a number of seconds, above 0 and up to 3600"
    parser.add_argument("--seconds", type=above_0(rule, most=3600), default=10.0)
    return parser.parse_known_args(words)


_HEAD = ("microbatches", "length_strata", "steps_per_call", "compile", "a step", "speed")


def _line(words: tuple[str, ...]) -> str:
    return "  ".join(f"{word:>{max(9, len(title))}}" for word, title in zip(words, _HEAD))


def _row(timed: Timed) -> str:
    training = timed.training
    settings = (training.microbatches, training.length_strata, training.steps_at_once)
    measured = (f"{timed.compile_seconds:.1f} s", f"{timed.milliseconds:.2f} ms", f"{timed.speed:.2f}")
    return _line((*map(str, settings), *measured))


def _advice(first: Timed, fastest: Timed, which: str) -> list[str]:
    from posenc_jax.runs.tuning import GAIN, SEARCHES

    own, best = first.training, fastest.training
    changed = {field: getattr(best, field) for field, _ in SEARCHES if getattr(best, field) != getattr(own, field)}
    if not changed or fastest.speed < 1 + GAIN:
        return [f"No setting is more than {100 * GAIN:.0f} % faster than the config's own (the first row): leave it."]
    written = ", ".join(f"{field}={value}" for field, value in changed.items())
    said = " ".join(f"--training.{field.replace('_', '-')} {value}" for field, value in changed.items())
    return [
        f"{which} is {fastest.speed:.2f} times as fast as the first. Write into Training(...) of the config:",
        f"    {written}",
        f"or pass {said}. This is a different setting, so finished runs are not reused.",
    ]
