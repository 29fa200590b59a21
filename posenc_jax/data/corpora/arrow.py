"""Rows of Parquet files, and of folders that Hugging Face datasets saved (``save_to_disk``), unpacked within a bound.

Some bytes of either can stand for gigabytes: packed pages, values of a dictionary that many rows have, rows of nothing.
So what a file unpacks to is counted before any of it is kept, in batches that are small by what the pages say of their
own sizes, which a reader allocates: they cannot lie. Columns of lists and the like, of which one row may have any size,
are refused by their type.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import MOST_BYTES, DataError
from posenc_jax.data.corpora.packed import is_packed, page_sizes
from posenc_jax.data.corpora.reading import Malformed, ReadRecord, check_fields, chosen, decoded
from posenc_jax.extras import needed
from posenc_jax.refusals.system import first_line

MOST_TIMES = 20
"""How many times its size a file may unpack to, where that is more than `MOST_BYTES`."""
_AT_ONCE = 2**26  # bytes that a batch may unpack to
_ROWS = 1024  # of a batch
_ROW = 64  # bytes that a row counts as beyond its texts


def parquet(path: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> Iterator[ReadRecord]:
    """A Parquet file; DataError for one that is none, lacks a field or unpacks to too much."""
    with needed("report", "a Parquet file"):
        import pyarrow
        import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        _check_columns(path, file.schema_arrow, fields)
        sizes = page_sizes(path, file.metadata, fields)
        if sum(sizes) + _ROW * file.metadata.num_rows > _most(path):
            raise _too_much(path)
        rows = max(1, min(_ROWS, _AT_ONCE // max(sizes, default=1)))
        yield from _rows(path, lambda: file.iter_batches(rows, columns=list(fields)), fields, names=names)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is no Parquet file that can be read: {first_line(error)}") from None


def saved(folder: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, Iterator[ReadRecord]]:
    """A folder that Hugging Face datasets saved (``save_to_disk``): rows by split, "" where it has none."""
    with needed("report", "a folder of Hugging Face datasets"):
        import pyarrow.ipc

    splits = {"": folder}
    if (folder / "dataset_dict.json").is_file():
        splits = {name: folder / name for name in _names(folder / "dataset_dict.json", "splits")}

    def batches(path: Path) -> Iterator[Any]:
        with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as reader:
            for batch in reader:
                batch.validate()
                for start in range(0, batch.num_rows, _ROWS):
                    yield batch.slice(start, _ROWS)

    def rows(home: Path) -> Iterator[ReadRecord]:
        labels = _labels(home)
        for path in (home / name for name in _names(home / "state.json", "_data_files")):
            try:
                with pyarrow.memory_map(str(path)) as file:
                    if any(map(is_packed, pyarrow.ipc.MessageReader.open_stream(file))):
                        raise DataError(
                            f"{path} is compressed, which save_to_disk does not do: save the data set again"
                        )
                with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as reader:
                    _check_columns(path, reader.schema, fields)
                yield from _rows(path, functools.partial(batches, path), fields, labels, names)
            except (pyarrow.ArrowException, OSError) as error:
                raise DataError(f"{path} cannot be read: {first_line(error)}") from None

    if not (next(iter(splits.values()), folder) / "state.json").is_file():
        raise DataError(f"{folder} has no state.json: name the folder that Dataset.save_to_disk wrote")
    return {name: rows(home) for name, home in splits.items()}


def _check_columns(path: Path, schema: Any, fields: Iterable[str]) -> None:
    import pyarrow.types as types

    check_fields(path, schema.names, fields)
    for name in fields:
        kind = schema.field(name).type
        inner = kind.value_type if types.is_dictionary(kind) else kind
        texts = types.is_string(inner) or types.is_large_string(inner)
        if not (texts or types.is_primitive(inner) or types.is_null(inner)):
            raise DataError(f"{path}: field {name!r} is of type {str(kind)[:100]}, not a text: name another field")


def _rows(
    path: Path,
    batches: Callable[[], Iterable[Any]],
    fields: tuple[str, ...],
    labels: dict[str, list[str]] | None = None,
    names: Iterable[str] = (),
) -> Iterator[ReadRecord]:
    """The rows of record batches, which are read twice: nothing is kept of a file that unpacks to too much."""
    left = _most(path)
    for batch in batches():
        left -= sum(_size(path, batch.column(name)) for name in fields) + _ROW * batch.num_rows
        if left < 0:
            raise _too_much(path)
    number = 0
    for batch in batches():
        columns = [_values(batch.column(name)) for name in fields]
        for values in zip(*columns, strict=True):
            number += 1
            yield f"{path}:{number}", _labelled(dict(zip(fields, values, strict=True)), fields, labels or {}, names)


def _size(path: Path, column: Any) -> int:
    """Bytes of the texts of a column; DataError where its offsets are out of order."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        return _size(path, column.dictionary.take(column.indices))
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return 0
    sizes = compute.binary_length(column)
    if (compute.min(sizes).as_py() or 0) < 0:
        raise DataError(f"{path} is damaged (a text ends before it begins): save it again")
    return compute.sum(sizes).as_py() or 0


def _values(column: Any) -> list[Any]:
    import pyarrow

    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        plain = column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
        large = pyarrow.types.is_large_string(plain.type)
        found = plain.cast(pyarrow.large_binary() if large else pyarrow.binary()).to_pylist()
        return [None if value is None else decoded(value) for value in found]


def _most(path: Path) -> int:
    return max(MOST_BYTES, MOST_TIMES * path.stat().st_size)


def _too_much(path: Path) -> DataError:
    return DataError(
        f"{path} of {path.stat().st_size:,} bytes unpacks to more than {_most(path):,}, which is the bound (or "
        f"{MOST_TIMES} times a file's size): save its texts as JSON lines"
    )


def _labelled(
    row: dict[str, Any], fields: Iterable[str], labels: dict[str, list[str]], names: Iterable[str]
) -> dict[str, str] | Malformed:
    for name, classes in labels.items():
        if name in fields and isinstance(row.get(name), int):
            if not 0 <= row[name] < len(classes):
                return Malformed(f"field {name!r} is unlabelled ({row[name]})")
            row[name] = classes[row[name]]
    return chosen(row, fields, names)


def _names(path: Path, field: str) -> list[str]:
    """Names of files or folders beside a file that lists them; DataError for what leads elsewhere."""
    listed = _json(path).get(field)
    names: list[Any] = []
    if isinstance(listed, list):
        names = [one.get("filename") if isinstance(one, dict) else one for one in listed]
    if not names or not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise DataError(f"{path} names no files beside it ({field} = {listed!r}): save the data set again")
    return names


def _labels(home: Path) -> dict[str, list[str]]:
    path = home / "dataset_info.json"
    features = _json(path).get("features") if path.is_file() else None
    return {
        name: [str(word) for word in feature["names"]]
        for name, feature in (features or {}).items()
        if isinstance(feature, dict) and isinstance(feature.get("names"), list)
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read ({error}): save the data set again") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} holds no JSON object: save the data set again")
    return found
