"""What `posenc show` takes from a finished run: its encodings as trained, and attention maps of one input."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError

Names = tuple[str, ...]
MOST = 64  # tokens of an attention map: more cannot be read


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """The encodings of one stack of a run: name, slot, sizes of the model and parameters."""

    stack: str
    slot: Any
    dims: Any
    params: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """What a model is given: ids of one input (and of what its decoder has written), and their names."""

    inputs: list[int]
    decoder_inputs: list[int] | None
    names: Callable[[list[int]], tuple[str, ...]]
    types: list[int] | None = None


def load(directory: Path, seed: int | None, note: Callable[[str], None]) -> tuple[Any, Any, int]:
    """The config of a finished run, the parameters of one seed (default: the first that did not diverge), and the
    seed.
    """
    from posenc_jax.runs.directory import load_config
    from posenc_jax.runs.state import replica_params, surviving_seeds

    config = load_config(directory.expanduser().absolute())
    alive = surviving_seeds(directory.expanduser().absolute())
    chosen = next((s for s in config.seeds if s in alive), None) if seed is None else seed
    if chosen is None:
        raise UsageError(f"{directory}: every replica diverged, so there is nothing to show")
    return config, replica_params(directory, chosen, note), chosen


def trained(config: Any, params: Any) -> list[Trained]:
    """The encodings of every stack that has some."""
    import jax

    from posenc_jax.models.config import model_dims

    dims = model_dims(config.model, vocab_size=config.task.vocab_size, max_len=config.max_len)
    return [
        Trained(stack, getattr(config.slots, stack), dims, jax.tree.map(jax.numpy.asarray, own))
        for stack, own in params["posenc"].items()
        if getattr(config.slots, stack)
    ]


def input_of(config: Any, directory: Path, text: str | None) -> Tokens:
    """One input of a run: ``text`` for tasks on text, else the first test example of the longest trained length."""
    from posenc_jax.data.text.base import TextTask

    task = config.task
    if isinstance(task, TextTask):
        if not text:
            raise UsageError(f"{directory} is a run on text: attention maps need one, as in --text 'A sentence.'")
        return _of_text(config, directory, text)
    if text:
        raise UsageError(f"{directory} is a run of task {task.name!r}, which has inputs of its own: leave out --text")
    import jax
    import numpy as np

    length = max(task.train_lengths)
    example = task.test_example(jax.random.key(0), np.int32(0), np.int32(length), length)
    size = int(example.length)
    decoder = None
    if example.decoder_inputs is not None:
        decoder = np.asarray(example.decoder_inputs)[: int(example.decoder_length)].tolist()
    types = None if example.token_types is None else np.asarray(example.token_types)[:size].tolist()
    return Tokens(
        np.asarray(example.inputs)[:size].tolist(),
        decoder,
        lambda ids: tuple(task.token_names[i] for i in ids),
        types,
    )


def _of_text(config: Any, directory: Path, text: str) -> Tokens:
    from posenc_jax.data.text.classification import SECTIONS
    from posenc_jax.data.tokenizer import BOS, EOS, SEP
    from posenc_jax.runs.inference import load_run, translate
    from posenc_jax.runs.supply import read_tokenizer

    tokenizer = read_tokenizer(directory.expanduser().absolute())
    ids, kind = tokenizer.encode(text), config.task.name
    special = {BOS: "<bos>", EOS: "<eos>", SEP: "<sep>"}

    def names(tokens: list[int]) -> tuple[str, ...]:
        return tuple(special.get(token) or tokenizer.decode([token]) or "·" for token in tokens)

    if kind == "translation":
        written = translate(load_run(directory), [text])[0].text
        return Tokens([*ids, EOS], [BOS, *tokenizer.encode(written)], names)
    if kind == "summarization":
        return Tokens([BOS, *ids, SEP], None, names)
    if kind == "classification":
        return Tokens(ids, None, names, [SECTIONS["body"]] * len(ids))
    return Tokens([BOS, *ids], None, names)


def attention(config: Any, params: Any, tokens: Tokens, seed: int) -> dict[str, tuple[Any, Names, Names]]:
    """By stack: weights ``[L, H, Q, K]``, the names of queries and of keys."""
    import jax
    import numpy as np

    from posenc_jax.analysis.views import attention_maps
    from posenc_jax.models import Streams
    from posenc_jax.training.step import model_of
    from posenc_jax.training.streams import stream

    longest = max(len(tokens.inputs), len(tokens.decoder_inputs or ()))
    if longest > MOST:
        raise UsageError(f"an attention map of {longest} tokens cannot be read: take an input of at most {MOST}")
    model = model_of(config, jax.tree.map(jax.numpy.asarray, params))
    call: dict[str, Any] = dict(
        streams=Streams(positions=stream(np.int32(seed), "evaluation_positions")), example_ids=np.zeros(1, np.int32)
    )
    given = [np.array([tokens.inputs], np.int32)]
    if tokens.decoder_inputs is not None:
        given.append(np.array([tokens.decoder_inputs], np.int32))
        call["decoder_segment_ids"] = np.ones_like(given[1])
    if tokens.types is not None:
        call["token_types"] = np.array([tokens.types], np.int32)
    _, captured = model(*given, segment_ids=np.ones_like(given[0]), capture=True, **call)
    inputs, written = tokens.names(tokens.inputs), tokens.names(tokens.decoder_inputs or [])
    sides = {"encoder": (inputs, inputs), "decoder": (written or inputs, written or inputs), "cross": (written, inputs)}
    return {stack: (weights[:, 0], *sides[stack]) for stack, weights in attention_maps(captured).items()}
