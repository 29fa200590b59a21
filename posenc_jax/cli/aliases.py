"""``posenc aliases``: which positions of an encoding look alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

from posenc_jax.cli.errors import UsageError, refusing, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show

if TYPE_CHECKING:
    from posenc_jax.show.alias_tables import AliasQuestion

LONGEST, WIDEST = 100_000, 8192
PAIR = (5, 68)


@dataclasses.dataclass(frozen=True)
class AliasOptions:
    """An encoding and two of its positions.

    Attributes:
      encoding: a spec or a catalogue name (see `posenc list`)
      d_model: width of the model (default: 8)
      num_heads: attention heads (default: 1; 4 for biases)
      length: positions 0 to L-1 (default: 512)
      pair: positions to mark (default: 5 68)
    """

    encoding: str
    _: dataclasses.KW_ONLY
    d_model: Annotated[int, whole(2, WIDEST), "D"] = 8
    num_heads: Annotated[int | None, whole(1, WIDEST), "H"] = None
    length: Annotated[int, whole(2, LONGEST), "L"] = 512
    pair: Annotated[tuple[int, int] | None, "P"] = None


def _aliases(options: AliasOptions) -> None:
    """Show which positions of an encoding look alike: the similarity of two positions by their offset,
    its side lobes, the part of each frequency, and the nearest aliases far away.

    Args:
      options: those of `AliasOptions`

    Examples:
      posenc aliases sinusoidal
          show which positions look alike at d_model 8
      posenc aliases rope --d-model 64 --length 4096 --pair 5 68
          mark positions 5 and 68, at another size
    """
    _check(options)
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.drawing.text_table import text
    from posenc_jax.show import alias_tables

    with refusing(f"{options.encoding.strip() or 'nope'}: "):
        for table in alias_tables.tables(_asked(options)):
            show(text(table))


def _check(options: AliasOptions) -> None:
    if options.num_heads is not None and options.d_model % options.num_heads:
        raise UsageError(f"--num-heads {options.num_heads} must divide --d-model {options.d_model}, as 1 does")
    if options.pair is not None:
        outside = [p for p in options.pair if not 0 <= p < options.length]
        if outside:
            raise UsageError(
                f"--pair: position {outside[0]} is outside 0 .. {options.length - 1}: choose another, or raise "
                f"--length {options.length}"
            )
        if options.pair[0] == options.pair[1]:
            raise UsageError(f"--pair {options.pair[0]} {options.pair[1]}: name two different positions")


def _asked(options: AliasOptions) -> AliasQuestion:
    from posenc_jax.analysis import views
    from posenc_jax.cli.own_files import named, refuse_unusable
    from posenc_jax.encodings import Dims
    from posenc_jax.show.alias_tables import AliasQuestion

    _, slot = named(options.encoding)
    refuse_unusable((slot,))
    length = options.length

    def dims(heads: int) -> Dims:
        return Dims(options.d_model, heads, heads, options.d_model // heads, 1, length)

    heads = options.num_heads
    if heads is None:
        only_bias = set(views.available(slot, dims(1))) == {"bias"}
        heads = 4 if only_bias and options.d_model % 4 == 0 else 1
    pair = options.pair or (PAIR if max(PAIR) < length else (0, length - 1))
    return AliasQuestion(slot, dims(heads), length, pair)


main = command(_aliases)
