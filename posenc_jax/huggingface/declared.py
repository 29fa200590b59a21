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
from posenc_jax.encodings.rotary.mla_rope import MLARoPE
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import DynamicNTK
from posenc_jax.huggingface import layers
from posenc_jax.huggingface.config import integer, natural, needed, number, short, whole
from posenc_jax.huggingface.dialects import DIALECTS, MAX_LENGTHS, Dialect
from posenc_jax.huggingface.rotation import ALWAYS, ORIGINAL, Rotation, dims_of, kind_of, rotated_width
from posenc_jax.refusals import did_you_mean

_LEARNED = (
    "gpt2",
    "opt",
    "bert",
    "roberta",
    "xlm-roberta",
    "distilbert",
    "electra",
    "albert",
    "gpt_bigcode",
    "gpt_neo",
)
_ROWS = (": pad_token_id + 1, and so many positions fewer", ", which has so many rows more")
_DEBERTA = {
    "relative_attention": True,
    "position_biased_input": False,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "pos_att_type": ["c2p", "p2c"],
}
_WIDEST, _FARTHEST = 2**14, 2**20
_BETA = "llama_4_scaling_beta"
# Names of settings that say something of positions or of kinds of layers, and of others that only look so.
_OF_POSITIONS = re.compile(
    "rope|rotary|posit|theta|window|nope|alibi|ntk|mscale|swa|sliding|chunk_size|layer_types|block_type|relative|"
    "attention_(types|layers|interval)|attn_(layer|type|idx|temp)|_attn_(idxs|every|layers|config)|layer_group_size|"
    "head_dim|kv_channels|per_layer_config|pattern|compress_r|local_attention|global_attn|interleave|logn"
)
_OF_OTHERS = re.compile(
    "^(v_|qk_nope_|linear_(?!attn)|mamba|ssm|conv|mtp|mlp|moe|index|vision|audio|mm_)|moe_|router|expert|activation|"
    "biased_input|position_tokens"
)
_OTHERS = ("bloom", "mpt", "deberta-v2", "marian")
_T5 = ("t5", "mt5", "umt5", "longt5", "switch_transformers")


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
    given, odd = Asked(config), dict[str, None]()
    kind = _known(given, odd, assume)
    given = given.read_as(kind)
    own = DIALECTS.get(kind, Dialect())
    _with_length(given, odd)
    kinds = layers.layer_kinds(given, own)
    if given.get("auto_map"):
        odd["auto_map names code beside the file: it is not run, and may do otherwise than is said here"] = None
    other = _other(given, odd)
    if other is not None:
        found = tuple(Layer(kind, other, 0, layers.window_of(given, kind, own)) for kind in kinds)
    else:
        found = _rotary(given, own, kinds, odd)
    if own.odd:
        odd[own.odd] = None
    if own.windows == "none" and given.get("sliding_window"):
        odd[f"sliding_window is not read by the class of {kind}: all keys are seen"] = None
    if not own.typed and given.get("layer_types") is not None:
        odd[f"layer_types is not read by the class of {kind}"] = None
    length = whole(given, "max_position_embeddings")
    unread = tuple(f"{name} = {short(value)} is not read" for name, value in given.left())
    assumed = kind if assume else ""
    return Declared(str(config.get("model_type")), length, found, (*odd, *unread), unread, assumed)


def _known(config: Mapping[str, Any], odd: dict[str, None], assume: str | None) -> str:
    """The type as which a config is read; `DataError` for one that is not known."""
    known = (*DIALECTS, *_LEARNED, *_T5, *_OTHERS)
    if assume is not None and assume not in known:
        raise DataError(
            f"assume = {short(assume)} is no type that is known: {did_you_mean(assume, known, 'use llama')}"
        )
    kind = config.get("model_type")
    if assume is not None:
        odd[f"model_type = {short(kind)} is read as {assume}, which it may not be"] = None
        return assume
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(str(kind), known)
        raise DataError(
            f"model_type = {short(kind)} is not known{hint and f' ({hint})'}, and what it reads is not guessed: to read "
            "it as Llama all the same, from_hf(..., assume='llama'), or posenc rope ... --as llama"
        )
    return kind


