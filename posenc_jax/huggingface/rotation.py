"""One set of rotary parameters, as a config has them, and the encoding that they are."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.encodings.images_and_media.axial_rope import AxialRoPE
from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.interface.base import Dims, PositionalEncoding
from posenc_jax.encodings.positions.interpolated import Interpolated
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import (
    NTK,
    DynamicNTK,
    Llama3,
    LongRoPE,
    PositionInterpolation,
    RoPEScaling,
)
from posenc_jax.encodings.rotary.rope_selection import PRoPE
from posenc_jax.encodings.rotary.yarn import YaRN
from posenc_jax.encodings.shared.rotation import Layout
from posenc_jax.huggingface.config import needed, number, whole
from posenc_jax.huggingface.dialects import Dialect
from posenc_jax.refusals import did_you_mean

ALWAYS = ("rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")
ORIGINAL = "original_max_position_embeddings"
# The keys that each type reads, beside those of `ALWAYS`.
READ: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", ORIGINAL, "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    "longrope": ("factor", ORIGINAL, "attention_factor", "short_factor", "long_factor"),
    "llama3": ("factor", ORIGINAL, "low_freq_factor", "high_freq_factor"),
    "proportional": ("factor",),
    "axial": (),
}
_OF_BATCH = (
    "in a batch, the longest row decides in transformers how all rows are rotated; here each row's own length does"
)
_ELSEWHERE = {
    "llama_4_scaling_beta": "is not of the rotation, and read where model_type is ministral3: a factor of queries"
}


@dataclasses.dataclass(frozen=True)
class Rotation:
    """One set of parameters, beside what else it needs of a config.

    Attributes:
      given: the parameters, ``rope_parameters`` of a layer.
      kind: their type.
      base, partial: as they count.
      head_dim: the width that is rotated or of which a part is.
      max_length: ``max_position_embeddings``, or None.
      original: the ``original_max_position_embeddings`` beside the parameters, which count more than one among them.
      odd: what is found odd is added here.
    """

    given: Mapping[str, Any]
    kind: str
    base: float
    partial: float
    head_dim: int
    layout: Layout
    max_length: int | None
    original: int | None
    odd: dict[str, None]

    def encodings(self) -> tuple[PositionalEncoding, ...]:
        """The encoding; `DataError` for parameters that are none."""
        self._unread()
        sections = self.given.get("mrope_section")
        if sections is not None and self.kind not in ("default", *_SCALINGS):
            raise DataError(
                f"mrope_section with rope_type {self.kind!r} is no encoding here: it is read with default, "
                f"{', '.join(_SCALINGS)}"
            )
        if self.kind == "axial":
            return (AxialRoPE(base=self.base, layout=self.layout),)
        if self.kind == "proportional":
            return self._proportional()
        dim = int(self.head_dim * self.partial)
        part = None if dim == self.head_dim else dim
        scaling = _SCALINGS[self.kind](self) if self.kind in _SCALINGS else None
        if sections is None:
            return (RoPE(self.base, self.layout, part, scaling),)
        axes = tuple(sections) if isinstance(sections, list) else sections
        alternate = self.given.get("mrope_interleaved")
        return (MRoPE(axes, "interleaved" if alternate else "blocks", self.base, self.layout, part, scaling),)

    def number(self, name: str) -> float | None:
        """A parameter."""
        return number(self.given, name, "the rotary parameters' ")

    def positive(self, name: str) -> float | None:
        """A parameter that counts as missing where it is 0."""
        return None if self.given.get(name) == 0 else self.number(name)

    def factor(self) -> float:
        """``factor``, which yarn and longrope may leave to the two lengths."""
        found = self.number("factor")
        if found is None and self.kind in ("yarn", "longrope") and self.max_length is not None:
            found = self.max_length / self.original_length()
            self.note(f"factor is missing: max_position_embeddings / {ORIGINAL} = {found:g} is taken")
        if found is None:
            raise DataError(f"rope_type {self.kind!r} needs a factor, and the config has none: add it")
        return found

    def original_length(self) -> int:
        """The length before the extension, or what transformers takes for it."""
        inner = whole(self.given, ORIGINAL)
        if self.original is not None and inner is not None and self.original != inner:
            self.note(f"{ORIGINAL} = {self.original} beside the rotary parameters counts, not {inner} among them")
        found = self.original or inner
        if found is None:
            if self.max_length is None:
                raise DataError(f"rope_type {self.kind!r} needs {ORIGINAL}, and the config has no length: add it")
            self.note(
                f"{ORIGINAL} is missing: max_position_embeddings = {self.max_length} is taken, which is right only if "
                "it was not raised"
            )
        return found or self.max_length or 0

    def note(self, text: str) -> None:
        """Adds to what is odd."""
        self.odd[text] = None

    def _unread(self) -> None:
        read = (*ALWAYS, *READ[self.kind], *(("alpha",) if self.kind == "dynamic" else ()))
        for name, value in self.given.items():
            if name not in read and value is not None:
                known = any(name in names for names in READ.values())
                why = (
                    f"is ignored by rope_type {self.kind!r}"
                    if known
                    else _ELSEWHERE.get(name, "is no key that is read")
                )
                self.note(f"{name} = {str(value)[:40]} {why}")

    def _proportional(self) -> tuple[PositionalEncoding, ...]:
        """The highest frequencies of the whole head; ``factor``, where there is one, divides positions."""
        if self.given.get("partial_rotary_factor") is None:
            self.note("partial_rotary_factor is missing: 1 is taken, which is plain RoPE")
        rope = RoPE(self.base, self.layout, scaling=PRoPE(self.partial))
        factor = self.number("factor") or 1.0
        return (rope,) if factor == 1 else (Interpolated(factor), rope)


def _linear(r: Rotation) -> RoPEScaling:
    return PositionInterpolation(r.factor())


def _dynamic(r: Rotation) -> RoPEScaling:
    alpha = r.number("alpha")
    if alpha is not None:
        r.note(f"alpha = {alpha:g} makes this a fixed larger base (HunYuan's), and factor is ignored")
        return NTK(alpha)
    if r.max_length is None:
        raise DataError("rope_type 'dynamic' needs max_position_embeddings, above which it changes: add it")
    if r.factor() == 1:
        r.note("factor = 1 does not mean unchanged: above max_position_embeddings the base still grows")
    r.note(
        "with a cache, transformers leaves keys rotated by the table of the length at which they came; here all keys "
        "have that of the whole sequence"
    )
    r.note(_OF_BATCH)
    return DynamicNTK(r.factor(), r.max_length)


def _yarn(r: Rotation) -> RoPEScaling:
    factor, original, truncate = r.factor(), r.original_length(), r.given.get("truncate")
    fast, slow = r.positive("beta_fast") or 32.0, r.positive("beta_slow") or 1.0
    attention = r.number("attention_factor")
    scales: dict[str, Any] = {name: r.positive(name) for name in ("mscale", "mscale_all_dim")}
    if len({value is None for value in scales.values()}) == 2:
        r.note("mscale and mscale_all_dim count together only: one of them is missing, so the other is ignored")
    if attention is not None or None in scales.values():
        scales = {}
    if r.max_length is not None and r.max_length / original not in (1, factor):
        r.note(
            f"factor = {factor:g} is not max_position_embeddings / {ORIGINAL} = {r.max_length / original:g}; factor "
            "counts"
        )
    return YaRN(factor, original, fast, slow, attention_factor=attention, truncate=truncate is not False, **scales)


def _longrope(r: Rotation) -> RoPEScaling:
    factors = [r.given.get(name) for name in ("short_factor", "long_factor")]
    for name, found in zip(("short_factor", "long_factor"), factors):
        if not isinstance(found, list):
            raise DataError(f"rope_type 'longrope' needs {name}, a list with a number for each plane: add it")
    short, long = (tuple(found) for found in factors if found is not None)
    r.note(
        "with a cache, transformers leaves keys that came before the switch rotated by the short factors; here all "
        "keys have those of the whole sequence"
    )
    r.note(_OF_BATCH)
    return LongRoPE(short, long, r.factor(), r.original_length(), r.number("attention_factor"))


def _llama3(r: Rotation) -> RoPEScaling:
    low, high = r.number("low_freq_factor"), r.number("high_freq_factor")
    if low is None or high is None:
        raise DataError("rope_type 'llama3' needs low_freq_factor and high_freq_factor, 1 and 4 in Llama 3: add them")
    return Llama3(r.factor(), low, high, r.original_length())


_SCALINGS: dict[str, Callable[[Rotation], RoPEScaling]] = {
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
}


def kind_of(given: Mapping[str, Any], model_type: Any, odd: dict[str, None]) -> str:
    """The type of rotary parameters, in the words of today; `DataError` for one that is not known."""
    new, old = given.get("rope_type"), given.get("type")
    if new is not None and old is not None and new != old and old not in ("mrope", "su"):
        odd[f"rope_type = {new!r} counts, not type = {old!r} beside it"] = None
    kind = new or old or "default"
    if kind == "mrope":  # Qwen2-VL's first files: the sections say it
        kind = "default"
    if kind == "su" or (kind == "yarn" and model_type in ("phi3", "phi4_multimodal")):  # Phi-3's first files
        kind = "longrope"
    if not isinstance(kind, str) or kind not in READ:
        hint = did_you_mean(str(kind), READ) or f"there are {', '.join(READ)}"
        raise DataError(f"rope_type = {str(kind)[:40]!r} is none that is read: {hint}")
    return kind


def dims_of(width: int) -> Dims:
    """The sizes of a model of one head, of which a rotation reads the width alone."""
    return Dims(width, 1, 1, width, 1, 1)


def rotated_width(config: Mapping[str, Any], own: Dialect) -> int:
    """head_dim, of which all or a part is rotated; for heads with a part of their own for it, that part."""
    if own.latent:
        return whole(config, "qk_rope_head_dim") or own.latent
    default = None if own.head_key in config else own.head_dim  # with a null, classes divide the width of the model
    given = (whole(config, own.head_key) if own.head_key else None) or default
    if given is not None:
        return given
    width = needed(config, "hidden_size", "by which head_dim is found where it is missing too")
    heads = needed(config, "num_attention_heads", "by which head_dim is found where it is missing too")
    return own.head_times * width // heads
