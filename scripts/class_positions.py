"""What the decoder classes of the installed transformers do with positions, measured: one JSON object per line.

    PYTHON scripts/class_positions.py [TYPE ...]

PYTHON has torch and transformers. Every type of AutoModelForCausalLM (default: all) is built of its default config, and
of twelve variants of it, on torch's device "meta": no weights are there, and what is not attention does nothing. Each
class's own rotary module gives cosine and sine on the CPU, for a short and for a long sequence; the function that its
attention calls turns unit vectors by them, which tells the planes, their pairing, angles and factor. What an attention
is given as mask tells its window.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES

Json = dict[str, Any]
LENGTH, LAYERS, BASE = 7, 8, 54321.0
"""Tokens, of which no model has as many heads; layers of variants; and their base."""
MASKS = {
    "create_causal_mask": ("full", None),
    "create_bidirectional_mask": ("full", None),
    "create_sliding_window_causal_mask": ("sliding", "sliding_window"),
    "create_chunked_causal_mask": ("chunked", "attention_chunk_size"),
}
_VECTORS = (
    "q",
    "k",
    "x",
    "xq",
    "xk",
    "tensor",
    "query",
    "key",
    "query_states",
    "key_states",
    "query_layer",
    "key_layer",
)
_FEED_FORWARD = "(MLP|Mlp|Moe|MoE|MOE|Experts|FeedForward|FFN|Router|TopKGate)(?!.*(Attention|Norm|DecoderLayer))"
_MIXING = (
    "(Mamba|Mixer|Conv|GatedDelta|Lightning|LinearAttention|KDA|KimiDelta|DeltaAttention|RecurrentBlock|RgLru|DeltaNet|SSM)"
    "(?!.*(Layer$|SdpaAttention))"
)
_INDEXER = {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 256} | {
    "indexer_budget": 64,
    "indexer_compress_ratio": 4,
}
# What a class needs so that it can be built, where its defaults do not suffice, or are an odd number of dimensions.
NEEDED: dict[str, Json] = {
    "glm4_moe": {"head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "nemotron": {"num_key_value_heads": 8},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "kv_n_heads": 8, "clip_qkv": 8.0}},
    "moshi": {"audio_vocab_size": 2048},
    "qwen4_exp": {"text_config": _INDEXER},
    "qwen4_exp_text": _INDEXER,
    "reformer": {"is_decoder": True},
    "xmod": {"default_language": "en_XX"},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
    "cohere_compass_text": {
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e6}},
    },
}
_DEPTHS = ("num_hidden_layers", "num_layers", "num_layers_per_stack", "decoder_layers")
_KEPT = (
    *("model_type", "position_embedding_type", "hybrid_override_pattern", "default_language"),
    *("pad_token_id", "audio_vocab_size"),
)
UNVARIED = ("blt", "roformer", "gemma4_unified_assistant")
_POSITIONS = (
    "rope|rotary|theta|window|partial|layer_types|max_position|pattern|full_attention_interval|original_max|_freq$|"
    "^head_dim$|attn_idxs|layer_indices|use_sliding"
)


def main(kinds: list[str]) -> None:
    """Prints the line of every type."""
    print(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__}), flush=True)
    for kind in kinds or MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        print(json.dumps({"type": kind} | _of_type(kind)), flush=True)


def _of_type(kind: str) -> Json:
    try:
        config = CONFIG_MAPPING[kind](**NEEDED.get(kind, {}))
        code = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
        config = config.get_text_config()
    except Exception as error:  # strict dataclasses raise their own
        return {"no code": str(error).partition("\n")[0][:100]}
    given = _saved(config)
    cases = {"default": {"config": given}}
    code = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    if "apply_rotary" in inspect.getsource(code) and kind not in UNVARIED:
        with contextlib.suppress(AttributeError):
            cases |= {name: {"config": own} for name, own in variants(given, config).items()}
    for case in cases.values():
        try:
            made = CONFIG_MAPPING[given["model_type"]].from_dict(copy.deepcopy(case["config"]))
        except Exception as error:
            case["refused"] = f"{type(error).__name__}: {error}"[:100]
            continue
        try:
            case |= measured(made)
        except _NotBuiltError as error:
            case["refused"] = str(error)[:100]
        except Exception as error:
            case["failed"] = f"{type(error).__name__}: {error}"[:100]
    return {"cases": cases}


def _saved(config: Any) -> Json:
    """A config as its file has it, without what no class reads for positions."""
    found = json.loads(json.dumps(config.to_diff_dict(), default=str)) | {"model_type": config.model_type}
    return {
        name: value for name, value in found.items() if name in _KEPT or not (isinstance(value, str) or _other(name))
    }


def _other(name: str) -> bool:
    return bool(re.search("vision|audio|speech|dropout|initializer|_std|token|id2label|label2id", name))


def variants(given: Json, config: Any) -> Json:
    """The twelve, by their names, each a config as people have it."""
    depth = next(
        (n for n in ("num_hidden_layers", "num_layers", "n_layer", "n_layers") if isinstance(given.get(n), int)), None
    )
    count = given.get(depth)
    sizes = {
        n: v for n, v in given.items() if not (isinstance(v, list) and len(v) == count) and n != "per_layer_config"
    }
    if depth is not None:
        sizes[depth] = LAYERS
    sizes |= {n: v for n, v in NEEDED.get(given["model_type"], {}).items() if n == "head_dim"}
    bare = {n: v for n, v in sizes.items() if not re.search(_POSITIONS, n) or n in NEEDED.get(given["model_type"], {})}
    if given["model_type"] == "lfm2_moe":
        bare["layer_types"] = ["conv", "conv", "full_attention", "conv"] * 2
    kept = bare | {n: v for n, v in sizes.items() if "max_position" in n or "layer" in n or n in ("head_dim", "n_ctx")}
    try:
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    except Exception:  # layers of several widths
        width = given["head_dim"]
    rope = getattr(config, "rope_parameters", None) or {}
    width *= rope.get("partial_rotary_factor", 1)
    length = {"original_max_position_embeddings": 1024}
    kinds = list(dict.fromkeys(getattr(config, "layer_types", None) or ["full_attention"]))
    lists = {
        f"{n}_factor": [round(1 + k * step, 3) for k in range(int(width) // 2)]
        for n, step in (("short", 0.01), ("long", 0.1))
    }

    def new(kind: str, **more: Any) -> Json:
        return kept | {"rope_parameters": {"rope_type": kind, "rope_theta": BASE, **more}}

    def old(**more: Any) -> Json:
        return kept | {"rope_theta": BASE, **more}

    nested = {
        kind: {"rope_type": "default", "rope_theta": BASE * (number + 1)} for number, kind in enumerate(kinds)
    } | {kinds[-1]: {"rope_type": "yarn", "rope_theta": BASE, "factor": 4.0, **length}}
    halves = ["sliding_attention", "full_attention"] * (LAYERS // 2)
    return {
        "nothing said": bare,
        "4: base": old(rope_scaling=None),
        "4: part": old(partial_rotary_factor=0.5),
        "4: linear": old(rope_scaling={"type": "linear", "factor": 4.0}),
        "4: dynamic": old(rope_scaling={"type": "dynamic", "factor": 2.0}),
        "4: yarn": old(
            rope_scaling={"rope_type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.5, **length}
        ),
        "5: part": new("default", partial_rotary_factor=0.5),
        "5: llama3": new("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **length),
        "5: longrope": new("longrope", factor=4.0, **lists, **length),
        "5: proportional": new("proportional", partial_rotary_factor=0.25),
        "5: by kind": kept | {"rope_parameters": nested},
        "layers": old(layer_types=halves, sliding_window=64, use_sliding_window=True, max_window_layers=2),
    }


class _NotBuiltError(Exception):
    """A config of which its class makes no model."""


class _Seen:
    """What one pass calls: ``layer`` is where it is."""

    def __init__(self) -> None:
        self.layer: int | None = None
        self.attended: list[Json] = []
        self.turned: list[Json] = []
        self.tags: dict[int, Any] = {}
        self.kept: list[Any] = []
        self.tables: list[list[Any]] = []
        self.sines: Json = {}
        self.relative: dict[int, Json] = {}
        self.device = "cpu"

    def tag(self, value: Any, what: Any) -> Any:
        for one in value if isinstance(value, tuple | list) else [value]:
            self.tags[id(one)] = what
            self.kept.append(one)  # or its id would be another's
        return value


_seen = _Seen()


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, *_: Any, scaling: Any = None, **__: Any
) -> Any:
    found = {"width": query.shape[-1], "scaling": scaling, "mask": _seen.tags.get(id(attention_mask))}
    _seen.attended.append({"layer": _seen.layer, **found})
    return query.new_empty(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None


class _Passed(torch.nn.Module):
    """Gives back what it is given, alone or with None."""

    def __init__(self, pair: bool) -> None:
        super().__init__()
        self.pair, self.weight = pair, torch.zeros(1)

    def forward(self, *arguments: Any, **named: Any) -> Any:
        first = arguments[0] if arguments else named.get("hidden_states", next(iter(named.values())))
        return (first, None) if self.pair else first


@contextlib.contextmanager
def _watched(code: ModuleType) -> Iterator[None]:
    """The functions of a module that turn vectors or make masks say so."""
    before = {name: made for name, made in vars(code).items() if inspect.isfunction(made)}

    def turning(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            bound = inspect.signature(work).bind(*arguments, **named).arguments
            _seen.turned.append({"layer": _seen.layer, "work": work, "arguments": bound})
            return work(*arguments, **named)

        return call

    def masking(name: str) -> Callable[..., Any]:
        def call(*_: Any, **named: Any) -> Any:
            kind, key = MASKS[name]
            made = torch.zeros(1, 1, LENGTH, LENGTH, device=_seen.device)
            return _seen.tag(made, (kind, getattr(named.get("config"), key, None) if key else None))

        return call

    owners = [
        made
        for made in vars(code).values()
        if isinstance(made, type) and "apply_rotary_position_embeddings" in vars(made)
    ]
    statics = {owner: owner.apply_rotary_position_embeddings for owner in owners}
    for owner, work in statics.items():
        owner.apply_rotary_position_embeddings = staticmethod(turning(work))
    for name, made in before.items():
        if name in MASKS:
            setattr(code, name, masking(name))
        elif re.match("apply_.*rot", name) and not re.search("vision|audio", name):
            setattr(code, name, turning(made))
    try:
        yield
    finally:
        for name, made in before.items():
            setattr(code, name, made)
        for owner, work in statics.items():
            owner.apply_rotary_position_embeddings = staticmethod(work)


def _class_of(config: Any) -> Any:
    code = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    for names in (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES):
        name = names.get(config.model_type)
        if isinstance(name, str) and hasattr(code, name):
            return getattr(code, name)
    for name, made in vars(code).items():
        own = inspect.isclass(made) and made.__module__ == code.__name__ and "PreTrained" not in name
        if own and getattr(made, "config_class", None) is type(config) and name.endswith("Model"):
            return made
    raise LookupError("no class for it")


_WAYS = [
    (pairs, empty) for empty in (True, False) for pairs in ((False, False), (True, True), (False, True), (True, False))
] + [(None, True), (None, False)]


def _any_way(cls: Any, config: Any) -> dict[str, Any]:
    """The rotary modules of a pass in the first way that works."""
    first = None
    for way in list(_WAYS):
        try:
            rotaries = _passed(cls, config, *way)
            _WAYS.remove(way)
            _WAYS.insert(0, way)  # the next config is likely one of the same class
            return rotaries
        except _NotBuiltError:
            raise
        except Exception as error:
            first = first or error
    raise first or LookupError("no way")


def measured(config: Any) -> Json:
    """What the layers of a config do, and the rows of its table of positions."""
    rotaries = _any_way(_class_of(config), config)
    turns: dict[str, Any] = {}
    count = max([row["layer"] for row in (*_seen.attended, *_seen.turned) if row["layer"] is not None], default=-1) + 1
    rows: list[Json] = []
    for layer in range(count):
        row: Json = {}
        if seen := [one for one in _seen.attended if one["layer"] == layer]:
            one = next((one for one in seen if one["mask"]), seen[0])  # Inkling 2 attends to former layers, too
            row = {name: one[name] for name in ("width", "scaling", "mask")}
        if layer in _seen.relative:
            row["relative"] = _seen.relative[layer]
        calls = [one for one in _seen.turned if one["layer"] == layer]
        if calls:
            row["turn"] = _turn(calls[0], rotaries, turns, config)
        rows.append(row)
    found = {"layers": _runs(rows), "turns": list(turns.values()), "tables": _seen.tables[:1]}
    return found | ({"sines": _seen.sines} if _seen.sines else {})


def _runs(rows: list[Json]) -> list[list[Any]]:
    """Rows with how often each comes one after another."""
    found: list[list[Any]] = []
    for row in rows:
        if found and found[-1][1] == row:
            found[-1][0] += 1
        else:
            found.append([1, row])
    return found


def _passed(cls: Any, config: Any, pairs: tuple[bool, bool] | None, empty: bool) -> dict[str, Any]:
    global _seen
    _seen = _Seen()
    code = sys.modules[cls.__module__]
    _seen.device = "cpu" if empty else "meta"
    with _watched(code), torch.no_grad():
        with torch.device("meta"):
            try:
                model = cls._from_config(config, attn_implementation="probe")
            except Exception:
                try:
                    model = cls._from_config(config, attn_implementation="eager")
                except Exception as error:
                    raise _NotBuiltError(f"{type(error).__name__}: {error}") from None
        model.eval()
        _replaced(model, config)
        counts = [getattr(config, name, None) for name in _DEPTHS]
        lists = [
            made
            for name, made in model.named_modules()
            if isinstance(made, torch.nn.ModuleList) and len(made) in counts and not re.search("vision|audio", name)
        ]
        if not lists:
            raise LookupError("no list of layers")
        for number, layer in enumerate(lists[0]):
            layer.register_forward_pre_hook(lambda *_, number=number: setattr(_seen, "layer", number))
            layer.register_forward_hook(lambda *_: setattr(_seen, "layer", None))
            if pairs is not None:
                _emptied(layer, pairs)
        rotaries = {}
        for name, made in model.named_modules():
            if "Rotary" in type(made).__name__ and not re.search("Vision|Audio", type(made).__name__):
                rotaries[name] = made
                made.forward = _tagging(name, made, config)
        _seen.tables = [
            [type(made).__name__, made.num_embeddings]
            for name, made in model.named_modules()
            if isinstance(made, torch.nn.Embedding) and re.search("pos|wpe", name.rpartition(".")[2])
        ]
        _seen.sines = next((own for made in model.modules() if (own := _sines(made))), {})
        _seen.relative = {number: own for number, layer in enumerate(lists[0]) if (own := _relative(layer, config))}
        if empty:
            _without_weights(model)
        ids = torch.zeros(1, LENGTH, dtype=torch.long, device=_seen.device)
        more = {}
        if getattr(config, "num_kv_shared_layers", 0) == getattr(config, "num_hidden_layers", None):
            keys = torch.zeros(1, 1, LENGTH, 1, device=_seen.device)  # those of another model
            more = {"shared_kv_states": {kind: (keys, keys) for kind in set(config.layer_types)}}
        try:
            model(input_ids=ids, use_cache=False, **more)
        except TypeError:
            model(input_ids=ids)
    return rotaries


def _replaced(model: Any, config: Any) -> None:
    """Parts that need weights, beside those that all models have."""
    for path, made in list(model.named_modules()):
        parent, _, own = path.rpartition(".")
        if type(made).__name__ == "JetMoeMoA":
            made.map = lambda x, width=made.hidden_size * made.top_k: (x.new_zeros(*x.shape[:2], width), None, None)
            made.reduce = lambda x, _, width=made.input_size: x.new_zeros(x.shape[0] * x.shape[1], width)
        elif hasattr(made, "_maybe_slice_kv_shared_inputs"):  # slices are other tensors
            made._maybe_slice_kv_shared_inputs = lambda *given, **_: given[:3]
        elif type(made).__name__ == "XmodOutput":
            made.lang_adapter = lambda _, x: x
        elif type(made).__name__ == "RoFormerSinusoidalPositionalEmbedding":
            setattr(model.get_submodule(parent), own, _RotaryTable(config))


class _RotaryTable(torch.nn.Module):
    """RoFormer's sines and cosines, which it looks up by the shape of its input."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        table = importlib.import_module("transformers.models.roformer.modeling_roformer")
        with torch.device("cpu"):
            made = table.RoFormerSinusoidalPositionalEmbedding(
                config.max_position_embeddings, config.hidden_size // config.num_attention_heads
            )
            self.rows = made.create_weight()

    def forward(self, given: Any, position_ids: Any = None) -> Any:
        places = (
            torch.arange(given[1], device="cpu")
            if position_ids is None or isinstance(position_ids, int)
            else position_ids
        )
        return self.rows[places]


