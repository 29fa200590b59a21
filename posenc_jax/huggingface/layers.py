"""Facts of each layer by the config: its type of attention, its window, and whether it rotates at all."""

from collections.abc import Mapping
from typing import Any

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.config import integer, natural, needed, setting, whole
from posenc_jax.huggingface.dialects import Dialect

LOCAL, FULL, CHUNKED = "sliding_attention", "full_attention", "chunked_attention"
_PATTERNS = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
_MOST_LAYERS = 1024


def layer_kinds(config: Mapping[str, Any], dialect: Dialect) -> list[str]:
    """The type of attention of each layer; `DataError` for a list of another length."""
    count = whole(config, "num_hidden_layers") or _without_number(config)
    if count > _MOST_LAYERS:
        raise DataError(f"num_hidden_layers = {count} must be at most {_MOST_LAYERS}: mend the config")
    given = config.get("layer_types")
    if given is not None:
        if not isinstance(given, list) or not all(isinstance(kind, str) for kind in given):
            raise DataError("layer_types must be a list of words, one for each layer: mend the config")
        if len(given) != count:
            raise DataError(f"layer_types has {len(given)} entries for num_hidden_layers = {count}: mend one of them")
        if dialect.typed:
            return list(given)
    if dialect.windows == "none":
        return [FULL] * count
    if interval := whole(config, "full_attention_interval") or dialect.linear_every:
        return [FULL if (layer + 1) % interval == 0 else "linear_attention" for layer in range(count)]
    window = config.get("sliding_window", dialect.window) or config.get("local_attention")
    flagged = dialect.windows in ("flag", "flag_no_rope")
    begin = natural(config, "max_window_layers", 28) if dialect.windows == "flag" else 0  # 28 in Qwen's classes
    if config.get("use_sliding_window") is False or (flagged and not config.get("use_sliding_window")):
        window = None
    named = next((name for name in _PATTERNS if config.get(name) is not None), _PATTERNS[0])
    every = dialect.every if config.get(named) is None else integer(config[named])
    if isinstance(every, str):  # EXAONE's, as in "LLLG"
        letters = every.upper() or "G"
        return [LOCAL if letters[i % len(letters)] == "L" else FULL for i in range(count)]
    if isinstance(every, bool) or not isinstance(every, int) or every < 0:
        raise DataError(f"{named} = {str(every)[:40]} must be a whole number, or a word such as 'LLLG'")
    if every and (window or dialect.window):
        first = 0 if dialect.full_first else every - 1
        return [FULL if i % every == first else LOCAL for i in range(count)]
    if window_of(config, CHUNKED, dialect) is not None:
        return [CHUNKED if rotates else FULL for rotates in rotating(config, [FULL] * count, dialect)]
    if not window:
        return [FULL] * count
    if dialect.windows == "flag_no_rope":
        return [FULL if rotates else LOCAL for rotates in rotating(config, [FULL] * count, dialect)]
    return [LOCAL if i >= begin else FULL for i in range(count)]


def _without_number(config: Mapping[str, Any]) -> int:
    parts = [name for name, part in config.items() if isinstance(part, Mapping) and setting(part, "num_hidden_layers")]
    own = f" ({' and '.join(parts)} in it say one each: name such a part, as a config of its own)" if parts else ""
    return needed(config, "num_hidden_layers", f"the number of layers{own}")


def window_of(config: Mapping[str, Any], kind: str, dialect: Dialect) -> int | None:
    """The keys that a query of a layer sees, itself among them (those of one side and itself without a causal mask), or
    the size of its chunks; None for all.
    """
    if kind == CHUNKED:
        return whole(config, "attention_chunk_size") or dialect.chunk
    if kind != LOCAL:
        return None
    both_sides = whole(config, "local_attention")  # ModernBERT's counts both
    if both_sides is not None or dialect.full_first:
        return (both_sides or dialect.window or 128) // 2 + 1
    return whole(config, "sliding_window") or dialect.window


def rotating(config: Mapping[str, Any], kinds: list[str], dialect: Dialect) -> list[bool]:
    """Flags of the layers: true for one that rotates its queries and keys."""
    given = config.get("no_rope_layers")
    if given:
        if not isinstance(given, list) or len(given) != len(kinds) or not all(flag in (0, 1) for flag in given):
            raise DataError(
                f"no_rope_layers must be a list of {len(kinds)} numbers, one for each layer, 1 where it does rotate: "
                "mend the config"
            )
        return [bool(flag) for flag in given]
    if every := whole(config, "no_rope_layer_interval") or dialect.no_rope_every:
        return [(layer + 1) % every != 0 for layer in range(len(kinds))]
    if dialect.local_rotation and LOCAL in kinds:
        return [kind != FULL for kind in kinds]
    return [kind not in ("linear_attention", "mamba", "conv", "recurrent") for kind in kinds]
