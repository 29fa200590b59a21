"""Reads the encodings of the layers from the config of a published model, and notes what is odd in it."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.encodings.absolute.learned import Learned
from posenc_jax.encodings.absolute.sinusoidal import Sinusoidal
from posenc_jax.encodings.additive.alibi import ALiBi
from posenc_jax.encodings.additive.t5 import T5Bias
from posenc_jax.encodings.additive.temperature import QueryTemperature
from posenc_jax.encodings.images_and_media.axial_rope import AxialRoPE
from posenc_jax.encodings.images_and_media.mrope import MRoPE
from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.positions.interpolated import Interpolated
from posenc_jax.encodings.relative.deberta import DeBERTa
from posenc_jax.encodings.relative.inkling import Inkling
from posenc_jax.encodings.rotary.mla_rope import MLARoPE
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import DynamicNTK
from posenc_jax.huggingface import layers
from posenc_jax.huggingface.config import integer, natural, needed, number, short, whole
from posenc_jax.huggingface.dialects import DIALECTS, REFUSED, Dialect
from posenc_jax.huggingface.parameters import RotaryReader, width_of
from posenc_jax.huggingface.rotation import dims_of
from posenc_jax.refusals import did_you_mean

_ROWS = (": pad_token_id + 1, and so many positions fewer", ", which has so many rows more")
_DEBERTA = {
    "relative_attention": True,
    "position_biased_input": False,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "pos_att_type": ["c2p", "p2c"],
}
_FARTHEST = 2**20
# Names of settings that say something of positions or of kinds of layers, and of others that only look so.
_OF_POSITIONS = re.compile(
    "rope|rotary|posit|theta|window|nope|alibi|ntk|mscale|swa|sliding|chunk_size|layer_types|block_type|relative|"
    "attention_(types|layers|interval)|attn_(layer|type|idx|temp)|_attn_(idxs|every|layers|config)|layer_group_size|"
    "^attn_config|head_dim|kv_channels|per_layer_config|pattern|compress_r|local_attention|global_attn|interleave|logn"
)
_OF_OTHERS = re.compile(
    "^(rotary$|offset_alibi|sliding_window_size|v_|qk_nope_|linear_(?!attn)|mamba|ssm|conv|mtp|mlp|moe|index|vision|audio|mm_)|moe_|router|expert|activation|"
    "biased_input|position_tokens"
)


@dataclasses.dataclass(frozen=True)
class Layer:
    """The positions of one layer.

    Attributes:
      kind: its type of attention, a word of ``layer_types``.
      encodings: as in a slot; () where nothing tells positions.
      head_dim: the width for which they are.
      window: the keys that a query sees, itself among them; in layers of "chunked_attention" the size of a chunk. None:
        all.
    """

    kind: str
    encodings: tuple[PositionalEncoding, ...]
    head_dim: int
    window: int | None = None

    @property
    def rotation(self) -> RoPE | MRoPE | MLARoPE | AxialRoPE | None:
        """The element that rotates, if any."""
        return next((e for e in self.encodings if isinstance(e, RoPE | MRoPE | MLARoPE | AxialRoPE)), None)

    @property
    def attention_factor(self) -> float:
        """The factor of cosine and sine."""
        scaling = getattr(self.rotation, "scaling", None)
        return 1.0 if scaling is None else scaling.magnitude

    @property
    def switches_above(self) -> int | None:
        """The length above which the frequencies are others; None where they are the same for all."""
        scaling = getattr(self.rotation, "scaling", None)
        return scaling.original_length if isinstance(scaling, DynamicNTK) else getattr(scaling, "switches_above", None)

    def inverse_frequencies(self, length: int | None = None) -> np.ndarray:
        """``[F]`` float64, radians per position of each plane, in a sequence of ``length`` (None: a short one); empty
        without a rotation.
        """
        if self.rotation is None:
            return np.zeros(0)
        divisor = next((e.factor for e in self.encodings if isinstance(e, Interpolated)), 1.0)
        return self.rotation.frequencies_for(dims_of(self.head_dim), length) / divisor


@dataclasses.dataclass(frozen=True)
class Declared:
    """The positions that a config declares, layer by layer.

    Attributes:
      model_type: as there.
      max_length: ``max_position_embeddings``, or None.
      layers: one by one.
      odd: what is ignored, missing, or read in another way than it looks; a sentence each.
      unread: the settings of positions that are not read, a sentence each; ``odd`` has them too.
      assumed: the type as which it is read where its own is not known; "": its own.
    """

    model_type: str
    max_length: int | None
    layers: tuple[Layer, ...]
    odd: tuple[str, ...]
    unread: tuple[str, ...] = ()
    assumed: str = ""

    @property
    def slot(self) -> Slot:
        """The encodings as a model's slot: those of all layers, or the shortest pattern that repeats over them."""
        groups = _period([layer.encodings for layer in self.layers])
        return groups[0] if len(groups) == 1 else groups

    @property
    def windows(self) -> tuple[int, ...]:
        """The windows of the layers, as `Transformer.windows` has them; () where no layer has one."""
        found = _period([layer.window or 0 for layer in self.layers])
        return () if found == (0,) else found


