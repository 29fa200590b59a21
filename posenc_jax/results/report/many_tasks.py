"""All tasks of an ablation together: their scores side by side, interquartile means and performance profiles."""

from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.results.averages import best_and_tied
from posenc_jax.results.report.entries import interval_text
from posenc_jax.results.summary import Summary, TaskSummary
from posenc_jax.statistics import CLAIM_SEEDS, interquartile_mean, performance_profile, stratified_bootstrap
from posenc_jax.statistics.many_tasks import Scores

THRESHOLDS = (0.25, 0.5, 0.75, 0.9)
SEVERAL = 2  # tasks and encodings, below which there is nothing to put together


def across_tasks(summary: Summary) -> TextTable:
    """One line per encoding that has a score on every task: the interquartile mean of all its runs with its bootstrap
    interval, and the share of runs above some scores; no line below two such tasks and two such encodings.

    A score is put between 0, the floor, and 1, the best one; of errors what is left to the largest. Scores without
    bounds (perplexity) have no part.
    """
    tasks = [task for task in summary.tasks if _bounded(task) and any(cell.scores for cell in task.cells)]
    lines = []
    if len(tasks) >= SEVERAL:
        for label in summary.labels:
            scores = {task.task_label: own for task in tasks if (own := _scores(task, label))}
            if len(scores) == len(tasks):
                lines.append((label, *_line(scores)))
    lines = lines if len(lines) >= SEVERAL else []
    fewest = min((len(cell.scores) for task in tasks for cell in task.cells if cell.scores), default=0)
    notes = [
        f"Tasks: {', '.join(task.task_label for task in tasks)}, all with the same weight. Scores are scaled from what "
        "an answer gets that does not look at the input (0) to the best possible score (1). Interquartile mean: the "
        "mean of the middle half of all runs (Agarwal et al. 2021). Intervals: 95 %, from seeds resampled within each "
        "task. above t: the share of runs with a score above t, averaged over tasks."
    ]
    if 0 < fewest < CLAIM_SEEDS:
        notes.append(f"Fewer than {CLAIM_SEEDS} seeds make these intervals too narrow; here the fewest are {fewest}.")
    columns = ("encoding", "interquartile mean", *(f"above {tau:g}" for tau in THRESHOLDS))
    return TextTable("All tasks together", columns, "l" + "r" * (len(columns) - 1), tuple(lines), tuple(notes))


def matrix(summary: Summary) -> TextTable:
    """One line per encoding, one column per task: the score with its interval, best and tied ones marked; no line below
    two tasks and two encodings with scores.
    """
    tasks = [task for task in summary.tasks if any(cell.scores for cell in task.cells)]
    cells = [{cell.label: cell for cell in task.cells if cell.scores} for task in tasks]
    labels = [label for label in summary.labels if any(label in own for own in cells)]
    if len(tasks) < SEVERAL or len(labels) < SEVERAL:
        tasks, labels = [], []
    scores = [{label: cell.scores for label, cell in own.items()} for own in cells]
    draws = [{label: cell.draws for label, cell in own.items()} for own in cells]
    best = [best_and_tied(s, task.kind, d) for task, s, d in zip(tasks, scores, draws)]
    entries, marked = [], set()
    for row, label in enumerate(labels):
        here = [(task, own.get(label)) for task, own in zip(tasks, cells)]
        entries.append(
            (label, *(NONE if cell is None else interval_text(cell.score, task.kind) for task, cell in here))
        )
        marked |= {(row, column) for column, own in enumerate(best, 1) if label in own}
    notes = [f"{task.task_label}: {task.kind.title}, {task.score_name}." for task in tasks]
    columns = ("encoding", *(task.task_label for task in tasks))
    return TextTable(
        "Score of every task", columns, "l" + "r" * len(tasks), tuple(entries), tuple(notes), frozenset(marked)
    )


def _bounded(task: TaskSummary) -> bool:
    return task.kind.highest is not None and not task.kind.logarithmic


def _scores(task: TaskSummary, label: str) -> list[float]:
    """Scores of all seeds of an encoding, scaled from 0 at the floor to 1 at the best score."""
    found = next((cell.scores for cell in task.cells if cell.label == label), {})
    best = task.kind.highest
    assert best is not None
    of_errors = task.kind.better == "lower"
    worst, end = (task.floor or best, 0.0) if of_errors else (task.floor, best)
    return [(score - worst) / (end - worst) for score in found.values()]


def _line(scores: Scores) -> tuple[str, ...]:
    mean = f"{interquartile_mean(scores):.3f}"
    if all(len(own) > 1 for own in scores.values()):
        low, high = stratified_bootstrap(scores, interquartile_mean)
        mean += f" [{low:.3f}, {high:.3f}]"
    return mean, *(f"{share:.2f}" for share in performance_profile(scores, THRESHOLDS))
