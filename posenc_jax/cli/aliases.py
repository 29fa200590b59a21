"""``posenc aliases``: which positions of an encoding look alike."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from posenc_jax.cli.errors import Parser, UsageError, guarded, refusing, whole
from posenc_jax.cli.screen import show

if TYPE_CHECKING:
    from posenc_jax.analysis.alias_changes import AliasQuestion

DESCRIPTION = """Show which positions of an encoding look alike: the similarity of two positions by their offset,
its side lobes, how base, width, precision and choice of frequencies change them, and what single
attention heads see."""
LONGEST, WIDEST = 100_000, 8192
PAIR = (5, 68)


def main(arguments: list[str]) -> int:
    parser = Parser("posenc aliases", description=DESCRIPTION)
    parser.add_argument("encoding", metavar="ENCODING", help="a spec or a catalogue name (see `posenc list`)")
    parser.add_argument(
        "--d-model", type=whole(2, WIDEST), default=8, metavar="D", help="width of the model (default: 8)"
    )
    parser.add_argument(
        "--num-heads", type=whole(1, WIDEST), metavar="H", help="attention heads (default: 1; 4 for biases)"
    )
    parser.add_argument(
        "--length", type=whole(2, LONGEST), default=512, metavar="L", help="positions 0 to L-1 (default: 512)"
    )
    parser.add_argument(
        "--pair", type=int, nargs=2, metavar=("P", "Q"), help=f"positions to mark (default: {PAIR[0]} {PAIR[1]})"
    )
    parser.add_argument(
        "--level",
        type=float,
        metavar="S",
        help="list side lobes with a similarity of at least S (default: the ten strongest)",
    )
    return guarded(lambda: _aliases(parser.parse_args(arguments)))


def _aliases(options: argparse.Namespace) -> None:
    _check(options)
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.analysis.similarities import similarities
    from posenc_jax.show import alias_tables

    with refusing(f"{options.encoding.strip() or 'nope'}: "):
        asked = _asked(options)
        kinds = similarities(asked.slot, asked.dims, asked.length)
        for line in alias_tables.lines(asked, kinds):
            show(line)


def _check(options: argparse.Namespace) -> None:
    if options.num_heads is not None and options.d_model % options.num_heads:
        raise UsageError(f"--num-heads {options.num_heads} must divide --d-model {options.d_model}, as 1 does")
    if options.level is not None and not -1 <= options.level <= 1:
        raise UsageError(f"--level {options.level} must lie in -1 .. 1: similarities do, as in --level 0.9")
    if options.pair is not None:
        outside = [p for p in options.pair if not 0 <= p < options.length]
        if outside:
            raise UsageError(
                f"--pair: position {outside[0]} is outside 0 .. {options.length - 1}: choose another, or raise "
                f"--length {options.length}"
            )
        if options.pair[0] == options.pair[1]:
            raise UsageError(f"--pair {options.pair[0]} {options.pair[1]}: name two different positions")


def _asked(options: argparse.Namespace) -> AliasQuestion:
    from posenc_jax.analysis import views
    from posenc_jax.analysis.alias_changes import AliasQuestion
    from posenc_jax.cli.own_files import named, refuse_unusable
    from posenc_jax.encodings import Dims

    _, slot = named(options.encoding)
    refuse_unusable((slot,))
    length = options.length

    def dims(heads: int) -> Dims:
        return Dims(options.d_model, heads, heads, options.d_model // heads, 1, length)

    heads = options.num_heads
    if heads is None:
        only_bias = set(views.available(slot, dims(1))) == {"bias"}
        heads = 4 if only_bias and options.d_model % 4 == 0 else 1
    pair = tuple(options.pair) if options.pair else PAIR if max(PAIR) < length else (0, length - 1)
    return AliasQuestion(slot, dims(heads), length, pair, options.level)
