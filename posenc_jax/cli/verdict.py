"""``posenc verdict ENCODING ...``: are they better than RoPE?"""

from __future__ import annotations

import argparse
import dataclasses
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc_jax.cli.errors import Parser, UsageError, as_path, guarded, refusing, whole
from posenc_jax.cli.own_files import catalogue_row, named, refuse_unusable
from posenc_jax.cli.screen import shell_words, show, tell
from posenc_jax.cli.session import prepare_jax, stoppable

if TYPE_CHECKING:
    from posenc_jax.encodings.slots import Slot
    from posenc_jax.verdict.card import Card
    from posenc_jax.verdict.tables import Table

SEEDS = 8
DIRECTORY = Path("runs") / "verdict"
NEEDS_MORE_SEEDS = 3
"""The exit code of a verdict of too few seeds."""
DESCRIPTION = """Train encodings and their baselines on small published tasks with paired seeds (the same data and the
same other initial parameters for each), and report where each encoding is better, where it is worse, and where the
scores cannot decide. The contract is checked first: an encoding that breaks it (`posenc audit` shows how) gets no
verdict. A first look at a few seeds of the fastest table comes within minutes, then the difference on each table as it
is finished. A table is a small version of a published comparison: experiments/tables has them with their original
encodings. Run the same command again to resume; all verdicts in a directory share their runs.

Fields about distances or the training length, such as the buckets of T5, are set from the training lengths, unless a
spec gives one of them, as "t5(num_buckets=32, max_distance=128)" does.

--on WHAT asks your own question, alone or together with those of --tables: a task in a file (FILE.py:Task(...)), a
config file, the name of a shipped config, or a text corpus (own/NAME), sized as by `posenc ablate --on`. Without an
ENCODING, nope, sinusoidal, learned, rope, alibi, t5, fire and shaw are compared. Several encodings share one card,
whose p-values are corrected for all of its rows: every encoding on every table.

--on DIR judges a finished ablation without training. Its encodings go by their labels there. By default all of them
are compared with the ablation's baseline; ENCODING and --against choose others. Arms that differ in more than the
encoding are named.

Encodings that do not learn a table, or whose baseline does not, are trained once more on all such tables with twice
the steps, as are the baselines, and the card reports both results; more steps do not help an encoder without positions.
--once turns this off.

--check trains nothing: it judges the scores in a card again, prints the verdict, and lists what the card states
differently, if anything.

The exit code is 0 whatever the verdict, 3 if the verdict needs more seeds, 1 if --check finds a difference, and 2 if
the request is refused."""


def main(arguments: list[str]) -> int:
    """Runs the command.

    Examples:
      posenc verdict pope --quick
          compare PoPE with RoPE on three tables
      posenc verdict my_window.py:MyWindow --against rope nope --quick
          compare your own encoding
      posenc verdict --on "middle.py:Middle(max_length=8)"
          compare the usual encodings on your own task
      posenc verdict fire --against rope nope --on own/plays --seeds 4
          compare on your own texts
      posenc verdict --on runs/demo --tables rsc
          judge every encoding of a finished ablation
      posenc verdict pope --quick --json
          print the card as JSON, for a script
      posenc verdict --check card.json
          check whether a card follows from its scores
    """
    parser = Parser(prog="posenc verdict", description=DESCRIPTION)
    parser.add_argument(
        "encodings", nargs="*", metavar="ENCODING", help="a catalogue name, a spec, or FILE.py:Class(...)"
    )
    parser.add_argument(
        "--on",
        metavar="WHAT",
        help="your own question: FILE.py:Task, CONFIG.py, own/NAME, or the directory of a finished ablation",
    )
    parser.add_argument("--against", nargs="+", metavar="ENCODING", default=[], help="baselines (default: rope)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tables", nargs="+", metavar="TABLE", help="use only these tables (default: all, or with --on none)"
    )
    which.add_argument(
        "--quick",
        action="store_true",
        help="use only three tables: about half an hour on one core, more if a table is not learned or the grid of "
        "learning rates grows",
    )
    parser.add_argument("--full", action="store_true", help="run every table at its size for an accelerator")
    parser.add_argument(
        "--seeds",
        type=whole(2, 1000),
        metavar="N",
        help="compare seeds 0 to N-1 (default: 8)",
    )
    parser.add_argument("--hours", help=argparse.SUPPRESS)
    parser.add_argument(
        "--matched",
        action="store_true",
        help="also compare with a copy of each baseline whose feed-forward layers are wider, so that it has as many "
        "parameters as the largest ENCODING",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="do not train again with twice the steps where an arm does not learn a table",
    )
    parser.add_argument(
        "--directory",
        type=as_path,
        metavar="DIR",
        help="where runs and the card are kept (default: runs/verdict)",
    )
    parser.add_argument("--json", action="store_true", help="print the card as JSON, as card.json holds it")
    parser.add_argument("--check", type=as_path, metavar="CARD.json", help="judge the scores in a card again")
    return guarded(lambda: _asked(parser.parse_intermixed_args(arguments)))


