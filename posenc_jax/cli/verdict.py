"""``posenc verdict ENCODING ...``: are they better than RoPE?"""

from __future__ import annotations

import dataclasses
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from posenc_jax.cli.errors import UsageError, as_path, refusing, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.own_files import catalogue_row, named, read_task, refuse_unusable
from posenc_jax.cli.screen import columns, show, tell
from posenc_jax.cli.session import load_config, stoppable
from posenc_jax.cli.sized_to_corpus import on_corpus
from posenc_jax.config import Ablation, Run
from posenc_jax.extras import install_command

if TYPE_CHECKING:
    from posenc_jax.encodings.interface.slots import Slot
    from posenc_jax.verdict.card import Card
    from posenc_jax.verdict.tables import Table

SEEDS, HOME = 8, Path("runs", "verdict")
NEEDS_MORE_SEEDS = 3
"""The exit code of a verdict of too few seeds."""
TRAINED = ("seeds", "quick", "full", "matched", "once")
"""The options that are about training."""


@dataclasses.dataclass(frozen=True)
class VerdictOptions:
    """Encodings, their baselines and the tables that they are compared on.

    Attributes:
      encodings: a catalogue name, a spec, or FILE.py:Class(...)
      on: your own question: FILE.py:Task, CONFIG.py, own/NAME, or the directory of a finished ablation
      against: baselines (default: rope)
      tables: use only these tables (default: all, or with --on none)
      quick: use only three tables: about half an hour on one core, more if a table is not learned or the grid of
        learning rates grows
      full: run every table at its size for an accelerator
      seeds: compare seeds 0 to N-1 (default: 8)
      matched: also compare with a copy of each baseline whose feed-forward layers are wider, so that it has as many
        parameters as the largest ENCODING
      once: do not train again with twice the steps where an arm does not learn a table
      directory: where runs and the card are kept (default: runs/verdict)
      check: judge the scores in a card again
    """

    encodings: tuple[str, ...] = ()
    _: dataclasses.KW_ONLY
    on: Annotated[str | None, "WHAT"] = None
    against: Annotated[tuple[str, ...], "ENCODING"] = ()
    tables: Annotated[tuple[str, ...], "TABLE"] = ()
    quick: bool = False
    full: bool = False
    seeds: Annotated[int | None, whole(2, 1000), "N"] = None
    matched: bool = False
    once: bool = False
    directory: Annotated[Path | None, "DIR"] = None
    check: Annotated[Path | None, "CARD.json"] = None

    def given(self, names: tuple[str, ...]) -> list[str]:
        """The options among these that are given."""
        return [f"--{name}" for name in names if getattr(self, name)]

    @property
    def home(self) -> Path:
        """Where runs and the card are kept."""
        return (self.directory or HOME).absolute()


