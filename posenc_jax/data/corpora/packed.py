"""Sizes of packed content that Parquet files and Arrow streams state, read without unpacking.

Sources: Parquet's ``parquet.thrift`` and Thrift's compact protocol; Arrow's ``Message.fbs`` and FlatBuffers' internals.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

_STOP, _BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 0, (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
_UNPACKED, _PACKED = 2, 3  # of a PageHeader: its sizes


def page_sizes(path: Path, metadata: Any, columns: Iterable[str]) -> list[int]:
    """Bytes that each page of some columns of a Parquet file unpacks to, dictionaries among them, by their headers."""
    found: list[int] = []
    wanted = set(columns)
    with path.open("rb") as file:
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema.partition(".")[0] in wanted or column.path_in_schema in wanted:
                    found += _pages(file, column)
    return found


def _pages(file: BinaryIO, column: Any) -> list[int]:
    start, end = column.data_page_offset, 0
    if column.dictionary_page_offset:
        start = min(start, column.dictionary_page_offset)
    end = start + column.total_compressed_size
    found = []
    while start < end:
        file.seek(start)
        try:
            header = _struct(file)
            found.append(max(0, header[_UNPACKED]))
            start = file.tell() + max(0, header[_PACKED])
        except (IndexError, KeyError, RecursionError):  # the file ends, or this is no header: whoever reads it says so
            break
    return found


def _struct(file: BinaryIO) -> dict[int, int]:
    """The whole numbers of a struct of Thrift's compact protocol by the numbers of their fields."""
    found: dict[int, int] = {}
    field = 0
    while (head := file.read(1)[0]) != _STOP:
        field = field + (head >> 4) if head >> 4 else _integer(file)
        value = _value(file, head & 15, in_struct=True)
        if value is not None:
            found[field] = value
    return found


def _value(file: BinaryIO, kind: int, *, in_struct: bool = False) -> int | None:
    """Reads a value: its number, if it is a whole one."""
    if kind in _INTEGERS:
        return _integer(file)
    if kind in _BOOLEANS or kind == _BYTE:
        file.seek(0 if in_struct and kind in _BOOLEANS else 1, 1)
    elif kind == _DOUBLE:
        file.seek(8, 1)
    elif kind == _BINARY:
        file.seek(_unsigned(file), 1)
    elif kind in _LISTS:
        head = file.read(1)[0]
        for _ in range(head >> 4 if head >> 4 < 15 else _unsigned(file)):
            _value(file, head & 15)
    elif kind == _STRUCT:
        _struct(file)
    else:  # a map, which no page header has, or nothing that there is
        raise KeyError(kind)
    return None


def _unsigned(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = file.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
        if shift > 63:
            raise KeyError("no number has so many bytes")


def _integer(file: BinaryIO) -> int:
    value = _unsigned(file)
    return value >> 1 ^ -(value & 1)


def is_packed(message: Any) -> bool:
    """True if the record batch or the dictionary in a message of an Arrow stream is compressed."""
    data = memoryview(message.metadata)
    batch = _table(data, struct.unpack_from("<I", data)[0], 2)  # Message.header
    if message.type == "dictionary":
        batch = batch and _table(data, batch, 1)  # DictionaryBatch.data
    elif message.type != "record batch":
        return False
    return bool(batch) and bool(_table(data, batch, 3))  # RecordBatch.compression


def _table(data: memoryview, table: int, field: int) -> int:
    """The offset of the table in a field of another table, or 0 if the field is absent."""
    types = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, types)[0]
    inner = struct.unpack_from("<H", data, types + 4 + 2 * field)[0] if 4 + 2 * field < size else 0
    return table + inner + struct.unpack_from("<I", data, table + inner)[0] if inner else 0
