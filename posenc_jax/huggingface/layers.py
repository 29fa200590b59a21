"""Facts of each layer by the config: its kind of attention, its window, and whether it rotates at all."""

from collections.abc import Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.config import integer, natural, needed, setting, short, whole
from posenc_jax.huggingface.dialects import KINDS, STILL, Dialect

LOCAL, FULL, CHUNKED = "sliding_attention", "full_attention", "chunked_attention"
_WINDOWED = (LOCAL, "hybrid_sliding")
_PATTERNS = ("sliding_window_pattern", "_sliding_window_pattern")
_FLAGS = ("use_sliding_window", "max_window_layers")
_MOST_LAYERS = 1024


def layer_kinds(config: Mapping[str, Any], own: Dialect) -> list[str]:
    """The kind of attention of each layer; `DataError` for a list of another length."""
    said = _setting(config, own)
    if isinstance(said, str) or (own.list_key and isinstance(said, list)):  # all layers
        count = len(said)
    else:
        own_count = whole(config, own.depth_key) if own.depth_key else None
        count = own_count or whole(config, "num_hidden_layers") or _without_number(config)
    if count > _MOST_LAYERS:
        raise DataError(f"num_hidden_layers = {count} must be at most {_MOST_LAYERS}: mend the config")
    given = config.get("layer_types")
    if given is not None:
        if not isinstance(given, list) or not all(isinstance(kind, str) for kind in given):
            raise DataError("layer_types must be a list of words, one for each layer: mend the config")
        if len(given) != count:
            raise DataError(f"layer_types has {len(given)} entries for num_hidden_layers = {count}: mend one of them")
        if own.typed:
            for name in (own.window_key, own.every_key, own.offset_key, own.layers_key, *_PATTERNS, *_FLAGS):
                config.get(name)  # the list takes their place
            return [*given[:-1], KINDS[own.last]] if own.full_head_dim else list(given)
    if own.layers_key:
        found = _said(config, own, count)
        if found is not None:
            return found
    window = config.get(own.window_key, own.window)
    if pattern := _pattern(config, own):
        if not window and own.rotates == "local_if_windowed":
            return [FULL] * count
        places = range(count)
        kinds = [own.first[i] if i < len(own.first) else pattern[i % len(pattern)] for i in places]
        return [KINDS[letter] for letter in (kinds[: count - len(own.last)] + list(own.last))]
    if own.chunk is not None and window_of(config, CHUNKED, own) is not None:
        return [CHUNKED if rotates else FULL for rotates in rotating(config, [FULL] * count, own)]
    return _windowed(config, own, count, window)


def _windowed(config: Mapping[str, Any], own: Dialect, count: int, window: Any) -> list[str]:
    """The kinds of layers that have the window of the config, or not."""
    begin = natural(config, "max_window_layers", own.begin) if own.windows in ("flag", "from", "flag_alternate") else 0
    if own.windows == "none" or not window or (own.windows.startswith("flag") and not config.get("use_sliding_window")):
        return [FULL] * count
    if own.windows == "flag_no_rope":
        local = [not rotates for rotates in rotating(config, [FULL] * count, own)]
    elif own.windows == "flag_alternate":
        local = [i % 2 == 0 and i < begin for i in range(count)]
    else:
        local = [i >= begin for i in range(count)]
    return [LOCAL if one else FULL for one in local]


def _pattern(config: Mapping[str, Any], own: Dialect) -> str:
    """The letters of the layers, which repeat."""
    names = [name for name in (own.every_key, *(_PATTERNS if own.every_key in _PATTERNS else ())) if name]
    every = integer(next((config[name] for name in names if config.get(name) is not None), None))
    if every is None or not own.layers:
        return own.layers
    if isinstance(every, str):  # EXAONE's, as in "LLLG"
        return "".join("S" if letter == "L" else "F" for letter in every.upper() or "G")
    if isinstance(every, bool) or not isinstance(every, int) or every < 0:
        raise DataError(f"{names[0]} = {short(every)} must be a whole number, or a word such as 'LLLG'")
    most = max(own.layers, key=own.layers.count)
    place = next(i for i, letter in enumerate(own.layers) if letter != most)
    if place == len(own.layers) - 1:
        place = every - 1
    if own.offset_key:
        place = natural(config, own.offset_key, place)
    return "".join(own.layers.strip(most)[0] if i == place else most for i in range(every)) or "F"


