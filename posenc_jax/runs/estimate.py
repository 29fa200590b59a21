"""The time that work will take, told before it where that is more than a minute."""

from collections.abc import Callable, Sequence

from posenc_jax.config import Run
from posenc_jax.drawing.quantities import duration
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import Target, target_here


def seconds_of(runs: Sequence[Run], target: Target) -> float | None:
    """Seconds of runs, one after the other; None where nobody knows, or where one is refused, which it says itself."""
    try:
        hours = [plan_of(run, target).hours for run in runs]
    except RefusedError:
        return None
    return None if None in hours else 3600 * sum(filter(None, hours))


def on_target(seconds: float | None, target: Target) -> str:
    """An estimate in words."""
    return f"estimate, excluding compilation: {duration(seconds)} on {target.count} x {target.chip.title}"


def foretell(note: Callable[[str], None], seconds: float | None, less: str) -> None:
    """Notes the estimate for this machine of what takes longer than a minute, and that ``less`` takes less."""
    if seconds is not None and seconds > 60:
        note(f"{on_target(seconds, target_here())}, roughly, by the number of operations; {less} take less")
