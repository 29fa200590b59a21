"""Encodings and their fields in words: what they act on, how attention is computed with them, what values they take."""

import types
import typing
from typing import Any

from posenc_jax.attention import fused_paths
from posenc_jax.encodings import SCALINGS

# What an encoding acts on, in words; `token_terms` serve the other hooks.
_HOOK_WORDS = {
    "map_positions": "positions",
    "embed": "input embeddings",
    "encode_queries": "queries",
    "encode_keys": "keys",
    "encode_values": "values",
    "encode_outputs": "outputs",
    "bias": "logits (by position)",
    "score": "the product of queries and keys",
    "content_bias": "logits (by content)",
    "adjust_logits": "the sum of logits and biases",
    "normalize": "the softmax",
    "value_term": "values",
}


def hook_words(encodings: typing.Iterable[Any]) -> list[str]:
    """The parts of attention that encodings act on, in words."""
    acts_on = {hook for encoding in encodings for hook in encoding.acts_on}
    return [word for hook, word in _HOOK_WORDS.items() if hook in acts_on]


def ways(slot: Any) -> str:
    """Paths that compute attention with a slot in memory linear in the length, in words."""
    words = {"cudnn": "cuDNN", "kernel": "kernel"}
    return ", ".join([*(words[path] for path in fused_paths(slot)), "blocks"])


def type_in_words(kind: Any) -> str:
    """An annotation as a user writes its values."""
    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return " or ".join(map(repr, members))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(type_in_words, members))
    if origin is tuple:
        return (
            f"tuple of {type_in_words(members[0])}"
            if Ellipsis in members
            else f"({', '.join(map(type_in_words, members))})"
        )
    if kind is type(None):
        return "None"
    if isinstance(kind, type) and (scalings := [word for word, cls in SCALINGS.items() if issubclass(cls, kind)]):
        return " or ".join(scalings)
    return str(getattr(kind, "name", None) or getattr(kind, "__name__", kind))
