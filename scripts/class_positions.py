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
_VECTORS = ("q", "k", "x", "xq", "xk", "tensor", "query", "key", "query_states", "key_states")
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
UNVARIED = ("blt", "roformer")
_POSITIONS = (
    "rope|rotary|theta|window|partial|layer_types|max_position|pattern|full_attention_interval|original_max|_freq$|"
    "^head_dim$|attn_idxs|layer_indices|use_sliding"
)


def main(kinds: list[str]) -> None:
    """Prints the line of every type."""
    transformers.logging.set_verbosity(50)
    warnings.filterwarnings("ignore")
    AttentionInterface.register("probe", _attend)
    AttentionMaskInterface.register("probe", eager_mask)
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


def measured(config: Any) -> Json:
    """What the layers of a config do, and the rows of its table of positions."""
    cls = _class_of(config)
    first = None
    for way in list(_WAYS):
        try:
            rotaries = _passed(cls, config, *way)
            _WAYS.remove(way)
            _WAYS.insert(0, way)  # the next config is likely one of the same class
            break
        except _NotBuiltError:
            raise
        except Exception as error:
            first = first or error
    else:
        raise first or LookupError("no way")
    turns: dict[str, Any] = {}
    count = max([row["layer"] for row in (*_seen.attended, *_seen.turned) if row["layer"] is not None], default=-1) + 1
    rows: list[Json] = []
    for layer in range(count):
        row: Json = {}
        if seen := [one for one in _seen.attended if one["layer"] == layer]:
            row = {"width": seen[0]["width"], "scaling": seen[0]["scaling"], "mask": seen[0]["mask"]}
        calls = [one for one in _seen.turned if one["layer"] == layer]
        if calls:
            row["turn"] = _turn(calls[0], rotaries, turns, config)
        rows.append(row)
    return {"layers": _runs(rows), "turns": list(turns.values()), "tables": _seen.tables[:1]}


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
        if empty:
            _without_weights(model)
        ids = torch.zeros(1, LENGTH, dtype=torch.long, device=_seen.device)
        try:
            model(input_ids=ids, use_cache=False)
        except TypeError:
            model(input_ids=ids)
    return rotaries


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


def _turn(call: Json, rotaries: dict[str, Any], turns: dict[str, Any], config: Any) -> int:
    """The number of what a call turns, in ``turns``."""
    arguments = call["arguments"]
    tag = next((_seen.tags[id(v)] for v in arguments.values() if id(v) in _seen.tags), None)
    known = {own for own in _seen.tags.values() if own and own[0] in rotaries}
    if tag is None and len(known) == 1:
        (tag,) = known
    if tag is None:
        raise LookupError("a rotation of which no module is known")
    vectors = next(v for name, v in arguments.items() if name in _VECTORS)
    key = str((tag[1], call["work"].__name__, vectors.shape[-1], list(rotaries).index(tag[0]) if tag[1] is None else 0))
    if key not in turns:
        long = 4 * getattr(config, "max_position_embeddings", 2048)
        found = [_planes(call, rotaries[tag[0]], config, tag[1], length) for length in (2, long)]
        same = {k: v for k, v in turns.items() if v["at"] == found}
        if same:
            return list(turns).index(next(iter(same)))
        turns[key] = {"kind": tag[1], "long": long, "at": found}
    return list(turns).index(key)


def _planes(call: Json, rotary: Any, config: Any, kind: str | None, length: int) -> Json | None:
    """Angles at position 1 in a sequence of a length."""
    own = type(rotary)(config=getattr(rotary, "config", config))
    places = torch.tensor([[0, 1, length - 1]])
    try:
        made = own(torch.zeros(1, 3, 8), places, **({} if kind is None else {"layer_type": kind}))
    except IndexError:  # a table of so many positions
        return None
    given, left = dict(call["arguments"]), list(made if isinstance(made, tuple) else (made,))
    width = next(v.shape[-1] for name, v in given.items() if name in _VECTORS)
    for name, value in given.items():
        if name in _VECTORS and isinstance(value, torch.Tensor):
            axis = value.shape.index(LENGTH)
            unit = torch.eye(width)[None, :, None, :].expand(1, width, 3, width)
            given[name] = unit if axis == 2 else unit.transpose(1, 2)
        elif isinstance(value, torch.Tensor) and left:
            given[name] = left.pop(0)
    out = call["work"](**given)
    out = out[0] if isinstance(out, tuple) else out
    before = next(value for name, value in call["arguments"].items() if name in _VECTORS)
    out = out[0] if before.shape.index(LENGTH) == 2 else out[0].transpose(0, 1)
    first, second = out[:, 0].double(), out[:, 1].double()
    norms = first.norm(dim=1)
    turned = (first @ second.T) / (norms[:, None] * norms[None])
    pairs = [(int(a), int(b)) for a, b in torch.nonzero(turned.triu(1))]
    angles = [float(torch.atan2(turned[a, b].abs(), turned[a, a])) for a, b in pairs]
    return {
        "planes": [first for first, _ in pairs],
        "steps": sorted({b - a for a, b in pairs}),
        "angles": [float(f"{angle:.8g}") for angle in angles],
        "factor": round(float(norms[pairs[0][0]]) if pairs else 1.0, 7),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main(sys.argv[1:])
