"""A laboratory for positional encodings in Transformers.

Names are imported when they are first used, so that ``import posenc_jax`` costs nothing and needs no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from posenc_jax import encodings, report
    from posenc_jax.analysis import check_contract
    from posenc_jax.config import Ablation, Evaluation, Execution, Optimizer, Published, Run, Training
    from posenc_jax.data import tasks, text
    from posenc_jax.encodings import attend, parse, spec
    from posenc_jax.models.config import Transformer
    from posenc_jax.runs.ablation import ablate
    from posenc_jax.runs.cell import run
    from posenc_jax.runs.evaluation import evaluate

# Where each public name is found; None for a module. Modules have nouns for names: none is hidden by a function.
_FROM: dict[str, tuple[str, str | None]] = {
    "Ablation": ("posenc_jax.config", "Ablation"),
    "Evaluation": ("posenc_jax.config", "Evaluation"),
    "Execution": ("posenc_jax.config", "Execution"),
    "Optimizer": ("posenc_jax.config", "Optimizer"),
    "Published": ("posenc_jax.config", "Published"),
    "Run": ("posenc_jax.config", "Run"),
    "Training": ("posenc_jax.config", "Training"),
    "Transformer": ("posenc_jax.models.config", "Transformer"),
    "ablate": ("posenc_jax.runs.ablation", "ablate"),
    "attend": ("posenc_jax.encodings", "attend"),
    "check_contract": ("posenc_jax.analysis", "check_contract"),
    "encodings": ("posenc_jax.encodings", None),
    "evaluate": ("posenc_jax.runs.evaluation", "evaluate"),
    "parse": ("posenc_jax.encodings", "parse"),
    "report": ("posenc_jax.report", None),
    "run": ("posenc_jax.runs.cell", "run"),
    "spec": ("posenc_jax.encodings", "spec"),
    "tasks": ("posenc_jax.data.tasks", None),
    "text": ("posenc_jax.data.text", None),
}

__all__ = [
    "Ablation",
    "Evaluation",
    "Execution",
    "Optimizer",
    "Published",
    "Run",
    "Training",
    "Transformer",
    "ablate",
    "attend",
    "check_contract",
    "encodings",
    "evaluate",
    "parse",
    "report",
    "run",
    "spec",
    "tasks",
    "text",
]


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'posenc_jax' has no attribute {name!r}; it has {', '.join(__all__)}", name=name)
    module, attribute = _FROM[name]
    imported = importlib.import_module(module)
    value = imported if attribute is None else getattr(imported, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
