"""Decoded outputs of test examples: computed in chunks, scored, and written."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from posenc_jax.config import Run
from posenc_jax.data.text.base import TextData, TextTask, test_ids
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.shapes import Json
from posenc_jax.runs.programs import Programs
from posenc_jax.runs.timing import Meter
from posenc_jax.training.generation import CHUNK
from posenc_jax.training.operations import of_chunk


def decoded_texts(
    config: Run, data: TextData, count: int, replicas: Any, length: int, programs: Programs, meter: Meter
) -> list[list[Json]]:
    """The decoded test examples of one length for each of ``count`` replicas: the example's text and ``output``."""
    ids = test_ids(data.arrays["test_lengths"], np.int32(length), np.arange(config.evaluation.decoded_examples))
    there = [int(i) for i in np.asarray(ids) if i >= 0]
    written: list[list[Json]] = [[] for _ in range(count)]
    for start in range(0, len(there), CHUNK):
        tokens = programs.decode(length, start, replicas)
        meter.add(of_chunk(config, length) * count)
        for i, lines in enumerate(written):
            for row, number in enumerate(there[start : start + CHUNK]):
                output = data.tokenizer.target.decode(tokens[i, row].tolist())
                lines.append({**data.test_rows[number], "output": output})
    return written


def text_scores(config: Run, written: list[Json]) -> dict[str, Any]:
    """The scores of decoded outputs, and their number."""
    task = config.task
    assert isinstance(task, TextTask)
    scores = task.text_scores([line["output"] for line in written], written) if written else {}
    return {**scores, "decoded": len(written)}


def write_texts(path: Path, rows: list[Json]) -> None:
    """Writes rows as lines of JSON in UTF-8, without escaped letters."""
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
