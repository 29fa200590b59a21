"""Common parts of experiments' records: the kept part of an environment, and numbers rounded to their precision."""

from __future__ import annotations

from typing import Any

NAMED = ("jax", "jaxlib", "numpy", "python", "device_kind", "device_count", "threads", "cpu", "commit", "source")
"""Of an environment, what is kept beside results."""


def short(value: Any) -> Any:
    """JSON with numbers to five significant digits, names of objects as text, and None for NaN."""
    if isinstance(value, float):
        return None if value != value else float(f"{value:.5g}")
    if isinstance(value, dict):
        return {str(name): short(item) for name, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value
