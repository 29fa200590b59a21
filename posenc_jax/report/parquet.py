"""The rows of ``results.jsonl`` as a Parquet file, for tools that read columns."""

from __future__ import annotations

import io
from typing import Any

from posenc_jax.data.score_kinds import KINDS
from posenc_jax.extras import needed
from posenc_jax.results.record import COUNTS


def parquet_bytes(rows: list[dict[str, Any]]) -> bytes:
    """All well-formed rows in order; known columns keep their type when empty, so that several ablations join."""
    with needed("report", "results.parquet"):
        import pyarrow
        import pyarrow.parquet
    known = {
        **dict.fromkeys(
            ("task_label", "label", "posenc", "config_hash", "range", "mode", "device_kind"), pyarrow.string()
        ),
        **dict.fromkeys(("seed", "length", *COUNTS, "diverged_at", "group_size", "threads"), pyarrow.int64()),
        **dict.fromkeys(("learning_rate", *KINDS, "validation"), pyarrow.float64()),
        **dict.fromkeys(("in_range", "bit_exact"), pyarrow.bool_()),
    }
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pyarrow.array([row.get(name) for row in rows], known.get(name)) for name in names}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()
