"""The shapes of ``ablation.json`` and of a row of ``results.jsonl``, as far as they are relied on."""

from __future__ import annotations

from posenc_jax.shapes import Shape

_OR_NOTHING = type(None)

CODE: Shape = {
    **dict.fromkeys(("version?", "commit?", "source?"), str),
    "dirty?": bool,
    "own?": {str: str},
    "seeds?": [int],
}
CELL: Shape = {
    **dict.fromkeys(("task_label", "label", "config_hash"), str),
    **dict.fromkeys(("posenc?", "directory?", "note?"), str),
    **dict.fromkeys(("num_parameters?", "num_posenc_parameters?"), int),
    **dict.fromkeys(("bit_exact?", "changed_code?"), bool),
    "seeds?": [int],
    "learning_rates?": [float],
    "lengths?": [int],
    "citations?": [str],
    "code?": [CODE],
    "by_position?": [
        {"seed": int, "learning_rate": float, "length": int, "perplexity": [[(float, _OR_NOTHING)]]},
    ],
}
PUBLISHED: Shape = {
    **dict.fromkeys(("task_label", "label"), str),
    **dict.fromkeys(("direction?", "metric?", "lengths?", "source?"), str),
    "value?": float,
}
_ENVIRONMENT: Shape = {str: (str, float, bool, _OR_NOTHING, dict, list)}
ABLATION: Shape = {
    "name": str,
    **dict.fromkeys(("title?", "description?", "size_note?", "baseline?"), str),
    "cells": [CELL],
    "seeds?": [int],
    "learning_rates?": [float],
    "published?": [PUBLISHED],
    "metric": {str: str},
    **{name: {str: (str, _OR_NOTHING)} for name in ("validation_metric?", "length_unit?", "task_notes?")},
    "own_metrics?": {str: [str]},
    "writes_text?": {str: bool},
    "length_names?": {str: {str: str}},
    "signatures?": {str: {str: str}},
    "train_lengths?": {str: [int]},
    "chance?": {str: (float, _OR_NOTHING)},
    "environment?": _ENVIRONMENT,
    "environments?": {str: {"began": _ENVIRONMENT, "resumed?": [_ENVIRONMENT], "start?": [_ENVIRONMENT]}},
}
ROW: Shape = {"diverged_at?": int, "config_hash?": str, "environment?": str}
