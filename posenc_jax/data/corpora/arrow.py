"""Rows of Parquet files, and of folders that Hugging Face datasets saved (``save_to_disk``), as pyarrow reads them."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import MOST_BYTES, DataError, refuse_outside
from posenc_jax.data.corpora.reading import Malformed, ReadRecord, check_fields, chosen
from posenc_jax.extras import needed
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.shapes import Shape, loads, problem
from posenc_jax.refusals import first_line

# How many times its size a Parquet file may say that it unpacks to, where that is more than `MOST_BYTES`.
MOST_TIMES = 20
_ROWS = 1024  # of a batch


def parquet(path: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> Iterator[ReadRecord]:
    """A Parquet file; DataError for one that is damaged, lacks a field or unpacks to too much by its own metadata."""
    with needed("report", "a Parquet file"):
        import pyarrow.parquet

    with _refused(path):
        file = pyarrow.parquet.ParquetFile(path)
        check_fields(path, file.schema_arrow.names, fields)
        declared = sum(file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups))
        size = path.stat().st_size
        if declared > (most := max(MOST_BYTES, MOST_TIMES * size)):
            raise DataError(
                f"{path} of {size:,} bytes unpacks to {declared:,}, and {most:,} is the bound: save its texts as JSON "
                "lines"
            )
        yield from _rows(path, file.iter_batches(_ROWS, columns=list(fields)), fields, {}, names)


def saved(folder: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, Iterator[ReadRecord]]:
    """A folder that Hugging Face datasets saved (``save_to_disk``): rows by split, "" where it has none."""
    with needed("report", "a folder of Hugging Face datasets"):
        import pyarrow.ipc

    def rows(home: Path) -> Iterator[ReadRecord]:
        state = _json(home / "state.json", folder, {"_data_files": [{"filename": str}]})
        labels = _labels(home / "dataset_info.json", folder)
        for path in (home / one["filename"] for one in state["_data_files"]):
            with _refused(path):
                refuse_outside(path, folder)
                if not path.is_file():
                    raise OSError("it is no file")
                with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as batches:
                    check_fields(path, batches.schema.names, fields)
                    yield from _rows(path, batches, fields, labels, names)

    splits = {"": folder}
    if (folder / "dataset_dict.json").is_file():
        listed = _json(folder / "dataset_dict.json", folder, {"splits": [str]})["splits"]
        splits = {name: folder / name for name in listed}
    elif not (folder / "state.json").is_file():
        raise DataError(f"{folder} has no state.json: name the folder that Dataset.save_to_disk wrote")
    return {name: rows(home) for name, home in splits.items()}


@contextlib.contextmanager
def _refused(path: Path) -> Iterator[None]:
    """DataError in place of what pyarrow says of a damaged file."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({first_line(error)}): save it again") from None


def _rows(
    path: Path, batches: Iterable[Any], fields: tuple[str, ...], labels: dict[str, list[str]], names: Iterable[str]
) -> Iterator[ReadRecord]:
    number = 0
    for batch in batches:
        columns = [_values(batch.column(name)) for name in fields]
        for values in zip(*columns, strict=True):
            number += 1
            yield f"{path}:{number}", _labelled(dict(zip(fields, values, strict=True)), fields, labels, names)


def _values(column: Any) -> list[Any]:
    """The values of a column; `Malformed` for a text that is not UTF-8, ValueError where the column is damaged."""
    try:
        column.validate(full=True)
    except ValueError as error:
        if "UTF8" not in str(error):
            raise
        return list(map(_value, column))
    return column.to_pylist()


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError as error:
        return Malformed(f"not UTF-8 at byte {error.start + 1}")


def _labelled(
    row: dict[str, Any], fields: Iterable[str], labels: dict[str, list[str]], names: Iterable[str]
) -> dict[str, str] | Malformed:
    for name, classes in labels.items():
        if name in fields and isinstance(row.get(name), int):
            if not 0 <= row[name] < len(classes):
                return Malformed(f"field {name!r} is unlabelled ({row[name]})")
            row[name] = classes[row[name]]
    return chosen(row, fields, names)


def _labels(path: Path, folder: Path) -> dict[str, list[str]]:
    features = (_json(path, folder, {"features?": {str: object}}) if path.is_file() else {}).get("features") or {}
    return {name: feature["names"] for name, feature in features.items() if not problem(feature, {"names": [str]})}


def _json(path: Path, folder: Path, shape: Shape) -> dict[str, Any]:
    """The object in a JSON file below ``folder``, of this shape."""
    refuse_outside(path, folder)
    try:
        found = loads(read_regular(path, MOST_BYTES))
        if wrong := problem(found, shape):
            raise ValueError(wrong)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({first_line(error)}): save the data set again") from None
    return dict(found)
