"""``posenc show``: pictures of encodings and of what they do, and their properties, measured."""

from __future__ import annotations

import contextlib
import dataclasses
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from posenc_jax.cli.errors import UsageError, refusing, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show
from posenc_jax.drawing.plain import short
from posenc_jax.show.files import FILES, KINDS, check_fits, check_output, check_packages, make, write
from posenc_jax.show.measured import Chosen
from posenc_jax.show.presets import ENCODING, PRESETS, WORDS
from posenc_jax.show.views import VIEWS, plots_of, views_of

if TYPE_CHECKING:
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.drawing.plots import Plot
    from posenc_jax.show.measured import MeasuredEncoding

LENGTHS, WIDTHS = (3, 1024), (2, 2048)
VECTORS, FARTHEST = "vectors", 100_000
MOST_LINES = 12


@dataclasses.dataclass(frozen=True)
class Shown:
    """The encodings that are drawn, and how.

    Attributes:
      encodings: a catalogue name, a spec, or FILE.py:Class
      view: views to draw (default: all that the encodings have)
      preset: draw a picture at the settings of a text that teaches it, and print how to read it; of the sinusoidal
        encoding if none is named
      d_model: width of the model (default: 128)
      num_heads: attention heads (default: 8; 16 or 1 if those would have an odd width, or one that an encoding rejects)
      length: positions 0 to P-1 (default: 50)
      positions: positions to draw as lines (default: 0 10 25)
      dimensions: dimensions to draw as waves (default: of four wavelengths)
      run: draw the trained encodings and attention maps of a finished run
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)
      seed: seed of the run (default: the first that did not diverge)
      stack: stack of the run (default: all)
      text: input for the attention maps of a run on text, or the words of --view flow
      words: two words of --text, which --view vectors compares before and after positions are added; a word given
        twice means its first two occurrences
      file: the same from a file: a document, as `posenc classify` reads it
      output: a directory (default: shown), a .html file for the page alone, or a .png or .pdf file for one figure
      figures: also write every figure as png, pdf or both, for a paper
    """

    encodings: tuple[str, ...] = ()
    _: dataclasses.KW_ONLY
    view: Annotated[tuple[str, ...], (*VIEWS, VECTORS), "VIEW"] = ()
    preset: Annotated[str | None, tuple(PRESETS), "NAME"] = None
    d_model: Annotated[int | None, whole(*WIDTHS), "M"] = None
    num_heads: Annotated[int | None, whole(1, WIDTHS[1]), "H"] = None
    length: Annotated[int | None, whole(*LENGTHS), "P"] = None
    positions: Annotated[tuple[int, ...], "p"] = ()
    dimensions: Annotated[tuple[int, ...], "d"] = ()
    run: Annotated[Path | None, "DIR"] = None
    trust: Annotated[Path | None, "RUN"] = None
    seed: int | None = None
    stack: Literal["encoder", "decoder", "cross"] | None = None
    text: str | None = None
    words: Annotated[Sequence[str], "WORD"] = ()
    file: Path | None = None
    output: Annotated[Path, "PATH"] = Path("shown")
    figures: Annotated[tuple[str, ...], KINDS, "KIND"] = ()


def _with_preset(options: Shown) -> Shown:
    """The options, with those of the preset; UsageError where one has been given."""
    if options.preset is None:
        return options
    chosen = PRESETS[options.preset]
    settings = [f"--{name.replace('_', '-')}" for name in chosen.settings]
    if options.run or any(getattr(options, name) not in (None, ()) for name in chosen.settings):
        raise UsageError(f"--preset {options.preset} sets {', '.join(settings)} and draws no --run: leave these out")
    return dataclasses.replace(options, encodings=options.encodings or (ENCODING,), **chosen.settings)


