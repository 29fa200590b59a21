"""``posenc train`` as one of several processes that train one run together (`jax.distributed`)."""

import dataclasses
import os
import re
import sys
import traceback
from collections.abc import Callable

from posenc_jax.cli.errors import Parser, UsageError
from posenc_jax.cli.screen import tell
from posenc_jax.refusals.system import first_line

HELP = """Train one run in several processes, each with its own devices:
  --distributed        find the others through SLURM, or another launcher that JAX knows: srun posenc train ...
  --coordinator HOST:PORT --processes N --process I   find the others at this address: run the same command N times,
                       with I from 0 to N - 1"""

HEARTBEAT = 30
"""Seconds after which a process that gives no sign of life counts as gone."""
ARRIVAL = 300
"""Seconds that processes wait for each other at the start."""


@dataclasses.dataclass(frozen=True)
class Together:
    """Address and number of this process among several; fields are None if a launcher sets them."""

    coordinator: str | None = None
    processes: int | None = None
    process: int | None = None


def read_together(arguments: list[str]) -> tuple[Together | None, list[str]]:
    """The options of `HELP`, None without any, and the other arguments; UsageError for what is wrong with the
    former.
    """
    parser = Parser(prog="posenc train", add_help=False, allow_abbrev=False)
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--coordinator")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int)
    found, rest = parser.parse_known_args(arguments)
    said = (found.coordinator, found.processes, found.process)
    if said == (None, None, None):
        return (Together() if found.distributed else None), rest
    if None in said:
        raise UsageError("--coordinator, --processes and --process are said together, or --distributed alone")
    if not re.fullmatch(r"[^:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", found.coordinator):
        raise UsageError(f"--coordinator {found.coordinator} must be HOST:PORT, of process 0 and the same for all")
    if found.processes < 1 or not 0 <= found.process < found.processes:
        raise UsageError(f"--process {found.process} must be from 0 to --processes - 1 = {found.processes - 1}")
    return Together(*said), rest


def join(together: Together) -> None:
    """Meets the other processes; before a device is touched."""
    import jax

    # Without it a process that hears of the end of another is aborted, before it can say anything.
    jax.config.update("jax_enable_recoverability", True)
    jax.config.update("jax_enable_preemption_service", False)  # it would take the signals by which runs are stopped
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # collectives of several devices may wait for each other
    try:
        jax.distributed.initialize(
            together.coordinator,
            together.processes,
            together.process,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=HEARTBEAT,
            initialization_timeout=ARRIVAL,
        )
    except (ValueError, RuntimeError) as error:
        raise UsageError(
            f"cannot join the other processes ({first_line(error)}): start all within {ARRIVAL} s, with the same "
            "--coordinator"
        ) from None


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
