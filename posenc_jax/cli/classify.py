"""``posenc classify RUN FILE``: the classes of a document by a finished run."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError, as_path
from posenc_jax.cli.screen import show
from posenc_jax.cli.texts import add_random_seed, add_run_options, command, load, read_file, run_parser
from posenc_jax.drawing.plain import plain
from posenc_jax.files.shapes import loads

DESCRIPTION = """Classify a UTF-8 document with a finished run of task "classification": print a line
`label  probability` for every class, the most probable first. FILE is one of

  a *.json file: an object {"header": ..., "body": ..., "footer": ...} of strings, with the names of the sections that
    the run reads; any of them may be missing;
  a *.md or *.html file, for a run whose sections have other names: its outermost headings name the sections;
  any other text file: paragraphs separated by empty lines. The first is the header, the last of three or more is the
    footer, and the rest are the body (joined by line breaks, as in corpora).

A run that reads the structure of whole documents (task.structure) is given the file as it is: Markdown, HTML, or JSON
with spans. A file whose name declares another of these formats (*.md, *.html, *.json) is refused."""


def main(arguments: list[str]) -> int:
    parser = run_parser("classify", DESCRIPTION)
    parser.add_argument("file", type=as_path, metavar="FILE", help="the document")
    add_run_options(
        parser,
        "classify it without the end of its body, then of its header, as in training (truncate), or by the mean "
        "probabilities over pieces of its body, each with header and footer (window); if sections have other names, "
        "the longest ones lose their ends, or the one with the most text is read in pieces; task.structure allows only "
        "truncate",
    )
    add_random_seed(parser, "seed of randomly drawn positions (default: 0)")
    return command(parser, arguments, _classify)


def _classify(options: argparse.Namespace, reporter: Any) -> None:
    path, text = options.file, read_file(options.file)
    given = document_of_json(text, path) if path.suffix.lower() == ".json" else None
    loaded = load(options, reporter)
    from posenc_jax.runs.inference import classify

    document = read_document(loaded.config.task, path, text, given)
    (probabilities,) = classify(
        loaded, [document], too_long=options.too_long, random_seed=options.random_seed, reporter=reporter
    )
    shown = {plain(label): probability for label, probability in probabilities.items()}
    width = max(map(len, shown))
    for label, probability in sorted(shown.items(), key=lambda item: -item[1]):
        show(f"{label:<{width}}  {probability:.4f}")


def read_document(task: Any, path: Path, text: str, given: dict[str, str] | None = None) -> str | dict[str, str]:
    """Takes from a file's text what a run of the task is given: the text, or its sections."""
    from posenc_jax.data.text import Classification

    if not isinstance(task, Classification):
        return text
    if task.has_outline:
        check_format(path, task.structure)
        return text
    if given is None and path.suffix.lower() == ".json":
        given = document_of_json(text, path)
    return document_for(task.input_columns, text, path, given)


def document_of_text(text: str) -> dict[str, str]:
    """Header, body and footer of a plain text, as the help says."""
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text.strip())]
    footer = paragraphs.pop() if len(paragraphs) > 2 else ""
    return {"header": paragraphs[0], "body": "\n".join(paragraphs[1:]), "footer": footer}


def document_of_json(text: str, path: Path) -> dict[str, str] | None:
    """The sections in a JSON file, None where it holds a text with spans; UsageError when it holds something else."""
    try:
        document = loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from None
    except ValueError as error:
        raise UsageError(f"{path} is no document: {error}") from None
    if isinstance(document, dict) and isinstance(document.get("spans"), list):
        return None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise UsageError(f'{path} must hold an object of strings: {{"header": ..., "body": ..., "footer": ...}}')
    for name, value in document.items():
        if "\0" in value:
            raise UsageError(
                f"{path} has a NUL character (\\u0000) in {name!r}, and text has none: leave it out of the file"
            )
    return document


def check_format(path: Path, structure: str) -> None:
    """UsageError for a file whose name says that it has another structure than a run reads."""
    from posenc_jax.data.documents import SUFFIXES

    form = SUFFIXES.get(path.suffix.lower(), structure)
    if form != structure:
        raise UsageError(
            f"{path} is {form} by its name, and this run reads {structure} (task.structure): give a document in "
            f"{structure}; if it is one, call it .txt"
        )


def document_for(
    sections: tuple[str, ...], text: str, path: Path, given: dict[str, str] | None = None
) -> dict[str, str]:
    """The sections of a file, by the names that a run reads; UsageError for other ones.

    Args:
      given: what a JSON file holds.
    """
    from posenc_jax.data.documents import SUFFIXES, document_parts

    form = SUFFIXES.get(path.suffix.lower())
    if given is None and form == "spans":
        raise UsageError(
            f"{path} is a text with spans, and this run reads the sections {', '.join(sections)}: give them"
        )
    if given is None and "header" in sections:
        return document_of_text(text)
    if given is None:
        if form is None:
            raise UsageError(
                f"{path}: this run reads the sections {', '.join(sections)}: give them in a .json, .md or .html file"
            )
        given = {}
        for part in document_parts(text, form, str(path)):
            if part.section and part.coordinates[2]:
                given[part.section] = f"{given.get(part.section, '')}\n{part.text}".strip()
        if not given.keys() & set(sections):
            found = ", ".join(given) or "no headings"
            raise UsageError(f"{path} has the sections {found}, and this run reads {', '.join(sections)}")
        given = {name: section for name, section in given.items() if name in sections}
    unknown = [name for name in given if name not in sections]
    if unknown:
        raise UsageError(f"{path} has the key {unknown[0]!r}: a document has {', '.join(sections)}")
    if not any(value.strip() for value in given.values()):
        raise UsageError(f"{path} is empty: none of {', '.join(sections)} has text")
    return given
