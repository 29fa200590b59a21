"""Reads the encodings of layers that rotate from the rotary parameters of a config, as a type of model reads them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.encodings.additive.temperature import QueryTemperature
from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.encodings.rotary.mla_rope import MLARoPE
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.shared.rotation import Layout
from posenc_jax.huggingface import layers
from posenc_jax.huggingface.config import number, short, whole
from posenc_jax.huggingface.dialects import Dialect
from posenc_jax.huggingface.rotation import ALWAYS, ORIGINAL, Rotation, kind_of, rotated_width

_WIDEST = 2**14
_BETA = "llama_4_scaling_beta"


def width_of(config: Mapping[str, Any], kind: str, own: Dialect) -> int:
    """The width of the heads of layers of a kind, or of the part of them that rotates; `DataError` for one whose
    frequencies would fill the memory.
    """
    if own.full_head_dim and kind == layers.FULL:
        found = _full_width(config) or own.full_head_dim
    else:
        found = rotated_width(config, own)
    if found > _WIDEST:
        raise DataError(f"heads of {found} dimensions are more than the {_WIDEST} that are read: mend the config")
    return found


def _full_width(config: Mapping[str, Any]) -> int | None:
    """``head_dim`` of the layers with full attention, which Gemma 4's newest configs say by layer."""
    by_layer = config.get("per_layer_config")
    if by_layer is None:
        return whole(config, "global_head_dim")
    parts = list(by_layer.values()) if isinstance(by_layer, Mapping) else []
    widths = {whole(part, "head_dim") for part in parts if isinstance(part, Mapping)}
    if len(widths) != 1:
        raise DataError(
            f"per_layer_config = {short(by_layer)} must say one head_dim for some layers: name another config"
        )
    return widths.pop()


