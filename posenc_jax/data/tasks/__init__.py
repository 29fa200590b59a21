"""The generated tasks. The first lines below are the registry, one per task, in the order of tables."""

# isort: off
from posenc_jax.data.tasks.chomsky import EvenPairs as EvenPairs
from posenc_jax.data.tasks.chomsky import ModularArithmetic as ModularArithmetic
from posenc_jax.data.tasks.chomsky import ParityCheck as ParityCheck
from posenc_jax.data.tasks.chomsky import CycleNavigation as CycleNavigation
from posenc_jax.data.tasks.chomsky import ReverseString as ReverseString
from posenc_jax.data.tasks.chomsky import DuplicateString as DuplicateString
from posenc_jax.data.tasks.chomsky import MissingDuplicateString as MissingDuplicateString
from posenc_jax.data.tasks.chomsky import OddsFirst as OddsFirst
from posenc_jax.data.tasks.chomsky import BucketSort as BucketSort
from posenc_jax.data.tasks.chomsky_stack import StackManipulation as StackManipulation
from posenc_jax.data.tasks.chomsky_stack import ModularArithmeticBrackets as ModularArithmeticBrackets
from posenc_jax.data.tasks.chomsky_stack import SolveEquation as SolveEquation
from posenc_jax.data.tasks.chomsky_binary import BinaryAddition as BinaryAddition
from posenc_jax.data.tasks.chomsky_binary import BinaryMultiplication as BinaryMultiplication
from posenc_jax.data.tasks.chomsky_binary import SquareRoot as SquareRoot
from posenc_jax.data.tasks.copying import Copying as Copying
from posenc_jax.data.tasks.scan import Scan as Scan
from posenc_jax.data.tasks.word_order import WordOrder as WordOrder
from posenc_jax.data.tasks.agreement import Agreement as Agreement
from posenc_jax.data.tasks.position_probes import TokenAt as TokenAt
from posenc_jax.data.tasks.position_probes import PositionOf as PositionOf
from posenc_jax.data.tasks.position_probes import TokenBack as TokenBack
from posenc_jax.data.tasks.position_probes import PositionOrToken as PositionOrToken
from posenc_jax.data.tasks.earlier import Earlier as Earlier
from posenc_jax.data.tasks.flip_flop import FlipFlop as FlipFlop
from posenc_jax.data.tasks.indirect_indexing import IndirectIndexing as IndirectIndexing
from posenc_jax.data.tasks.counting import Counting as Counting
from posenc_jax.data.tasks.recall import AssociativeRecall as AssociativeRecall
from posenc_jax.data.tasks.recall import RepeatedRecall as RepeatedRecall
from posenc_jax.data.tasks.word_problem import WordProblem as WordProblem
from posenc_jax.data.tasks.addition import Addition as Addition
from posenc_jax.data.tasks.needles import Needles as Needles
from posenc_jax.data.tasks.needles import Passkey as Passkey
from posenc_jax.data.tasks.needles import PhoneBook as PhoneBook
from posenc_jax.data.tasks.arrow_grid import ArrowGrid as ArrowGrid
from posenc_jax.data.tasks.nearest_point import NearestPoint as NearestPoint

# isort: on
from posenc_jax.data.example import Example as Example
from posenc_jax.data.tasks.base import Split as Split
from posenc_jax.data.tasks.base import Task as Task
from posenc_jax.model_kind import ModelKind as ModelKind

# The tasks by the word used in strings and tables.
TASKS: dict[str, type[Task]] = {
    value.name: value
    for value in tuple(globals().values())
    if isinstance(value, type) and issubclass(value, Task) and hasattr(value, "name")
}