def _period(of_layers: list[Any]) -> tuple[Any, ...]:
    length = next(
        n for n in range(1, len(of_layers) + 1) if all(x == of_layers[i % n] for i, x in enumerate(of_layers))
    )
    return tuple(of_layers[:length])


def from_hf(config: Mapping[str, Any], assume: str | None = None) -> Declared:
    """The positions that a config of Hugging Face's layout declares, layer by layer, as transformers 5.24 reads it.

    Both spellings are read, ``rope_parameters`` and the older ``rope_theta`` and ``rope_scaling``; a ``text_config``
    inside is taken in place of the whole. Defaults of ``model_type`` are those of `dialects.DIALECTS`.

    Args:
      config: the values of a ``config.json``.
      assume: the type as which a config is read whose own is not known, such as "llama".

    >>> found = from_hf({
    ...     "model_type": "llama", "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
    ...     "rope_theta": 1e5, "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    ... })
    >>> from posenc_jax.encodings import spec
    >>> spec(found.slot)
    "rope(base=100000.0, layout='half', scaling=linear(factor=2.0))"

    Raises:
      DataError: a type is not known, a value is not what it must be, is missing, or declares what no encoding here is.
    """
    inner = config.get("text_config") or config.get("llm_config")
    if isinstance(inner, Mapping):
        return from_hf({"model_type": config.get("model_type"), **inner}, assume)
    odd = dict[str, None]()
    given, kind = ReadConfig(config), _known(config, odd, assume)
    given.asked |= {"model_type", "auto_map"}
    own = DIALECTS[kind]
    if own.only_if is not None and given.get(own.only_if[0], own.only_if[1]) != own.only_if[1]:
        name, value = own.only_if
        raise DataError(f"{name} = {short(given[name])} of {kind}, and {value} is read: name another config")
    _with_length(given, kind, own, odd)
    kinds = layers.layer_kinds(given, own)
    if config.get("auto_map"):
        odd["auto_map names code beside the file: it is not run, and may do otherwise than is said here"] = None
    other = _other(given, kind, own, odd)
    if own.positions == "inkling":
        found = tuple(_inkling(given, own, kind) for kind in kinds)
    elif other is not None:
        found = tuple(Layer(kind, other, 0, layers.window_of(given, kind, own)) for kind in kinds)
    else:
        found = _rotary(given, kind, own, kinds, odd)
    if own.odd:
        odd[own.odd] = None
    if own.windows == "none" and not own.layers and given.get("sliding_window"):
        odd[f"sliding_window is not read by the class of {kind}: all keys are seen"] = None
    if not own.typed and given.get("layer_types") is not None:
        odd[f"layer_types is not read by the class of {kind}"] = None
    length = whole(given, "max_position_embeddings")
    unread = tuple(f"{name} = {short(value)} is not read" for name, value in given.left())
    assumed = kind if assume else ""
    return Declared(str(config.get("model_type")), length, found, (*odd, *unread), unread, assumed)


