"""Prompts and sources of a batch, and what a full pass says about outputs decoded from them."""

import jax
import numpy as np
from flax import nnx
from small_models import VOCAB, jitted, random_tokens

from posenc_jax.models import Streams, decode

STREAMS = Streams(positions=jax.random.key(3))
LENGTHS = (4, 2, 3)
SIDES = [(0, 0), (1, 1), (0, 1)]  # paddings of the prompts
NEW = 6


class Batch:
    """Three prompts, padded on either side or all of one length, for an encoder-decoder with padded sources; with token
    types if asked for, of which new tokens have the last.
    """

    def __init__(self, kind, *, padded=True, vocab=VOCAB, typed=False):
        self.kind = kind
        lengths, sides = (LENGTHS, SIDES) if padded else ((3, 3, 3), [(0, 0)] * 3)
        self.prompts = [random_tokens(n, seed=n + i) % vocab for i, n in enumerate(lengths)]
        pad = [np.pad(p, s) for p, s in zip(self.prompts, sides)]
        self.prompt = np.stack(pad)
        real = np.stack([np.pad(np.ones_like(p), s) for p, s in zip(self.prompts, sides)])
        self.segment_ids = real if padded else None
        self.types = [np.array([3, 1, 1, 2][-len(p) :], np.int32) for p in self.prompts] if typed else None
        self.prompt_types = np.stack([np.pad(t, s) for t, s in zip(self.types, sides)]) if typed else None
        self.source = random_tokens(3, 5, seed=9) % vocab
        self.source_ids = np.array([[1] * 5, [1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], np.int32)

    def decoder(self, model, decoding, *, rows=slice(None), new=NEW, **call):
        """A compiled ``eos -> Decoded``."""
        graph, state = nnx.split(model)

        @jax.jit
        def run(state, eos):
            model, memory, segments = nnx.merge(graph, state), None, self.segment_ids
            ids = np.arange(3, dtype=np.int32)[rows]  # rows: a slice or a list
            if self.kind == "encoder_decoder":
                memory = model.encode(
                    self.source[rows], segment_ids=self.source_ids[rows], example_ids=ids, streams=STREAMS
                )
            return decode(
                model,
                self.prompt[rows],
                decoding,
                max_new_tokens=new,
                memory=memory,
                segment_ids=None if segments is None else segments[rows],
                token_types=None if self.types is None else self.prompt_types[rows],
                example_ids=ids,
                eos=eos,
                streams=STREAMS,
                **call,
            )

        return lambda eos=-2: jax.tree.map(np.asarray, run(state, eos))

    def log_probs(self, model, new=NEW):
        """``(rows, outputs)`` -> for each of the outputs the log-probabilities ``[len + 1, V]`` of every next token, by
        one compiled full pass over prompt and output.
        """
        run = jitted(model.__call__)
        width = max(map(len, self.prompts)) + new

        def of_batch(rows, outputs):
            whole = [np.concatenate([self.prompts[r], o]).astype(np.int32) for r, o in zip(rows, outputs)]
            tokens = np.stack([np.pad(w, (0, width - len(w))) for w in whole])
            real = np.stack([(np.arange(width) < len(w)).astype(np.int32) for w in whole])
            length = np.array([len(self.prompts[r]) + new for r in rows], np.int32)
            call = {"example_ids": np.asarray(rows, np.int32), "streams": STREAMS}
            if self.types is not None:
                types = [np.pad(self.types[r], (0, width - len(self.types[r])), mode="edge") for r in rows]
                call["token_types"] = np.stack(types)
            rows = np.asarray(rows, np.int32)
            if self.kind == "decoder_only":
                logits = run(tokens, segment_ids=real, length=length, **call)
            else:
                sides = {"decoder_segment_ids": real, "decoder_length": length, "segment_ids": self.source_ids[rows]}
                logits = run(self.source[rows], tokens, **sides, **call)
            logits = np.asarray(logits, np.float64)
            logits = logits - logits.max(-1, keepdims=True)
            logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            return [
                logs[i, len(self.prompts[r]) - 1 : len(self.prompts[r]) + len(o)]
                for i, (r, o) in enumerate(zip(rows, outputs))
            ]

        return of_batch

    def of_outputs(self, model, decoded, new=NEW):
        """``[B, N]``: the log-probabilities of decoded outputs by one full pass."""
        batch, num, _ = decoded.tokens.shape
        cells = [(b, n) for b in range(batch) for n in range(num)]
        outputs = [decoded.tokens[b, n, : decoded.lengths[b, n]] for b, n in cells]
        logs = self.log_probs(model, new)([b for b, _ in cells], outputs)
        sums = [sum(log[t, token] for t, token in enumerate(o)) for log, o in zip(logs, outputs)]
        return np.array(sums).reshape(batch, num)