def _asked(arguments: Any) -> int:
    if arguments.hours is not None:
        raise UsageError("--hours is gone: choose --seeds by the estimate of the time, which is printed first")
    if arguments.check is not None:
        given = vars(arguments)
        options = ("on", "against", "tables", "seeds", "quick", "full", "matched", "once", "directory")
        if others := [*arguments.encodings, *(f"--{name}" for name in options if given[name])]:
            raise UsageError(f"--check judges the scores in a card again: leave {' '.join(others)} out")
        return _checked(arguments.check, as_json=arguments.json)
    if arguments.on is not None and as_path(arguments.on).is_dir():
        return _finished(arguments, as_path(arguments.on))
    if not arguments.encodings and arguments.on is None:
        raise UsageError("name an ENCODING to judge, your own question with --on, or a card with --check CARD.json")
    return _verdict(arguments)


def _finished(arguments: Any, directory: Path) -> int:
    from posenc_jax.verdict.finished import judge_ablation

    trained = {
        "--seeds": arguments.seeds,
        "--quick": arguments.quick,
        "--full": arguments.full,
        "--matched": arguments.matched,
        "--once": arguments.once,
    }
    if given := [name for name, value in trained.items() if value]:
        raise UsageError(f"--on {arguments.on} trains nothing, and {given[0]} is about training: leave it out")
    with refusing():
        card = judge_ablation(directory, arguments.encodings, arguments.against, arguments.tables or ())
    for line in card.unequal:
        tell(f"posenc: {line}")
    return _written(card, arguments)


def _checked(path: Path, *, as_json: bool) -> int:
    """Checks a card; exit code 1 where its text differs from what its scores give."""
    from posenc_jax.verdict.checking import check

    card, differs = check(path)
    _print(card, as_json=as_json)
    for line in differs:
        tell(f"posenc: {path}: {line}")
    if differs:
        return 1
    count = len(card.findings) + (len(card.twice.findings) if card.twice else 0)
    tell(
        f"posenc: {path}: its {count} word{'s' * (count != 1)} and every number behind them follow from its scores; "
        "a check cannot tell whether the question, scores, settings, times, environments and other differences between "
        "arms are those of the runs"
    )
    return _code(card)


def _print(card: Card, *, as_json: bool) -> None:
    from posenc_jax.runs.files import sealed_text
    from posenc_jax.verdict.card import record
    from posenc_jax.verdict.card_tables import text_card

    if as_json:
        show(sealed_text(record(card)), end="")
    else:
        show(text_card(card, 100))


def _directory(arguments: Any) -> Path:
    path: Path = arguments.directory or DIRECTORY
    return path.absolute()


def _code(card: Card) -> int:
    return NEEDS_MORE_SEEDS if card.needs_more_seeds else 0


def _verdict(arguments: Any) -> int:
    prepare_jax()  # before files of the user's: one that computes would fix the devices
    against = arguments.against or ["rope"]
    baselines = dict(map(_named, against))
    words = arguments.encodings or _short_list(baselines)
    named = [_named(text) for text in words]
    ours = dict(named)
    refuse_unusable((*ours.values(), *baselines.values()))
    if both := [label for label in ours if label in baselines]:
        raise UsageError(f"{both[0]} is compared with itself: name another encoding, or other baselines with --against")
    for given, found, option in ((words, ours, ""), (against, baselines, "--against ")):
        if len(found) < len(given):
            raise UsageError(f"{option}{' '.join(given)} names an encoding twice: name each once")
    if arguments.quick and arguments.full:
        raise UsageError("--quick and --full are two sizes: choose one of them")
    kept = tuple(_named(text)[0] for text in (*words, *against) if _as_given(text))
    kept += tuple(f"wider {label}" for label in kept)
    tables = {name: dataclasses.replace(table, as_given=kept) for name, table in _asked_tables(arguments).items()}
    if arguments.full:
        tables = {name: table.at_full_size for name, table in tables.items()}
    for own, its_slot in {**ours, **baselines}.items():
        _refuse_unfit(own, its_slot, tables)
    if arguments.matched:
        from posenc_jax.verdict.matched import with_wider

        with refusing():
            baselines, tables = with_wider(ours, baselines, tables)
    for text, (label, slot) in zip(words, named, strict=True):
        _check(text, label, slot)
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.verdict.deciding import decide
    from posenc_jax.verdict.interim import estimate

    with TerminalReporter() as reporter, stoppable() as stop:
        directory, seeds, once = _directory(arguments), tuple(range(arguments.seeds or SEEDS)), arguments.once
        reporter.note(estimate({**ours, **baselines}, tables, seeds, once=once))
        card = decide(
            ours,
            baselines,
            tables,
            directory,
            seeds=seeds,
            reporter=reporter,
            stop=stop,
            clock=time.perf_counter,
            once=once,
        )
    return _written(card, arguments)