class Asked(Mapping[str, Any]):
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

    def read_as(self, kind: str) -> "Asked":
        """The same of another type."""
        return Asked({**self.given, "model_type": kind})

    def left(self) -> list[tuple[str, Any]]:
        """The settings of positions that were not asked for, and say more than none, false or zero."""
        return [
            (name, value)
            for name, value in self.given.items()
            if value and name not in self.asked and _OF_POSITIONS.search(name) and not _OF_OTHERS.search(name)
        ]


def _with_length(config: Asked, odd: dict[str, None]) -> None:
    """Adds the length that a class has where its config says none."""
    default = MAX_LENGTHS.get(config["model_type"])
    if default is not None and whole(config, "max_position_embeddings") is None:
        odd[f"max_position_embeddings is missing: {default}, the default of {config['model_type']}, is taken"] = None
        config.given["max_position_embeddings"] = default


def _rotary(config: Mapping[str, Any], own: Dialect, kinds: list[str], odd: dict[str, None]) -> tuple[Layer, ...]:
    rotates, known = layers.rotating(config, kinds, own), dict[tuple[str, bool], Layer]()
    if config.get("no_rope_layers"):
        odd["no_rope_layers says 1 for layers that do rotate, and 0 for those that do not"] = None
    for kind, turning in zip(kinds, rotates):
        if (kind, turning) not in known:
            width = _width(config, kind, own)
            encodings = _encodings(config, own, kind, width, odd) if turning else _unturned(config, own)
            layer = Layer(kind, encodings, width, layers.window_of(config, kind, own))
            try:
                for element in encodings:
                    element.check(dims_of(width))
            except ValueError as error:
                raise DataError(f"layers of {kind}: {error}") from None
            known[kind, turning] = layer
    return tuple(known[pair] for pair in zip(kinds, rotates))


def _width(config: Mapping[str, Any], kind: str, own: Dialect) -> int:
    """head_dim of layers of a type; `DataError` for one whose frequencies would fill the memory."""
    if own.full_head_dim and kind == layers.FULL:
        found = whole(config, "global_head_dim") or own.full_head_dim
    else:
        found = rotated_width(config, own.head_dim)
    if found > _WIDEST:
        raise DataError(f"heads of {found} dimensions are more than the {_WIDEST} that are read: mend the config")
    return found


def _encodings(
    config: Mapping[str, Any], own: Dialect, kind: str, width: int, odd: dict[str, None]
) -> tuple[PositionalEncoding, ...]:
    given = _parameters(config, own, kind, odd)
    if given is None:
        return ()
    local = own.local_base is not None and kind == layers.LOCAL
    base_key = own.local_key if local else own.base_key
    outer, inner = number(config, base_key), number(given, "rope_theta", "the rotary parameters' ")
    if outer is not None and inner is not None and outer != inner:
        odd[f"rope_theta = {inner:g} among the rotary parameters counts, not {base_key} = {outer:g} beside them"] = None
    base = inner or outer or (own.local_base if local else None) or own.base
    if inner is None and outer is None:
        odd[f"{base_key} is missing: {base:g}, the default of {config.get('model_type')}, is taken"] = None
    beta = number(given, _BETA, "the rotary parameters' ") if own.scaled_queries else None
    rotation = Rotation(
        given if beta is None else {name: value for name, value in given.items() if name != _BETA},
        kind_of(given, config.get("model_type"), odd),
        base,
        _partial(config, given, own, width),
        width,
        own.layout,
        whole(config, "max_position_embeddings"),
        whole(config, ORIGINAL),
        odd,
    )
    try:
        found = rotation.encodings()
        if own.latent and whole(config, "qk_rope_head_dim"):
            found = tuple(MLARoPE(e.base, e.layout, width, e.scaling) if isinstance(e, RoPE) else e for e in found)
        return found if beta is None else (QueryTemperature(beta, rotation.original_length(), 0), *found)
    except ValueError as error:  # of an encoding, which names its field
        raise DataError(f"layers of {kind}: {error}") from None


