"""``posenc explore``: a page to look at encodings, their kernels and the aliases of positions."""

import argparse
from pathlib import Path

from posenc_jax.cli.errors import Parser, UsageError, as_path, guarded, refusing
from posenc_jax.cli.screen import show
from posenc_jax.files.atomic import write_atomically
from posenc_jax.refusals.system import or_else

DESCRIPTION = """Write one self-contained HTML page on which you can choose an encoding, its settings and a pair of
positions, and see the heat map of the encoding, its kernel by offset, its aliases and the
similarity of the pair side by side. The page opens with the settings given here, without any with d_model 8, where
position 68 looks like 5."""


def main(arguments: list[str]) -> int:
    parser = Parser("posenc explore", description=DESCRIPTION)
    parser.add_argument(
        "encoding", nargs="?", metavar="ENCODING", help="rope, sinusoidal, alibi, t5 or learned (default: sinusoidal)"
    )
    parser.add_argument(
        "--output",
        type=as_path,
        default=Path("explorer.html"),
        metavar="FILE",
        help="file to write (default: explorer.html)",
    )
    parser.add_argument(
        "--d-model", dest="d", type=int, metavar="N", help="dimensions, an even number from 2 to 512 (default: 8)"
    )
    parser.add_argument("--base", type=float, metavar="X", help="base, from 100 to 1e6 (default: 10000)")
    parser.add_argument(
        "--frequencies", metavar="NAME", help="choice of frequencies, as on the page (default: vaswani)"
    )
    parser.add_argument("--length", type=int, metavar="N", help="positions 0 to N-1, N from 16 to 2048 (default: 512)")
    parser.add_argument("--pair", type=int, nargs=2, metavar=("A", "B"), help="pair of positions (default: 5 68)")
    parser.add_argument("--head", type=int, metavar="N", help="head of alibi or t5, 1 to 8 (default: 1)")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the learned table, 0 to 99 (default: 0)")
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
