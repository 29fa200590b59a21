"""The chosen way to compute attention, and a check that the compiled program has its kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from posenc_jax.attention import paths

# path -> what a compiled program calls that goes this way, on any platform.
KERNELS = {"cudnn": ("__cudnn$fmha",), "kernel": ("tpu_custom_call", "__gpu$xla.gpu.triton", "mosaic_gpu_v2")}


@contextlib.contextmanager
def chosen_paths() -> Iterator[list[str]]:
    """The names of all ways of attention that are chosen inside, in order."""
    found: list[str] = []
    real = paths.choose

    def spy(*arguments: Any, **named: Any) -> Any:
        choice = real(*arguments, **named)
        found.append(choice.path)
        return choice

    with mock.patch.object(paths, "choose", spy):
        yield found


def problem_of(row: dict[str, Any]) -> str:
    """The fault of a compiled program in words, or ""."""
    for path in row["paths"]:
        kernels = KERNELS.get(path)
        if kernels and not any(call.startswith(kernel) for call in row["custom_calls"] for kernel in kernels):
            return f"attention by {path!r} should call {' or '.join(kernels)}, and it calls none of them"
    return ""
