"""``posenc train`` as one of several processes that train one run together (`jax.distributed`)."""

import dataclasses
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.screen import tell
from posenc_jax.refusals import first_line

HEARTBEAT = 30
"""Seconds after which a process that gives no sign of life counts as gone."""
ARRIVAL = 300
"""Seconds that processes wait for each other at the start."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Together:
    """Address and number of this process among several.

    Attributes:
      distributed: find the other processes through SLURM or another launcher
      coordinator: find the other processes at this address of the first
      processes: how many there are
      process: which of them this is, from 0 on
    """

    distributed: bool = False
    coordinator: Annotated[str | None, "HOST:PORT"] = None
    processes: int | None = None
    process: Annotated[int | None, "I"] = None

    @property
    def asked(self) -> bool:
        """True of one of several processes."""
        return self.distributed or self.coordinator is not None

    def check(self) -> None:
        """UsageError for options that do not fit together."""
        said = (self.coordinator, self.processes, self.process)
        if None in said and said != (None, None, None):
            raise UsageError("--coordinator, --processes and --process are said together, or --distributed alone")
        if self.coordinator is not None and ":" not in self.coordinator:
            raise UsageError(f"--coordinator {self.coordinator} must be HOST:PORT, of process 0 and the same for all")
        if self.process is not None and not 0 <= self.process < (self.processes or 0):
            raise UsageError(f"--process {self.process} must be from 0 to --processes {self.processes} - 1")


def join(together: Together) -> None:
    """Meets the other processes; before a device is touched."""
    import jax

    # Without it a process that hears of the end of another is aborted, before it can say anything.
    jax.config.update("jax_enable_recoverability", True)
    jax.config.update("jax_enable_preemption_service", False)  # it would take the signals by which runs are stopped
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # collectives of several devices may wait for each other
    place = (together.coordinator, together.processes, together.process)
    patience: dict[str, Any] = {"heartbeat_timeout_seconds": HEARTBEAT, "shutdown_timeout_seconds": HEARTBEAT}
    try:
        jax.distributed.initialize(*place, **patience, initialization_timeout=ARRIVAL)
    except (ValueError, RuntimeError) as error:
        said = f"({first_line(error)}): start all within {ARRIVAL} s, with the same --coordinator"
        raise UsageError(f"cannot join the other processes {said}") from None


def leaving(work: Callable[[], int]) -> int:
    """Runs a command and gives its exit code; of several processes each leaves at once.

    One that has failed is not to be waited for. And what they meet by lives in the first process: who said good-bye to
    it when that one is gone would be aborted.
    """
    try:
        code = work()
    except Exception as error:
        if not _others():
            raise
        code = _failed(error)
    if _others():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _failed(error: Exception) -> int:
    import jax

    from posenc_jax.training.processes import lost

    line = first_line(error)
    if lost(error):
        end = f"lost the others, for one has ended ({line}): start all again with the same commands to go on"
    else:
        traceback.print_exception(error)
        end = f"failed ({line}), and the others end with it"
    tell(f"posenc: process {jax.process_index()} of {jax.process_count()} {end}")
    return 1


def _others() -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and jax.distributed.is_initialized() and jax.process_count() > 1
