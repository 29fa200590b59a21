"""Changes of a run's positions at inference, by name: functions from a slot to a slot."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import NamedTuple

from posenc_jax.encodings import elements, spec
from posenc_jax.encodings.additive.temperature import LogScaling
from posenc_jax.encodings.interface.base import Dims, PositionalEncoding
from posenc_jax.encodings.interface.slots import Slot, is_pattern
from posenc_jax.encodings.rotary.rerope import ReRoPE
from posenc_jax.encodings.rotary.rope import RoPE, WithRoPE
from posenc_jax.encodings.rotary.rope_scaling import NTK, DynamicNTK, LongRoPE, PositionInterpolation, RoPEScaling
from posenc_jax.encodings.rotary.rope_selection import PRoPE
from posenc_jax.encodings.rotary.self_extend import SelfExtend
from posenc_jax.encodings.rotary.string import String
from posenc_jax.encodings.rotary.yarn import NTKByParts, YaRN

ChangeGroup = tuple[PositionalEncoding, ...]


class ChangeCase(NamedTuple):
    """Sizes that a change is made for.

    Attributes:
      trained: L, the length that the model was made for.
      factor: s, how many times longer it shall read.
      dims: sizes of the model.
    """

    trained: int
    factor: float
    dims: Dims


def _scaled(scaling: Callable[[RoPE, ChangeCase], RoPEScaling]) -> Callable[[RoPE, ChangeCase], ChangeGroup]:
    """A change to the scaled frequencies; for a factor of 1 RoPE stays as it is."""

    def change(rope: RoPE, case: ChangeCase) -> ChangeGroup:
        return (rope if case.factor == 1 else dataclasses.replace(rope, scaling=scaling(rope, case)),)

    return change


def _longrope(rope: RoPE, case: ChangeCase) -> RoPEScaling:
    turned = 2 * len(dataclasses.replace(rope, scaling=None).frequencies_for(case.dims))
    once, longer = (NTK(factor).frequencies(rope.base, turned) for factor in (1.0, case.factor))
    divisors = tuple(map(float, once / longer))
    return LongRoPE((1.0,) * len(divisors), divisors, factor=case.factor, original_length=case.trained)


def _self_extend(rope: RoPE, case: ChangeCase) -> ChangeGroup:
    window = max(1, case.trained // 4)
    group = math.ceil((case.factor * case.trained - window) / (case.trained - window))
    return (rope,) if group <= 1 else (SelfExtend(group_size=group, window=window, rope=rope),)


def _rerope(rope: RoPE, case: ChangeCase, factor: float | None = None) -> ChangeGroup:
    return (LogScaling(case.trained), ReRoPE(window=max(1, case.trained // 8), factor=factor, rope=rope))


def _string(rope: RoPE, case: ChangeCase) -> ChangeGroup:
    shift = int(0.33 * case.trained)
    return (String(training_length=case.trained, window=min(128, shift), rope=rope),)


CHANGES: dict[str, tuple[str, Callable[[RoPE, ChangeCase], ChangeGroup]]] = {
    "none": ("as it was trained", lambda rope, case: (rope,)),
    "linear": ("positions divided by s", _scaled(lambda rope, case: PositionInterpolation(case.factor))),
    "ntk": ("a larger base", _scaled(lambda rope, case: NTK(case.factor))),
    "dynamic_ntk": (
        "ntk whose s is the text's own length over L",
        lambda rope, case: (dataclasses.replace(rope, scaling=DynamicNTK(original_length=case.trained)),),
    ),
    "ntk_by_parts": (
        "low frequencies divided by s, high ones kept",
        _scaled(lambda rope, case: NTKByParts(factor=case.factor, original_length=case.trained)),
    ),
    "yarn": (
        "the same, and sharper attention",
        _scaled(lambda rope, case: YaRN(factor=case.factor, original_length=case.trained)),
    ),
    "longrope": ("beyond L a divisor for each frequency: those of ntk, where its search begins", _scaled(_longrope)),
    "self_extend": ("groups of positions beyond a window of L / 4, as small as reach s L", _self_extend),
    "rerope": ("distances that stop growing at L / 8, with log_scaling", _rerope),
    "leaky_rerope": (
        "distances that grow 16 times slower from L / 8 on, with log_scaling",
        lambda rope, case: _rerope(rope, case, 16.0),
    ),
    "string": ("distances from L / 3 on shorter by L / 3", _string),
    "log_scaling": (
        "queries multiplied by log n / log L beyond L",
        lambda rope, case: (LogScaling(case.trained), rope),
    ),
    "p_rope": (
        "the lowest quarter of the frequencies does not turn",
        lambda rope, case: (dataclasses.replace(rope, scaling=PRoPE()),),
    ),
    "nope": ("no positions", lambda rope, case: ()),
}
"""By name: what the change does, in words, and a function from a RoPE to the elements that replace it."""
FACTORS = frozenset({"linear", "ntk", "ntk_by_parts", "yarn", "longrope", "self_extend"})
"""The changes with a factor s. NAME takes s from the length that is read, over L; NAME(2) has s = 2 at every length."""
_NAMED = re.compile(r"(\w+)(?:\((\d+(?:\.\d+)?)\))?")


def named(word: str) -> tuple[str, float | None] | None:
    """The name in ``word`` and the factor, or None where it is no change of `CHANGES` but an encoding in full.

    Raises:
      ValueError: a factor that the change has no use for, or one below 1.
    """
    found = _NAMED.fullmatch(word.strip())
    if found is None or found[1] not in CHANGES:
        return None
    name, factor = found[1], None if found[2] is None else float(found[2])
    if factor is not None and name not in FACTORS:
        raise ValueError(f"{word}: {name} has no factor: write {name} alone, or an encoding with all of its arguments")
    if factor is not None and factor < 1:
        raise ValueError(f"{word}: a factor must be at least 1: how many times longer the model shall read")
    return name, factor


def changed(slot: Slot, word: str, length: int, trained: int, dims: Dims) -> Slot:
    """The slot of a run in which every RoPE is changed as ``word`` says, for texts of ``length``.

    A scaling that a RoPE has already is replaced by that of the change.

    Args:
      word: a name of `CHANGES`, as in ``yarn`` or ``yarn(2)``.
      trained: L.
      dims: sizes of the model.

    Raises:
      ValueError: another name, or a slot without RoPE, or with a further encoding made of one.

    >>> dims = Dims(d_model=576, num_heads=9, num_kv_heads=3, head_dim=64, num_layers=30, max_len=8192, vocab_size=9)
    >>> spec(changed((RoPE(base=1e5),), "yarn", 16384, 8192, dims))
    'rope(base=100000.0, scaling=yarn(factor=2.0, original_length=8192))'
    >>> spec(changed((RoPE(),), "yarn", 8192, 8192, dims))
    'rope'
    """
    found = named(word)
    if found is None:
        raise ValueError(f"{word} is no change: choose of {', '.join(CHANGES)}, or give an encoding in full")
    name, factor = found
    if name == "none":
        return slot
    if name == "nope":
        return ()
    rotations = [type(element) for element in elements(slot) if isinstance(element, RoPE | WithRoPE)]
    if not rotations or any(issubclass(kind, WithRoPE) for kind in rotations):
        what = f"{name} changes rope and no other rotation, and the run has {spec(slot)}"
        raise ValueError(f"{what}: give an encoding in full")
    case = ChangeCase(trained, max(1.0, length / trained) if factor is None else factor, dims)

    def of_group(group: ChangeGroup) -> ChangeGroup:
        return tuple(
            new
            for element in group
            for new in (CHANGES[name][1](element, case) if isinstance(element, RoPE) else (element,))
        )

    return tuple(map(of_group, slot)) if is_pattern(slot) else of_group(slot)  # type: ignore[arg-type]
