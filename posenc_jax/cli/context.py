"""``posenc context``: one checkpoint under several changes of its positions, on texts longer than it was made for."""

import contextlib
import json
import re
from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import UsageError, refusing, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show
from posenc_jax.drawing.plain import short

_LENGTH = re.compile(r"(\d{1,8}(?:\.\d{1,20})?)x|(\d{1,8})")


def _context(
    run: Path,
    *,
    lengths: tuple[str, ...] = ("1x", "2x", "4x"),
    change: tuple[str, ...] = ("none", "yarn"),
    measure: tuple[str, ...] = ("perplexity", "far", "passkey"),
    text: tuple[Path, ...] = (),
    examples: Annotated[int, whole(1, 1000)] = 5,
    recalibrate: Annotated[tuple[float, ...], "STEPS"] = (),
    output: Annotated[Path | None, "DIR"] = None,
) -> None:
    """Read long texts with the parameters of a language model (a run of task language_model, or one made by
    `posenc weights import`) under each change of its positions, and report the effect on perplexity and on questions
    about the text.

    A change is one of none, linear, ntk, dynamic_ntk, ntk_by_parts, yarn, longrope, self_extend, rerope, leaky_rerope,
    string, log_scaling, p_rope and nope, or an encoding in full. Changes with a factor derive it from the length that
    is read; yarn(2) is made for twice the trained length, whatever is read. Every answer is kept in the output folder,
    so the same command resumes where it was stopped. The texts are the first tokens of your files, after the
    tokenizer's token for the beginning of a text (bos), which counts as one of the length.

    With --recalibrate, training first continues from the run under every change, including none, in folders beside the
    answers. It uses the corpus and settings of the run. Texts are as long as those the run was trained on, or s times
    as long for a change with a factor s.

    Args:
      run: directory of a finished run
      lengths: lengths in tokens, or in multiples of the trained length, as in 2x (default: 1x 2x 4x)
      change: changes to compare; the first is the baseline (default: none yarn)
      measure: perplexity, far (tokens that need far context), passkey, and RULER's niah_single_1, niah_multikey_2,
        niah_multikey_3, vt, cwe and fwe (default: perplexity far passkey)
      text: texts to read, one document per file
      examples: prompts of each task (default: 5)
      recalibrate: first train for STEPS more steps, at the run's learning rate or at the one that follows
      output: folder for answers, table and heat maps (default: RUN/context)

    Examples:
      posenc context RUN --text book.txt --lengths 1x 2x --change none ntk yarn
          compare changes at 1 and 2 times the trained length
      posenc context RUN --change none "yarn(2)" --text new.txt --measure perplexity
          read your own text
      posenc context RUN --text book.txt --change none nope --recalibrate 100
          drop positions, and train for 100 more steps
    """
    from posenc_jax.cli.own_files import read_slot
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.session import stoppable
    from posenc_jax.context import recalibration, study, texts
    from posenc_jax.context.changes import named
    from posenc_jax.context.table import heat_maps, record, table
    from posenc_jax.drawing.printed import render
    from posenc_jax.drawing.text_table import markdown_table
    from posenc_jax.drawing.text_table import text as in_text
    from posenc_jax.extras import is_there
    from posenc_jax.files.atomic import unusable, write_atomically
    from posenc_jax.runs.files import locked
    from posenc_jax.runs.inference import load_run

    if unknown := [word for word in measure if word not in study.MEASURES]:
        raise UsageError(f"--measure {unknown[0]} is none of {', '.join(study.MEASURES)}")
    if recalibrate and (len(recalibrate) > 2 or not recalibrate[0].is_integer() or min(recalibrate) <= 0):
        raise UsageError("--recalibrate takes a number of steps, and after it a learning rate above 0 or nothing")
    with refusing("--change: "):
        changes = [(word, None if named(word) else read_slot(word)) for word in change]
    loaded = load_run(run)
    tokens = [_length(word, study.trained_length(loaded)) for word in lengths]
    if len(set(tokens)) < len(tokens):
        raise UsageError(f"--lengths: {', '.join(map(str, tokens))} holds a length twice: leave one out")
    with refusing():
        by_change = study.slots(loaded, changes, sorted(tokens))
        on: tuple[Any, ...] = (int(recalibrate[0]), *recalibrate[1:]) if recalibrate else ()
        runs = {
            own: recalibration.recalibrated(loaded, own[0], slot, own[1], *on) for own, slot in by_change.items() if on
        }
    reads = [name for name in measure if name in ("perplexity", "far")]
    if reads and not text:
        raise UsageError(f"--measure {reads[0]} reads texts: name their files with --text")
    found = texts.of_files(text, loaded.tokenizer, max(tokens)) if reads else []
    with refusing():
        asked = study.cells(loaded, by_change, measure, found, examples)
    folder = output or run / "context"
    if reason := unusable(folder):
        raise UsageError(f"--output: {reason}")
    said = study.in_words(loaded, asked)  # refused before anything is trained
    with contextlib.ExitStack() as holding:
        with TerminalReporter() as reporter, stoppable() as stop:
            if runs:
                reporter.note(recalibration.in_words([*dict.fromkeys(runs.values())]))
            parts = recalibration.by_run(loaded, asked, runs, folder, reporter, stop)
            reporter.note(said)
            holding.enter_context(locked(folder))  # until table, record and heat maps of these answers are there
            rows = [row for own, cells in parts for row in study.answer(own, cells, folder, reporter, stop)]
        entries = record(rows)
        made = table(entries, f"{run.name}, made for {study.trained_length(loaded):,} tokens")
        show(in_text(made, columns()))
        files: dict[str, str | bytes] = {"table.md": f"{markdown_table(made)}\n"}
        files["record.json"] = f"{json.dumps(entries, indent=1)}\n"
        for plot in heat_maps(entries) if is_there("matplotlib") else ():
            files |= {f"{plot.slug}.{kind}": data for kind, data in render(plot).items()}
        for name, content in files.items():
            write_atomically(folder / name, content)
        show(f"written in {folder}: {', '.join(files)}")


def _length(word: str, trained: int) -> int:
    found = _LENGTH.fullmatch(word)
    length = 0 if found is None else round(float(found[1]) * trained) if found[1] else int(found[2])
    if not 16 <= length <= 2**24:
        raise UsageError(
            f"--lengths {short(word)}: write tokens (from 16 on) or times the trained {trained:,}, as in 2x"
        )
    return length


main = command(_context, computes=True)