def _known(config: Mapping[str, Any], odd: dict[str, None], assume: str | None) -> str:
    """The type as which a config is read; `DataError` for one that is not known."""
    known = DIALECTS
    if assume is not None and assume not in known:
        raise DataError(
            f"assume = {short(assume)} is no type that is known: {did_you_mean(assume, known, 'use llama')}"
        )
    kind = config.get("model_type")
    if assume is not None:
        odd[f"model_type = {short(kind)} is read as {assume}, which it may not be"] = None
        return assume
    if isinstance(kind, str) and kind in REFUSED:
        raise DataError(
            f"model_type = {short(kind)} tells positions by {REFUSED[kind]}, which is not read: name another config"
        )
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(str(kind), known)
        raise DataError(
            f"model_type = {short(kind)} is not known{hint and f' ({hint})'}, and what it reads is not guessed: to "
            "read it as Llama all the same, from_hf(..., assume='llama'), or posenc rope ... --as llama"
        )
    return kind


_SWITCH = re.compile(r"^(rope|rotary|use_rope|use_rotary\w*)$")


class ReadConfig(Mapping[str, Any]):
    """A config that remembers which of its settings were asked for.

    Attributes:
      given: the settings.
      asked: the names.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given, self.asked = dict(given), set[str]()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self.given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def left(self) -> list[tuple[str, Any]]:
        """The settings of positions that were not asked for, and say more than none, false or zero, or turn rotation
        off.
        """
        unasked = [(name, value) for name, value in self.given.items() if name not in self.asked]
        return [(name, value) for name, value in unasked if _says_something(name, value)]


def _says_something(name: str, value: Any) -> bool:
    if value is False:
        return bool(_SWITCH.search(name))
    if not value or value == "absolute":  # BERT's word, which many others have beside what they do
        return False
    return bool(_OF_POSITIONS.search(name)) and not _OF_OTHERS.search(name)


def _with_length(config: ReadConfig, kind: str, own: Dialect, odd: dict[str, None]) -> None:
    """Adds the length that a class has where its config says none."""
    if own.length_key in config:
        config.given["max_position_embeddings"] = config[own.length_key]
    if own.length is not None and whole(config, "max_position_embeddings") is None:
        odd[f"max_position_embeddings is missing: {own.length}, the default of {kind}, is taken"] = None
        config.given["max_position_embeddings"] = own.length


def _rotary(
    config: Mapping[str, Any], model_type: str, own: Dialect, kinds: list[str], odd: dict[str, None]
) -> tuple[Layer, ...]:
    rotates, known = layers.rotating(config, kinds, own), dict[tuple[Any, ...], Layer]()
    if own.no_rope_every and config.get("no_rope_layers"):
        odd["no_rope_layers says 1 for layers that do rotate, and 0 for those that do not"] = None
    bases = config.get(own.bases) or [None] * len(kinds)
    numbers = isinstance(bases, list) and all(base is None or isinstance(base, int | float) for base in bases)
    if not numbers or len(bases) != len(kinds):
        raise DataError(f"{own.bases} must be a list of {len(kinds)} numbers, 0 for no rotation: mend the config")
    places = [(kind, turns and base != 0, base) for kind, turns, base in zip(kinds, rotates, bases)]
    for kind, turning, base in places:
        if (kind, turning, base) not in known:
            width = width_of(config, kind, own)
            reader = RotaryReader(config, model_type, own, kind, width, base, odd)
            encodings = reader.encodings() if turning else _unturned(config, own)
            layer = Layer(kind, encodings, width, layers.window_of(config, kind, own))
            try:
                for element in encodings:
                    element.check(dims_of(width))
            except ValueError as error:
                raise DataError(f"layers of {kind}: {error}") from None
            known[kind, turning, base] = layer
    return tuple(known[place] for place in places)


def _unturned(config: Mapping[str, Any], own: Dialect) -> tuple[PositionalEncoding, ...]:
    if not own.tempered or config.get("attn_temperature_tuning", True) in (False, 0):
        return ()
    scale, floor = number(config, "attn_scale"), whole(config, "floor_scale")
    return (QueryTemperature(0.1 if scale is None else scale, 8192 if floor is None else floor),)


def _other(
    config: Mapping[str, Any], kind: str, own: Dialect, odd: dict[str, None]
) -> tuple[PositionalEncoding, ...] | None:
    """The encodings that are no rotation; None for a type that rotates."""
    attention = config.get("attn_config") if own.positions == "alibi" else None
    inner: Mapping[str, Any] = attention if isinstance(attention, Mapping) else {}
    if (own.alibi and config.get("alibi")) or (own.positions == "alibi" and inner.get("alibi") is not False):
        most = inner.get("alibi_bias_max")
        if most not in (None, 8):
            raise DataError(f"alibi_bias_max = {short(most)}, and the slopes are read for 8: name another config")
        return (ALiBi(),)
    if own.positions in ("none", "alibi"):
        return ()
    if own.positions == "t5":
        buckets = whole(config, "relative_attention_num_buckets") or 32
        distance = whole(config, "relative_attention_max_distance") or 128
        return (T5Bias(buckets, distance, scaled=False, per_layer=kind == "umt5"),)
    if own.positions == "deberta":
        return (_deberta(config),)
    if own.positions == "sinusoidal":
        if config.get("static_position_embeddings", True) is not True:
            raise DataError("static_position_embeddings must be true: name another config")
        return (Sinusoidal(layout="half"),)
    if own.positions == "tensor2tensor":
        return (Sinusoidal(frequencies="tensor2tensor", layout="half", offset=own.offset),)
    if own.positions == "learned":
        told = config.get("position_embedding_type")
        if told not in (None, "absolute"):
            raise DataError(f"position_embedding_type = {short(told)}, and 'absolute' is read: name another config")
        count, padding = whole(config, "max_position_embeddings"), natural(config, "pad_token_id", 1)
        offset = padding + 1 if own.after_padding else own.offset
        if offset:
            odd[f"the first position reads row {offset} of the table" + _ROWS[not own.after_padding]] = None
        if count is not None and not own.after_padding:
            count += offset
        return (Learned(count, offset=offset),)
    return None


def _inkling(config: Mapping[str, Any], own: Dialect, kind: str) -> Layer:
    """Relative logits as far as the window; in layers that see all, ``rel_extent`` far, and growing above a floor."""
    if kind not in ("hybrid", "hybrid_sliding"):
        raise DataError(f"layer_types has {short(kind)}, and 'hybrid' and 'hybrid_sliding' are read: mend the config")
    window = layers.window_of(config, kind, own)
    floor, scale = whole(config, "log_scaling_n_floor") or own.floor, number(config, "log_scaling_alpha")
    found = Inkling(
        width=whole(config, "d_rel") or 16,
        extent=window or whole(config, "rel_extent") or 1024,
        clip=own.clip and (number(config, "rel_l2_clip_threshold") or own.clip),
        floor=None if window else floor,
        scale=0.1 if scale is None else scale,
    )
    return Layer(kind, (found,), 0, window)


def _deberta(config: Mapping[str, Any]) -> DeBERTa:
    given = config.get("pos_att_type")
    types = given.lower().split("|") if isinstance(given, str) else given if isinstance(given, list) else []
    values = {**config, "pos_att_type": sorted(str(word).strip() for word in types)}
    for name, wanted in _DEBERTA.items():
        if values.get(name) != wanted:
            raise DataError(f"{name} = {short(config.get(name))}, and {wanted!r} is read: name another config")
    length = needed(config, "max_position_embeddings", "the largest distance")
    farthest = integer(config.get("max_relative_positions", -1))
    if isinstance(farthest, bool) or not isinstance(farthest, int):
        raise DataError(f"max_relative_positions = {short(farthest)} must be a whole number: mend the config")
    distance = farthest if farthest > 0 else length
    if distance > _FARTHEST:
        raise DataError(f"distances up to {distance} are more than the {_FARTHEST} that are read: mend the config")
    buckets = needed(config, "position_buckets", "the number of buckets")
    try:
        return DeBERTa("v2", distance, buckets)
    except ValueError as error:
        raise DataError(f"{error}: name another config") from None
