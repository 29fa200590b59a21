"""``posenc classify RUN FILE``: the classes of a document by a finished run."""

import argparse
import json
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
  any other text file, which is read as the texts that the run was trained on. All of it is the body (or the only
    section) if these were your own; in help/modules and descriptions/sections its first paragraph is the header, the
    last of three or more is the footer, and the rest are the body. Empty lines separate paragraphs.

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
    if path.suffix.lower() == ".json":
        document_of_json(text, path)  # refused before a run is loaded
    loaded = load(options, reporter)
    from posenc_jax.runs.inference import classify

    document = read_document(loaded.config.task, path, text)
    (probabilities,) = classify(
        loaded,
        [document],
        too_long=options.too_long,
        random_seed=options.random_seed,
        names=[str(path)],
        reporter=reporter,
    )
    shown = {plain(label): probability for label, probability in probabilities.items()}
    width = max(map(len, shown))
    for label, probability in sorted(shown.items(), key=lambda item: -item[1]):
        show(f"{label:<{width}}  {probability:.4f}")


def read_document(task: Any, path: Path, text: str) -> str | dict[str, str]:
    """The text of a file for a run of the task, or its sections: those that it names, or as rows of the corpus have."""
    from posenc_jax.data.documents import SUFFIXES
    from posenc_jax.data.text import Classification

    if not isinstance(task, Classification):
        return text
    if task.has_outline:
        check_format(path, task.structure)
        return text
    form = SUFFIXES.get(path.suffix.lower())
    if form == "spans":
        if given := document_of_json(text, path):
            return given
        raise UsageError(
            f"{path} is a text with spans, and this run reads the sections {', '.join(task.sections)}: give them"
        )
    if form is None or "header" in task.input_columns:
        return task.sections_of(text, str(path))
    return _by_headings(text, path, form, task)


def _by_headings(text: str, path: Path, form: str, task: Any) -> dict[str, str]:
    from posenc_jax.data.documents import document_parts

    given: dict[str, str] = {}
    for part in document_parts(text, form, str(path)):
        if part.section and part.coordinates[2]:
            given[part.section] = f"{given.get(part.section, '')}\n{part.text}".strip()
    if len(task.sections) == 1 and task.sections[0] not in given:
        return task.sections_of(text, str(path))
    if not given.keys() & set(task.sections):
        found = ", ".join(given) or "no headings"
        raise UsageError(f"{path} has the sections {found}, and this run reads {', '.join(task.sections)}")
    return {name: section for name, section in given.items() if name in task.sections}


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
