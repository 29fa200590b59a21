"""The generated tasks. This list is the registry."""

from posenc_jax.data.tasks.addition import Addition
from posenc_jax.data.tasks.arrow_grid import ArrowGrid
from posenc_jax.data.tasks.base import Example, Split, Task
from posenc_jax.data.tasks.chomsky import (
    BucketSort,
    CycleNavigation,
    DuplicateString,
    EvenPairs,
    MissingDuplicateString,
    ModularArithmetic,
    OddsFirst,
    ParityCheck,
    ReverseString,
)
from posenc_jax.data.tasks.chomsky_binary import BinaryAddition, BinaryMultiplication, SquareRoot
from posenc_jax.data.tasks.chomsky_stack import ModularArithmeticBrackets, SolveEquation, StackManipulation
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.data.tasks.counting import Counting
from posenc_jax.data.tasks.flip_flop import FlipFlop
from posenc_jax.data.tasks.indirect_indexing import IndirectIndexing
from posenc_jax.data.tasks.needles import Needles, Passkey, PhoneBook
from posenc_jax.data.tasks.position_or_token import PositionOrToken
from posenc_jax.data.tasks.position_probes import PositionOf, TokenAt, TokenBack
from posenc_jax.data.tasks.recall import AssociativeRecall, RepeatedRecall
from posenc_jax.data.tasks.scan import Scan
from posenc_jax.data.tasks.word_problem import WordProblem
from posenc_jax.model_kind import ModelKind

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        EvenPairs,
        ModularArithmetic,
        ParityCheck,
        CycleNavigation,
        ReverseString,
        DuplicateString,
        MissingDuplicateString,
        OddsFirst,
        BucketSort,
        StackManipulation,
        ModularArithmeticBrackets,
        SolveEquation,
        BinaryAddition,
        BinaryMultiplication,
        SquareRoot,
        Copying,
        Scan,
        TokenAt,
        PositionOf,
        TokenBack,
        PositionOrToken,
        FlipFlop,
        IndirectIndexing,
        Counting,
        AssociativeRecall,
        RepeatedRecall,
        WordProblem,
        Addition,
        Needles,
        Passkey,
        PhoneBook,
        ArrowGrid,
    )
}

__all__ = [
    "TASKS",
    "Addition",
    "ArrowGrid",
    "AssociativeRecall",
    "BinaryAddition",
    "BinaryMultiplication",
    "BucketSort",
    "Copying",
    "Counting",
    "CycleNavigation",
    "DuplicateString",
    "EvenPairs",
    "Example",
    "FlipFlop",
    "IndirectIndexing",
    "MissingDuplicateString",
    "ModelKind",
    "ModularArithmetic",
    "ModularArithmeticBrackets",
    "Needles",
    "OddsFirst",
    "ParityCheck",
    "Passkey",
    "PhoneBook",
    "PositionOf",
    "PositionOrToken",
    "RepeatedRecall",
    "ReverseString",
    "Scan",
    "SolveEquation",
    "Split",
    "SquareRoot",
    "StackManipulation",
    "Task",
    "TokenAt",
    "TokenBack",
    "WordProblem",
]
