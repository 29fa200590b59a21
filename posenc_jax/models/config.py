"""Settings of a Transformer (`Transformer`) and the positional encodings of its stacks (`Slots`)."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp

from posenc_jax.attention.choice import Asked
from posenc_jax.encodings.interface.base import Dims
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.interface.structure import StructureMask
from posenc_jax.encodings.interface.value import Value, above, at_least, limited

# The stacks whose slots a model of each kind reads.
STACKS: dict[str, tuple[str, ...]] = {
    "decoder_only": ("decoder",),
    "encoder_only": ("encoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}
# The fields of a `Transformer` that say how it is computed and trained: no parameter and no trained model is another
# with them.
COMPUTING = frozenset({"dtype", "param_dtype", "matmul_precision", "attention", "remat", "dropout"})


@dataclasses.dataclass(frozen=True)
class Slots(Value):
    """The encodings of a model, one slot per stack; a model reads those that it has (`STACKS`). ``()`` is NoPE.

    Attributes:
      encoder, decoder: input embeddings and self-attention of the stack.
      cross: the decoder's attention to the encoder's output.
    """

    encoder: Slot = ()
    decoder: Slot = ()
    cross: Slot = ()


@dataclasses.dataclass(frozen=True)
class Transformer(Value):
    """Sizes and architecture of a Transformer, the same fields for all kinds of model.

    Attributes:
      d_model: width M of the residual stream, at most 1048576.
      num_layers: number of layers of each stack, at most 1024, since every layer is compiled.
      num_heads: number of query heads H, at most 65536.
      mask: encoder-only: which tokens of a document attend to which, by their types or their outline, such as
        ``own_section`` or your own class (`posenc_jax.encodings.interface.structure`); None: all attend to all.
      num_encoder_layers: encoder-decoder: number of layers of the encoder (None: num_layers).
      num_decoder_layers: encoder-decoder: number of layers of the decoder (None: num_layers).
      num_kv_heads: number of key and value heads, each serving ``num_heads / num_kv_heads`` query heads (None: H).
      head_dim: width D of a head (None: ``d_model // num_heads``), at most 1048576.
      mlp_dim: hidden width of the feed-forward layer, also of one with a gate (None: ``4 * d_model``), at most
        16777216.
      norm: place of the norms of a sub-layer f: "pre" is ``x + f(norm(x))``, "post" ``norm(x + f(x))``, "output" ``x +
        norm(f(x))`` (as in OLMo 2) and "sandwich" ``x + norm(f(norm(x)))`` (Gemma 2).
      parallel: attention and the feed-forward layer read the same input, and both outputs are added: after one norm for
        both (GPT-J) or one for each (GPT-NeoX); None: the feed-forward layer reads the input after attention was added.
        Only with norm "pre", and not in an encoder-decoder.
      norm_type: "layer", "rms" (no mean, no bias) or "rms_offset", whose factors are ``1 + w`` (Gemma).
      norm_epsilon: epsilon of all norms.
      norm_bias: whether LayerNorms have biases.
      query_key_norm: norm of queries and keys before positions are encoded, per head (Qwen 3, Gemma 3) or over the
        whole projection (OLMo 2).
      windows: a query sees only keys fewer than this many positions away (1: only its own; 0: all), one number for each
        layer in turn: (4096, 0) is Gemma 2, whose layers alternate between 4096 keys and all; (): all keys in all
        layers. Not in an encoder-decoder.
      embedding_norm: whether there is a norm after the embeddings and everything that is added to them (BERT, BLOOM).
      first_norm: whether attention of the first layer has a norm before it (not in ModernBERT, whose embeddings have
        one).
      final_norm: whether there is a norm after each stack (None: unless ``norm`` is "post", since no other norm bounds
        the residual stream then).
      activation: "relu", "silu", "gelu" in its exact form ``x * Phi(x)``, or "gelu_tanh" (GPT-2); with a gate, a third
        matrix of the feed-forward layer, "swiglu" (Llama), "geglu" or "geglu_tanh" (T5 v1.1, Gemma), see
        `posenc_jax.models.blocks.MLP`.
      dropout: dropout rate after the embeddings and after each sub-layer, before its output is added (Vaswani et al.
        2017, section 5.4); attention weights and the inside of the feed-forward layer have none.
      scale_embeddings: whether token embeddings are multiplied by ``sqrt(d_model)``.
      tie_output: whether the output layer is the transposed embedding table (of the decoder); needs one class per
        token.
      tie_embeddings: encoder-decoder: whether both inputs share one table (Vaswani et al. 2017, section 3.4). False:
        the decoder has its own table with a row for each class, which a separate target vocabulary needs.
      divide_logits: whether attention logits are divided by sqrt(D). False: they are not, and the query projection
        starts smaller by that factor (T5, Raffel et al. 2020); the model is the same at initialisation, but its queries
        learn faster with Adam.
      attention_scale: factor of the query-key products instead of 1/sqrt(D); queries then start as with ``divide_logits
        = False``, which is a scale of 1.
      attention_cap: c of ``c tanh(products / c)``, which caps the scaled products before biases and masks (Gemma 2);
        None: no cap.
      logit_scale: factor of the logits of the output layer (T5: ``d_model**-0.5``).
      logit_cap: cap of these logits, after their scale; None: no cap.
      attention_bias: whether the projections of attention have biases.
      mlp_bias: whether the projections of the feed-forward layer have biases.
      attention_output_bias: whether attention's output projection has a bias (None: as ``attention_bias``; not in Qwen
        2).
      output_bias: whether the output layer has a bias (None: unless it is tied).
      output_transform: whether the output layer reads ``norm(f(x W + b))``, with f, and b or no b, as in the
        feed-forward layers (BERT's masked-language-model head), `posenc_jax.models.blocks.Transform`.
      token_types: encoder-only and decoder-only: number of token types ``0 .. token_types-1``, at most 65536, each with
        an embedding that is added to that of the token; every call then needs the types (1 = header, 2 = body, 3 =
        footer, 0 = padding); 0: no token types.
      pooling: encoder-only: None predicts for every token; "mean" (of the real tokens), "first" and "attention" predict
        once per row. "attention" has a learned query for each of the types ``1 .. token_types-1``, which attends to the
        real tokens of its type, or without token types one query for all (`AttentionPooling`).
      dtype: dtype of computations. "float32" is the dtype of the parameters (float64 parameters compute in float64);
        with "bfloat16", norms, softmax and logits stay in float32, and so do positions, phases and gates that are
        summed along the sequence.
      param_dtype: dtype in which matrices are stored between steps; "bfloat16" needs ``dtype`` to be the same. An
        update below the last digit, 1/256, is then lost. Biases, norms and the parameters of encodings stay in float32.
      matmul_precision: precision of float32 products on accelerators: "highest" is float32, "high" is three bfloat16
        products or one in TF32, "default" is whatever the device does fastest; "auto" is "highest" in float32 and
        "default" in bfloat16. On a CPU all are the same. Products that phases and gates are made of are always
        "highest", as are float32 products in the fused kernel.
      remat: what a training step recomputes for the gradient instead of keeping it: "none" nothing; "dots" all but the
        products with parameters; "layers" all but the input of each layer. Results agree up to rounding.
      attention: implementation of attention, see `posenc_jax.attention.Choice`; "auto" leaves the choice to `choose`.
        All agree up to rounding.
    """

    d_model: int = 64
    num_layers: int = 2
    num_heads: int = 4
    num_kv_heads: int | None = None
    head_dim: int | None = None
    mlp_dim: int | None = None
    norm: Literal["pre", "post", "output", "sandwich"] = "pre"
    norm_type: Literal["layer", "rms", "rms_offset"] = "layer"
    final_norm: bool | None = None
    activation: Literal["relu", "silu", "gelu", "gelu_tanh", "swiglu", "geglu", "geglu_tanh"] = "gelu"
    dropout: float = 0.0
    scale_embeddings: bool = True
    tie_output: bool = False
    divide_logits: bool = True
    attention_bias: bool = True
    mlp_bias: bool = True
    token_types: int = 0
    pooling: Literal["mean", "first", "attention"] | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"
    attention: Asked = "auto"
    param_dtype: Literal["float32", "bfloat16"] = "float32"
    matmul_precision: Literal["auto", "default", "high", "highest"] = "auto"
    remat: Literal["none", "dots", "layers"] = "none"
    num_encoder_layers: int | None = None
    num_decoder_layers: int | None = None
    tie_embeddings: bool = True
    mask: StructureMask | None = None
    norm_epsilon: float = 1e-5
    norm_bias: bool = True
    query_key_norm: Literal["head", "projection"] | None = None
    embedding_norm: bool = False
    windows: tuple[int, ...] = ()
    parallel: Literal["one_norm", "two_norms"] | None = None
    attention_output_bias: bool | None = None
    output_bias: bool | None = None
    attention_scale: float | None = None
    attention_cap: float | None = None
    logit_scale: float = 1.0
    logit_cap: float | None = None
    first_norm: bool = True
    output_transform: bool = False

    limits = limited(
        **dict.fromkeys(("d_model", "head_dim"), at_least(1, most=2**20)),
        **dict.fromkeys(("num_layers", "num_encoder_layers", "num_decoder_layers"), at_least(1, most=1024)),
        **dict.fromkeys(("num_heads", "num_kv_heads"), at_least(1, most=2**16)),
        **dict.fromkeys(("norm_epsilon", "attention_scale", "attention_cap", "logit_scale", "logit_cap"), above(0)),
        mlp_dim=at_least(1, most=2**24),
        token_types=at_least(0, ": 0 is none", most=2**16),
    )
    part_of_run = "model"

    @classmethod
    def attention_is_all_you_need(cls, **changes: Any) -> Transformer:
        """The base model of Vaswani et al. 2017 (table 3), with ``changes``.

        Post-norm, ReLU, dropout 0.1, projections of attention without biases, one table for both inputs and the output.
        """
        paper = cls(
            d_model=512,
            num_layers=6,
            num_heads=8,
            norm="post",
            activation="relu",
            dropout=0.1,
            tie_output=True,
            attention_bias=False,
        )
        return dataclasses.replace(paper, **changes)

    def check_fields(self) -> None:
        """Refuses sizes that do not fit together."""
        if self.head_dim is None and self.d_model % self.num_heads:
            raise ValueError(
                f"d_model = {self.d_model} is not divisible by num_heads = {self.num_heads}: "
                f"choose a multiple of {self.num_heads}, or set head_dim"
            )
        if self.num_heads % self.kv_heads:
            raise ValueError(
                f"num_heads = {self.num_heads} is not divisible by num_kv_heads = {self.num_kv_heads}: "
                "every key head serves equally many query heads, choose a divisor"
            )
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout = {self.dropout} is outside [0, 1): it is the probability of dropping")
        if any(window < 0 for window in self.windows):
            raise ValueError(f"windows = {self.windows} has a negative number: 1 is a query's own place, 0 no window")
        if self.parallel is not None and self.norm != "pre":
            raise ValueError(
                f"parallel = {self.parallel!r} with norm = {self.norm!r}: parallel layers read a norm of x and add to "
                "x, set norm to 'pre', or leave parallel out"
            )
        if not self.first_norm and self.norm != "pre":
            raise ValueError(
                f"first_norm = False with norm = {self.norm!r}: only norms before sub-layers may lack the first, set "
                "norm to 'pre', or first_norm to True"
            )
        if self.attention_scale is not None and not self.divide_logits:
            raise ValueError(
                f"attention_scale = {self.attention_scale} and divide_logits = False both say what logits are "
                "multiplied by: leave one of them out"
            )
        if self.param_dtype == "bfloat16" and self.dtype != "bfloat16":
            raise ValueError(
                f"param_dtype = 'bfloat16' with dtype = {self.dtype!r}: what is computed in float32 has parameters in "
                "float32; set dtype to 'bfloat16' too"
            )
        if self.pooling == "attention" and self.token_types == 1:
            raise ValueError(
                "token_types = 1 leaves no section to pooling = 'attention', which pools types 1 .. token_types-1: "
                "set token_types to 0 to pool all tokens together, or to at least 2"
            )

    def depth(self, stack: str) -> int:
        """Layers of a stack ("encoder", "decoder"; "cross" is a part of the decoder's)."""
        return (self.num_encoder_layers if stack == "encoder" else self.num_decoder_layers) or self.num_layers

    def window(self, layer: int) -> int | None:
        """The window of the self-attention of a layer, as of `Geometry`."""
        return self.windows[layer % len(self.windows)] or None if self.windows else None

    @property
    def kv_heads(self) -> int:
        """Number of key and value heads."""
        return self.num_kv_heads or self.num_heads

    @property
    def width_of_head(self) -> int:
        """Head dimension D."""
        return self.head_dim or self.d_model // self.num_heads

    @property
    def hidden_width(self) -> int:
        """Hidden width of the feed-forward layer."""
        return self.mlp_dim or 4 * self.d_model

    @property
    def split_sizes(self) -> dict[str, int]:
        """The sizes that `Execution.model` devices divide among them, by the names of their fields."""
        return {"num_heads": self.num_heads, "num_kv_heads": self.kv_heads, "mlp_dim": self.hidden_width}

    @property
    def has_final_norm(self) -> bool:
        """True if a norm follows each stack."""
        return self.norm != "post" if self.final_norm is None else self.final_norm

    @property
    def has_output_bias(self) -> bool:
        """True if the output layer has a bias."""
        return not self.tie_output if self.output_bias is None else self.output_bias

    @property
    def query_factor(self) -> float:
        """The factor of queries: attention divides by sqrt(D), and encodings rely on that."""
        if self.attention_scale is not None:
            return self.attention_scale * self.width_of_head**0.5
        return 1.0 if self.divide_logits else self.width_of_head**0.5

    @property
    def compute_dtype(self) -> Any:
        """The dtype of activations, or None for that of the parameters."""
        return None if self.dtype == "float32" else jnp.bfloat16

    @property
    def product_precision(self) -> Literal["default", "high", "highest"]:
        """The precision of matrix products that ``matmul_precision`` stands for."""
        if self.matmul_precision != "auto":
            return self.matmul_precision
        return "highest" if self.dtype == "float32" else "default"

    def cast(self, x: jax.Array) -> jax.Array:
        """``x`` in the dtype that is computed in."""
        return x if self.compute_dtype is None else x.astype(self.compute_dtype)


def model_dims(config: Transformer, *, vocab_size: int, max_len: int) -> Dims:
    """The sizes that encodings see; of one stack `stack_dims`."""
    return Dims(
        d_model=config.d_model,
        num_heads=config.num_heads,
        num_kv_heads=config.kv_heads,
        head_dim=config.width_of_head,
        num_layers=config.num_layers,
        max_len=max_len,
        vocab_size=vocab_size,
    )


def stack_dims(config: Transformer, dims: Dims, stack: str) -> Dims:
    """The sizes that the encodings of one stack see."""
    return dataclasses.replace(dims, num_layers=config.depth(stack))
