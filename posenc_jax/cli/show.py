"""``posenc show``: pictures of encodings and of what they do, and their properties, measured."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc_jax.cli import shown_files
from posenc_jax.cli.errors import Parser, UsageError, at_home, guarded
from posenc_jax.cli.names import named

if TYPE_CHECKING:
    from posenc_jax.report.shown import Shown

DESCRIPTION = """Draws encodings: names of the catalogue, specs, or those of a finished run as trained (--run).
Writes an interactive page (show.html) and every figure as PNG and PDF, and prints the properties of
the vectors, each measured.

views: heatmap (values of all positions), lines (of single positions), frequencies (with
  wavelengths), kernel (similarity by offset), distances (of every two positions), pca, tsne,
  shift (the linear map from a position to one k later), bias (of logits, by offset), attention (of
  a run; else of equal contents)"""
VIEWS = ("heatmap", "lines", "frequencies", "kernel", "distances", "pca", "tsne", "shift", "bias", "attention")
LENGTHS, WIDTHS = (3, 1024), (2, 2048)
SHIFTS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MOST = 64  # positions of an attention map: more cannot be read
MOST_LINES = 12


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    parser = Parser("posenc show", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("encodings", nargs="*", metavar="ENCODING", help="a name of the catalogue, or a spec")
    add("--view", nargs="+", choices=VIEWS, metavar="VIEW", help="default: all that the encodings have")
    add("--d-model", type=int, metavar="M", help="width of the model (128)")
    add("--num-heads", type=int, metavar="H", help="attention heads (8, or 1 where those would have an odd width)")
    add("--length", type=int, metavar="P", help="positions 0 .. P-1 (50)")
    add("--positions", type=int, nargs="+", metavar="p", help="those drawn as lines (0 10 25)")
    add("--run", type=Path, metavar="DIR", help="a finished run: its encodings as trained, and its attention maps")
    add("--seed", type=int, metavar="N", help="which seed of the run (its first that did not diverge)")
    add("--text", metavar="TEXT", help="the input of the attention maps of a run on text")
    add(
        "--output",
        type=Path,
        default=Path("shown"),
        metavar="PATH",
        help="a directory (shown), or one file: .html for the page alone, .png or .pdf for one figure",
    )
    return guarded(lambda: _show(parser.parse_args(arguments)))


def _show(options: argparse.Namespace) -> int:
    _check(options)
    from posenc_jax.cli.session import import_from_here, prepare_jax
    from posenc_jax.report.properties import table
    from posenc_jax.report.shown_plots import plots
    from posenc_jax.report.style import short_names
    from posenc_jax.report.table import text

    prepare_jax()
    import_from_here()
    shown = [*(_of_run(options) if options.run else ()), *_of_specs(options)]
    views = _checked_views(shown, options.view)
    names = short_names(tuple(one.label for one in shown))
    properties = [table(one) for one in shown]
    output = at_home(options.output)
    try:
        drawn = plots(shown, _positions(shown, options.positions), views)
        files = shown_files.make(output, ", ".join(names.values()), _facts(shown), drawn, properties)
    except ImportError as error:
        raise UsageError(str(error)) from None
    shown_files.write(files)
    width = shutil.get_terminal_size((100, 24)).columns
    for one in properties:
        print(text(one, width) if one.rows else f"{one.title}\n\n{textwrap.fill(' '.join(one.notes), width)}\n")
    written = f"wrote {output}" if len(files) == 1 else f"wrote in {output}: {', '.join(_listed(files))}"
    print("\n".join(textwrap.wrap(written, 100, break_on_hyphens=False, break_long_words=False)))
    return 0


def _listed(files: Iterable[Path]) -> list[str]:
    """Names, those of one figure together."""
    endings: dict[str, list[str]] = {}
    for path in files:
        endings.setdefault(path.stem, []).append(path.suffix[1:])
    return [f"{stem}.{'/'.join(kinds)}" for stem, kinds in endings.items()]


def _check(options: argparse.Namespace) -> None:
    """What can be refused at once."""
    if not options.encodings and not options.run:
        raise UsageError("show: name an encoding, as in `posenc show sinusoidal`, or a finished run with --run DIR")
    if not options.run and (options.text or options.seed is not None):
        raise UsageError("show: --text and --seed are about a finished run: add --run DIR")
    if options.run and (options.d_model or options.num_heads):
        raise UsageError("show: --d-model and --num-heads are those of the run: leave them out beside --run")
    for name, value, (low, high) in (("--length", options.length, LENGTHS), ("--d-model", options.d_model, WIDTHS)):
        if value is not None and not low <= value <= high:
            raise UsageError(f"{name} {value} is out of range: from {low} to {high} can be drawn")
    width = options.d_model or 128
    if options.num_heads is not None and (options.num_heads < 1 or width % options.num_heads):
        raise UsageError(f"--num-heads {options.num_heads}: the number of heads must divide --d-model {width}")
    _check_positions(options.positions or (), options.length or (LENGTHS[1] if options.run else 50))
    shown_files.check_output(at_home(options.output))
    options.run = options.run and at_home(options.run)


def _check_positions(positions: Sequence[int], length: int) -> None:
    if len(set(positions)) > MOST_LINES:
        raise UsageError(f"--positions: {len(set(positions))} lines cannot be read; name at most {MOST_LINES}")
    for position in positions:
        if not 0 <= position < length:
            raise UsageError(
                f"--positions {position}: the positions shown are 0 to {length - 1}; raise --length, or name others"
            )


def _of_specs(options: argparse.Namespace) -> list[Shown]:
    from posenc_jax.encodings import Dims

    width, length = options.d_model or 128, options.length or 50
    heads = options.num_heads or (8 if width % 16 == 0 else 1)
    dims = Dims(width, heads, heads, width // heads, 1, length, 1024)
    slots = dict(map(_slot, options.encodings))
    return [_equal_contents(_measured(label, slot, dims, None, length), dims.head_dim) for label, slot in slots.items()]


def _slot(text: str) -> tuple[str, Any]:
    """What to call an encoding, and its slot."""
    from posenc_jax.encodings import spec

    method, slot = named(text)
    return spec(slot) if method is None else method.spec if method.spec == text else method.name, slot


def _measured(label: str, slot: Any, dims: Any, params: Any, length: int) -> Shown:
    """All that an encoding has; UsageError where it cannot serve the sizes."""
    import jax
    import numpy as np

    from posenc_jax.analysis import views
    from posenc_jax.encodings import for_layer
    from posenc_jax.report.shown import Shifts, Shown

    found: dict[str, Any] = {}
    try:
        has = views.available(slot, dims)
        own = views.initial(slot, dims) if params is None else params
        options: dict[str, Any] = dict(params=own, dtype="float64")
        if "vectors" in has:
            found["vectors"] = views.position_vectors(slot, dims, np.arange(length), length=length, **options)
            maps = views.linear_maps(slot, dims, [k for k in SHIFTS if k <= length // 2], params=own)
            drawn = next((m for m in maps if m.offset == 10), maps[-1])
            found["shifts"] = Shifts({m.offset: m.residual for m in maps}, drawn.offset, drawn.matrix)
        if "content_logits" in has:
            found["products"] = views.content_logits(slot, dims, length, **options)
        if "bias" in has:
            found["bias"] = views.bias(slot, dims, length, **options)
        if "frequencies" in has:
            found["frequencies"] = views.frequencies(slot, dims)
    except ValueError as error:
        raise UsageError(f"{label}: {error}") from None
    state = "as trained" if params is not None else "as initialised"
    state = f"; parameters {state}" if jax.tree.leaves(own) else ""
    note = f"d_model {dims.d_model}, heads {dims.num_heads}, positions 0 to {length - 1}{state}."
    return Shown(label, causal=any(e.causal_only for e in for_layer(slot, 0)), note=note, **found)


def _equal_contents(shown: Shown, head_dim: int) -> Shown:
    """With the attention maps of equal contents, for an encoding that acts on logits by position."""
    from posenc_jax.analysis.views import equal_content_weights
    from posenc_jax.report.shown import Attention

    def first(values: Any) -> Any:
        return None if values is None else values[:, :MOST, :MOST]

    products, biases = first(shown.products), first(shown.bias)
    if products is None and biases is None:
        return shown
    scaled = None if products is None else products * head_dim**0.5
    weights = equal_content_weights(scaled, biases, causal=shown.causal)
    if (weights == weights[:1]).all():
        weights = weights[:1]
    parts = [f"products at contents of norm sqrt({head_dim})"] if products is not None else []
    parts += ["biases"] if biases is not None else []
    heads = "" if len(weights) > 1 else " All heads are alike."
    about = f"Attention weights where all contents are equal: the softmax of {' and '.join(parts)}.{heads}"
    return dataclasses.replace(shown, attention=(Attention("of equal contents", weights[None], about=about),))


def _of_run(options: argparse.Namespace) -> list[Shown]:
    """The encodings of a run, stack by stack, and its attention maps."""
    from posenc_jax.cli import shown_runs
    from posenc_jax.encodings import spec
    from posenc_jax.report.shown import Attention, Shown

    config, params, seed = shown_runs.load(options.run, options.seed, lambda text: print(text, file=sys.stderr))
    stacks = shown_runs.trained(config, params)
    length = options.length or max(min(50, config.max_len), LENGTHS[0])
    found = {}
    for one in stacks:
        name = f"{one.stack} " if len(stacks) > 1 else ""
        found[one.stack] = _measured(f"trained {name}{spec(one.slot)}", one.slot, one.dims, one.params, length)
    if options.view is None or "attention" in options.view:
        try:
            tokens = shown_runs.input_of(config, options.run, options.text)
        except UsageError as error:
            if options.view is not None or options.text:
                raise
            print(f"posenc: no attention maps: {error}", file=sys.stderr)
            return list(found.values())
        for stack, (weights, queries, keys) in shown_runs.attention(config, params, tokens, seed).items():
            about = f"Attention weights of seed {seed} of {options.run.absolute().name}, {stack}, for one input."
            own = found.get(stack) or Shown(f"trained {stack} nope")
            whose = "of the decoder to the encoder" if stack == "cross" else f"of the {stack}"
            maps = Attention(whose, weights, _short(queries), _short(keys), about)
            found[stack] = dataclasses.replace(own, attention=(maps,))
    return list(found.values())


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of tokens as labels of ticks; none where they would not fit."""
    return tuple(name if len(name) <= 10 else name[:9] + "…" for name in names) if len(names) <= 32 else ()


