"""The scores of a run as lines for a terminal."""

import math
from typing import Any

from posenc_jax.config import Run
from posenc_jax.data.score_kinds import ScoreKind, headline, kind_of, of_sacrebleu, signed
from posenc_jax.drawing.plain import plain
from posenc_jax.encodings.interface.parsing import spec


def score_table(config: Run, replicas: list[dict[str, Any]]) -> str:
    """The task's metric, then each of the user's own, one replica a line, by the lengths that were measured, and of
    validation, within the trained lengths, where replicas have a "validation". Of a metric that does not read every
    text this is said, and those that do stand beside it.
    """
    task = config.task
    own = [spec(metric) for metric in config.evaluation.metrics]
    decoded = config.evaluation.decoded_examples
    first, signatures = headline(task, decoded), task.signatures if decoded else {}
    limited = first in signatures and not of_sacrebleu(signatures[first])
    measured = {name for replica in replicas for row in replica["evaluation"] for name in row}
    beside = [name for name in signatures if limited and name != first and name in measured]
    asked = [*((name, task.validation_metric) for name in (first, *beside)), *zip(own, own)]
    lines = [line for metric, chosen_by in asked for line in _table(config, replicas, metric, chosen_by)]
    return "\n".join([*lines, signed(first, signatures[first])] if limited else lines)


def _table(config: Run, replicas: list[dict[str, Any]], metric: str, chosen_by: str) -> list[str]:
    """The lines of one metric; ``chosen_by``: what is shown of validation."""
    task = config.task
    lengths = sorted({row["length"] for replica in replicas for row in replica["evaluation"]})
    kind, validation_kind = (kind_of(name, task.writes_text) for name in (metric, chosen_by))
    validated = any("validation" in replica for replica in replicas)
    in_range = "validation" if chosen_by == metric else f"validation ({validation_kind.title})"
    names = [task.length_name(length) for length in lengths]
    head = ["seed", "rate", *[in_range] * validated, *names]
    widths = [6, 10, *[max(10, len(in_range) + 2)] * validated, *(max(8, len(name) + 2) for name in names)]
    about = kind.title + (f" by {task.length_unit or 'length'}" if lengths else "")
    about += ", lower is better" if kind.better == "lower" else ""
    lines = [plain(f"{config.table} {config.label}: {about}"), _line(head, widths)]
    for replica in sorted(replicas, key=lambda r: (r["learning_rate"], r["seed"])):
        scores = {row["length"]: row.get(metric) for row in replica["evaluation"]}
        entries = [str(replica["seed"]), f"{replica['learning_rate']:g}"]
        entries += [_show(replica["validation"].get(chosen_by), validation_kind)] if validated else []
        entries += [_show(scores.get(length), kind) for length in lengths]
        diverged_at = replica.get("diverged_at")
        line = _line(entries, widths)
        lines.append(line if diverged_at is None else f"{line}  diverged at step {diverged_at}")
    return lines


def _line(entries: list[str], widths: list[int]) -> str:
    return "".join(entry.rjust(width) for entry, width in zip(entries, widths, strict=True))


def _show(score: float | None, kind: ScoreKind) -> str:
    return "-" if score is None or not math.isfinite(score) else kind.show(score)
