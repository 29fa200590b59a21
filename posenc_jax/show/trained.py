"""Trained encodings of a finished run, and attention maps of one input, for `posenc_jax.show`."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.analysis.views import attention_maps
from posenc_jax.config import Run
from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.classification import Classification
from posenc_jax.data.text.masked_language_model import MaskedLanguageModel
from posenc_jax.data.text.pieces import document_pieces
from posenc_jax.data.text.translation import Translation
from posenc_jax.data.tokenizer import BOS, SEP, Tokenizer
from posenc_jax.encodings import spec
from posenc_jax.encodings.interface.slots import position_axes
from posenc_jax.files.user_paths import full
from posenc_jax.models import Streams
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.inference import load_run, translate
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.runs.supply import read_tokenizer
from posenc_jax.show.measure import MOST, measure
from posenc_jax.show.measured import MeasuredAttention, MeasuredEncoding, Sections, by_parts
from posenc_jax.training.step import model_of
from posenc_jax.training.streams import stream

Names = tuple[str, ...]
Captured = dict[str, Any]
NAMED = 32  # tokens whose names fit beside a map


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedReplica:
    """One replica of a finished run: its config, its seed and its final parameters."""

    directory: Path
    config: Run
    seed: int
    params: Any


@dataclasses.dataclass(frozen=True, eq=False)
class InputTokens:
    """The input of a model: ids of one example (and of what its decoder has written), and their names; those of what is
    written where it has a vocabulary of its own.
    """

    inputs: list[int]
    decoder_inputs: list[int] | None
    names: Callable[[list[int]], Names]
    types: list[int] | None = None
    target_names: Callable[[list[int]], Names] | None = None
    outline: list[tuple[int, ...]] | None = None


def load(directory: Path, seed: int | None, note: Callable[[str], None]) -> TrainedReplica:
    """One seed of a finished run (default: the first that did not diverge); RefusedError if there is none."""
    directory = full(directory).absolute()
    config = load_config(directory)
    alive = surviving_seeds(directory)
    chosen = next((s for s in config.seeds if s in alive), None) if seed is None else seed
    if chosen is None:
        raise RefusedError(f"{directory}: every replica diverged, so there is nothing to show")
    return TrainedReplica(directory, config, chosen, replica_params(directory, chosen, note))


def measure_stacks(replica: TrainedReplica, length: int) -> dict[str, MeasuredEncoding]:
    """The encodings of every stack that has some, as trained; ValueError where they do not reach ``length``."""
    config = replica.config
    slots = {stack: getattr(config.slots, stack) for stack in replica.params["posenc"]}
    found = {}
    for stack, slot in slots.items():
        if slot:
            name = f"{stack} " if sum(map(bool, slots.values())) > 1 else ""
            label, own = f"trained {name}{spec(slot)}", replica.params["posenc"][stack]
            if position_axes(slot) is not None:
                note = "It reads places in a document, on several axes: only its attention is drawn."
                found[stack] = MeasuredEncoding(label, note=note)
                continue
            try:
                drawn = measure(label, slot, config.dims, length, jax.tree.map(jax.numpy.asarray, own))
                found[stack] = dataclasses.replace(drawn, note=f"{drawn.note} Of seed {replica.seed}.")
            except ValueError as error:
                raise ValueError(f"{label}: {error}") from None
    return found


def with_attention(
    replica: TrainedReplica, stacks: dict[str, MeasuredEncoding], tokens: InputTokens, captured: Captured
) -> dict[str, MeasuredEncoding]:
    """The stacks with the attention maps of an input; also those without encodings. ValueError for too many tokens."""
    longest = max(len(tokens.inputs), len(tokens.decoder_inputs or ()))
    if longest > MOST:
        raise ValueError(f"an attention map of {longest} tokens cannot be read: take an input of at most {MOST}")
    found = dict(stacks)
    for stack, (weights, queries, keys) in attention(replica, tokens, captured).items():
        about = f"Attention weights of seed {replica.seed} of {replica.directory.name}, {stack}, for one input."
        own = found.get(stack) or MeasuredEncoding(f"trained {stack} nope")
        whose = "of the decoder to the encoder" if stack == "cross" else f"of the {stack}"
        maps = MeasuredAttention(whose, weights, _short(queries), _short(keys), about)
        found[stack] = dataclasses.replace(own, attention=maps)
    return found


def with_sections(
    replica: TrainedReplica, stacks: dict[str, MeasuredEncoding], tokens: InputTokens, captured: Captured
) -> dict[str, MeasuredEncoding]:
    """The stacks with the attention between parts of a document, and that of pooling, where the input is one."""
    task = replica.config.task
    if not isinstance(task, Classification) or tokens.types is None:
        return stacks
    names = {number: section or "other" for section, number in task.types.items()}
    parts = [names[number] for number in tokens.types]
    if tokens.outline is not None:  # paragraph 0 is a heading
        parts = [f"{name}, heading" if place[2] == 0 else name for name, place in zip(parts, tokens.outline)]
    layers = tuple(by_parts(weights, parts, parts) for weights in attention_maps(captured)["encoder"][:, 0])
    pooled, weights = _pooling(replica, captured)
    about = f"Of seed {replica.seed} of {replica.directory.name}, for a document of {len(parts)} tokens."
    by_section = by_parts(weights, pooled, parts) if pooled else None
    found = Sections(tuple(dict.fromkeys(parts)), layers, pooled, by_section, about)
    words = f"Weights with which the tokens of each section are pooled before classification. {about}"
    pooling = (
        MeasuredAttention("", weights[None], pooled, _short(tokens.names(tokens.inputs)), words) if pooled else None
    )
    own = stacks.get("encoder") or MeasuredEncoding("trained encoder nope")
    return stacks | {"encoder": dataclasses.replace(own, sections=found, pooling=pooling)}


def _pooling(replica: TrainedReplica, captured: Captured) -> tuple[Names, np.ndarray]:
    """The sections that are pooled, by name, and their weights ``[H, P, S]``: of those that the input has."""
    weights = captured.get("encoder", {}).get("pooling_weights")
    task = replica.config.task
    if weights is None or not isinstance(task, Classification):
        return (), np.zeros(0)
    own, names = np.asarray(weights)[0], {number: section or "other" for section, number in task.types.items()}
    there = [p for p in range(own.shape[1]) if own[:, p].any()]
    whole = not replica.config.model.token_types
    return tuple("document" if whole else names.get(p + 1, f"type {p + 1}") for p in there), own[:, there]


def _short(names: Names) -> Names:
    """Names of tokens as labels of ticks; none where they would not fit."""
    return tuple(name if len(name) <= 10 else name[:9] + "…" for name in names) if len(names) <= NAMED else ()


def input_of(replica: TrainedReplica, text: str | dict[str, str] | None) -> InputTokens:
    """One input of a run: ``text`` for tasks on text, or the sections of a document by their names, else the first test
    example of the longest trained length.

    ValueError when a task on text gets none, or another one some.
    """
    task = replica.config.task
    if isinstance(task, TextTask):
        if not text:
            raise ValueError(f"{replica.directory} is a run on text, whose attention maps are those of a text")
        return _of_text(replica, text)
    if text:
        raise ValueError(
            f"{replica.directory} is a run of task {task.name!r}, which has inputs of its own: leave the text out"
        )
    length = max(task.train_lengths)
    example = task.test_example(jax.random.key(0), np.array(0, np.int32), np.array(length, np.int32), length)
    assert example.length is not None
    size = int(example.length)
    decoder = None
    if example.decoder_inputs is not None and example.decoder_length is not None:
        decoder = np.asarray(example.decoder_inputs)[: int(example.decoder_length)].tolist()
    types = None if example.token_types is None else np.asarray(example.token_types)[:size].tolist()
    return InputTokens(
        np.asarray(example.inputs)[:size].tolist(),
        decoder,
        lambda ids: tuple(task.token_names[i] for i in ids),
        types,
    )


def _of_text(replica: TrainedReplica, text: str | dict[str, str]) -> InputTokens:
    tokenizer = read_tokenizer(replica.directory)
    task = replica.config.task
    kind = task.name

    def names_by(tokenizer: Tokenizer) -> Callable[[list[int]], Names]:
        return lambda tokens: tuple(map(tokenizer.name_of, tokens))

    names = names_by(tokenizer)

    if isinstance(task, Classification):
        if isinstance(text, str) and not task.has_outline:
            text = {"body" if "body" in task.types else task.sections[0]: text}
        how: dict[str, Any] = {"tokenizer": tokenizer, "limit": sys.maxsize, "note": print}
        (shown,) = document_pieces(text, "the input", "refuse", task=task, **how)
        return InputTokens(shown.tokens, None, names, shown.types, outline=shown.outline)
    assert isinstance(text, str)  # of documents alone sections are given
    ids = tokenizer.encode(text)
    if isinstance(task, Translation):
        written = translate(load_run(replica.directory, replica.seed), [text])[0].text
        target = tokenizer.target
        return InputTokens(
            [*ids, task.ids.eos], [task.ids.start, *target.encode(written)], names, target_names=names_by(target)
        )
    if kind == "summarization":
        return InputTokens([BOS, *ids, SEP], None, names)
    if isinstance(task, MaskedLanguageModel):
        return InputTokens([tokenizer.bos, *ids, tokenizer.eos], None, names, [0] * (len(ids) + 2))
    return InputTokens([tokenizer.bos, *ids], None, names)


def capture(replica: TrainedReplica, tokens: InputTokens) -> Captured:
    """Computes the activations of the model for an input, by stack."""
    model = model_of(replica.config, jax.tree.map(jax.numpy.asarray, replica.params))
    streams = Streams(positions=stream(np.int32(replica.seed), "evaluation_positions"))
    call: dict[str, Any] = dict(streams=streams, example_ids=np.zeros(1, np.int32))
    given = [np.array([tokens.inputs], np.int32)]
    if tokens.decoder_inputs is not None:
        given.append(np.array([tokens.decoder_inputs], np.int32))
        call["decoder_segment_ids"] = np.ones_like(given[1])
    if tokens.types is not None:
        call["token_types"] = np.array([tokens.types], np.int32)
    if tokens.outline is not None:
        call["outline"] = np.array([tokens.outline], np.int32)
        if position_axes(replica.config.posenc) is not None:
            call["positions"] = call["outline"]
    with jax.default_matmul_precision(replica.config.model.product_precision):
        _, captured = model(*given, segment_ids=np.ones_like(given[0]), capture=True, **call)
    return captured


def attention(replica: TrainedReplica, tokens: InputTokens, captured: Captured) -> dict[str, tuple[Any, Names, Names]]:
    """Attention by stack: weights ``[L, H, Q, K]``, names of queries and of keys."""
    inputs = tokens.names(tokens.inputs)
    written = (tokens.target_names or tokens.names)(tokens.decoder_inputs or [])
    sides = {"encoder": (inputs, inputs), "decoder": (written or inputs, written or inputs), "cross": (written, inputs)}
    return {stack: (weights[:, 0], *sides[stack]) for stack, weights in attention_maps(captured).items()}
