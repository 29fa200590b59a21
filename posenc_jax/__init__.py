"""A laboratory for positional encodings in Transformers.

Names are imported when they are first used, so that ``import posenc_jax`` costs nothing and needs no JAX.

One word, one thing:

- encoding: a frozen dataclass with hooks, `encodings.PositionalEncoding`; its parameters are a pytree of the model's.
- slot: what a model holds where encodings stand: a tuple of them, or a tuple of such tuples that repeats over the
  layers.
- stack: the part of a model that a slot belongs to: encoder, decoder, or cross-attention.
- position: what an encoding reads of a token.
- place: the index of a token in a row or in a cache; causality follows from places.
- segment: one of the sequences packed into a row.
- token type: header, body or footer of a document.
- task: where examples come from.
- length: an example's size in its task's own measure.
- width: tokens of a padded row.
- run: a config (`Run`) with everything that it computes.
- replica: one training, of one seed at one learning rate.
- group: replicas that one program trains together.
- cell: one run of an ablation.
- table: the cells that are compared with each other, by default those of one task (`Run.table`).
- record: what an ablation writes for its report, ``ablation.json`` and ``results.jsonl``.
- report: the pages about it.
- within, beyond, mixed: a length whose examples are all, none, or only partly as long as those of training.
- own code: classes of the user's in a config, with their files and those of the user's that these import.
"""

from posenc_jax import lazy

TYPE_CHECKING = False
__version__ = "0.1.0"

if TYPE_CHECKING:  # the public names: modules have nouns for names, so that none is hidden by a function
    from posenc_jax import encodings as encodings
    from posenc_jax.analysis import check_contract as check_contract
    from posenc_jax.config import Ablation as Ablation
    from posenc_jax.config import Evaluation as Evaluation
    from posenc_jax.config import Execution as Execution
    from posenc_jax.config import Optimizer as Optimizer
    from posenc_jax.config import Published as Published
    from posenc_jax.config import Run as Run
    from posenc_jax.config import Training as Training
    from posenc_jax.config import sweep as sweep
    from posenc_jax.data import tasks as tasks
    from posenc_jax.data import text as text
    from posenc_jax.data.metric import Metric as Metric
    from posenc_jax.data.tasks import Task as Task
    from posenc_jax.encodings import PositionalEncoding as PositionalEncoding
    from posenc_jax.encodings import attend as attend
    from posenc_jax.encodings import parse as parse
    from posenc_jax.encodings import spec as spec
    from posenc_jax.models.config import Transformer as Transformer
    from posenc_jax.results import AblationResult as AblationResult
    from posenc_jax.results import report as report
    from posenc_jax.runs.ablation import ablate as ablate
    from posenc_jax.runs.cell import run as run
    from posenc_jax.runs.evaluation import evaluate as evaluate
    from posenc_jax.runs.reporter import Reporter as Reporter


def __getattr__(name: str) -> object:
    return lazy.find(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *lazy.names_of(__name__)})