def _show(options: Shown) -> None:
    """Draw encodings: catalogue names, specs, or the trained encodings of a finished run (--run). Write
    an interactive page (show.html), with --figures also every figure beside it, and print what each
    encoding does, with its measured properties.

    Args:
      options: those of `Shown`

    Examples:
      posenc show sinusoidal rope alibi
          write a page of pictures and properties to shown/
      posenc show rope --figures png pdf
          also write every figure, for a paper
      posenc show rope --view kernel --output rope.png
          write a single figure
      posenc show --preset tsne-128x8 --output tsne.png
          draw a preset, and print how to read it
      posenc show sinusoidal --view vectors --positions 0 5 68
          print three vectors and their cosines
      posenc show --run RUN
          draw the trained encodings of a run
    """
    options = _with_preset(options)
    if options.view == (VECTORS,):
        return _vectors(options)
    _check(options)
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cli.session import trust
    from posenc_jax.drawing.style import short_names
    from posenc_jax.drawing.text_table import text
    from posenc_jax.show.properties import table

    output = options.output
    with TerminalReporter() as reporter:
        trust(options.trust)
        stacks = _of_run(options, reporter)
        if options.stack and options.stack not in stacks:
            raise UsageError(f"--stack {options.stack}: of the run there is {', '.join(stacks) or 'none to draw'}")
        chosen_stacks = [one for stack, one in stacks.items() if options.stack in (None, stack)]
        encodings = [*chosen_stacks, *_of_specs(options, reporter)]
        chosen = Chosen(_positions(encodings, options.positions), tuple(dict.fromkeys(options.dimensions)))
        plots: list[Plot] = []
        for view in _checked_views(encodings, options.view, reporter.note):
            reporter.phase(f"{view}: {VIEWS[view].words}")
            plots += plots_of(encodings, view, chosen)
        if options.preset and options.encodings == (ENCODING,):
            plots = list(map(PRESETS[options.preset].read, plots))
        with refusing("--output "):
            check_fits(output, plots)
        names = short_names(tuple(one.label for one in encodings))
        properties = [table(one) for one in encodings]
        files = {}
        kinds = tuple(kind for kind in KINDS if kind in options.figures)
        reporter.phase("draw", total=1 + len(kinds) * len(plots), unit="files")
        title, facts = ", ".join(names.values()), ", ".join(one.label for one in encodings)
        for path, data in make(output, title, facts, plots, properties, kinds):
            files[path] = data
            reporter.advance(1, path.name)
        with refusing():
            write(files)
    width = columns()
    for one in properties:
        show(text(one, width))
    if options.preset:
        show("\n".join(textwrap.fill(f"{plot.title}: {plot.caption}", min(width, 100)) + "\n" for plot in plots))
    written = f"wrote {', '.join(map(str, files))}"
    show("\n".join(textwrap.wrap(written, 100, break_on_hyphens=False, break_long_words=False)))


def _vectors(options: Shown) -> None:
    """Prints the vectors of positions, and what adding them does to two words."""
    tokens = (options.text or "").split()
    at, width = _places(options, tokens), options.d_model or 128
    positions = options.positions or at or (0, 1, 2)
    _check_within("positions", positions, FARTHEST)
    _check_within("dimensions", options.dimensions, width)
    from posenc_jax.cli.own_files import refuse_unusable
    from posenc_jax.drawing.text_table import text
    from posenc_jax.show.vector_tables import embeddings, of_slot, of_words

    for label, slot in map(_slot, options.encodings):
        refuse_unusable((slot,))
        with refusing(f"{label}: "):
            _, found = of_slot(slot, width, positions, options.dimensions)
            tables = list(found)
            if at:
                drawn, (own, _) = embeddings(tokens, width)[list(at)], of_slot(slot, width, at)
                tables.append(of_words(options.words, at, drawn, own, options.dimensions))
        for table in tables:
            show(text(table, columns()))


def _places(options: Shown, tokens: list[str]) -> tuple[int, ...]:
    """The positions of --words in the sentence."""
    if not options.encodings or len(options.words) != 2 * bool(options.text):
        raise UsageError("--view vectors: name an encoding; --text has the sentence of --words, two words: give both")
    found: list[int] = []
    for word in options.words:
        places = [p for p, token in enumerate(tokens) if token == word and p not in found]
        if not places:
            raise UsageError(f"--words: {short(word)} does not stand {tokens.count(word) + 1} times in the text")
        found.append(places[0])
    return tuple(found)


def _check(options: Shown) -> None:
    flow, width, run = "flow" in options.view, options.d_model or 128, options.run
    of_runs = options.file or options.stack or options.seed is not None or (options.text and not flow)
    words = len((options.text or WORDS).split())
    for wrong, said in (
        (
            not options.encodings and not run,
            "name encodings, as in `posenc show rope`, or a run with --run DIR",
        ),
        (options.words or VECTORS in options.view, "--view vectors draws nothing: ask for it alone; --words is of it"),
        (options.text and options.file, "--text and --file are both the input: give one"),
        (of_runs and not run, "--text, --file, --stack and --seed are about a finished run: add --run DIR"),
        (flow and not 1 <= words <= MOST_LINES, f"--view flow draws 1 to {MOST_LINES} words of --text, not {words}"),
        (
            run and (options.d_model or options.num_heads),
            "--d-model and --num-heads are those of the run",
        ),
        (width % (options.num_heads or 1), f"--num-heads {options.num_heads} must divide --d-model {width}"),
        (options.figures and options.output.suffix in FILES, "--figures go into a directory, and --output is a file"),
    ):
        if wrong:
            raise UsageError(f"show: {said}")
    _check_within("positions", options.positions, options.length or (LENGTHS[1] if options.run else 50))
    if not options.run:
        _check_within("dimensions", options.dimensions, width)
    with refusing("--output "):
        check_output(options.output)
    check_packages(options.output, options.view, figures=bool(options.figures))


