"""``posenc explore``: a page to look at encodings, their kernels and the aliases of positions."""

import argparse
from pathlib import Path

from posenc_jax.cli.errors import Parser, UsageError, as_path, guarded, refusing
from posenc_jax.cli.screen import show
from posenc_jax.files.atomic import write_atomically
from posenc_jax.refusals.system import or_else

DESCRIPTION = """Writes one HTML page, complete in itself, on which to move an encoding, its settings and a pair of
positions, and to see its heat map, its kernel by offset, its aliases and the pair's similarity at
once. The settings given here are those it opens with."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc explore", description=DESCRIPTION)
    parser.add_argument(
        "encoding", nargs="?", metavar="ENCODING", help="rope (default), sinusoidal, alibi, t5 or learned"
    )
    parser.add_argument("--output", type=as_path, default=Path("explorer.html"), metavar="FILE", help="explorer.html")
    parser.add_argument("--d-model", dest="d", type=int, metavar="N", help="dimensions, even, 2 to 512 (64)")
    parser.add_argument("--base", type=float, metavar="X", help="100 to 1e6 (10000)")
    parser.add_argument("--frequencies", metavar="NAME", help="vaswani (default), or another of the page")
    parser.add_argument("--length", type=int, metavar="N", help="positions 0 .. N-1, 16 to 2048 (512)")
    parser.add_argument("--pair", type=int, nargs=2, metavar=("A", "B"), help="the pair (5 68)")
    parser.add_argument("--head", type=int, metavar="N", help="of alibi and t5, 1 to 8 (1)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the learned table, 0 to 99 (0)")
    return guarded(lambda: _explore(parser.parse_args(arguments)))


def _explore(options: argparse.Namespace) -> None:
    from posenc_jax.show.explorer import ExplorerState, page

    given = {name: value for name, value in vars(options).items() if value is not None}
    output = given.pop("output")
    given["a"], given["b"] = given.pop("pair", (ExplorerState.a, ExplorerState.b))
    with refusing("explore: "):
        settings = ExplorerState(**given)
    if unused := [name for name in given if name not in ("encoding", *settings.used)]:
        names = ", ".join("--d-model" if name == "d" else f"--{name}" for name in unused)
        kind = f" with {settings.frequencies}" if "frequencies" in settings.used else ""
        raise UsageError(f"explore: {settings.encoding}{kind} does not use {names}: leave it out")
    text = page(settings)
    try:
        write_atomically(output, text)
    except OSError as error:
        reason = "Is a directory" if output.is_dir() else error.strerror
        raise UsageError(
            f"cannot write {output}: {reason}; {or_else(error, 'name another file by --output')}"
        ) from None
    show(output)
