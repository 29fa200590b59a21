"""Encodings whose hooks do not commute, so that the order of every fold of them shows."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Power(PositionalEncoding):
    """``factor x^power`` at one hook, of what the hook is given or, where one is added, at distance 0."""

    hook: str
    factor: float = 1.0
    power: int = 1

    name = "power"
    bias_of_distance = True

    @property
    def acts_on(self):
        return frozenset({self.hook}) & frozenset(self.HOOKS)

    def __call__(self, hook, x):
        return (self.factor * x**self.power).astype(x.dtype) if hook == self.hook else x

    def added(self, hook, geometry):
        return self.factor * (geometry.relative == 0)[:, None].astype(jnp.float32) if hook == self.hook else None

    def map_positions(self, sequence, *, key, train):
        return self("map_positions", sequence.positions)

    def mapped_max_len(self, max_len):
        return int(self.factor) * max_len**self.power if self.hook == "map_positions" else max_len

    def encoded_dim(self, head_dim):
        return int(self.factor) * head_dim**self.power if self.hook == "encoded_dim" else head_dim

    def embed(self, params, x, sequence):
        return self("embed", x)

    def encode_queries(self, params, q, positions, length):
        return self("encode_queries", q)

    def encode_keys(self, params, k, positions, length):
        return self("encode_keys", k)

    def encode_values(self, params, v, positions, length):
        return self("encode_values", v)

    def encode_outputs(self, params, out, positions, length):
        return self("encode_outputs", out)

    def bias(self, params, geometry):
        return self.added("bias", geometry)

    def content_bias(self, params, q, k, geometry, terms):
        return self.added("content_bias", geometry)

    def adjust_logits(self, params, logits, bias, geometry):
        return self("adjust_logits", logits if bias is None else logits + bias)

    def value_term(self, params, weights, geometry):
        return None if self.hook != "value_term" else self.factor * jnp.ones((*weights.shape[:3], 8))


def double_and_square(hook):
    """``(2 x)^2`` from left to right, and ``2 x^2`` from right to left."""
    return Power(hook, factor=2.0), Power(hook, power=2)