def _checked_views(shown: list[Shown], asked: list[str] | None) -> tuple[str, ...]:
    """The views to draw; UsageError when an encoding has not what was asked for, or nothing at all."""
    from posenc_jax.report.shown import VIEW_NAMES, has

    for one in shown:
        own = has(one)
        nothing = "nothing that can be drawn without contents and tokens"
        nothing += ": of a pattern of layers the first is shown" * ("/" in one.label)
        for view in asked or ():
            if view not in own:
                if view == "tsne" and one.vectors is not None:
                    raise UsageError(
                        f"t-SNE needs more positions than {len(one.vectors)}: raise --length, 50 are usual"
                    )
                listed = ", ".join(own) or nothing
                raise UsageError(f"{one.label} has no {view} ({VIEW_NAMES[view]}); it has {listed}")
        if not own and not asked:
            raise UsageError(f"{one.label} has {nothing}")
    return VIEWS if asked is None else tuple(asked)


def _positions(shown: list[Shown], asked: list[int] | None) -> list[int]:
    """Those drawn as lines."""
    length = min((len(one.vectors) for one in shown if one.vectors is not None), default=LENGTHS[1])
    _check_positions(asked or (), length)
    return [p for p in (0, 10, 25) if p < length] if asked is None else list(dict.fromkeys(asked))


def _facts(shown: list[Shown]) -> str:
    """Encodings in full."""
    return ", ".join(one.label for one in shown)
