"""The common part of `translate`, `summarize` and `classify`: options, reading inputs, printing outputs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from posenc_jax.cli.errors import Parser, UsageError, add_trust, as_path, guarded, refusing, whole
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import prepare_jax, trust
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.models.decoding_config import Beam, Decoding, Greedy, Sampling

if TYPE_CHECKING:
    from posenc_jax.runs.inference import TextOutput


LARGEST_SEED = 2**31 - 1
MOST_BYTES = 2**26
"""Of an input: far more than the tokens that runs read."""


def run_parser(command: str, description: str) -> Parser:
    """The parser of a command that uses a finished run."""
    parser = Parser(
        f"posenc {command}",
        description=f"{description}\nStandard output holds only the results; notes go to standard error.",
    )
    parser.add_argument("run", metavar="RUN", type=as_path, help="directory of a finished run, or of a cell or group")
    add_trust(parser)
    return parser


def add_run_options(parser: Parser, too_long: str, ways: tuple[str, ...] = ("truncate", "window")) -> None:
    """Adds options for the replica and for long texts."""
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="seed of the replica (default: the first that did not diverge), at the learning rate that is best by "
        "validation",
    )
    parser.add_argument(
        "--too-long",
        choices=("refuse", *ways),
        default="refuse",
        help="a text of more tokens than the run was trained or evaluated with: refuse it (default), or " + too_long,
    )


def add_decoding_options(parser: Parser) -> None:
    """Adds options for decoding, which is greedy by default."""
    add = parser.add_argument_group("decoding (default: greedy, token by token)").add_argument
    add(
        "--max-new-tokens", type=int, metavar="N", help="cut outputs off after N tokens (default: as in the evaluation)"
    )
    add("--beam", type=int, metavar="SIZE", help="use beam search with this many beams")
    add("--length-penalty", choices=("gnmt", "huggingface", "none"), help="length penalty of --beam (default: gnmt)")
    add("--alpha", type=float, help="exponent of the length penalty (default: 0.6)")
    add("--sample", action="store_true", help="sample tokens")
    add("--temperature", type=float, help="temperature of --sample (default: 1)")
    add("--top-k", type=int, metavar="K", help="--sample: only from the K most probable tokens")
    add(
        "--top-p", type=float, metavar="P", help="--sample: only from the most probable tokens with total probability P"
    )
    add_random_seed(parser, "seed of --sample and of randomly drawn positions (default: 0)")
    add("--scores", action="store_true", help="print the log-probability and a tab before each output")


def add_random_seed(parser: Parser, help_line: str) -> None:
    """``--random-seed``."""
    parser.add_argument("--random-seed", type=whole(0, LARGEST_SEED), default=0, metavar="N", help=help_line)


def decoding_of(options: argparse.Namespace) -> Decoding:
    """The decoding that the options ask for; UsageError when they do not fit together."""

    def given(*names: str) -> dict[str, Any]:
        return {name: getattr(options, name) for name in names if getattr(options, name) is not None}

    beam, sampling = given("length_penalty", "alpha"), given("temperature", "top_k", "top_p")
    if options.beam is not None and options.sample:
        raise UsageError("--beam and --sample are two ways to find outputs: choose one")
    for settings, owner, there in ((beam, "beam", options.beam is not None), (sampling, "sample", options.sample)):
        if settings and not there:
            raise UsageError(f"--{next(iter(settings)).replace('_', '-')} is a setting of --{owner}: give both")
    if options.length_penalty == "none" and options.alpha is not None:
        raise UsageError("--alpha is the exponent of a length penalty, and --length-penalty none has none: drop one")
    with refusing():
        if options.beam is not None:
            return Beam(options.beam, **beam)
        return Sampling(**sampling) if options.sample else Greedy()


def command(parser: Parser, arguments: list[str], work: Callable[[argparse.Namespace, Any], None]) -> int:
    """Runs ``work(options, reporter)`` and gives its exit code."""

    def run() -> None:
        options = parser.parse_intermixed_args(arguments)
        from posenc_jax.cli.progress import TerminalReporter
        from posenc_jax.runs.errors import RefusedError

        try:
            with TerminalReporter() as reporter:
                work(options, reporter)
        except (DataError, RefusedError) as error:
            raise UsageError(_with_options(str(error))) from None

    return guarded(run)


def _with_options(message: str) -> str:
    """A message of the library about its argument ``too_long``, in the words of the command line."""
    return (
        re.sub(r"(?:too_long = )?'(truncate|window)'", r"--too-long \1", message) if "too_long" in message else message
    )


def outputs(
    kind: str, texts: list[str], decoding: Decoding, options: argparse.Namespace, reporter: Any, **more: Any
) -> list[TextOutput]:
    """Texts that the run of the options writes for others; ``kind``: "translate" or "summarize"."""
    loaded = load(options, reporter)
    from posenc_jax.runs import inference

    found: list[TextOutput] = getattr(inference, kind)(
        loaded,
        texts,
        decoding,
        max_new_tokens=options.max_new_tokens,
        too_long=options.too_long,
        random_seed=options.random_seed,
        reporter=reporter,
        **more,
    )
    return found


def load(options: argparse.Namespace, reporter: Any) -> Any:
    """The replica that the options name."""
    prepare_jax()
    trust(options.trust)
    from posenc_jax.runs.inference import load_run

    return load_run(options.run, options.seed, reporter=reporter)


def read_file(path: Path) -> str:
    """The text of a file; UsageError when it is none."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory: name one file")
    try:
        with path.open("rb") as file:
            data = bounded(file, str(path))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    text = text_of(data, str(path))
    if not text.strip():
        raise UsageError(f"{path} is empty: it has no text to read")
    return text


def bounded(file: BinaryIO, name: str) -> bytes:
    """The content of a file, a pipe or a device; UsageError for one that has more than `MOST_BYTES`, or never ends."""
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"{name} has more than {MOST_BYTES:,} bytes: give its texts in parts")
    return data


def text_of(data: bytes, name: str) -> str:
    """Bytes of UTF-8 as text with the line ends of corpora; UsageError names the offset of a bad byte."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec drops a byte-order mark before it counts.
        offset = error.start + (len(data) - len(error.object))
        raise UsageError(
            f"{name} is no UTF-8 text: byte 0x{data[offset]:02x} at offset {offset} ({error.reason}); save it as UTF-8"
        ) from None
    if (nul := data.find(0)) >= 0:
        raise UsageError(f"{name} has a NUL byte at offset {nul}, and text has none: save it as UTF-8 text")
    return "\n".join(line.rstrip("\r") for line in text.split("\n"))


def show_outputs(outputs: list[TextOutput], options: argparse.Namespace, reporter: Any) -> None:
    """A line for each output; line breaks in it become spaces."""
    cut_off = [str(number) for number, output in enumerate(outputs, 1) if not output.finished]
    if cut_off:
        reporter.note(
            f"cut off at the largest number of tokens: output {', '.join(cut_off[:10])}"
            + (f" and {len(cut_off) - 10} more" if len(cut_off) > 10 else "")
        )
    for output in outputs:
        score = f"{output.log_prob:.4f}\t" if options.scores else ""
        show(score + " ".join(output.text.splitlines()))