def _verdict(asked: VerdictOptions, *, json: bool = False) -> int:
    """Train encodings and their baselines on small published tasks with paired seeds (the same data and the same other
    initial parameters for each), and report where each encoding is better, where it is worse, and where the scores
    cannot decide. The contract is checked first: an encoding that breaks it (`posenc audit` shows how) gets no verdict.
    A first look at a few seeds of the fastest table comes within minutes, then the difference on each table as it is
    finished. A table is a small version of a published comparison. Run the same command again to resume; all verdicts
    in a directory share their runs.

    Fields about distances or the training length, such as the buckets of T5, are set from the training lengths, unless
    a spec gives one of them, as "t5(num_buckets=32, max_distance=128)" does.

    --on WHAT asks your own question, alone or together with those of --tables: a task in a file (FILE.py:Task(...)), a
    config file, the name of a shipped config, or a text corpus (own/NAME), sized as by `posenc ablate --on`. Without an
    ENCODING, nope, sinusoidal, learned, rope, alibi, t5, fire and shaw are compared. Several encodings share one card,
    whose p-values are corrected for all of its rows: every encoding on every table.

    --on DIR judges a finished ablation without training. Its encodings go by their labels there. By default all of them
    are compared with the ablation's baseline; ENCODING and --against choose others. Arms that differ in more than the
    encoding are named.

    Encodings that do not learn a table, or whose baseline does not, are trained once more on all such tables with twice
    the steps, as are the baselines, and the card reports both results; more steps do not help an encoder without
    positions. --once turns this off.

    --check trains nothing: it judges the scores in a card again, prints the verdict, and lists what the card states
    differently, if anything.

    The exit code is 0 whatever the verdict, 3 if the verdict needs more seeds, 1 if --check finds a difference, and 2
    if the request is refused.

    Args:
      json: print the card as JSON, as card.json holds it

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
    if asked.check is not None:
        if others := [*asked.encodings, *asked.given(("on", "against", "tables", *TRAINED, "directory"))]:
            raise UsageError(f"--check judges the scores in a card again: leave {' '.join(others)} out")
        return _checked(asked.check, as_json=json)
    if asked.on is not None and as_path(asked.on).is_dir():
        from posenc_jax.verdict.finished import judge_ablation

        if given := asked.given(TRAINED):
            raise UsageError(f"--on {asked.on} trains nothing, and {given[0]} is about training: leave it out")
        with refusing():
            card = judge_ablation(as_path(asked.on), asked.encodings, asked.against, asked.tables)
        of = "ablation"
    elif not asked.encodings and asked.on is None:
        raise UsageError("name an ENCODING to judge, your own question with --on, or a card with --check CARD.json")
    elif asked.quick and (asked.full or asked.tables):
        other = "full are two sizes" if asked.full else "tables both choose tables"
        raise UsageError(f"--quick and --{other}: choose one of them")
    else:
        card, of = _trained(asked), "verdict"
    return _written(card, asked.home, of, as_json=json)


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
        f"posenc: {path}: its {count} word{'s' * (count != 1)} and every number behind them follow from its scores; a "
        "check cannot tell whether question, scores, settings, times, environments and arms are those of the runs"
    )
    return _code(card)


def _print(card: Card, *, as_json: bool) -> None:
    from posenc_jax.runs.files import sealed_text
    from posenc_jax.verdict.card import record
    from posenc_jax.verdict.card_tables import text_card

    if as_json:
        show(sealed_text(record(card)), end="")
    else:
        show(text_card(card, columns()))


def _code(card: Card, of: str = "verdict") -> int:
    """The exit code; where seeds are too few, what to run is told. ``of``: "verdict" or "ablation"."""
    if (needed := card.seeds_needed) is None:
        return 0
    seeds = str(needed) if of == "verdict" else " ".join(map(str, range(needed)))
    tell(f"posenc: {len(card.seeds)} seeds are too few for a claim: run the {of} with --seeds {seeds}")
    return NEEDS_MORE_SEEDS


def _trained(asked: VerdictOptions) -> Card:
    from posenc_jax.verdict.own_questions import SHORT_LIST

    against = asked.against or ("rope",)
    baselines = dict(map(_named, against))
    words = asked.encodings or tuple(text for text in SHORT_LIST if _named(text)[0] not in baselines)
    ours = dict(map(_named, words))
    refuse_unusable((*ours.values(), *baselines.values()))
    if both := [label for label in ours if label in baselines]:
        raise UsageError(f"{both[0]} is compared with itself: name another encoding, or other baselines with --against")
    for given, found in ((words, ours), (against, baselines)):
        if len(found) < len(given):
            raise UsageError(f"{' '.join(given)} names an encoding twice: name each once")
    kept = tuple(_named(text)[0] for text in (*words, *against) if _as_given(text))
    kept += tuple(f"wider {label}" for label in kept)
    tables = {name: dataclasses.replace(table, as_given=kept) for name, table in _asked_tables(asked).items()}
    if asked.full:
        tables = {name: table.at_full_size for name, table in tables.items()}
    for label, slot in {**ours, **baselines}.items():
        _refuse_unfit(label, slot, tables)
    if asked.matched:
        from posenc_jax.verdict.matched import with_wider

        with refusing():
            baselines, tables = with_wider(ours, baselines, tables)
    for text, (label, slot) in zip(words, ours.items(), strict=True):
        _check(text, label, slot)
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.verdict.deciding import decide
    from posenc_jax.verdict.interim import estimate

    with TerminalReporter() as reporter, stoppable() as stop:
        seeds, clock = tuple(range(asked.seeds or SEEDS)), time.perf_counter
        reporter.note(estimate({**ours, **baselines}, tables, seeds, once=asked.once))
        more: dict[str, Any] = {"seeds": seeds, "reporter": reporter, "stop": stop, "clock": clock, "once": asked.once}
        return decide(ours, baselines, tables, asked.home, **more)


def _written(card: Card, home: Path, of: str, *, as_json: bool) -> int:
    from posenc_jax.verdict.card_files import with_earlier, write

    card = with_earlier(card, home, HOME.absolute())
    for line in card.unequal:
        tell(f"posenc: {line}")
    written = write(card, home)
    _print(card, as_json=as_json)
    (tell if as_json else show)(f"card: {written[-1 if as_json else 0]}")
    if not any(path.suffix == ".png" for path in written):
        tell(f"posenc: no figure without matplotlib: {install_command('report')}")
    return _code(card, of)


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


def asked_on(text: str) -> dict[str, Table]:
    """The questions of a task (``FILE.py:Task(...)`` or a name), of a config file or a shipped config's name, or of a
    corpus; UsageError for what is none of these.
    """
    from posenc_jax.data.errors import DataError
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.verdict.own_questions import own_tables, run_of

    if ".py:" in text or text.partition("(")[0].strip() in TASKS:
        task = read_task(text, "--on")
        with refusing():
            return own_tables(run_of(task), text)
    if "/" in text and not text.endswith(".py"):
        try:
            return own_tables(on_corpus(text), "a corpus")
        except DataError:
            if text.startswith("own/") or not Path(text).parent.is_dir():
                raise
            above = Path(text).parent
            said = f"--on {text}: there is no directory of that name in {above}, and no such corpus"
            raise UsageError(said) from None
    if not text.endswith(".py"):
        text = f"configs/{text}.py"
    return own_tables(load_config(text, (Run, Ablation), "verdict"), text)


def _asked_tables(asked: VerdictOptions) -> dict[str, Table]:
    """The question of ``--on``, and published tables where no question or some of these are named."""
    from posenc_jax.verdict.tables import tables

    known = tables()
    if unknown := [name for name in asked.tables if name not in known]:
        raise UsageError(f"there is no table {unknown[0]!r}: choose among {', '.join(known)}")
    if asked.on is None:
        own, names = {}, asked.tables or tuple(known)
    elif asked.full:
        raise UsageError("--full is a size of published tables: leave it out, or name a config of that size with --on")
    else:
        own, names = asked_on(asked.on), asked.tables
    published = {name: table for name, table in known.items() if (table.quick if asked.quick else name in names)}
    if both := own.keys() & published.keys():
        raise UsageError(f"--on {asked.on} and --tables have {min(both)} both: leave one of them out")
    return own | published


def _refuse_unfit(label: str, slot: Slot, tables: dict[str, Table]) -> None:
    from posenc_jax.verdict.measuring import refusal

    if refused := {name: why for name, table in tables.items() if (why := refusal(table, slot, label))}:
        why = next(iter(refused.values())).partition(": ")[0]
        way = "choose other --tables, or leave it out"
        raise UsageError(f"{label} cannot be measured on {', '.join(refused)} ({why}): {way}")


def _check(text: str, label: str, slot: Slot) -> None:
    """Refuses, in one line, an encoding that breaks its contract; ``text`` is how it was asked for."""
    from posenc_jax.analysis import contract_clauses
    from posenc_jax.drawing.plain import short
    from posenc_jax.encodings.interface.slots import different_layers

    for layer in different_layers(slot):  # NoPE promises nothing
        if failed := [clause for clause in contract_clauses(layer) if clause.status == "failed"]:
            first = short(" ".join(str(failed[0]).split()))
            more = f", with {len(failed) - 1} others" if len(failed) > 1 else ""
            audit = shlex.join(("posenc", "audit", text))
            raise UsageError(
                f"{label} gets no verdict, as it breaks its contract ({first}{more}): `{audit}` shows all, and the way "
                "out of each"
            )


main = command(_verdict, computes=True)
