"""Finished runs on text at work: translate, summarise, classify. Only the run's directory is needed, not its corpus.

    >>> loaded = load_run("runs/translation-rope-1a2b3c4d")             # doctest: +SKIP
    >>> [output.text for output in translate(loaded, ["Save the file."])]   # doctest: +SKIP

What is given is padded to the widths that the run was evaluated at, and computed in batches of one size, in which no
text depends on another: outputs are equal whether texts are given one by one or together, and programs are few.
"""

import dataclasses
import functools
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.config import Run
from posenc_jax.data.example import Example
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records, compose_rows
from posenc_jax.data.text import Classification, Summarization, TextTask, Translation
from posenc_jax.data.text.classification import Tokens, records_of
from posenc_jax.data.text.pieces import TooLong, all_pieces, document_pieces, text_pieces
from posenc_jax.data.tokenizer import BOS, EOS, SEP, Tokenizer
from posenc_jax.encodings.interface.base import Array, Params
from posenc_jax.files.user_paths import full
from posenc_jax.models import Decoded, Decoding, Greedy, Streams
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.reporter import SILENT, Reporter
from posenc_jax.runs.state import best_replica, load_group_state, seed_of
from posenc_jax.runs.supply import foreign_words, read_tokenizer
from posenc_jax.training.batches import examples_within
from posenc_jax.training.generation import CHUNK, decoded, new_tokens
from posenc_jax.training.replicas import over_rows
from posenc_jax.training.step import forward
from posenc_jax.training.streams import stream

T = TypeVar("T")
P = TypeVar("P")
AnyTextTask = TypeVar("AnyTextTask", bound=TextTask)


@dataclasses.dataclass(frozen=True, eq=False)
class Loaded:
    """One replica of a finished run on text, as `load_run` gives it."""

    directory: Path
    config: Run
    params: Params
    tokenizer: Tokenizer
    seed: int
    learning_rate: float

    @property
    def limit(self) -> int:
        """The most tokens of a text: the run's longest trained or evaluated length, beyond which nothing is known."""
        return max((*self.config.task.train_lengths, *self.config.evaluation.lengths))


@dataclasses.dataclass(frozen=True)
class TextOutput:
    """The output of a model for one text.

    Attributes:
      text: the output.
      log_prob: its log-probability given the text, end included (of windows the sum).
      finished: False when it was cut off at the largest number of tokens.
    """

    text: str
    log_prob: float
    finished: bool


def load_run(directory: str | os.PathLike[str], seed: int | None = None, *, reporter: Reporter = SILENT) -> Loaded:
    """One replica of the run in ``directory`` (of a run, of a cell of an ablation, or of one group).

    Args:
      seed: default the first that did not diverge; of several learning rates the best by validation is taken.

    Raises:
      RefusedError: it is no run on text or is not finished, every replica diverged, or the tokenizer is not the run's.
      CheckpointError: its parameters are damaged.
    """
    directory = full(directory).absolute()
    config = load_config(directory)
    if not isinstance(config.task, TextTask):
        raise RefusedError(f"{directory} is a run of task {config.task.name!r}, which is not about text: name another")
    group_directory, index = best_replica(directory, seed_of(config, directory, seed))
    tokenizer = read_tokenizer(directory)
    group, state = load_group_state(config, group_directory, reporter.note)
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf[index]), state["params"])
    return Loaded(directory, config, params, tokenizer, *group.replicas[index])


class Writing(TypedDict, total=False):
    """How outputs are written.

    Attributes:
      max_new_tokens: the longest output, eos included, cut off there (default: the room that outputs of a text of this
        length were measured with, which is always the most).
      too_long: texts of more than `Loaded.limit` tokens are refused ("refuse"), lose their end ("truncate"), or are cut
        into pieces, between sentences where possible, whose outputs are joined by a space ("window").
      random_seed: of samples, and of the positions of encodings that draw them. The draws for a text depend on its
        tokens and this number (default: 0), on nothing else.
      names: how messages call the texts (default: text 1, text 2, ...).
      reporter: hears what was cut, and progress.
    """

    max_new_tokens: int | None
    too_long: TooLong
    random_seed: int
    names: Sequence[str] | None
    reporter: Reporter