def _unturned(config: Mapping[str, Any], own: Dialect) -> tuple[PositionalEncoding, ...]:
    if not own.tempered or config.get("attn_temperature_tuning", True) in (False, 0):
        return ()
    scale, floor = number(config, "attn_scale"), whole(config, "floor_scale")
    return (QueryTemperature(0.1 if scale is None else scale, 8192 if floor is None else floor),)


def _parameters(config: Mapping[str, Any], own: Dialect, kind: str, odd: dict[str, None]) -> Mapping[str, Any] | None:
    """The rotary parameters of layers of a type; None where they do not rotate."""
    sets = {name: config.get(name) for name in ("rope_scaling", "rope_parameters")}
    for name, found in sets.items():
        if found is not None and not isinstance(found, Mapping):
            raise DataError(
                f"{name} must be an object, as in {{'rope_type': 'linear', 'factor': 2.0}}: mend the config"
            )
    old, new = sets["rope_scaling"], sets["rope_parameters"]
    if old and new:
        odd["both rope_scaling and rope_parameters are there: transformers takes rope_scaling"] = None
    chosen: Mapping[str, Any] = old or new or {}
    if kind in chosen or any(isinstance(value, Mapping) for name, value in chosen.items() if name not in ALWAYS):
        inner = chosen.get(kind, {})
        if kind not in chosen:
            odd[f"rope_parameters has nothing for layers of {kind}: plain RoPE is taken"] = None
        if isinstance(inner, Mapping) and "truncate" in inner:
            odd["truncate inside the parameters of a type of layer is not read by transformers"] = None
        if inner is not None and not isinstance(inner, Mapping):
            raise DataError(f"rope_parameters.{kind} must be an object or null: mend the config")
        return inner
    if old and own.scaled and kind not in own.scaled:
        odd[f"rope_scaling is for layers of {', '.join(own.scaled)}; those of {kind} do not have it"] = None
        return {}
    if not old and new and own.local_base is not None and kind == layers.LOCAL:
        return {}
    return chosen


def _partial(config: Mapping[str, Any], given: Mapping[str, Any], own: Dialect, width: int) -> float:
    if whole(config, "qk_rope_head_dim"):
        return 1.0
    rotary_dim = whole(config, "rotary_dim")
    if rotary_dim is not None or config.get("model_type") in ("gptj", "codegen"):
        return (rotary_dim or 64) / width
    names = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
    values = (given.get(names[0]), *map(config.get, names), own.partial)
    found = next(value for value in values if value is not None)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1:
        raise DataError(f"partial_rotary_factor = {str(found)[:40]} must be above 0 and at most 1: mend the config")
    return float(found)


def _other(config: Mapping[str, Any], odd: dict[str, None]) -> tuple[PositionalEncoding, ...] | None:
    kind = config.get("model_type")
    attention = config.get("attn_config")
    alibi = attention.get("alibi") if isinstance(attention, Mapping) else config.get("alibi")
    if kind == "bloom" or (kind == "falcon" and alibi) or (kind == "mpt" and alibi is not False):
        most = attention.get("alibi_bias_max") if isinstance(attention, Mapping) else None
        if most not in (None, 8):
            raise DataError(f"alibi_bias_max = {short(most)}, and the slopes are read for 8: name another config")
        return (ALiBi(),)
    if kind in _T5:
        buckets = whole(config, "relative_attention_num_buckets") or 32
        distance = whole(config, "relative_attention_max_distance") or 128
        return (T5Bias(buckets, distance, scaled=False, per_layer=kind == "umt5"),)
    if kind == "deberta-v2":
        return (_deberta(config),)
    if kind == "marian":
        return (Sinusoidal(layout="half"),)
    if kind in _LEARNED:
        told = config.get("position_embedding_type")
        if told not in (None, "absolute"):
            raise DataError(f"position_embedding_type = {short(told)}, and 'absolute' is read: name another config")
        count, padding = whole(config, "max_position_embeddings"), natural(config, "pad_token_id", 1)
        offset = 2 if kind == "opt" else padding + 1 if kind in ("roberta", "xlm-roberta") else 0
        if offset:
            odd[f"the first position reads row {offset} of the table" + _ROWS[kind == "opt"]] = None
        if count is not None and kind == "opt":
            count += offset
        return (Learned(count, offset=offset),)
    return None


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
