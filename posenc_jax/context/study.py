"""The cells of a study: texts and prompts that a run reads under a change, at a length; a file for each answer."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.attention import Call, choose
from posenc_jax.attention.blockwise import keys_at_once, keys_of_block
from posenc_jax.attention.choice import backend
from posenc_jax.context.changes import changed
from posenc_jax.context.prompts import RULER, TASKS, Prompt, make, score
from posenc_jax.context.reading import Reader, capacity_of, chunk_of
from posenc_jax.context.texts import Text
from posenc_jax.data.text import LanguageModel
from posenc_jax.encodings import elements, spec
from posenc_jax.encodings.interface.slots import Slot, for_layer
from posenc_jax.environments import OF_PROCESS, compared, of_process
from posenc_jax.files.checksums import sha256_of
from posenc_jax.files.shapes import Json
from posenc_jax.models import model_dims
from posenc_jax.runs.directory import finished
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import DamagedFileError, RefusedError, StoppedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.inference import Loaded
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.state import best_replica, count_parameters
from posenc_jax.runs.targets import bytes_in_words, devices_with_memory
from posenc_jax.training.batches import costs_of

MEASURES = ("perplexity", "far", "passkey", *RULER)
"""Measures: the loss of every token, the tokens that need far context, and the tasks of `prompts`."""
GAIN, LIKELY = 2.0, -2.0
"""A token needs far context if far context raises its log-probability by more than GAIN, to above LIKELY: alpha and
beta of LongPPL (Fang et al. 2024, arXiv:2410.23771).
"""

_AGAIN = "remove it, and the same command answers it again"


@dataclasses.dataclass(frozen=True, eq=False)
class StudyCell:
    """One reading of one text or prompt.

    Attributes:
      measure: one of `MEASURES`.
      change: its name; "" for "far", which the run itself answers.
      slot, length: those of the reader.
      example: the number of the text or prompt.
      name: that of a text.
      tokens: the input.
      prompt: that of a task.
    """

    measure: str
    change: str
    slot: Slot
    length: int
    example: int
    tokens: np.ndarray
    name: str = ""
    prompt: Prompt | None = None

    def question(self, parameters: str) -> Json:
        """Everything that the answer depends on."""
        digest = sha256_of({"tokens": self.tokens.tolist()})
        asked = {} if self.prompt is None else {"answers": self.prompt.answers, "new_tokens": self.prompt.new_tokens}
        return {
            "version": 1,
            "parameters": parameters,
            "measure": self.measure,
            "posenc": spec(self.slot),
            "length": self.length,
            "tokens": digest,
            **asked,
        }

    @property
    def reads(self) -> int:
        """The largest number of tokens that are read, with those that are written."""
        if self.measure == "far":
            return sum(len(window) for size in _windows(self.length) for _, window in windows(self.tokens, size))
        return len(self.tokens) + (0 if self.prompt is None else self.prompt.new_tokens)


def trained_length(loaded: Loaded) -> int:
    """L, the longest text that a run was made for; RefusedError for a run that is no language model."""
    task = loaded.config.task
    if not isinstance(task, LanguageModel):
        raise RefusedError(
            f"{loaded.directory} is a run of task {task.name!r}, and texts are read by language models: name a run of "
            "task 'language_model', or an imported decoder"
        )
    return task.max_length


def slots(loaded: Loaded, changes: Sequence[tuple[str, Slot | None]], lengths: Sequence[int]) -> dict[Any, Slot]:
    """The slot of each (word, length).

    Args:
      changes: words of `changes.CHANGES`, with None, or words for an encoding in full, with its slot.

    Raises:
      ValueError: a word that is no change, or a slot that the run cannot serve at one of the lengths.
    """
    config = loaded.config
    dims = model_dims(config.model, vocab_size=config.task.vocab_size, max_len=config.max_len)
    trained, found = trained_length(loaded), {}
    for word, full in changes:
        for length in lengths:
            slot = changed(config.posenc, word, length, trained, dims) if full is None else full
            ends = [e for e in elements(slot) if not e.extrapolates]
            if ends and length > trained:
                raise ValueError(f"{spec(ends[0])} has no positions beyond {trained}: choose shorter lengths")
            Reader.of(loaded, slot, length)
            found[word, length] = slot
    return found


def cells(
    loaded: Loaded,
    by_change: dict[tuple[str, int], Slot],
    measures: Sequence[str],
    texts: Sequence[Text],
    examples: int,
) -> list[StudyCell]:
    """All cells of a study, those of one program together; ValueError where a prompt does not fit into a length."""
    found = []
    lengths = sorted({length for _, length in by_change})
    trained = trained_length(loaded)
    if "far" in measures:
        own, limit = loaded.config.posenc, min(trained, lengths[-1])
        found += [StudyCell("far", "", own, limit, n, text.tokens, text.name) for n, text in enumerate(texts)]
    tokenizer = loaded.tokenizer
    for length in lengths:
        asked = []
        for task in (measure for measure in measures if measure in TASKS):
            for number in range(examples):
                prompt = make(task, number, length, lambda text: 1 + len(tokenizer.encode(text)))
                tokens = np.array([tokenizer.bos, *tokenizer.encode(prompt.text)], np.int32)
                asked.append((task, number, tokens, prompt))
        for word in (word for word, own in by_change if own == length):
            slot = by_change[word, length]
            if {"perplexity", "far"} & set(measures):
                found += [
                    StudyCell("perplexity", word, slot, length, n, text.tokens[:length], text.name)
                    for n, text in enumerate(texts)
                ]
            found += [StudyCell(task, word, slot, length, n, tokens, prompt=p) for task, n, tokens, p in asked]
    return found


def parameters_digest(loaded: Loaded) -> str:
    """The digest of the run's parameters."""
    group, index = best_replica(loaded.directory, loaded.seed)
    return finished(group)["replicas"][index]["parameters_sha256"]


