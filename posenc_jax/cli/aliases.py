"""``posenc aliases``: which positions of an encoding look alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from posenc_jax.cli.errors import UsageError, as_path, refusing, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show

if TYPE_CHECKING:
    from posenc_jax.show.alias_tables import AliasQuestion
    from posenc_jax.show.inversion_tables import InversionRow

LONGEST, WIDEST = 2**24, 8192
PAIR = (5, 68)


@dataclasses.dataclass(frozen=True)
class AliasOptions:
    """An encoding and two of its positions.

    Attributes:
      encoding: a spec or a catalogue name (see `posenc list`)
      inversions: instead, how often these encodings, or released models, confuse near with far, up to the length
      d_model: width of the model (default: 8; 512 for inversions)
      num_heads: attention heads (default: 1; 4 for biases and inversions)
      length: positions 0 to L-1 (default: 512)
      pair: positions to mark (default: 5 68)
    """

    encoding: str | None = None
    _: dataclasses.KW_ONLY
    inversions: Annotated[Sequence[str], "ENCODING|MODEL"] = ()
    d_model: Annotated[int | None, whole(2, WIDEST), "D"] = None
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
      posenc aliases --inversions rope alibi Llama-3.1-8B --length 1048576
          compare two encodings and a released model at long contexts
    """
    _check(options)
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    from posenc_jax.drawing.text_table import text
    from posenc_jax.show import alias_tables, inversion_tables

    if options.inversions:
        rows = [row for word in options.inversions for row in _inversion_rows(word, options)]
        with refusing():
            show(text(inversion_tables.table(rows, options.length), columns()))
        return
    assert options.encoding is not None
    with refusing(f"{options.encoding.strip() or 'nope'}: "):
        for table in alias_tables.tables(_asked(options)):
            show(text(table))


def _check(options: AliasOptions) -> None:
    if (options.encoding is None) == (not options.inversions):
        raise UsageError("name one encoding, as in `posenc aliases rope`, or some after --inversions")
    width = _width(options)
    if options.num_heads is not None and width % options.num_heads:
        raise UsageError(f"--num-heads {options.num_heads} must divide --d-model {width}, as 1 does")
    if options.pair is not None:
        outside = [p for p in options.pair if not 0 <= p < options.length]
        if outside:
            raise UsageError(
                f"--pair: position {outside[0]} is outside 0 .. {options.length - 1}: choose another, or raise "
                f"--length {options.length}"
            )
        if options.pair[0] == options.pair[1]:
            raise UsageError(f"--pair {options.pair[0]} {options.pair[1]}: name two different positions")


def _width(options: AliasOptions) -> int:
    return options.d_model or (512 if options.inversions else 8)


def _inversion_rows(word: str, options: AliasOptions) -> list[InversionRow]:
    from posenc_jax.cli.own_files import named, refuse_unusable
    from posenc_jax.cli.rope import released
    from posenc_jax.encodings import Dims
    from posenc_jax.huggingface import from_hf, read_config
    from posenc_jax.show import inversion_tables

    if model := released(word):
        return inversion_tables.of_model(model["name"], from_hf(model["config"]))
    if word.strip() and Path(word).exists():
        return inversion_tables.of_model(word, from_hf(read_config(as_path(word))))
    _, slot = named(word)
    refuse_unusable((slot,))
    width, heads = _width(options), options.num_heads or inversion_tables.HEADS
    return inversion_tables.of_encoding(slot, Dims(width, heads, heads, width // heads, 1, options.length))


def _asked(options: AliasOptions) -> AliasQuestion:
    from posenc_jax.analysis import views
    from posenc_jax.cli.own_files import named, refuse_unusable
    from posenc_jax.encodings import Dims
    from posenc_jax.show.alias_tables import AliasQuestion

    assert options.encoding is not None
    _, slot = named(options.encoding)
    refuse_unusable((slot,))
    length, width = options.length, _width(options)

    def dims(heads: int) -> Dims:
        return Dims(width, heads, heads, width // heads, 1, length)

    heads = options.num_heads
    if heads is None:
        only_bias = set(views.available(slot, dims(1))) == {"bias"}
        heads = 4 if only_bias and width % 4 == 0 else 1
    pair = options.pair or (PAIR if max(PAIR) < length else (0, length - 1))
    return AliasQuestion(slot, dims(heads), length, pair)


main = command(_aliases)