def _written(card: Card, arguments: Any) -> int:
    from posenc_jax.verdict.card_files import write

    written = write(card, _directory(arguments))
    _print(card, as_json=arguments.json)
    if arguments.json:
        tell(f"card: {written[-1]}")
    else:
        show(f"card: {written[0]}")
    if not any(path.suffix == ".png" for path in written):
        tell("posenc: no figure without matplotlib: pip install 'posenc-jax[report]'")
    return _code(card)


def _named(text: str) -> tuple[str, Slot]:
    """Name and slot of an encoding; the name is that of its row in the catalogue, if it has one."""
    from posenc_jax.encodings import spec

    method, slot = named(text)
    if _as_given(text):
        own = spec(slot)
        return (own if "(" in own else "".join(text.split()).replace(",", ", ")), slot  # defaults are no part of a spec
    method = method or catalogue_row(slot, text)
    return (method.name if method else spec(slot)), slot


def _as_given(text: str) -> bool:
    """True of a spec that gives a field which would be set from the training lengths otherwise."""
    from posenc_jax.verdict.fields import FIELDS

    return not FIELDS.isdisjoint(re.findall(r"(\w+)\s*=", text))


def _short_list(baselines: dict[str, Slot]) -> list[str]:
    """The default encodings that are not baselines."""
    from posenc_jax.verdict.own_questions import SHORT_LIST

    return [text for text in SHORT_LIST if _named(text)[0] not in baselines]


def _asked_tables(arguments: Any) -> dict[str, Table]:
    """The question of ``--on``, and published tables where no question or some of these are named."""
    if arguments.on is None:
        return _tables(arguments.tables, quick=arguments.quick)
    from posenc_jax.cli.questions import asked_on

    if arguments.full:
        raise UsageError("--full is a size of published tables: leave it out, or name a config of that size with --on")
    own = asked_on(arguments.on)
    beside = _tables(arguments.tables, quick=arguments.quick) if arguments.tables or arguments.quick else {}
    if both := [name for name in own if name in beside]:
        raise UsageError(f"--on {arguments.on} and --tables have {both[0]} both: leave one of them out")
    return own | beside


def _tables(names: list[str] | None, *, quick: bool) -> dict[str, Table]:
    from posenc_jax.verdict.tables import tables

    known = tables()
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no table {name!r}: choose among {', '.join(known)}")
    return {name: table for name, table in known.items() if (table.quick if quick else name in (names or known))}


def _refuse_unfit(label: str, slot: Slot, tables: dict[str, Table]) -> None:
    from posenc_jax.verdict.measuring import refusal
    from posenc_jax.verdict.tables import tables as known

    refused = {name: why for name, table in tables.items() if (why := refusal(table, slot, label))}
    if refused:
        others = [name for name, table in known().items() if not refusal(table, slot, label)]
        way = f"choose --tables {' '.join(others)}" if others else "no other table takes it"
        way = "leave it out" if any(not tables[name].published for name in refused) else way
        why = next(iter(refused.values())).partition(": ")[0]
        raise UsageError(f"{label} cannot be measured on {', '.join(refused)} ({why}): {way}")


def _check(text: str, label: str, slot: Slot) -> None:
    """Refuses, in one line, an encoding that breaks its contract; ``text`` is how it was asked for."""
    from posenc_jax.analysis import contract_clauses
    from posenc_jax.drawing.plain import short
    from posenc_jax.encodings.slots import different_layers

    for layer in different_layers(slot):  # NoPE promises nothing
        failed = [clause for clause in contract_clauses(layer) if clause.status == "failed"]
        if failed:
            first, others = short(" ".join(str(failed[0]).split())), len(failed) - 1
            more = f" and {others} other {'clause' if others == 1 else 'clauses'}" if others else ""
            raise UsageError(
                f"{label} gets no verdict, as it breaks its contract ({first}{more}): "
                f"`{shell_words(('posenc', 'audit', text))}` shows all, and the way out of each"
            )