def answer(
    loaded: Loaded,
    asked: Sequence[StudyCell],
    folder: Path,
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
) -> list[Json]:
    """The answer to each cell. Answers in the folder, which the caller holds, are read; the others are computed and
    written there, a file for each cell, with the environment. A note names answers from another environment; they
    count too.

    Returns:
      Rows with measure, change, posenc, length, example, name, depth, environment ({} where none was recorded), and
      ``losses``, ``keys`` or ``score`` and ``written``.

    Raises:
      StoppedError: ``stop`` gave a signal; what was answered is kept.
    """
    parameters, here = parameters_digest(loaded), of_process(environment())
    rows = []
    paths = [path_of(folder, cell, parameters) for cell in asked]
    left = {path: cell for path, cell in zip(paths, asked) if not path.exists()}
    reporter.phase("read", sum(cell.reads for cell in asked), sum(_done(paths, asked, left)), unit="tokens")
    reader: Reader | None = None
    for path, cell in left.items():
        if (signal := stop()) is not None:
            raise StoppedError(signal, f"stopped with {len(left)} cells to answer at most")
        if reader is None or (reader.run.posenc, reader.length) != (cell.slot, cell.length):
            if reader is not None and reader.run.posenc != cell.slot:
                jax.clear_caches()  # nothing else frees the programs of other positions, which are done
            reader = Reader.of(loaded, cell.slot, cell.length)
        write_json(path, {**cell.question(parameters), "environment": here, **_answered(loaded, reader, cell)})
        reporter.advance(cell.reads, f"{cell.change} at {cell.length}")
    for path, cell in zip(paths, asked):
        about = {"measure": cell.measure, "change": cell.change, "example": cell.example, "name": cell.name}
        depth = None if cell.prompt is None else cell.prompt.depth
        rows.append({"environment": {}, **_kept(path, cell.question(parameters)), **about, "depth": depth})
    others = [row["environment"] for row in rows if row["environment"] != here]
    if others:
        lines = dict.fromkeys(line for own in others for line in compared(own, here, OF_PROCESS).lines)
        reporter.note(
            f"{len(others)} of {len(rows)} answers in {folder} are not known to be of this environment, and "
            f"may differ from its own by rounding: {'; '.join(lines)}"
        )
    return rows


def path_of(folder: Path, cell: StudyCell, parameters: str) -> Path:
    """The file of a cell's answer."""
    return folder / f"{cell.measure}-{cell.length}-{sha256_of(cell.question(parameters))[:12]}.json"


