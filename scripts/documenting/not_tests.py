"""Tables that are no test at our size, as ``not_a_test.toml`` and ``reduced.py`` of their folders say; the READMEs say
why.
"""

from pathlib import Path

from experiments.tables.folders import folders, read_folder
from posenc_jax.drawing.markdown import code
from posenc_jax.verdict.tables import tables

TABLES = Path(__file__).resolve().parents[2] / "experiments" / "tables"
NOT_TESTS = {name: own for name in folders(TABLES) if (own := read_folder(TABLES / name).untested) is not None}
"""By folder."""
MARK = "(not a test at this size)"
_VERDICTS = {name: own.not_a_test for name, own in tables().items() if own.not_a_test}


def of_verdicts(table: str) -> str:
    """The name of a table of verdicts, marked if it is no test."""
    return f"{code(table)} (not a test {_VERDICTS[table]})" if table in _VERDICTS else code(table)


def is_column(column: str) -> bool:
    """Whether a column of the matrix of words is no test: a table of verdicts, or a folder with or without a table."""
    folder, _, table = column.removesuffix(" (published)").partition(": ")
    own = NOT_TESTS.get(folder)
    return column in _VERDICTS or (own is not None and own.table in ("", table))


def of_folder(folder: str, table: str) -> str:
    """The name of a folder's table, marked if it is no test."""
    own = NOT_TESTS.get(folder)
    if own is None or (own.table and own.table != table):
        return code(table)
    return f"{code(table)} {MARK.replace('test', f'test{own.of}') if own.arms else MARK}"