@dataclasses.dataclass(frozen=True)
class RotaryReader:
    """Reads the encodings of layers of a kind that rotate.

    Attributes:
      base: of such a layer alone, if it has one.
      width: of its heads, or of the part of them that rotates.
    """

    config: Mapping[str, Any]
    model_type: str
    own: Dialect
    kind: str
    width: int
    base: float | None
    odd: dict[str, None]

    def encodings(self) -> tuple[PositionalEncoding, ...]:
        """Those of the rotary parameters; none where the layers have no parameters."""
        own, config = self.own, self.config
        given: Mapping[str, Any] | None = {} if own.plain else self._by_kind() if own.by_kind else self._flat()
        if given is None:
            return ()
        kind = kind_of(given, self.model_type, self.odd)
        if own.scalings and kind not in own.scalings:
            raise DataError(f"rope_type = {kind!r} of {self.model_type} is no encoding here: name another config")
        beta = number(given, _BETA, "the rotary parameters' ") if own.scaled_queries else None
        left = {_BETA} if own.scaled_queries else set()
        if "alpha" in given and not own.alpha:
            self.odd[f"alpha is not read by the class of {self.model_type}"] = None
            left.add("alpha")
        rotation = Rotation(
            {name: value for name, value in given.items() if name not in left},
            kind,
            self._base(given),
            self._part(given, kind),
            self.width,
            self._pairs(),
            whole(config, "max_position_embeddings"),
            self._original(kind),
            self.odd,
        )
        try:
            found = rotation.encodings()
            if own.latent:
                found = tuple(
                    MLARoPE(e.base, e.layout, self.width, e.scaling) if isinstance(e, RoPE) else e for e in found
                )
            return found if beta is None else (QueryTemperature(beta, rotation.original_length(), 0), *found)
        except ValueError as error:  # of an encoding, which names its field
            raise DataError(f"layers of {self.kind}: {error}") from None

    def _base(self, given: Mapping[str, Any]) -> float:
        own = self.own
        if own.plain:
            return own.base
        local = own.local_base is not None and self.kind == layers.LOCAL
        key = "" if own.by_kind == "only" else own.local_key if local else own.base_key
        self.config.get(own.local_key)  # there may be no such layers
        outer, inner = number(self.config, key), number(given, "rope_theta", "the rotary parameters' ")
        if self.base is not None:
            return number({own.bases: self.base}, own.bases) or own.base
        if outer is not None and inner is not None and outer != inner:
            self.odd[
                f"rope_theta = {inner:g} among the rotary parameters counts, not {key} = {outer:g} beside them"
            ] = None
        base = inner or outer or (own.local_base if local else None) or own.base
        if inner is None and outer is None:
            self.odd[f"{key or 'rope_theta'} is missing: {base:g}, the default of {self.model_type}, is taken"] = None
        return base

    def _pairs(self) -> Layout:
        own = self.own
        said = self.config.get(own.pairs_key) if own.pairs_key else None
        found: Layout = "half" if said is False else own.pairs
        if said is not None:
            self.odd[f"{own.pairs_key} = {said} says which dimensions make a plane: the layout {found!r}"] = None
        return found

    def _original(self, kind: str) -> int | None:
        """``original_max_position_embeddings`` beside the rotary parameters, or the class's own."""
        if self.own.by_kind:
            return None
        found = whole(self.config, ORIGINAL)
        if found is None and self.own.original is not None and kind != "default":
            self.odd[f"{ORIGINAL} is missing: {self.own.original}, the default of {self.model_type}, is taken"] = None
            return self.own.original
        return found

    def _sets(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """``rope_scaling`` and ``rope_parameters``; empty where they are missing."""
        names = ("rope_scaling", "rope_parameters") if self.own.scaling_read else ("rope_parameters",)
        found = {name: self.config.get(name) or {} for name in names}
        for name, value in found.items():
            if not isinstance(value, Mapping):
                raise DataError(
                    f"{name} must be an object, as in {{'rope_type': 'linear', 'factor': 2.0}}: mend the config"
                )
        return found.get("rope_scaling", {}), found["rope_parameters"]

    def _flat(self) -> Mapping[str, Any]:
        old, new = self._sets()
        if old and new:
            self.odd["both rope_scaling and rope_parameters are there: transformers takes rope_scaling"] = None
        if not old and not new and self.own.rope:
            kind = self.own.rope["rope_type"]
            self.odd[f"rope_parameters are missing: {kind}, the default of {self.model_type}, is taken"] = None
        chosen = old or new or self.own.rope
        if self.kind not in chosen and not _nested(chosen):
            return chosen
        told = f"rotary parameters by kinds of layers are not read by the class of {self.model_type}"
        if self.own.typed:
            raise DataError(f"{told}: give one set")
        self.odd[told] = None
        return {}

    def _by_kind(self) -> Mapping[str, Any] | None:
        """The parameters of the layers of a kind; None where they do not rotate."""
        old, new = self._sets()
        own, nested = self.own, self.kind in new or _nested(new)
        if new and not nested:
            if own.by_kind == "only":
                raise DataError(f"rope_parameters of {self.model_type} must have a set for each kind of layer: mend it")
            self.odd[f"rope_parameters are not read by the class of {self.model_type} unless by kinds of layers"] = None
        if own.by_kind == "only" and not new:
            self.odd[f"rope_parameters are missing: those of the class of {self.model_type} are taken"] = None
        sets: Mapping[str, Any] = new if nested else own.kinds
        inner = sets.get(self.kind, {})
        if inner is None and own.by_kind == "full":
            inner = {}
        if inner is not None and not isinstance(inner, Mapping):
            raise DataError(f"rope_parameters.{self.kind} must be an object or null: mend the config")
        if self.kind not in sets and (own.by_kind == "only" or nested):
            if own.by_kind == "only":
                raise DataError(f"rope_parameters has nothing for layers of {self.kind}: add it")
            self.odd[f"rope_parameters has nothing for layers of {self.kind}: plain RoPE is taken"] = None
        if inner is None or inner.get("rotates") is False:
            return None
        if "truncate" in inner:
            self.odd["truncate inside the parameters of a type of layer is not read by transformers"] = None
        if not old:
            return inner
        if own.scaled and self.kind not in own.scaled:
            self.odd[f"rope_scaling is for layers of {', '.join(own.scaled)}; those of {self.kind} do not have it"] = (
                None
            )
            return inner
        if "rope_type" not in old:  # the word that counts is that of the class's default
            self.odd[f"type in rope_scaling is not read by the class of {self.model_type}, and rope_type is"] = None
        return {**inner, "rope_type": inner.get("rope_type", "default"), **old}

    def _part(self, given: Mapping[str, Any], kind: str) -> float:
        """The fraction of the heads that rotates, as far as the class reads it."""
        own, config = self.own, self.config
        dims = whole(config, "rotary_dim") if own.rotary_dim else None
        if own.part_dim:
            return (dims or own.part_dim) / self.width
        beside = config.get(own.part_key) if own.part_key else None
        default = own.part if kind == "default" or own.by_kind != "only" else 1.0
        values = (given.get("partial_rotary_factor"), beside, dims and dims / self.width, default)
        found = next(value for value in values if value is not None)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1:
            raise DataError(f"partial_rotary_factor = {str(found)[:40]} must be above 0 and at most 1: mend the config")
        if own.part_read or found == 1 or kind == "proportional":
            return float(found)
        if kind == "default":
            self.odd[
                f"partial_rotary_factor = {found:g} is not read by the class of {self.model_type}: whole heads rotate"
            ] = None
            return 1.0
        raise DataError(
            f"partial_rotary_factor = {found:g} with rope_type {kind!r} gives fewer frequencies than the class of "
            f"{self.model_type} turns dimensions: take it out"
        )


def _nested(parameters: Mapping[str, Any]) -> bool:
    """True for parameters by the kinds of layers."""
    return any(isinstance(value, Mapping) for name, value in parameters.items() if name not in ALWAYS)
