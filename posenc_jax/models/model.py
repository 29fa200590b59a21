"""The common part of all models: embeddings, encodings and their parameters, output layer."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from posenc_jax.encodings.interface import slots as slot_functions
from posenc_jax.encodings.interface.arrays import check_sizes
from posenc_jax.encodings.interface.attention import capped
from posenc_jax.encodings.interface.base import Array, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.models.blocks import EMBEDDINGS, Transform
from posenc_jax.models.cache import Cache
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.costs import Token
from posenc_jax.models.embedding import Embedding, Output, of_vocabulary
from posenc_jax.models.layer_encodings import LayerEncodings, layer_encodings
from posenc_jax.models.randomness import Dropout, Streams


class Model(nnx.Module):
    """Base class of the models; built by `posenc_jax.models.build`.

    ``posenc`` holds all parameters of encodings, by stack; the blocks are given them in the call.
    """

    def __init__(
        self,
        config: Transformer,
        slots: Slots,
        *,
        vocab_size: int,
        num_classes: int | None,
        posenc: dict[str, Any],
        rngs: nnx.Rngs,
    ):
        self.config = config
        self.slots = slots
        self.embedding = Embedding(config, vocab_size, rngs=rngs)
        self.gives_logits = num_classes is not None
        whole = config.tie_output and not config.has_output_bias
        self.output = None if whole or num_classes is None else Output(config, num_classes, rngs=rngs)
        self.target_embedding = (
            None
            if config.tie_embeddings or num_classes is None
            else Embedding(config, num_classes, rngs=nnx.Rngs(params=rngs.target_embedding()))
        )
        transforms = config.output_transform and self.gives_logits
        self.transform = Transform(config, rngs=nnx.Rngs(params=rngs.transform())) if transforms else None
        self.posenc = nnx.data(jax.tree.map(nnx.Param, posenc))

    def posenc_params(self, stack: str) -> tuple[Params, ...]:
        """The arrays of one stack's encoding parameters, for the functions of `encodings.slots`."""
        return jax.tree.map(lambda p: p[...], self.posenc[stack], is_leaf=lambda p: isinstance(p, nnx.Variable))

    def layer_params(self, stack: str) -> tuple[tuple[tuple[PositionalEncoding, ...], tuple[Params, ...]], ...]:
        """Every layer's encodings in one slot, and their parameters."""
        slot, params = getattr(self.slots, stack), self.posenc_params(stack)
        return tuple(
            (slot_functions.for_layer(slot, layer), slot_functions.layer_params(slot, params, layer))
            for layer in range(self.config.depth(stack))
        )

    def layer_encodings(
        self, stack: str, queries: Sequence, keys: Sequence, *, streams: Streams, train: bool, **call: Any
    ) -> tuple[LayerEncodings, ...]:
        """The encodings of every layer of one slot; ``call`` goes to `slots.geometries`.

        Raises:
          ValueError: for a length above the number of an encoder's tokens, to which no more are added.
        """
        size, length = queries.positions.shape[1], queries.length
        if stack == "encoder" and isinstance(length, np.ndarray) and (length > size).any():
            raise ValueError(
                f"length has {length.max()}, and an encoder's {size} tokens are all that there are: count real ones"
            )
        return layer_encodings(
            getattr(self.slots, stack),
            self.posenc_params(stack),
            queries,
            keys,
            config=self.config,
            num_layers=self.config.depth(stack),
            dtype=self.config.compute_dtype or self.embedding.table.dtype,
            key=streams.positions_of(stack),
            train=train,
            **call,
        )

    def embed(
        self, stack: Literal["encoder", "decoder"], sequence: Sequence, *, streams: Streams, train: bool
    ) -> tuple[jax.Array, Dropout]:
        """``[B, S, M]`` input of a stack, and the stack's dropout.

        Encodings act on the embeddings once, before the first layer, so those of the first layer's tuple do.
        """
        slot = getattr(self.slots, stack)
        assert sequence.tokens is not None
        embedding = self.embedding_of(stack)
        x = slot_functions.embed(
            slot_functions.for_layer(slot, 0),
            slot_functions.layer_params(slot, self.posenc_params(stack), 0),
            embedding(
                of_vocabulary(sequence.tokens, embedding.table.shape[0], sequence.segment_ids), sequence.token_types
            ),
            sequence,
            key=streams.positions_of(stack),
            train=train,
        )
        layers = getattr(self, stack)
        dropout = Dropout.of_call(self.config.dropout, streams, sequence.example_ids, train, stack)
        x = self.config.cast(jnp.asarray(x) if layers.embedding_norm is None else layers.embedding_norm(x))
        dropout = layers.with_masks(dropout, x)
        return dropout(x, EMBEDDINGS), dropout

    def embedding_of(self, stack: str) -> Embedding:
        """The table of the tokens of a stack."""
        return self.embedding if stack == "encoder" or self.target_embedding is None else self.target_embedding

    def logits(self, x: Array) -> Array:
        """``[..., C]`` of ``x [..., M]``, in at least float32; x itself in a model without an output layer."""
        if not self.gives_logits:
            return x.astype(at_least_float32(x))
        tied, scale, cap = self.embedding_of("decoder"), self.config.logit_scale, self.config.logit_cap
        x = x if self.transform is None else self.transform(jnp.asarray(x))
        logits = tied.logits(x) if self.output is None else self.output(x, tied)
        logits = logits if scale == 1.0 else logits * scale
        return logits if cap is None else capped(logits, cap)

    def costs(self) -> tuple[Token, Token]:
        """Costs of a token outside the layers (its embedding, the final norm), and of the logits of a target."""
        kernel = None if self.output is None else self.output.kernel
        kernel = self.embedding_of("decoder").table if kernel is None else kernel
        width, classes = self.config.d_model, kernel.size // self.config.d_model
        kept = (4 if self.config.dropout else 2) + (1 if self.config.embedding_norm else 0)
        output = Token(width * classes, kept=4 * classes, held=4 * classes)
        return Token(kept=kept * width), output if self.transform is None else output + self.transform.costs()

    def new_cache(
        self,
        batch_size: int,
        capacity: int,
        *,
        token_types: bool = False,
        position_axes: int | None = None,
        position_dtype: Any = jnp.int32,
    ) -> Cache:
        """An empty cache for ``capacity`` decoder tokens a row; with position axes if asked for, with token types if
        asked for or if the model has some.
        """
        check_sizes(batch_size=batch_size, capacity=capacity)
        config = self.config
        dtype = config.compute_dtype or self.embedding.table.dtype
        x = jax.ShapeDtypeStruct((batch_size, capacity, config.d_model), dtype)
        sequence = Sequence.of_length(capacity)
        terms = tuple(
            jax.eval_shape(lambda p, x, e=e: slot_functions.token_terms(e, p, x, sequence), params, x)
            for e, params in self.layer_params("decoder")
        )
        return Cache.empty(
            batch_size,
            capacity,
            num_layers=config.depth("decoder"),
            num_kv_heads=config.kv_heads,
            head_dim=config.width_of_head,
            dtype=dtype,
            terms=jax.tree.map(lambda term: jnp.zeros(term.shape, term.dtype), terms),
            token_types=token_types or config.token_types > 0,
            position_axes=position_axes,
            position_dtype=position_dtype,
        )
