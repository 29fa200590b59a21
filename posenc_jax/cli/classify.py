"""``posenc classify RUN FILE``: the classes of a document by a finished run."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError, place
from posenc_jax.cli.texts import add_random_seed, add_run_options, command, load, read_file, run_parser
from posenc_jax.drawing.plain import plain
from posenc_jax.shapes import loads

SECTIONS = ("header", "body", "footer")
DESCRIPTION = """Classifies a document (UTF-8) with a finished run of task "classification": a line `label  probability`
for every class, the most probable first. FILE is

  a file called *.json: an object {"header": ..., "body": ..., "footer": ...} of strings, any of which may be missing;
  any other text: paragraphs, parted by empty lines, of which the first is the header, the last, if there are three
    or more, the footer, and the rest the body (its paragraphs joined by line breaks, as corpora have them)."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    parser = run_parser("classify", DESCRIPTION)
    parser.add_argument("file", type=place, metavar="FILE")
    add_run_options(
        parser,
        "classified without the end of its body, then of its header (truncate), as in training, or by the mean of the "
        "probabilities of pieces of its body, each with header and footer (window)",
    )
    add_random_seed(parser, "of positions that are drawn")
    return command(parser, arguments, _classify)


def _classify(options: argparse.Namespace, reporter: Any) -> None:
    text = read_file(options.file)
    document = document_of_json(text, options.file) if options.file.suffix == ".json" else document_of_text(text)
    loaded = load(options, reporter)
    from posenc_jax.runs.inference import classify

    (probabilities,) = classify(
        loaded, [document], too_long=options.too_long, random_seed=options.random_seed, reporter=reporter
    )
    shown = {plain(label): probability for label, probability in probabilities.items()}
    width = max(map(len, shown))
    for label, probability in sorted(shown.items(), key=lambda item: -item[1]):
        print(f"{label:<{width}}  {probability:.4f}")


def document_of_text(text: str) -> dict[str, str]:
    """Header, body and footer of a plain text, as the help says."""
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text.strip())]
    footer = paragraphs.pop() if len(paragraphs) > 2 else ""
    return {"header": paragraphs[0], "body": "\n".join(paragraphs[1:]), "footer": footer}


def document_of_json(text: str, path: Path) -> dict[str, str]:
    """The sections in a JSON file; UsageError when it holds something else."""
    try:
        document = loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from None
    except ValueError as error:
        raise UsageError(f"{path} is no document: {error}") from None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise UsageError(f'{path} must hold an object of strings: {{"header": ..., "body": ..., "footer": ...}}')
    unknown = [name for name in document if name not in SECTIONS]
    if unknown:
        raise UsageError(f"{path} has the key {unknown[0]!r}: a document has {', '.join(SECTIONS)}")
    if not any(value.strip() for value in document.values()):
        raise UsageError(f"{path} is empty: none of {', '.join(SECTIONS)} has text")
    return document
