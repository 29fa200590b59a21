"""``posenc evaluate RUN``: a finished run at other lengths, or with other positions at test time."""

import argparse
import dataclasses
from typing import Any

from posenc_jax.cli.errors import Parser, add_trust, as_path, guarded, refusing
from posenc_jax.cli.own_files import read_metrics, read_slot, refuse_unusable
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import prepare_jax, stoppable, trust
from posenc_jax.files.shapes import Json

DESCRIPTION = """Evaluate every replica of a finished run with its trained parameters. RUN is the directory of a run, of
a cell of an ablation, or of one group."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc evaluate", description=DESCRIPTION)
    add = parser.add_argument
    add("run", type=as_path, metavar="RUN", help="directory of a finished run, or of a cell or group")
    add("--lengths", type=int, nargs="+", metavar="N", help="task lengths, ascending (default: those of the config)")
    add("--posenc", metavar="ENCODINGS", help='encodings to use instead of the trained ones, as in "rope(base=5e5)"')
    own = 'your own metrics, as in "mine.py:TopK(k=5)|mine.py:Brier" (default: those of the config)'
    add("--metrics", metavar="METRICS", help=own)
    add("--data", metavar="NAME", help="tasks on text: corpus whose test split is used (default: that of the run)")
    add("--shuffle-words", action="store_true", help="tasks on text: shuffle the words of every input")
    steps = "checkpoints to evaluate, of those kept by training.keep_every (default: the parameters behind the result)"
    add("--steps", type=int, nargs="+", metavar="N", help=steps)
    add_trust(parser)
    changed = "evaluate even if your own encoding, task or metric has changed since training; the result file says so"
    add("--accept-changed-code", action="store_true", help=changed)
    return guarded(lambda: _evaluate(parser.parse_args(arguments)))


def _evaluate(options: argparse.Namespace) -> None:
    prepare_jax()  # before files of the user's: one that computes would fix the devices
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.scores import score_table
    from posenc_jax.runs.directory import load_config
    from posenc_jax.runs.evaluation import changed_config, evaluate

    trust(options.trust, here=options.accept_changed_code)
    with refusing("--posenc: "):
        posenc = None if options.posenc is None else read_slot(options.posenc)
    metrics = None if options.metrics is None else read_metrics(options.metrics)
    config = load_config(options.run)
    lengths = tuple(options.lengths or ()) or config.evaluation.lengths
    other: dict[str, Any] = {"data": options.data, "shuffle_words": options.shuffle_words}
    with refusing():
        changed = changed_config(config, lengths, config.posenc if posenc is None else posenc, metrics=metrics, **other)
    refuse_unusable(changed)
    with TerminalReporter() as reporter, stoppable() as stop:
        path, rows = evaluate(
            options.run,
            lengths,
            posenc,
            metrics=metrics,
            **other,
            steps=tuple(options.steps or ()) or None,
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
