"""A document in a file that is given to a run: its text, or its sections."""

from pathlib import Path

from posenc_jax.data.documents import SUFFIXES, document_parts
from posenc_jax.data.errors import DataError
from posenc_jax.data.tasks import Task
from posenc_jax.data.text.classification import Classification
from posenc_jax.files.shapes import loads


def document_of(task: Task, path: Path, text: str) -> str | dict[str, str]:
    """The text of a file for a run of the task, or its sections: those that it names, or as rows of the corpus have.

    Raises:
      DataError: the file has another structure, by its name, or other sections than the run reads.
    """
    if not isinstance(task, Classification):
        return text
    form = SUFFIXES.get(path.suffix.lower())
    if task.has_outline:
        if form not in (None, task.structure):
            raise DataError(
                f"{path} is {form} by its name, and this run reads {task.structure} (task.structure): give a document "
                f"in {task.structure}; if it is one, call it .txt"
            )
        return text
    if form == "spans":
        return _of_json(text, path)
    if form is None or "header" in task.input_columns:
        return task.sections_of(text, str(path))
    given: dict[str, str] = {}
    for part in document_parts(text, form, str(path)):
        if part.section and part.coordinates[2]:
            given[part.section] = f"{given.get(part.section, '')}\n{part.text}".strip()
    if len(task.sections) == 1 and task.sections[0] not in given:
        return task.sections_of(text, str(path))
    if not given.keys() & set(task.sections):
        found = ", ".join(given) or "no headings"
        raise DataError(f"{path} has the sections {found}, and this run reads {', '.join(task.sections)}")
    return {name: section for name, section in given.items() if name in task.sections}


def _of_json(text: str, path: Path) -> dict[str, str]:
    try:
        document = loads(text)
    except ValueError as error:
        raise DataError(f"{path} is no document: {error}") from None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise DataError(f'{path} must hold an object of strings: {{"header": ..., "body": ..., "footer": ...}}')
    return document