def _sines(made: Any) -> Json:
    """Some dimensions of what is added at positions 0, 1 and 2, of a module whose table is not learned."""
    with torch.device("cpu"):
        if hasattr(made, "create_weight"):
            fresh = type(made)(3, made.embedding_dim)
            rows = fresh.create_weight()
        elif hasattr(made, "get_embedding"):
            rows = made.get_embedding(3 + made.offset, made.embedding_dim)[made.offset :]
        else:
            return {}
    width = rows.shape[1]
    return {"width": width, "rows": rows[:, [0, 1, width // 2 - 1, width // 2, width - 1]].double().tolist()}


def _relative(layer: Any, config: Any) -> Json:
    """Inkling's profiles and their growth; nothing in other layers."""
    attention = next(
        (one for one in layer.modules() if hasattr(one, "rel_extent") and hasattr(one, "is_sliding")), None
    )
    if attention is None:
        return {}
    bias = next(one for one in attention.modules() if hasattr(one, "rel_extent") and hasattr(one, "proj"))
    clips = [one.threshold for one in bias.modules() if hasattr(one, "threshold")]
    growing = [one for one in bias.modules() if hasattr(one, "log_scaling_n_floor")]
    flat = type(config).__name__ == "InklingTextConfig" and not attention.is_sliding
    floor = config.log_scaling_n_floor if growing or flat else None
    return {
        "extent": bias.rel_extent,
        "width": bias.proj.shape[0],
        "clip": clips[0] if clips else None,
        "floor": floor,
        "scale": config.log_scaling_alpha,
    }


def _emptied(layer: Any, pairs: tuple[bool, bool]) -> None:
    done: list[str] = []
    for path, made in list(layer.named_modules()):
        name = re.sub("JetMoe|KimiLinear", "", type(made).__name__)
        if type(made).__module__.startswith("torch."):
            continue
        if path and not any(path.startswith(f"{one}.") for one in done) and "Norm" not in name:
            mixes = bool(re.search(_MIXING, name)) and name != "Conv1D"
            if mixes or (re.search(_FEED_FORWARD, name) and not name.endswith("MoA")):
                done.append(path)
                parent, _, own = path.rpartition(".")
                setattr(layer.get_submodule(parent) if parent else layer, own, _Passed(pairs[mixes]))


def _without_weights(model: Any) -> None:
    """What has weights gives zeros, or what it is given, so that all computes on the CPU in no time."""
    for path, made in list(model.named_modules()):
        parent, _, own = path.rpartition(".")
        if isinstance(made, torch.nn.Linear) or type(made).__name__ == "Conv1D":
            setattr(model.get_submodule(parent), own, _Zeros(getattr(made, "out_features", None) or made.nf))
        elif isinstance(made, torch.nn.Embedding):
            setattr(model.get_submodule(parent), own, _Zeros(made.embedding_dim, of_ids=True))
        elif "Norm" in type(made).__name__ and path:
            setattr(model.get_submodule(parent), own, _Passed(pair=False))


class _Zeros(torch.nn.Module):
    """Zeros of a width."""

    def __init__(self, width: int, of_ids: bool = False) -> None:
        super().__init__()
        self.width, self.of_ids, self.weight = width, of_ids, torch.zeros(1)

    def forward(self, given: Any, *_: Any, **__: Any) -> Any:
        shape = given.shape if self.of_ids and not given.is_floating_point() else given.shape[:-1]
        return torch.zeros(*shape, self.width)


def _tagging(name: str, rotary: Any, config: Any) -> Callable[..., Any]:
    own = type(rotary)(config=getattr(rotary, "config", config)) if _seen.device == "cpu" else rotary
    work = type(rotary).forward
    plain = getattr(work, "__wrapped__", work)  # without the update by lengths, which meta has not

    def forward(*arguments: Any, **named: Any) -> Any:
        kind = inspect.signature(work).bind(rotary, *arguments, **named).arguments.get("layer_type")
        return _seen.tag(plain(own, *arguments, **named), (name, kind))

    return forward


def _tag(call: Json, rotaries: dict[str, Any]) -> tuple[str, Any]:
    """The rotary module, and the kind of layers, of which the cosines of a call are."""
    tag = next((_seen.tags[id(v)] for v in call["arguments"].values() if id(v) in _seen.tags), None)
    known = {own for own in _seen.tags.values() if own and own[0] in rotaries}
    if tag is None and len(known) == 1:
        (tag,) = known
    if tag is None:
        raise LookupError("a rotation of which no module is known")
    return tag


def _turn(call: Json, rotaries: dict[str, Any], turns: dict[str, Any], config: Any) -> int:
    """The number of what a call turns, in ``turns``."""
    tag = _tag(call, rotaries)
    key = str(
        (tag[1], call["work"].__name__, _vectors(call).shape[-1], list(rotaries).index(tag[0]) if tag[1] is None else 0)
    )
    if key not in turns:
        long = 4 * getattr(config, "max_position_embeddings", 2048)
        found = [_planes(call, rotaries[tag[0]], config, tag[1], length) for length in (2, long)]
        same = {k: v for k, v in turns.items() if v["at"] == found}
        if same:
            return list(turns).index(next(iter(same)))
        turns[key] = {"kind": tag[1], "long": long, "at": found}
    return list(turns).index(key)


def _vectors(call: Json) -> Any:
    return next(value for name, value in call["arguments"].items() if name in _VECTORS)


def _turned(call: Json, rotary: Any, config: Any, kind: str | None, length: int, places: Any) -> Any:
    """``[S, width, width]``: unit vectors at places, ``[S]`` or ``[3, S]``, of a sequence of a length; None where a
    table has fewer rows.
    """
    own, named = type(rotary)(config=getattr(rotary, "config", config)), {} if kind is None else {"layer_type": kind}
    work, places = type(rotary).forward, torch.tensor(places)[..., None, :]
    count = places.shape[-1]
    try:
        own(torch.zeros(1, 2, 8), torch.tensor([[0, max(length - 1, 1)]]), **named)  # frequencies follow the length
        made = getattr(work, "__wrapped__", work)(own, torch.zeros(1, count, 8), places, **named)
    except IndexError:
        return None
    given, left = dict(call["arguments"]), list(made if isinstance(made, tuple) else (made,))
    vectors = _vectors(call)
    width, by_head = vectors.shape[-1], vectors.shape.index(LENGTH) == 2
    for name, value in given.items():
        if name in _VECTORS and isinstance(value, torch.Tensor):
            unit = torch.eye(width)[None, :, None, :].expand(1, width, count, width)
            given[name] = unit if value.shape.index(LENGTH) == 2 else unit.transpose(1, 2)
        elif isinstance(value, torch.Tensor) and left:
            given[name] = left.pop(0)
    out = call["work"](**given)
    out = out[0] if isinstance(out, tuple) else out
    return (out[0].transpose(0, 1) if by_head else out[0]).double()


def _pairs(first: Any, second: Any) -> tuple[Any, Any]:
    """Cosines and sines of all pairs of dimensions, and how long vectors have become."""
    norms = first.norm(dim=1)
    return (first @ second.T) / (norms[:, None] * norms[None]), norms


def _planes(call: Json, rotary: Any, config: Any, kind: str | None, length: int) -> Json | None:
    """Angles at position 1 in a sequence of a length."""
    out = _turned(call, rotary, config, kind, length, [0, 1])
    if out is None:
        return None
    turned, norms = _pairs(*out)
    pairs = [(int(a), int(b)) for a, b in torch.nonzero(turned.triu(1))]
    angles = [float(torch.atan2(turned[a, b].abs(), turned[a, a])) for a, b in pairs]
    return {
        "planes": [first for first, _ in pairs],
        "steps": sorted({b - a for a, b in pairs}),
        "angles": [float(f"{angle:.8g}") for angle in angles],
        "factor": round(float(norms[pairs[0][0]]) if pairs else 1.0, 7),
    }


def answered(file: Path) -> None:
    """Prints answers to the rows of the suite `posenc_jax/golden/rope`, as its checker reads them."""
    whole, answers = json.loads(file.read_text()), {}
    for row in whole["rows"]:
        try:
            answers[row["name"]] = _answer(row, whole)
        except Exception as error:
            print(f"{row['name']}: {type(error).__name__}: {error}"[:150], file=sys.stderr, flush=True)
    print(json.dumps(answers))


def _answer(row: Json, whole: Json) -> list[Any]:
    """What each layer does, or the number of a layer that does the same."""
    given = NEEDED.get(row["type"], {}) | row["config"]
    try:
        config = CONFIG_MAPPING[row["type"]].from_dict(copy.deepcopy(given)).get_text_config()
        rotaries, count = _working(config)
    except Exception:  # fewer heads than the class has for keys
        more = {"num_key_value_heads": given["num_attention_heads"]}
        config = CONFIG_MAPPING[row["type"]].from_dict(copy.deepcopy(given) | more).get_text_config()
        rotaries, count = _working(config)
    numbers = [(number, group) for group in row["groups"] for number in group["layers"]]
    groups = [group for _, group in sorted(numbers, key=lambda one: one[0])]
    own = [number for number, group in enumerate(groups) if group["kind"] != "mlp"]
    own = own if len(own) == count else list(range(len(groups)))
    found: list[Any] = []
    for number, group in enumerate(groups):
        layer = own.index(number) if number in own else None
        seen = next((one for one in _seen.attended if one["mask"] and one["layer"] == layer is not None), {})
        call = next((one for one in _seen.turned if one["layer"] == layer is not None), None)
        values: Json = {"window": seen["mask"][1]} if seen else {}
        if "rows" in group and _seen.tables:
            values["rows"] = _seen.tables[0][1]
        points = {
            str(point["length"]): values | _point(call, rotaries, config, point, group, whole)
            for point in group["points"]
        }
        found.append(found.index(points) if points in found else points)
    return found


def _working(config: Any) -> tuple[dict[str, Any], int]:
    rotaries = _any_way(_class_of(config), config)
    numbers = [one["layer"] for one in (*_seen.attended, *_seen.turned) if one["layer"] is not None]
    return rotaries, 1 + max(numbers, default=-1)


def _point(call: Json | None, rotaries: dict[str, Any], config: Any, point: Json, group: Json, whole: Json) -> Json:
    if call is None:
        return {"planes": [], "inverse_frequencies": []}
    (name, kind), length, positions = _tag(call, rotaries), point["length"], whole["positions"]
    shown = whole["tables"][point["table"]]["shown"]
    out = _turned(call, rotaries[name], config, kind, length, [*positions[:2], *positions])
    if out is None:  # a table
        out = _turned(call, rotaries[name], config, kind, length, [0, 1])
    turned, norms = _pairs(out[0], out[1])
    planes = [[int(a), int(b)] for a, b in torch.nonzero(turned.triu(1))]
    factor = float(norms[planes[0][0]])
    found = {
        "planes": planes,
        "inverse_frequencies": [float(torch.atan2(turned[b, a].abs(), turned[a, a])) for a, b in planes],
        "attention_factor": factor,
    }
    if len(out) > 2 and len(planes) > max(shown, default=0):
        each = [_pairs(out[0], one)[0] for one in out[2:]]
        sign = [-1 if turned[b, a] < 0 else 1 for a, b in planes]
        kept = [(*planes[k], sign[k]) for k in shown]
        found["cos"] = [[factor * float(one[a, a]) for a, _, _ in kept] for one in each]
        found["sin"] = [[factor * s * float(one[b, a]) for a, b, s in kept] for one in each]
    if "axes" in group:
        axes = torch.cat([torch.zeros(3, 1, dtype=torch.long), torch.eye(3, dtype=torch.long)], dim=1)
        by_axis = _turned(call, rotaries[name], config, kind, length, axes.tolist())
        still = [_pairs(by_axis[0], one)[0] for one in by_axis[1:]]
        found["axes"] = [next(n for n, one in enumerate(still) if one[b, a] != 0) for a, b in planes]
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    transformers.logging.set_verbosity(50)
    warnings.filterwarnings("ignore")
    AttentionInterface.register("probe", _attend)
    AttentionMaskInterface.register("probe", eager_mask)
    if sys.argv[1:2] == ["--rows"]:
        answered(Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