def translate(
    loaded: Loaded,
    texts: Sequence[str],
    decoding: Decoding = Greedy(),  # noqa: B008  (frozen)
    **options: Unpack[Writing],
) -> list[TextOutput]:
    """The translation of each text: the best of a beam, the first of several samples.

    Args:
      loaded: a run of task "translation".
      options: see `Writing`.

    Raises:
      RefusedError: the run is of another task, or never wrote as much as ``max_new_tokens``.
      DataError: texts are empty or too long: all of them are named, and none is translated.
    """
    task = _task(loaded, Translation)
    ids = task.ids

    def records(batch: list[list[int]], length: int) -> Records:
        source = _ragged([[*tokens, ids.eos] for tokens in batch], len(batch) * task.width(length))
        return Records(source, targets=Ragged.of([[ids.start, ids.eos]] * len(batch)))

    return _written("translate", loaded, texts, records, decoding, **options)


def summarize(
    loaded: Loaded,
    documents: Sequence[str],
    decoding: Decoding = Greedy(),  # noqa: B008  (frozen)
    **options: Unpack[Writing],
) -> list[TextOutput]:
    """The summary of each document by a run of task "summarization"; arguments and errors as in `translate`.

    ``too_long = "window"`` is refused: summaries of parts are no summary of the whole.
    """
    task = _task(loaded, Summarization)
    if options.get("too_long") == "window":
        raise RefusedError(
            "too_long = 'window': summaries of the parts of a document are no summary of it; take 'truncate', which "
            "keeps its beginning, as training did"
        )

    def records(batch: list[list[int]], length: int) -> Records:
        rows = [[BOS, *tokens, SEP, EOS] for tokens in batch]
        given = np.array([len(row) - 1 for row in rows], np.int32)
        return Records(_ragged(rows, len(batch) * (task.width(length) + 1)), given=given)

    return _written("summarize", loaded, documents, records, decoding, **options)


def classify(
    loaded: Loaded,
    documents: Sequence[Mapping[str, str] | str],
    *,
    too_long: TooLong = "refuse",
    random_seed: int = 0,
    names: Sequence[str] | None = None,
    reporter: Reporter = SILENT,
) -> list[dict[str, float]]:
    """The probability of every class for each document: its sections, as ``{"header": ..., "body": ..., "footer":
    ...}``, or one text, of which a run that reads sections makes what its corpus has (`Classification.sections_of`).

    Args:
      loaded: a run of task "classification". Sections that it does not read are ignored, missing ones are empty.
      too_long: "truncate" takes the end of the body first, then of the header, as in training. "window" cuts the body
        into pieces, between sentences where possible, and gives the mean of the pieces' probabilities; each is read
        with header and footer, which take at most half of the room. Of sections with other names the longest lose their
        ends, or the one with the most text is cut into pieces; documents whose structure is read have no windows.
      random_seed: of the positions of encodings that draw them.
      names: how messages call the documents (default: document 1, document 2, ...).
      reporter: hears what was cut, and progress.

    Raises:
      RefusedError: the run is of another task.
      DataError: a document is empty or too long, or has other sections.
    """
    task = _task(loaded, Classification)
    read = functools.partial(document_pieces, task=task, too_long=too_long)
    texts = {
        name: one if isinstance(one, str) else "\n".join(one.values())
        for name, one in zip(names or _numbered("document", documents), documents, strict=True)
    }
    pieces = _pieces(loaded, dict(zip(texts, documents, strict=True)), texts, read, reporter)

    def records(batch: list[Tokens], length: int) -> Records:
        found = records_of(batch)
        more = len(batch) * task.width(length) - len(found.inputs.tokens)

        def padded(values: Array | None) -> Array | None:
            return None if values is None else np.pad(values, ((0, more), *[(0, 0)] * (np.ndim(values) - 1)))

        return Records(
            dataclasses.replace(found.inputs, tokens=np.pad(found.inputs.tokens, (0, more))),
            types=padded(found.types),
            outline=padded(found.outline),
            labels=np.zeros(len(batch), np.int32),
        )

    program = functools.partial(probabilities, run=loaded.config, random_seed=np.int32(random_seed))
    found = _answers(loaded, pieces, records, program, reporter, "classify", 1)
    means = [np.mean(np.asarray(own, np.float64), axis=0) for own in found]
    return [dict(zip(task.class_names, map(float, mean), strict=True)) for mean in means]


