"""``posenc vectors``: the vectors of positions, and what adding them does to two words."""

import argparse
import shutil

from posenc_jax.cli.errors import Parser, UsageError, guarded, refusing, whole
from posenc_jax.cli.screen import show
from posenc_jax.drawing.plain import short

DESCRIPTION = """Print the vectors that an encoding adds at some positions, and their cosines. With --text and --words,
also print two words of a sentence and their cosine before and after positions are added."""
FARTHEST, WIDEST = 99_999, 2048


def main(arguments: list[str]) -> int:
    parser = Parser("posenc vectors", description=DESCRIPTION)
    add = parser.add_argument
    add("encoding", metavar="ENCODING", help="a spec or a catalogue name (see `posenc list`)")
    add("--d-model", type=whole(2, WIDEST), default=8, metavar="D", help="width of the model (default: 8)")
    add(
        "--positions",
        type=whole(0, FARTHEST),
        nargs="+",
        metavar="P",
        help="positions (default: those of the words, else 0 1 2)",
    )
    add("--dimensions", type=whole(1, WIDEST), default=8, metavar="N", help="show the first N dimensions (default: 8)")
    add("--text", metavar="TEXT", help="a sentence, its words separated by spaces and counted from 0")
    add(
        "--words",
        nargs=2,
        metavar="WORD",
        help="two words of the sentence; a word given twice means its first two occurrences",
    )
    add("--seed", type=whole(0, 2**31 - 1), default=1, metavar="N", help="seed of the words' embeddings (default: 1)")
    return guarded(lambda: _vectors(parser.parse_args(arguments)))


def _vectors(options: argparse.Namespace) -> None:
    tokens = (options.text or "").split()
    at = _places(options, tokens)
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    import jax

    from posenc_jax.analysis.views import position_vectors
    from posenc_jax.cli.own_files import named, refuse_unusable
    from posenc_jax.drawing.text_table import text
    from posenc_jax.encodings import Dims, init_slot, spec
    from posenc_jax.show.vector_tables import embeddings, of_positions, of_words

    _, slot = named(options.encoding)
    refuse_unusable((slot,))
    positions = options.positions or at or [0, 1, 2]
    length = max(*positions, *at, len(tokens) - 1, 1) + 1
    dims = Dims(options.d_model, 1, 1, options.d_model, 1, length)
    width = shutil.get_terminal_size((100, 24)).columns
    with refusing(f"{options.encoding.strip() or 'nope'}: "):
        asked = position_vectors(slot, dims, positions, dtype="float64", length=length)
        params = jax.eval_shape(lambda: init_slot(jax.random.key(0), slot, dims))
        has_params = bool(jax.tree.leaves(params))
        tables = list(of_positions(spec(slot), positions, asked, options.dimensions, drawn=has_params))
        if at:
            drawn = embeddings(tokens, options.d_model, options.seed)[at]
            own = position_vectors(slot, dims, at, dtype="float64", length=length)
            tables.append(of_words(options.words, at, drawn, own, options.dimensions))
    for table in tables:
        show(text(table, width))


def _places(options: argparse.Namespace, tokens: list[str]) -> list[int]:
    if (options.text is None) != (options.words is None):
        raise UsageError("vectors: --text has the sentence and --words two of its words: give both")
    if options.words is None:
        return []
    found: list[int] = []
    for word in options.words:
        places = [p for p, token in enumerate(tokens) if token == word and p not in found]
        if not places:
            again = " a second time" if word in tokens else ""
            raise UsageError(f"--words: {short(word)} does not stand in the text{again}: {short(' '.join(tokens))}")
        found.append(places[0])
    return found