def _setting(config: Mapping[str, Any], own: Dialect) -> Any:
    return next((config[key] for key in (own.layers_key, own.list_key) if key and config.get(key) is not None), None)


def _said(config: Mapping[str, Any], own: Dialect, count: int) -> list[str] | None:
    """The kinds that the setting `Dialect.layers_key` says; None where it is missing."""
    value = _setting(config, own)
    if isinstance(value, Mapping):  # Kimi Linear's, which counts from 1
        full = value.get("full_attn_layers")
        if full is not None and not isinstance(full, list):
            raise DataError(
                f"full_attn_layers = {short(full)} must be a list of the numbers of layers: mend the config"
            )
        return None if full is None else [FULL if i + 1 in full else KINDS["L"] for i in range(count)]
    if value is None and own.listed_by_default:
        value = list(own.listed_by_default)
    types = config.get("attention_types") if own.layers_key == "attention_layers" else None  # GPT-Neo's, which count
    if types is not None:
        try:
            value = [word for words, n in types for _ in range(min(n, count)) for word in words]
        except (TypeError, ValueError):
            raise DataError(f"attention_types = {short(types)} must be pairs of words and a number") from None
    if value is None:
        return None
    if own.listed and isinstance(value, list) and all(isinstance(one, int) for one in value):
        return [KINDS[own.listed[i in value]] for i in range(count)]
    if not isinstance(value, str | list) or not value or not all(str(word) in own.words for word in value):
        words = f"words out of {', '.join(own.words)}" if own.words else "a list of the numbers of layers"
        raise DataError(f"{own.layers_key} = {short(value)} must be {words}: mend the config")
    return [KINDS[own.words[str(value[i % len(value)])]] for i in range(count)]


def _without_number(config: Mapping[str, Any]) -> int:
    parts = [name for name, part in config.items() if isinstance(part, Mapping) and setting(part, "num_hidden_layers")]
    own = f" ({' and '.join(parts)} in it say one each: name such a part, as a config of its own)" if parts else ""
    return needed(config, "num_hidden_layers", f"the number of layers{own}")


def window_of(config: Mapping[str, Any], kind: str, own: Dialect) -> int | None:
    """The keys that a query of a layer sees, itself among them (those of one side and itself without a causal mask), or
    the size of its chunks; None for all.
    """
    if kind == CHUNKED:
        return whole(config, "attention_chunk_size") or own.chunk
    if kind not in _WINDOWED or (own.window is None and own.windows == "none"):
        return None
    found = whole(config, own.window_key)
    if found is None and own.window is not None and own.window_key in config:
        raise DataError(f"{own.window_key} = null, and {kind} needs one: take it out for the default, {own.window}")
    found = found or own.window
    if found is None:
        return None
    return found // 2 + own.both_sides if own.both_sides or own.half_window else found


def rotating(config: Mapping[str, Any], kinds: list[str], own: Dialect) -> list[bool]:
    """Flags of the layers: true for one that rotates its queries and keys."""
    if own.rotates_if is not None and config.get(own.rotates_if[0]) != own.rotates_if[1]:
        return [False] * len(kinds)
    given = config.get("no_rope_layers") if own.no_rope_every else None
    every = own.no_rope_every and (whole(config, "no_rope_layer_interval") or own.no_rope_every)
    if given:
        if not isinstance(given, list) or len(given) != len(kinds) or not all(flag in (0, 1) for flag in given):
            raise DataError(
                f"no_rope_layers must be a list of {len(kinds)} numbers, one for each layer, 1 where it does rotate: "
                "mend the config"
            )
        return [bool(flag) for flag in given]
    if every:
        return [(layer + 1) % every != 0 for layer in range(len(kinds))]
    if own.rotates == "local" or (own.rotates == "local_if_windowed" and config.get(own.window_key, own.window)):
        return [kind == LOCAL for kind in kinds]
    return [kind not in STILL for kind in kinds]