def _task(loaded: Loaded, kind: type[AnyTextTask]) -> AnyTextTask:
    """The run's task; RefusedError when it is of another kind."""
    task = loaded.config.task
    if not isinstance(task, kind):
        raise RefusedError(f"{loaded.directory} is a run of task {task.name!r}: name one of task {kind.name!r}")
    return task


def _numbered(kind: str, inputs: Sequence[Any]) -> list[str]:
    if isinstance(inputs, str):
        raise ValueError(f"{inputs!r} is one {kind}: give a list")
    return [f"{kind} {number}" for number in range(1, len(inputs) + 1)]


def _pieces(
    loaded: Loaded, inputs: Mapping[str, P], texts: Mapping[str, str], read: Callable[..., list[T]], reporter: Reporter
) -> list[list[T]]:
    """The pieces of every input by its name; what is foreign in its text is noted, or said with a refusal."""
    said = foreign_words(loaded.directory, texts)
    read = functools.partial(read, tokenizer=loaded.tokenizer, limit=loaded.limit)
    found = all_pieces(inputs, read, reporter.note, said)
    for sentence in said:
        reporter.note(sentence)
    return found


def _ragged(sequences: list[list[int]], size: int) -> Ragged:
    """The sequences with their tokens padded to a fixed ``size``, so that a program serves all."""
    ragged = Ragged.of(sequences)
    return Ragged(np.pad(ragged.tokens, (0, size - len(ragged.tokens))), ragged.starts)