def _check_within(name: str, values: Sequence[int], count: int) -> None:
    if len(set(values)) > MOST_LINES:
        raise UsageError(f"--{name}: {len(set(values))} lines cannot be read; name at most {MOST_LINES}")
    if outside := [value for value in values if not 0 <= value < count]:
        raise UsageError(f"--{name} {outside[0]}: the {name} are 0 to {count - 1}: name others")


def _of_specs(options: Shown, reporter: TerminalReporter) -> list[MeasuredEncoding]:
    from posenc_jax.cli.own_files import refuse_unusable
    from posenc_jax.encodings import Dims, check_slot
    from posenc_jax.show.measure import measure, with_contents, with_equal_contents, with_flow

    width, length = options.d_model or 128, options.length or 50
    slots = dict(map(_slot, options.encodings))
    refuse_unusable(tuple(slots.values()))
    even = [heads for heads in (8, 16, 1) if width % (2 * heads) == 0] or [1]
    for heads in [options.num_heads] if options.num_heads else [*even, even[0]]:  # of which none serves, the first
        dims = Dims(width, heads, heads, width // heads, 1, length, 1024)
        with contextlib.suppress(ValueError):
            for slot in slots.values():
                check_slot(slot, dims)
            break
    found, words = [], tuple((options.text or WORDS).split())
    for label, slot in slots.items():
        reporter.phase(f"measure {label}")
        with refusing(f"{label}: "):
            measured = measure(label, slot, dims, length, shifts=not options.preset)
            one = with_contents(with_equal_contents(measured, dims.head_dim), slot, dims)
            found.append(with_flow(one, slot, dims, words) if "flow" in options.view else one)
    return found


def _slot(text: str) -> tuple[str, Any]:
    from posenc_jax.cli.own_files import named
    from posenc_jax.encodings import spec

    method, slot = named(text)
    return spec(slot) if method is None else method.spec if method.spec == text else method.name, slot


def _of_run(options: Shown, reporter: TerminalReporter) -> dict[str, MeasuredEncoding]:
    """The encodings of a run, stack by stack, and its attention maps; none without a run."""
    if options.run is None:
        return {}
    from posenc_jax.data.corpora.reading import read_file
    from posenc_jax.data.text.given import document_of
    from posenc_jax.show import trained

    reporter.phase(f"measure {options.run}")
    replica = trained.load(options.run, options.seed, reporter.note)
    length = options.length or max(min(50, replica.config.max_len), LENGTHS[0])
    with refusing():
        stacks = trained.measure_stacks(replica, length)
    wanted = {"attention", "pooling", "sections"} & set(options.view or VIEWS)
    if not wanted:
        return stacks
    file, task, asked = options.file, replica.config.task, options.text or options.file
    try:
        text = options.text if file is None else document_of(task, file, read_file(file))
        tokens = trained.input_of(replica, text)
        captured = trained.capture(replica, tokens)
        if {"pooling", "sections"} & wanted:
            stacks = trained.with_sections(replica, stacks, tokens, captured)
        return trained.with_attention(replica, stacks, tokens, captured) if "attention" in wanted else stacks
    except ValueError as error:
        if asked or options.view:
            raise UsageError(f"{'--text' if options.text else '--file' if asked else '--view'}: {error}") from None
        reporter.note(f"posenc: no attention maps: {error}: give an input, as in --text 'A sentence.'")
    return stacks


def _checked_views(
    encodings: Sequence[MeasuredEncoding], asked: tuple[str, ...], note: Callable[[str], None]
) -> tuple[str, ...]:
    """The views to draw; of those asked for, ``note`` is told what has them not; UsageError where nothing has them."""
    nothing = "nothing that can be drawn without contents and tokens (of a pattern of layers the first is shown)"
    listed = {one.label: ", ".join(views_of(one)) or nothing for one in encodings}
    if not asked and nothing in listed.values():
        raise UsageError("; ".join(f"{label} has {views}" for label, views in listed.items()))
    for view in asked:
        without = [one for one in encodings if view not in views_of(one)]
        if len(without) == len(encodings):
            have = "; ".join(f"{label} has {views}" for label, views in listed.items())
            raise UsageError(f"no {view} ({VIEWS[view].words}) to draw: {have}")
        for one in without:
            note(f"posenc: {one.label} has no {view}: drawn without it")
    return tuple(view for view in VIEWS if view in (asked or VIEWS))


def _positions(encodings: Sequence[MeasuredEncoding], asked: tuple[int, ...]) -> tuple[int, ...]:
    length = min((len(one.vectors) for one in encodings if one.vectors is not None), default=LENGTHS[1])
    _check_within("positions", asked, length)
    return tuple(dict.fromkeys(asked)) or tuple(p for p in (0, 10, 25) if p < length)


main = command(_show, computes=True)
