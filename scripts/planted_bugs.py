"""Bugs that ports of models have had, each to be planted in a tiny model of the parity tests.

`huggingface_parity` measures what each changes, and tests/huggingface/test_planted_bugs.py that it is seen.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from make_huggingface_reference import CASES

from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.models import Slots
from posenc_jax.models.cache import next_tokens


class Bug(NamedTuple):
    """A bug.

    Attributes:
      case: the model in which it is planted.
      plant: does so, in the files of a checkpoint or by a `pytest.MonkeyPatch`.
      check: the measure of `huggingface_parity.MEASURES` that must see it.
    """

    case: str
    plant: Callable
    check: str = "long"


def _config(**changes):
    def plant(path: Path, patch) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | changes))

    return plant


def _settings(name: str, **changes):
    def plant(path: Path, patch) -> None:
        family = FAMILIES[name]
        changed = dataclasses.replace(family, settings=lambda config: family.settings(config) | changes)
        patch.setitem(FAMILIES, name, changed)

    return plant


def _encodings(**changes):
    def plant(path: Path, patch) -> None:
        def changed(**stacks):
            return Slots(
                **{name: tuple(dataclasses.replace(own, **changes) for own in slot) for name, slot in stacks.items()}
            )

        patch.setattr("posenc_jax.huggingface.checkpoint.Slots", changed)

    return plant


def change_names(patch, name: str, change) -> None:
    family = FAMILIES[name]
    rows = tuple(row for row in map(change, family.names) if row is not None)
    patch.setitem(FAMILIES, name, dataclasses.replace(family, names=rows))


def _parameters(path: Path) -> dict:
    config = json.loads((path / "config.json").read_text())
    return config.get("rope_scaling") or config["rope_parameters"]


def _no_attention_factor(path: Path, patch) -> None:
    _config(rope_scaling=_parameters(path) | {"attention_factor": 1.0})(path, patch)


def _scaling_on_all_layers(path: Path, patch) -> None:
    full, local = (_parameters(path)[kind] for kind in ("full_attention", "sliding_attention"))
    both = {"full_attention": full, "sliding_attention": full | {"rope_theta": local["rope_theta"]}}
    assert full["rope_type"] != "default"
    _config(rope_scaling=None, rope_parameters=both)(path, patch)


def _keys_and_values_exchanged(path: Path, patch) -> None:
    def exchanged(row):
        if "c_attn" not in row.theirs:
            return row
        query, key, value = row.ours
        return dataclasses.replace(row, ours=(query, value, key))

    change_names(patch, "gpt2", exchanged)


def _gate_for_up(path: Path, patch) -> None:
    words = {"mlp.gate": "mlp.hidden", "mlp.hidden": "mlp.gate"}

    def exchanged(row):
        for word, other in words.items():
            if f"{word}." in row.ours[0]:
                return dataclasses.replace(row, ours=(row.ours[0].replace(word, other),))
        return row

    change_names(patch, "llama", exchanged)


def _buckets_by_the_floor(path: Path, patch) -> None:
    def floored(num_buckets, max_distance):
        middle = num_buckets // 2
        steps = np.arange(num_buckets - middle + 1) / (middle - 1)
        farther = np.ceil(middle * ((max_distance - 1) / middle) ** steps - 1e-9)
        return np.array([*range(middle), *farther], np.int32)

    patch.setattr("posenc_jax.encodings.relative.deberta.log_bucket_starts", floored)


def _no_query_key_norm(path: Path, patch) -> None:
    _settings("qwen3", query_key_norm=None)(path, patch)
    patch.setitem(FAMILIES, "qwen3", dataclasses.replace(FAMILIES["qwen3"], ignored=(".*[qk]_norm.weight",)))


def _no_rope_inverted(path: Path, patch) -> None:
    flags = CASES["smollm3"]["no_rope_layers"]
    windows = ["full_attention" if flag else "sliding_attention" for flag in flags]
    _config(no_rope_layers=[1 - flag for flag in flags], layer_types=windows)(path, patch)


def _late_in_decoding(path: Path, patch) -> None:
    """Positions of a single token, which is one of decoding, are one too large."""

    def late(cache, tokens, *, positions=None, **facts):
        if tokens.shape[1] == 1:
            positions = (cache.next_places(1) if positions is None else positions) + 1
        return next_tokens(cache, tokens, positions=positions, **facts)

    patch.setattr("posenc_jax.models.decoder_only.next_tokens", late)


def padding_counted(path: Path, patch) -> None:
    """Positions are places in the cache, so that those of a prompt behind padding do not begin at 0."""

    def unshifted(cache, tokens, *, positions=None, **facts):
        return next_tokens(cache, tokens, **facts)

    patch.setattr("posenc_jax.models.decoder_only.next_tokens", unshifted)


BUGS = {
    "scaling dropped": Bug("llama", _config(rope_scaling=None)),
    "scaling on the wrong layers": Bug("gemma3", _scaling_on_all_layers),
    "attention factor left out": Bug("llama_yarn", _no_attention_factor),
    "epsilon wrong": Bug("llama", _config(rms_norm_eps=1e-4)),
    "part of each head rotated": Bug("llama", _encodings(rotary_dim=4)),
    "lanes mixed": Bug("llama", _encodings(layout="interleaved")),
    "all of each head rotated": Bug("gpt_neox", _config(rotary_pct=1.0)),
    "embeddings scaled": Bug("llama", _settings("llama", scale_embeddings=True)),
    "gate and up exchanged": Bug("llama", _gate_for_up),
    "positions off by one in decoding": Bug("llama", _late_in_decoding, "cached"),
    "rows of the table off by one in decoding": Bug("gpt2", _late_in_decoding, "cached"),
    "left padding not shifted": Bug("gpt2", padding_counted, "padded"),
    "window off by one": Bug("mistral", _config(sliding_window=65)),
    "window of both sides off by one": Bug("modernbert", _config(local_attention=126)),
    "distance of buckets wrong": Bug("t5", _config(relative_attention_max_distance=128)),
    "logarithm of buckets rounded down": Bug("deberta_v2", _buckets_by_the_floor),
    "largest distance of buckets off by one": Bug("deberta_v2", _config(max_relative_positions=511)),
    "position to content mirrored": Bug("deberta_v2", _encodings(p2c_distance="paper")),
    "first row of the table wrong": Bug("roberta", _config(pad_token_id=1)),
    "norms of queries and keys left out": Bug("qwen3", _no_query_key_norm),
    "cap of attention left out": Bug("gemma2", _settings("gemma2", attention_cap=None)),
    "cap of logits left out": Bug("gemma2", _settings("gemma2", logit_cap=None)),
    "offset of norms dropped": Bug("gemma2", _settings("gemma2", norm_type="rms")),
    "scale of embeddings dropped": Bug("gemma2", _settings("gemma2", scale_embeddings=False)),
    "layers without positions inverted": Bug("smollm3", _no_rope_inverted),
    "GELU by erf": Bug("gpt2", _settings("gpt2", activation="gelu")),
    "keys and values exchanged": Bug("gpt2", _keys_and_values_exchanged),
}