def batches(
    config: Run, inputs: list[list[int]], reporter: Reporter, title: str, devices: int = 1
) -> Iterator[tuple[int, list[int], int]]:
    """One of the run's evaluated lengths, the numbers of inputs in a batch for it, and on how many devices.

    An input goes where a test example of its length is measured, so that encodings that see how much room there is see
    here what they saw there. Batches are of one size a device, filled up with repeats; of ``devices`` as many compute
    as the inputs of a length fill.
    """
    task = config.task
    assert isinstance(task, TextTask)
    lengths = _lengths(config)
    members: dict[int, list[int]] = {}
    for number, tokens in enumerate(inputs):
        own = next(length for length in lengths if length >= len(tokens))
        members.setdefault(own, []).append(number)
    # On CPU rows beyond 8 save no time, and one text should not wait for 31 copies of it.
    most = 8 if jax.default_backend() == "cpu" else CHUNK
    many = len(inputs) > CHUNK
    if many:
        reporter.phase(title, len(inputs), unit="texts")
    for length, numbers in sorted(members.items()):
        size = min(most, examples_within(config, task.padded_length(length), config.evaluation.memory_budget_mb))
        used = min(devices, -(-len(numbers) // size))
        for start in range(0, len(numbers), size * used):
            batch = numbers[start : start + size * used]
            # Copies of a real text, which end when it ends.
            yield length, batch + batch[-1:] * (size * used - len(batch)), used
            if many:
                reporter.advance(len(batch))


def _lengths(config: Run) -> tuple[int, ...]:
    """Lengths that inputs are padded to: the evaluated ones, and the longest of training if that is longer."""
    lengths, longest = config.evaluation.lengths, config.task.train_lengths[-1]
    return (*lengths, longest) if longest > max(lengths, default=0) else lengths


def _answers(
    loaded: Loaded,
    pieces: list[list[Any]],
    records: Callable[[list[Any], int], Records],
    program: Callable[..., Any],
    reporter: Reporter,
    title: str,
    devices: int,
) -> list[list[Any]]:
    """The outputs of a program for each piece of each text, batch by batch."""
    inputs = [piece for of_text in pieces for piece in of_text]
    tokens = [piece.tokens if isinstance(piece, Tokens) else piece for piece in inputs]
    found: dict[int, Any] = {}
    for length, batch, used in batches(loaded.config, tokens, reporter, title, devices):
        # What random draws for each input depend on: its tokens.
        draws = [zlib.crc32(np.array(tokens[i], np.int32).tobytes()) >> 1 for i in batch]
        given = loaded.params, records([inputs[i] for i in batch], length), np.array(draws, np.int32)
        rows = jax.tree.map(np.asarray, program(*given, max_length=length, devices=used))
        for row, number in enumerate(batch):
            found[number] = jax.tree.map(lambda x, row=row: x[row], rows)
    answers = (found[number] for number in range(len(inputs)))
    return [[next(answers) for _ in of_text] for of_text in pieces]


def _written(
    command: str,
    loaded: Loaded,
    texts: Sequence[str],
    records: Callable[[list[list[int]], int], Records],
    decoding: Decoding,
    *,
    max_new_tokens: int | None = None,
    too_long: TooLong = "refuse",
    random_seed: int = 0,
    names: Sequence[str] | None = None,
    reporter: Reporter = SILENT,
) -> list[TextOutput]:
    task: Any = loaded.config.task
    summaries = isinstance(task, Summarization)
    most = max(new_tokens(loaded.config, length) for length in _lengths(loaded.config))
    if max_new_tokens is not None and not 1 <= max_new_tokens <= most:
        field = "max_summary" if summaries else "max_length"
        raise RefusedError(
            f"max_new_tokens = {max_new_tokens} must be from 1 to {most}, the longest output that this run was trained "
            f"or evaluated with; for longer ones train with a larger task.{field}"
        )
    names = names or _numbered("document" if summaries else "text", texts)
    shown = (f"{text if len(text) <= 24 else f'{text[:21]}...'!r}" for text in texts)
    given = {f"{name} ({start})": text for name, start, text in zip(names, shown, texts, strict=True)}
    read = functools.partial(text_pieces, too_long=too_long, parts=not summaries)
    pieces = _pieces(loaded, given, given, read, reporter)
    program = functools.partial(
        decode, random_seed=np.int32(random_seed), run=loaded.config, decoding=decoding, max_new_tokens=max_new_tokens
    )
    outputs = []
    for answers in _answers(loaded, pieces, records, program, reporter, command, len(jax.local_devices())):
        tokens, log_probs = [answer.tokens[0].tolist() for answer in answers], [a.log_probs[0] for a in answers]
        text = " ".join(map(loaded.tokenizer.target.decode, tokens))
        outputs.append(TextOutput(text, sum(map(float, log_probs)), all(task.ids.eos in own for own in tokens)))
    return outputs


@functools.partial(jax.jit, static_argnames=("run", "decoding", "max_length", "max_new_tokens", "devices"))
def decode(
    params: Params,
    records: Records,
    draws: Array,
    *,
    random_seed: Array,
    run: Run,
    decoding: Decoding,
    max_length: int,
    max_new_tokens: int | None,
    devices: int,
) -> Decoded:
    """The outputs for a batch of records, each in a row of its own."""
    room = new_tokens(run, max_length)
    most = room if max_new_tokens is None else min(max_new_tokens, room)

    def outputs(shared: tuple[Params, Array], rows: tuple[Example, Array]) -> Decoded:
        (params, seed), (example, draws) = shared, rows
        key, streams = stream(seed, "evaluation"), _streams(seed)
        return decoded(run, params, example, decoding, most, streams, key, draws, room)

    return over_rows(outputs, devices)((params, random_seed), (_examples(run, records, max_length), draws))


@functools.partial(jax.jit, static_argnames=("run", "max_length", "devices"))
def probabilities(
    params: Params, records: Records, draws: Array, *, random_seed: Array, run: Run, max_length: int, devices: int
) -> Array:
    """The probabilities of the classes for a batch of records, ``[B, C]``."""
    example = _examples(run, records, max_length)
    logits = forward(run, params, example, streams=_streams(random_seed), example_ids=draws, train=False)
    return jax.nn.softmax(logits[:, 0], axis=-1)


def _streams(random_seed: Array) -> Streams:
    return Streams(positions=stream(random_seed, "evaluation_positions"))


def _examples(run: Run, records: Records, max_length: int) -> Example:
    """Every record in a row of its own, as test examples are."""
    task: Any = run.task
    numbers = jnp.arange(len(records))[:, None]
    return compose_rows(records, numbers, task.width(max_length), task.decoder_width(max_length))