def _kept(path: Path, question: Json) -> Json:
    found = read_json(path, _AGAIN)
    if sha256_of(question) != sha256_of({name: found.get(name) for name in question}):
        raise DamagedFileError(path, "it answers another question", _AGAIN)
    return found


def _done(paths: list[Path], asked: Sequence[StudyCell], left: dict[Path, StudyCell]) -> Iterator[int]:
    seen = set()
    for path, cell in zip(paths, asked):
        if path not in left or path in seen:
            yield cell.reads
        seen.add(path)


def _answered(loaded: Loaded, reader: Reader, cell: StudyCell) -> Json:
    if cell.measure == "perplexity":
        losses = map(float, reader.losses(cell.tokens))
        return {"losses": [round(loss, 4) if math.isfinite(loss) else None for loss in losses]}
    if cell.measure == "far":
        whole, part = (_within(Reader.of(loaded, cell.slot, size), cell.tokens) for size in _windows(cell.length))
        return {"keys": np.flatnonzero((part - whole > GAIN) & (-whole > LIKELY)).tolist()}
    prompt, tokenizer = cell.prompt, loaded.tokenizer
    assert prompt is not None

    def enough(found: list[int]) -> bool:
        return found[-1] == tokenizer.eos or score(tokenizer.decode(found), prompt.answers) == 1

    written = tokenizer.decode(reader.continued(cell.tokens, prompt.new_tokens, enough))
    return {"score": score(written, prompt.answers), "written": written}


def _windows(length: int) -> tuple[int, int]:
    """Sizes of the windows with far context and without it."""
    return length, max(2, length // 8)


def windows(tokens: np.ndarray, size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Windows of ``size`` tokens that begin with bos, each with the index of the first token that counts in it: every
    token counts once, with at least half a window, or everything, before it.
    """
    start = 0
    while True:
        window = np.concatenate([tokens[:1], tokens[start + 1 : start + size]])
        yield (0 if start == 0 else size - (size // 2)), window
        if start + size >= len(tokens):
            return
        start += size // 2


def _within(reader: Reader, tokens: np.ndarray) -> np.ndarray:
    """``[S - 1]`` losses, each token read in its window."""
    parts = [reader.losses(window)[max(first - 1, 0) :] for first, window in windows(tokens, reader.length)]
    return np.concatenate(parts)


def in_words(loaded: Loaded, asked: Sequence[StudyCell]) -> str:
    """A line on what reading takes; RefusedError where there is less memory. Its bytes are those of parameters, the
    cache and the logits of a chunk, without the interpreter and XLA's programs.
    """
    model, stack = loaded.config.model, costs_of(loaded.config).stacks["decoder"]
    longest = max((cell.length for cell in asked), default=1)
    cache = stack.depth * stack.layers[0].keys.outputs * capacity_of(longest)
    keys = max((_keys_at_once(loaded, cell.slot, cell.length) for cell in asked), default=0)
    logits = chunk_of(longest) * 3 * (model.num_heads * keys + loaded.config.task.vocab_size)
    held = 4 * (count_parameters(loaded.params) + cache + logits)
    memory = f"{bytes_in_words(held)} for parameters, cache and logits"
    if (there := devices_with_memory().memory) is not None and held > there:
        raise RefusedError(
            f"a length of {longest} needs about {memory}, and {bytes_in_words(there)} are there: read shorter texts"
        )
    return f"{len(asked)} answers, {sum(cell.reads for cell in asked):,} tokens: {memory}"


def _keys_at_once(loaded: Loaded, slot: Slot, length: int) -> int:
    """The most keys that a chunk attends to at once in a layer: those of a block, or of the whole cache."""
    model, keys = loaded.config.model, capacity_of(length)
    sizes = 1, model.num_heads, model.kv_heads, chunk_of(length), keys, model.width_of_head
    call = Call(*sizes, dtype=jnp.dtype(model.dtype), backend=backend(), causal=True, ordered=False)
    layers = {for_layer(slot, layer) for layer in range(model.depth("decoder"))}
    in_blocks = all(choose(own, call, model.attention).path == "blockwise" for own in layers)
    return max(keys_at_once(own, keys, keys_of_block(backend())) for own in layers) if in_blocks else keys
