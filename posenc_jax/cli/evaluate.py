"""``posenc evaluate RUN``: a finished run at other lengths, or with other positions at test time."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.own_files import read_metrics, read_slot, refuse_unusable
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import stoppable
from posenc_jax.cli.session import trust as bring_along
from posenc_jax.files.shapes import Json


def _evaluate(
    run: Path,
    *,
    lengths: tuple[int, ...] = (),
    posenc: Annotated[str | None, "ENCODINGS"] = None,
    metrics: str | None = None,
    data: Annotated[str | None, "NAME"] = None,
    shuffle_words: bool = False,
    steps: tuple[int, ...] = (),
    trust: Annotated[Path | None, "RUN"] = None,
) -> None:
    """Evaluate every replica of a finished run with its trained parameters. RUN is the directory of a run, of
    a cell of an ablation, or of one group.

    Args:
      run: directory of a finished run, or of a cell or group
      lengths: task lengths, ascending (default: those of the config)
      posenc: encodings to use instead of the trained ones, as in "rope(base=5e5)"
      metrics: your own metrics, as in "mine.py:TopK(k=5)|mine.py:Brier" (default: those of the config)
      data: tasks on text: corpus whose test split is used (default: that of the run)
      shuffle_words: tasks on text: shuffle the words of every input
      steps: checkpoints to evaluate, of those kept by training.keep_every (default: the parameters behind the result)
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)

    Examples:
      posenc evaluate RUN --lengths 8 16 32
          evaluate at other lengths
      posenc evaluate RUN --posenc nope
          evaluate the same parameters without positions
    """
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.scores import score_table
    from posenc_jax.runs.directory import load_config
    from posenc_jax.runs.evaluation import changed_config, evaluate

    bring_along(trust)
    with refusing("--posenc: "):
        slot = None if posenc is None else read_slot(posenc)
    config = load_config(run)
    lengths = lengths or config.evaluation.lengths
    own = None if metrics is None else read_metrics(metrics)
    other: dict[str, Any] = {"metrics": own, "data": data, "shuffle_words": shuffle_words}
    with refusing():
        changed = changed_config(config, lengths, config.posenc if slot is None else slot, **other)
    refuse_unusable(changed)
    with TerminalReporter() as reporter, stoppable() as stop:
        path, rows = evaluate(run, lengths, slot, steps=steps or None, **other, reporter=reporter, stop=stop)
    of_text = (f"on {data}" if data else "", "words shuffled" if shuffle_words else "")
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


main = command(_evaluate, computes=True)
