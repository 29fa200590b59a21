"""``posenc explore``: a page to look at encodings, their kernels and the aliases of positions."""

from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.errors import refusing
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show
from posenc_jax.files.atomic import write_atomically


def _explore(
    encoding: str | None = None,
    *,
    output: Path = Path("explorer.html"),
    d_model: int | None = None,
    base: float | None = None,
    frequencies: Annotated[str | None, "NAME"] = None,
    length: int | None = None,
    pair: tuple[int, int] = (5, 68),
    head: int | None = None,
    seed: int | None = None,
) -> None:
    """Write one self-contained HTML page on which you can choose an encoding, its settings and a pair of
    positions, and see the heat map of the encoding, its kernel by offset, its aliases and the
    similarity of the pair side by side. The page opens with the settings given here, without any with
    d_model 8, where position 68 looks like 5.

    Args:
      encoding: rope, sinusoidal, alibi, t5 or learned (default: sinusoidal)
      output: file to write (default: explorer.html)
      d_model: dimensions, an even number from 2 to 512 (default: 8)
      base: base, from 100 to 1e6 (default: 10000)
      frequencies: choice of frequencies, as on the page (default: vaswani)
      length: positions 0 to N-1, N from 16 to 2048 (default: 512)
      pair: pair of positions (default: 5 68)
      head: head of alibi or t5, 1 to 8 (default: 1)
      seed: seed of the learned table, 0 to 99 (default: 0)

    Examples:
      posenc explore rope --d-model 16
          write the page explorer.html
    """
    own = {"encoding": encoding, "d": d_model, "base": base, "frequencies": frequencies}
    own |= {"length": length, "head": head, "seed": seed, "a": pair[0], "b": pair[1]}
    given: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    from posenc_jax.show.explorer import ExplorerState, page

    with refusing("explore: "):
        settings = ExplorerState(**given)
    write_atomically(output, page(settings))
    show(output)


main = command(_explore)
