"""A laboratory for positional encodings in Transformers.

Names are imported when they are first used, so that ``import posenc_jax`` costs nothing and needs no JAX.

One word, one thing:

encoding: a frozen dataclass with hooks, `encodings.PositionalEncoding`; its parameters are a pytree of the model's.
slot: what a model holds where encodings stand: a tuple of them, or a tuple of such tuples that repeats over the layers.
  stack: the part of a model that a slot belongs to: encoder, decoder, or cross-attention.
position: what an encoding reads of a token. place: the index of a token in a row or in a cache; causality follows
  from places. segment: one of the sequences packed into a row. token type: header, body or footer of a document.
task: where examples come from. length: an example's size in its task's own measure. width: tokens of a padded row.
run: a config (`Run`) with everything that it computes. replica: one training, of one seed at one learning rate.
  group: replicas that one program trains together. cell: one run of an ablation. table: the cells that are compared
  with each other, by default those of one task (`Run.table`).
record: what an ablation writes for its report, ``ablation.json`` and ``results.jsonl``. report: the pages about it.
within, beyond, mixed: a length whose examples are all, none, or only partly as long as those of training.
own code: classes of the user's in a config, with their files and those of the user's that these import.
"""

# Nothing is imported here that Python has not: `python -m posenc_jax` comes by with the current folder on the path.
import importlib

TYPE_CHECKING = False
__version__ = "0.1.0"

if TYPE_CHECKING:
    from posenc_jax import encodings, report
    from posenc_jax.analysis import check_contract
    from posenc_jax.config import Ablation, Evaluation, Execution, Optimizer, Published, Run, Training
    from posenc_jax.data import tasks, text
    from posenc_jax.encodings import attend, parse, spec
    from posenc_jax.models.config import Transformer
    from posenc_jax.results import AblationResult
    from posenc_jax.runs.ablation import ablate
    from posenc_jax.runs.cell import run
    from posenc_jax.runs.evaluation import evaluate

# Where each public name is found; None for a module. Modules have nouns for names: none is hidden by a function.
_FROM: dict[str, tuple[str, str | None]] = {
    "Ablation": ("posenc_jax.config", "Ablation"),
    "AblationResult": ("posenc_jax.results", "AblationResult"),
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
    "AblationResult",
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


def __getattr__(name: str) -> object:
    if name not in _FROM:
        raise AttributeError(f"module 'posenc_jax' has no attribute {name!r}; it has {', '.join(__all__)}", name=name)
    module, attribute = _FROM[name]
    imported = importlib.import_module(module)
    value = imported if attribute is None else getattr(imported, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
