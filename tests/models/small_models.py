"""Small models with all parameters perturbed, and small encodings that use the hooks real ones may lack."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from posenc_jax.encodings.interface.base import PositionalEncoding, by_token
from posenc_jax.models import Slots, Transformer, build

VOCAB = 11
MAX_LEN = 24
NOPE = Slots()

_LLAMA = {"norm_type": "rms", "activation": "swiglu", "attention_bias": False, "mlp_bias": False, "output_bias": False}
_GEMMA = {
    "norm": "sandwich",
    "norm_type": "rms_offset",
    "activation": "geglu_tanh",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_output": True,
    "head_dim": 6,
    "num_kv_heads": 2,
}
# The parts of models that are out there, with scales and caps that are seen in small ones.
FAMILIES = {
    "gpt2": {"activation": "gelu_tanh", "tie_output": True, "norm_epsilon": 1e-2},
    "gpt_neox": {"parallel": "two_norms", "output_bias": False, "scale_embeddings": False},
    "gptj": {"parallel": "one_norm", "activation": "gelu_tanh", "attention_bias": False},
    "qwen2": _LLAMA | {"attention_bias": True, "attention_output_bias": False, "num_kv_heads": 2, "norm_epsilon": 1e-2},
    "qwen3": _LLAMA | {"query_key_norm": "head", "num_kv_heads": 2, "head_dim": 6},
    "olmo2": _LLAMA | {"query_key_norm": "projection", "norm": "output", "num_kv_heads": 2},
    "gemma2": _GEMMA | {"windows": (3, 0), "attention_scale": 0.3, "attention_cap": 1.5, "logit_cap": 2.0},
    "gemma3": _GEMMA | {"attention_scale": 0.3, "query_key_norm": "head"},
    "bert": {
        "norm": "post",
        "embedding_norm": True,
        "tie_output": True,
        "output_bias": True,
        "output_transform": True,
        "norm_epsilon": 1e-12,
    },
    "modernbert": {
        "windows": (0, 2),
        "norm_bias": False,
        "embedding_norm": True,
        "first_norm": False,
        "output_transform": True,
        "activation": "geglu",
        "attention_bias": False,
    },
    "head_norms_with_biases": {"query_key_norm": "head", "parallel": "one_norm"},
    "marian": {"norm": "post", "activation": "silu", "tie_output": True, "output_bias": True},
    "mpt": {"norm_bias": False, "attention_bias": False, "mlp_bias": False, "logit_scale": 0.25, "tie_output": True},
}


@dataclasses.dataclass(frozen=True)
class LengthBias(PositionalEncoding):
    """A bias that depends on the real length and on a trained slope."""

    name, paper, citation = "length_bias", "", ""

    def init(self, key, dims):
        return {"slope": jax.random.normal(key, (dims.num_heads,), jnp.float32)}

    def bias(self, params, geometry):
        distance = jnp.abs(geometry.relative)[:, None].astype(params["slope"].dtype)
        return (
            params["slope"][None, :, None, None] * distance / by_token(jnp.asarray(geometry.q_length))[:, None, :, None]
        )


@dataclasses.dataclass(frozen=True)
class LayerBias(LengthBias):
    """The same with a slope per layer."""

    name, per_layer = "layer_bias", True


@dataclasses.dataclass(frozen=True)
class Relations(PositionalEncoding):
    """Key and value tables over clipped relative positions: `content_bias` and `value_term`."""

    name, paper, citation = "relations", "", ""

    def init(self, key, dims):
        keys, values = jax.random.normal(key, (2, 9, dims.head_dim), jnp.float32)
        return {"keys": keys, "values": values}

    def _rows(self, table, geometry):
        return table[jnp.clip(geometry.relative, -4, 4) + 4]

    def content_bias(self, params, q, k, geometry, terms):
        rows = self._rows(params["keys"], geometry)
        return jnp.einsum("bhqd,bqkd->bhqk", q, jnp.broadcast_to(rows, (q.shape[0], *rows.shape[1:])))

    def value_term(self, params, weights, geometry):
        rows = self._rows(params["values"], geometry)
        return jnp.einsum("bhqk,bqkd->bhqd", weights, jnp.broadcast_to(rows, (weights.shape[0], *rows.shape[1:])))


@dataclasses.dataclass(frozen=True)
class Gate(PositionalEncoding):
    """Every key says by its token's input how much it weighs in which head: `token_terms`."""

    name, paper, citation, per_layer = "gate", "", "", True

    def init(self, key, dims):
        return {"projection": jax.random.normal(key, (dims.d_model, dims.num_heads), jnp.float32)}

    def token_terms(self, params, x, sequence):
        return {"gate": x @ params["projection"].astype(x.dtype)}

    def content_bias(self, params, q, k, geometry, terms):
        return jnp.zeros_like(q[..., :1]) + jnp.swapaxes(terms["gate"], 1, 2)[:, :, None]


@dataclasses.dataclass(frozen=True)
class Runs(PositionalEncoding):
    """Positions by the tokens before: how many were above 5."""

    name, paper, citation = "runs", "", ""

    def map_positions(self, sequence, *, key, train):
        return sequence.from_context(lambda whole: jnp.cumsum(whole.tokens > 5, axis=1, dtype=jnp.int32))


@dataclasses.dataclass(frozen=True)
class OnlySelf(PositionalEncoding):
    """A bias so large that every token attends to its own position only."""

    name, paper, citation = "only_self", "", ""

    def bias(self, params, geometry):
        return jnp.where(geometry.relative == 0, 0.0, -1e9)[:, None]


def small(kind, slots=NOPE, *, key=0, posenc_key=1, num_classes=VOCAB, fresh=False, **changes):
    """A model of width 16 with 2 layers and 4 heads.

    ``fresh``: as built. Else without a run of `build`, all parameters random and float64 where x64 is enabled: nothing
    is zero or one, and nothing is compiled.
    """

    def make():
        return build(
            kind,
            Transformer(**{"d_model": 16, "num_layers": 2, "num_heads": 4, "mlp_dim": 24} | changes),
            slots,
            vocab_size=VOCAB,
            num_classes=num_classes,
            max_len=MAX_LEN,
            key=jax.random.key(key),
            posenc_key=jax.random.key(posenc_key),
        )

    if fresh:
        return make()
    graph, state = nnx.split(nnx.eval_shape(make))
    rng = np.random.default_rng(7)

    def draw(path, leaf):
        center = 1.0 if path[-2] == jax.tree_util.DictKey("scale") else 0.0
        return jnp.asarray(center + 0.35 * rng.normal(size=leaf.shape), jnp.result_type(float))

    return nnx.merge(graph, jax.tree.map_with_path(draw, state))


def jitted(method, **static):
    """A method of a model as one compiled program; ``static`` arguments are not traced."""
    graph, state = nnx.split(method.__self__)

    @jax.jit
    def run(state, args, kwargs):
        return getattr(nnx.merge(graph, state), method.__name__)(*args, **kwargs, **static)

    return lambda *args, **kwargs: run(state, args, kwargs)


def random_tokens(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, VOCAB, shape).astype(np.int32)
