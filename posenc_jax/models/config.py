"""What a Transformer is made of (`Transformer`) and where its positional encodings stand (`Slots`): plain values, hashable, without arrays."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Value
from posenc_jax.encodings.slots import Slot

ModelKind = Literal["decoder_only", "encoder_only", "encoder_decoder"]

# The stacks whose slots a model of each kind reads.
STACKS: dict[str, tuple[str, ...]] = {
    "decoder_only": ("decoder",),
    "encoder_only": ("encoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}


@dataclasses.dataclass(frozen=True)
class Slots(Value):
    """The encodings of a model, one slot per stack; a model reads those that it has (`STACKS`), ``()`` is NoPE.

    Attributes:
      encoder, decoder: self-attention and input embeddings of the stack. cross: attention of the decoder to the encoder's output.
    """

    encoder: Slot = ()
    decoder: Slot = ()
    cross: Slot = ()


@dataclasses.dataclass(frozen=True)
class Transformer(Value):
    """Sizes and form of a Transformer, the same for the three kinds of model.

    Attributes:
      d_model: width M of the residual stream. num_layers: layers of each stack. num_heads: query heads H.
      num_kv_heads: key and value heads, each shared by ``num_heads / num_kv_heads`` query heads (None: H). head_dim: D (None: ``d_model // num_heads``).
      mlp_dim: hidden width of the feed-forward layer (None: ``4 * d_model``).
      norm: "pre" is ``x + f(norm(x))``, "post" is ``norm(x + f(x))``. norm_type: "layer" or "rms" (no mean, no bias), epsilon 1e-5.
      final_norm: a norm after each stack (None: with "pre" only, where the residual stream is otherwise never normalised).
      activation: "relu", or "gelu" in its exact form ``x * Phi(x)``.
      dropout: rate after the embeddings and after each sub-layer, before it is added to the residual stream (Vaswani et al. 2017, section 5.4); none
        on attention weights or inside the feed-forward layer.
      scale_embeddings: token embeddings are multiplied by ``sqrt(d_model)``.
      tie_output: the output layer is the embedding table transposed, without bias; needs as many classes as tokens.
      attention_bias, mlp_bias: whether the projections of attention and feed-forward layer have biases.
      pooling: encoder-only: None predicts for every token, "mean" (over real tokens) and "first" once for the sequence.
      dtype: what is computed in. "float32" is the dtype of the parameters; with "bfloat16" parameters, norms, softmax and logits stay in float32.
    """

    d_model: int = 64
    num_layers: int = 2
    num_heads: int = 4
    num_kv_heads: int | None = None
    head_dim: int | None = None
    mlp_dim: int | None = None
    norm: Literal["pre", "post"] = "pre"
    norm_type: Literal["layer", "rms"] = "layer"
    final_norm: bool | None = None
    activation: Literal["relu", "gelu"] = "gelu"
    dropout: float = 0.0
    scale_embeddings: bool = True
    tie_output: bool = False
    attention_bias: bool = True
    mlp_bias: bool = True
    pooling: Literal["mean", "first"] | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"

    @classmethod
    def attention_is_all_you_need(cls, **changes: Any) -> Transformer:
        """The base model of Vaswani et al. 2017 (table 3), with ``changes``: post-norm, ReLU, dropout 0.1, one table for both inputs and the output."""
        paper = cls(512, 6, 8, mlp_dim=2048, norm="post", activation="relu", dropout=0.1, tie_output=True, attention_bias=False)
        return dataclasses.replace(paper, **changes)

    def check_fields(self) -> None:
        """Refuses sizes that do not fit together."""
        for name in ("d_model", "num_layers", "num_heads", "num_kv_heads", "head_dim", "mlp_dim"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise ValueError(f"{name} = {size} is not positive: a Transformer needs at least 1")
        if self.head_dim is None and self.d_model % self.num_heads:
            raise ValueError(
                f"d_model = {self.d_model} is not divisible by num_heads = {self.num_heads}: choose a multiple of {self.num_heads}, or set head_dim"
            )
        if self.num_kv_heads is not None and self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_heads = {self.num_heads} is not divisible by num_kv_heads = {self.num_kv_heads}: each key head serves equally many query heads"
            )
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout = {self.dropout} is outside [0, 1): it is the probability of dropping")

    @property
    def kv_heads(self) -> int:
        """Number of key and value heads."""
        return self.num_kv_heads or self.num_heads

    @property
    def width_of_head(self) -> int:
        """Head dimension D."""
        return self.head_dim or self.d_model // self.num_heads

    @property
    def has_final_norm(self) -> bool:
        """Whether a norm follows each stack."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @property
    def compute_dtype(self) -> Any:
        """The dtype of activations, or None for that of the parameters."""
        return None if self.dtype == "float32" else jnp.bfloat16

    def cast(self, x: Array) -> Array:
        """``x`` in the dtype that is computed in."""
        return x if self.compute_dtype is None else x.astype(self.compute_dtype)


def model_dims(config: Transformer, *, vocab_size: int, max_len: int) -> Dims:
    """The sizes that encodings see."""
    return Dims(
        d_model=config.d_model,
        num_heads=config.num_heads,
        num_kv_heads=config.kv_heads,
        head_dim=config.width_of_head,
        num_layers=config.num_layers,
        max_len=max_len,
        vocab_size=vocab_size,
    )
