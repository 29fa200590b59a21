"""Configs: frozen dataclasses that say everything about a run or an ablation, and how they are stored.

`stored` < `own_names` < `settings` < `run` < `combinations` < `reading` < `source`: imports go one way.
"""

from posenc_jax.config.combinations import sweep
from posenc_jax.config.reading import UnknownTypeError, from_json
from posenc_jax.config.run import CELL, Ablation, Published, Run, automatic_names, without_effect
from posenc_jax.config.settings import Evaluation, Execution, Optimizer, Training
from posenc_jax.config.source import source_of
from posenc_jax.config.stored import config_hash, difference, identity, is_own, to_json, type_name, values_in

__all__ = [
    "CELL",
    "Ablation",
    "Evaluation",
    "Execution",
    "Optimizer",
    "Published",
    "Run",
    "Training",
    "UnknownTypeError",
    "automatic_names",
    "config_hash",
    "difference",
    "from_json",
    "identity",
    "is_own",
    "source_of",
    "sweep",
    "to_json",
    "type_name",
    "values_in",
    "without_effect",
]
