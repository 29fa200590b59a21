"""Embeddings of tokens and of their types, and the output layer."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from posenc_jax.encodings.absolute.learned import read_rows
from posenc_jax.encodings.interface.base import Array, at_least_float32
from posenc_jax.models.config import Transformer
from posenc_jax.models.product import product


class Embedding(nnx.Module):
    """A table ``[V, M]`` read by gather (its gradient is a scatter-add), if tied also the output layer.

    Drawn from N(0, 1/M) if embeddings are scaled by sqrt(M) or the table is tied, else from N(0, 1). So scaled
    embeddings enter the model with unit variance, and a tied output layer gives logits of unit variance.

    With ``token_types`` T in the config a second table ``types [T, M]`` is added, the segment embeddings of Devlin et
    al. 2019, section 3.2: ``table[token] * scale + types[type]``. It is drawn from N(0, 0.02^2), as in BERT, and not
    scaled: like a learned positional table it starts small beside the tokens. (In BERT the token embeddings are as
    small, and a norm follows the sum.)
    """

    def __init__(self, config: Transformer, vocab_size: int, *, rngs: nnx.Rngs):
        stddev = config.d_model**-0.5 if config.scale_embeddings or config.tie_output else 1.0
        self.table = nnx.Param(jax.random.normal(rngs.params(), (vocab_size, config.d_model), jnp.float32) * stddev)
        self.scale = config.d_model**0.5 if config.scale_embeddings else 1.0
        shape = (config.token_types, config.d_model)
        self.types = (
            nnx.Param(0.02 * jax.random.normal(rngs.token_types(), shape, jnp.float32)) if config.token_types else None
        )

    def __call__(self, tokens: Array, token_types: Array | None = None) -> Array:
        """``[B, S, M]`` embeddings of ``tokens [B, S]`` and ``token_types [#B, S]``, in at least float32.

        Tokens and types that the tables do not have give NaN, which no loss hides. Without a table types are not read.

        Raises:
          ValueError: there is a table and no types.
        """
        table = self.table[...]
        x = table[tokens]
        x = x.astype(at_least_float32(x))
        # A factor: selecting among the rows read would move the last bits of trainings.
        scale = jnp.where((tokens < 0) | (tokens >= len(table)), jnp.nan, self.scale).astype(x.dtype)
        x = x * scale[..., None]
        if self.types is None:
            return x
        table = self.types[...]
        if token_types is None:
            raise ValueError(
                f"Transformer.token_types = {len(table)}, and this call gives no types: pass token_types=, or set "
                "Transformer.token_types to 0"
            )
        return x + read_rows(table, token_types)

    def logits(self, x: Array) -> Array:
        """``[..., V]``: ``x [..., M]`` times the table transposed, in at least float32."""
        return _product(x, self.table[...].T)


def of_vocabulary(tokens: Array, size: int, segment_ids: Array | None = None) -> Array:
    """``tokens [B, S]``, of which those of padding (segment 0) are 0 where a vocabulary of ``size`` lacks them: nobody
    reads them.

    Raises:
      ValueError: for others that it lacks, where they are known while a program is traced. (`Embedding` makes NaN of
        those that are not.)
    """
    outside = (tokens < 0) | (tokens >= size)
    if segment_ids is not None:
        padding = segment_ids == 0
        known = all(isinstance(x, np.ndarray) for x in (tokens, padding))
        tokens, outside = (np if known else jnp).where(outside & padding, 0, tokens), outside & ~padding
    if isinstance(outside, np.ndarray) and outside.any():
        raise ValueError(
            f"token id {np.broadcast_to(tokens, outside.shape)[outside][0]} is outside a vocabulary of {size} (0 .. "
            f"{size - 1}): raise vocab_size, or use the tokenizer that the model is made for"
        )
    return tokens


class Output(nnx.Module):
    """The output layer ``x W + b``, W ``[M, C]`` from N(0, 1/M) (none if tied), b zero; logits in at least float32."""

    def __init__(self, config: Transformer, num_classes: int, *, rngs: nnx.Rngs):
        stddev, shape = config.d_model**-0.5, (config.d_model, num_classes)
        self.kernel = (
            None if config.tie_output else nnx.Param(jax.random.normal(rngs.params(), shape, jnp.float32) * stddev)
        )
        self.bias = nnx.Param(jnp.zeros((num_classes,), jnp.float32)) if config.has_output_bias else None

    def __call__(self, x: Array, tied: Embedding) -> Array:
        """``[..., C]`` logits of ``x [..., M]``; ``tied`` has the table of a layer without a matrix."""
        logits = tied.logits(x) if self.kernel is None else _product(x, self.kernel[...])
        return logits if self.bias is None else logits + jnp.reshape(self.bias[...], (1,) * (logits.ndim - 1) + (-1,))


def _product(x: Array, kernel: Array) -> Array:
    return product(x, kernel.astype(x.dtype), preferred_element_type=at_least_float32(x))
