"""What types of models read of positions, and their defaults: the table ``types.toml`` beside this file.

A config leaves out what its class has by default, and a class passes over settings that another reads. The columns are
the fields of `Dialect`; a type that is another ``as`` changes some of that one's.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from posenc_jax.encodings.shared.rotation import Layout


@dataclasses.dataclass(frozen=True)
class Dialect:
    """What a type of model reads, and its defaults.

    Attributes:
      positions: "rotary", "learned", "sinusoidal", "tensor2tensor" for its sinusoids, "alibi", "t5", "deberta",
        "inkling" or "none".
      length, length_key: ``max_position_embeddings`` by default, and its name; original: the default of
        ``original_max_position_embeddings`` beside the rotary parameters.
      only_if: a setting and what it is, by default too, or the config is refused.
      clip, floor: Inkling's, which says them as ``rel_l2_clip_threshold`` and ``log_scaling_n_floor``.
      offset: the rows of a table before position 0; after_padding: these are ``pad_token_id`` + 1.
      alibi: a config may turn to ALiBi.
      base: of RoPE; local_base: of its sliding layers, where these have another one; base_key, local_key: their names
        in configs without ``rope_parameters``; bases: the name of a list with one for each layer, 0 for no rotation.
      rope: ``rope_parameters`` where a config has none; kinds: likewise by the kind of layer.
      by_kind: parameters are read "only" by kinds of layers; or "full" in older configs without kinds, too, whose
        ``rope_scaling`` is for the kinds that are ``scaled``, () for all.
      scaling_read: it reads ``rope_scaling``.
      scalings: the types of rotary parameters that it can have; () for all.
      plain: it reads no rotary parameters.
      alpha: "dynamic" with ``alpha`` is a larger base.
      part: the fraction of head_dim that is rotated; part_key: its name beside the rotary parameters, "": none there.
      part_read: it is read without a scaling, too; part_dim: the number of rotated dimensions, by default, of a type
        that reads it; rotary_dim: whether that is read.
      head_dim: where a config has none; head_key: its name, "" for one that is always found by the number of heads;
        head_times: what such a width is multiplied by; full_head_dim: of layers with full attention, where that
        differs.
      latent: the width of a part of each head that alone is rotated, ``qk_rope_head_dim``, by default; logits are
        multiplied by the square of YaRN's second magnitude, as in DeepSeek.
      pairs: which dimensions make a plane; pairs_key: the name of a setting that is false for "half".
      depth_key: the name of the number of layers, before all others.
      layers: the kinds of layers by default, a letter of `KINDS` each, repeated; first and last: of those at the ends.
      every_key, offset_key: names of the length of that pattern, and of the place in it of the layer that differs.
      layers_key: the name of what says the kinds: a word for each layer, repeated (`words` has their letters); or the
        numbers of some layers (`listed` has the letters of the others and of these); list_key: another name of it.
      typed: whether it reads ``layer_types``.
      window, window_key: the default width of the window, and its name; both_sides: it counts both sides, and
        half_window: it is twice what causal layers see.
      windows: without a pattern, "all" layers have the window of the config, or, if ``use_sliding_window`` is true,
        those from ``max_window_layers`` on ("flag"; "from" without a flag; ``begin`` is its default), every second
        before it ("flag_alternate"), all ("flag_all") or those that do not rotate ("flag_no_rope"); "none": the class
        has none.
      rotates: "all" layers with attention, the "local" ones, or these "local_if_windowed"; rotates_if: a setting and
        what it must be for any to rotate.
      no_rope_every: each so-many-th layer does not rotate; chunk: the size of the chunks of attention.
      tempered: layers that do not rotate multiply queries by a factor of their positions, as Llama 4; scaled_queries:
        those that rotate do, where the rotary parameters have ``llama_4_scaling_beta``, as Ministral 3.
      odd: what the class does that no config says.
    """

    positions: str = "rotary"
    length: int | None = None
    length_key: str = "max_position_embeddings"
    original: int | None = None
    only_if: tuple[str, Any] | None = None
    clip: float | None = None
    floor: int | None = None
    offset: int = 0
    after_padding: bool = False
    alibi: bool = False
    base: float = 10000.0
    local_base: float | None = None
    base_key: str = "rope_theta"
    local_key: str = "rope_local_base_freq"
    bases: str = ""
    rope: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    by_kind: str = ""
    scaled: tuple[str, ...] = ()
    scaling_read: bool = True
    scalings: tuple[str, ...] = ()
    plain: bool = False
    alpha: bool = False
    part: float = 1.0
    part_key: str = "partial_rotary_factor"
    part_read: bool = False
    part_dim: int | None = None
    rotary_dim: bool = False
    head_dim: int | None = None
    head_key: str = "head_dim"
    head_times: int = 1
    full_head_dim: int | None = None
    latent: int | None = None
    pairs: Layout = "half"
    pairs_key: str = ""
    depth_key: str = ""
    layers: str = ""
    first: str = ""
    last: str = ""
    every_key: str = ""
    offset_key: str = ""
    layers_key: str = ""
    list_key: str = ""
    words: Mapping[str, str] = dataclasses.field(default_factory=dict)
    listed: str = ""
    listed_by_default: tuple[int, ...] = ()
    typed: bool = False
    window: int | None = None
    window_key: str = "sliding_window"
    both_sides: bool = False
    half_window: bool = False
    windows: str = "none"
    begin: int = 28
    rotates: str = "all"
    rotates_if: tuple[str, Any] | None = None
    no_rope_every: int = 0
    chunk: int | None = None
    tempered: bool = False
    scaled_queries: bool = False
    odd: str = ""


KINDS = {
    "S": "sliding_attention",
    "F": "full_attention",
    "I": "indexed_attention",
    "H": "hybrid",
    "Y": "hybrid_sliding",
    "X": "cross_attention",
    "L": "linear_attention",
    "C": "conv",
    "E": "moe",
    "M": "mlp",
}
STILL = ("cross_attention", "linear_attention", "conv", "moe", "mlp", "mamba", "recurrent")
"""Kinds of layers without positions of their own."""


def _read() -> tuple[dict[str, Dialect], dict[str, str]]:
    table = tomllib.loads(resources.files("posenc_jax.huggingface").joinpath("types.toml").read_text(encoding="utf-8"))
    found: dict[str, Dialect] = {}

    def row(kind: str) -> Dialect:
        if kind not in found:
            own: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in table["types"][kind].items()}
            like = row(own.pop("as")) if "as" in own else Dialect()
            found[kind] = dataclasses.replace(like, **own)
        return found[kind]

    return {kind: row(kind) for kind in table["types"]}, table["refused"]


DIALECTS, REFUSED = _read()
"""The types that are read; and those whose positions are no encoding here, with what they are."""
