"""``posenc audit``: what encodings do, measured."""

import concurrent.futures
import functools
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError, check_file, own_error, refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show
from posenc_jax.files.atomic import write_atomically
from posenc_jax.refusals import exits_as_errors

GIVEN = "given"
FEW = 3  # encodings that one process measures before others have started


def _audit(
    encodings: tuple[str, ...] = (),
    *,
    json: Path | None = None,
    markdown: Path | None = None,
    no_timing: bool = False,
    all: bool = False,
) -> int:
    """Say whether encodings keep the contract, what models rely on, a line for each. With --all, and of every row of
    the catalogue, where none is named, print tables of what was measured with a legend, as Markdown if the output is
    not a terminal: the contract's clauses, invariance to shifts, distances and aliases of positions, causality,
    decoding, packing and padding, behaviour beyond max_len, parameters, memory and time.

    Args:
      encodings: a catalogue name or a spec
      json: also write all numbers to FILE
      markdown: also write the tables to FILE as Markdown
      no_timing: leave out the time, so that every run writes the same bytes
      all: print all that was measured

    Examples:
      posenc audit rope
          are caches, masks, padding right with it?
      posenc audit "fox|rope(base=5e5)" YaRN --all --no-timing
          all measurements of several encodings, without timing
    """
    from posenc_jax.analysis.audit import rows as catalogue
    from posenc_jax.analysis.audit import settings
    from posenc_jax.cli.own_files import read_slot, refuse_unusable
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.show.audit_table import audit_answer, audit_markdown, audit_text

    rows = [row_of(text) for text in encodings] or [vars(method) for _, method in catalogue()]
    refuse_unusable(tuple(read_slot(row["spec"]) for row in rows if row["family"] == GIVEN))
    check_file("--json", json)
    check_file("--markdown", markdown)
    records = []
    with TerminalReporter() as reporter:
        reporter.phase("audit", total=len(rows), unit="encodings")
        for row, record in zip(rows, _measured([row["spec"] for row in rows], timing=not no_timing), strict=True):
            records.append(row | record)
            reporter.advance(1, row["name"])
    document = {"settings": settings(), "encodings": records}
    text = audit_markdown(document)
    if encodings and not all:
        show(audit_answer(document), end="")
    else:
        show(audit_text(document, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text, end="")
    if json:
        write_atomically(json, f"{dumps(document, indent=1, ensure_ascii=False, allow_nan=False)}\n")
    if markdown:
        write_atomically(markdown, text)
    return 1 if any(record["verdict"].startswith("fails") or record["problems"] for record in records) else 0


def row_of(text: str) -> dict[str, str]:
    """The row that a name of the catalogue or a spec means; UsageError when it is neither, or cannot be measured."""
    from posenc_jax.analysis.audit import measured
    from posenc_jax.cli.own_files import catalogue_row, named
    from posenc_jax.config import is_own, values_in
    from posenc_jax.encodings import spec

    method, slot = named(text)
    if method is None:
        with refusing(f"{text}: an audit runs small models of up to 1024 positions: "):
            measured(slot)
        method = catalogue_row(slot)
    if method is not None:
        return vars(method)
    # What a file brings is read from that file in every process.
    own = text if any(is_own(type(value)) for value in values_in(slot)) else spec(slot)
    return {"family": GIVEN, "name": spec(slot), "spec": own, **dict.fromkeys(("paper", "link", "note", "use"), "")}


def _measured(specs: list[str], *, timing: bool) -> Iterator[dict[str, Any]]:
    """The record of each: measured in a process for each core, or here when they are few."""
    measure = functools.partial(_measure, timing=timing)
    if len(specs) <= FEW:
        yield from map(measure, specs)
        return
    from posenc_jax.runs.environment import threads

    workers, spawn = min(threads(), len(specs), 8), multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start) as pool:
        yield from pool.map(measure, specs)


def _start() -> None:
    """Prepares a new process before its backend starts: one thread, since there is a process for each core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    os.environ["NPROC"] = "1"
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()


@functools.cache
def _baseline() -> Any:
    from posenc_jax.analysis.audit import plain_attention

    return plain_attention()


def _measure(text: str, *, timing: bool) -> dict[str, Any]:
    from posenc_jax.analysis.audit import audit
    from posenc_jax.analysis.layer import UnusableError
    from posenc_jax.cli.own_files import read_slot

    try:
        with exits_as_errors():
            return audit(read_slot(text), baseline=_baseline(), clock=time.perf_counter if timing else None)
    except UnusableError as error:
        raise UsageError(f"{text} cannot be audited: {error}") from None
    except Exception as error:  # from another process the lines of a traceback do not come along
        raise (own_error(error) or error) from None


main = command(_audit, computes=True)
