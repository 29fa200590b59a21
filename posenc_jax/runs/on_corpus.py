"""A run sized to a corpus and a machine: its task, vocabulary, lengths and batches, its model, its steps."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from posenc_jax.config import Ablation, Evaluation, Optimizer, Run, Training
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.corpora.store import OWN, manifest
from posenc_jax.data.errors import DataError
from posenc_jax.data.text import Classification, Data, LanguageModel, Summarization, TextTask, Translation
from posenc_jax.data.text.base import SPLITS, Row, is_packed
from posenc_jax.data.text.sizing import ENOUGH, Batches, sized, with_vocabularies
from posenc_jax.encodings import RoPE
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.models.config import Transformer
from posenc_jax.runs.plan import UTILISATION
from posenc_jax.runs.preflight import shortage
from posenc_jax.runs.targets import Target
from posenc_jax.statistics import mean_interval
from posenc_jax.training.memory import parameters_of
from posenc_jax.training.operations import of_step

BUDGET = 90.0
"""The seconds that one replica may train, as `posenc_jax.runs.plan` estimates."""
EPOCHS = 40
"""The largest number of epochs; a small corpus reaches it before the budget is used."""
MODELS = ((64, 2, 4, 2e-3), (128, 2, 4, 2e-3), (256, 4, 8, 1e-3), (512, 6, 8, 6e-4))
"""d_model, layers, heads, learning rate."""
TOKENS_PER_PARAMETER = 20
"""The best ratio for a given budget (Hoffmann et al. 2022)."""
ENCODINGS = ("nope", "sinusoidal", "learned", "rope")
"""The encodings of an ablation that names no others; the first is the baseline."""
SAMPLE = 2**21
"""Characters of each split that sizes are chosen from."""
IN_MEMORY = 2**27
"""The most characters of a corpus that is read into memory."""
EXAMPLES = 256
"""The most test examples of each length."""


def config_on(name: str, target: Target) -> Run:
    """A run on a prepared corpus, of the task that its columns are for; the same for the same texts and chip.

    The vocabulary has about twice the square root of the number of words. Lengths hold nearly all texts, batches
    some thousand tokens. The model is the largest of `MODELS` whose parameters are no more than the tokens of the
    corpus, and than what the operations of `BUDGET` train best. Steps take that budget, or `EPOCHS`. Its ``note`` says
    what its test examples can show.

    Raises:
      DataError: the corpus is not there, or is too small; it says how much is needed.
    """
    facts = manifest(name, verify=False)
    sources = {split: load_split(name, split) for split in SPLITS}
    texts = {split: list(_sample(source)) for split, source in sources.items()}
    scale = len(sources["train"]) / len(texts["train"])
    characters = scale * sum(map(_characters, texts["train"]))
    pieces = 100 * min(max(round(math.sqrt(characters / 6) / 50), 4), 80)
    data = Data(name=name, vocab_size=pieces, in_memory=characters <= IN_MEMORY)
    task, tokenizer = with_vocabularies(_task(data, facts, texts["train"]), texts["train"], {})
    task = task.spanning(tokenizer, texts, 128 if target.devices.on_cpu else 512)
    batches = _batches(task, tokenizer, texts, target)
    found = sized(task, batches, texts, tokenizer)
    task, batches = found.task, found.batches
    training = task.encode(tokenizer, texts["train"], training=True).records
    if batches.batch_size < ENOUGH:
        raise DataError(
            f"{name} is too small to train on: its {len(training)} training examples fill {batches.batch_size} of the "
            f"{ENOUGH} rows of a batch: add {-(-ENOUGH // batches.batch_size)} times as much text"
        )
    measure = task.encode(tokenizer, texts["test"], training=False).measure
    counts = _lengths(task, measure)
    sizes = training.sizes()
    tokens = scale * int(sizes.sum())
    rows = scale * _rows(task, sizes)
    base = Run(
        table=name,
        task=task,
        posenc=(RoPE(),),
        evaluation=Evaluation(lengths=(*counts,), num_examples=EXAMPLES, decoded_examples=64 * task.writes_text),
        training=Training(
            steps=1,
            batch_size=batches.batch_size,
            microbatches=batches.microbatches,
            steps_per_call=batches.steps_per_call,
        ),
        note=_note(task, counts, len(sources["test"])),
        seeds=(0, 1),
    )
    return with_model(base, target, tokens, EPOCHS * rows / batches.batch_size)


def ablation_on(run: Run, slots: Sequence[Slot]) -> Ablation:
    """A comparison of encodings, each in a run that is otherwise the same, with four seeds."""
    runs = tuple(dataclasses.replace(run, posenc=slot, label="", note="", seeds=(0, 1, 2, 3)) for slot in slots)
    name = run.table.removeprefix(OWN)
    return Ablation(name=name, runs=runs, baseline=runs[0].label, title=run.table, description=run.note)


def _sample(source: Iterable[Row]) -> Iterator[Row]:
    read = 0
    for row in source:
        yield row
        read += _characters(row)
        if read >= SAMPLE:
            return


def _characters(row: Row) -> int:
    return sum(len(text) for column, text in row.items() if column not in ("doc", "label"))


def _task(data: Data, facts: Any, rows: list[Row]) -> TextTask:
    """The task that the columns of a corpus are for, with rows that hold short examples."""
    kind, columns, labels = facts["kind"], facts["columns"], tuple(facts.get("labels", ()))
    if kind == "text":
        return LanguageModel(data=data)
    if kind == "classification":
        if len(labels) < 2:
            raise DataError(f"{data.name} has the class {labels[0]!r} alone: use texts of at least two classes")
        if "structure" in facts:
            return Classification(data=data, labels=labels, structure=facts["structure"])
        sections = tuple(name for name in columns[:-2] if any(row[name].strip() for row in rows))
        return Classification(data=data, labels=labels, sections=sections)
    source, target = columns[:2]
    if kind == "summarization" or (kind == "pairs" and _shortens(rows, source, target)):
        return Summarization(data=data, source=source, target=target, max_length=32, row=64)
    return Translation(data=data, source=source, target=target, max_length=32, row=64)


def _shortens(rows: list[Row], source: str, target: str) -> bool:
    """True if targets are less than half as long as their sources, which have a hundred characters and more."""
    lengths = np.median([(len(row[source]), len(row[target]) / max(len(row[source]), 1)) for row in rows], axis=0)
    return bool(lengths[0] >= 100 and lengths[1] < 0.5)


def _batches(task: TextTask, tokenizer: Any, texts: Any, target: Target) -> Batches:
    """Batches of some thousand tokens, four of which the texts fill."""
    sizes = task.encode(tokenizer, texts["train"], training=True).records.sizes()
    wanted = (2048 if target.devices.on_cpu else 16384) / task.row
    size = max(int(min(wanted, _rows(task, sizes) / 4)) // 4 * 4, ENOUGH)
    return Batches(size, microbatches=4 if target.devices.on_cpu else 1, steps_per_call=25)


def _rows(task: TextTask, sizes: np.ndarray) -> float:
    return float(sizes.reshape(len(sizes), -1).sum(0).max() / task.row) if is_packed(task) else len(sizes)


def _lengths(task: TextTask, measure: np.ndarray) -> dict[int, int]:
    """Lengths around the longest of training at which there are test examples, and how many are read of each."""
    longest = task.max_length
    if isinstance(task, LanguageModel):
        counts = {n: int(measure.sum() + 1) // (n + 1) for n in (longest, 2 * longest, 4 * longest)}
    else:
        halved = [longest]
        while halved[-1] % 2 == 0 and halved[-1] > 8 and len(halved) < 4:
            halved.append(halved[-1] // 2)
        counts = {n: int(((measure > n // 2) & (measure <= n)).sum()) for n in (*reversed(halved), 2 * longest)}
    least = max(1, max(counts.values()) // 20)
    return {n: min(count, EXAMPLES) for n, count in counts.items() if count >= least} or {longest: 0}


def _note(task: TextTask, counts: dict[int, int], texts: int) -> str:
    what = f"windows of {texts} text{'s' * (texts != 1)}" if isinstance(task, LanguageModel) else "examples"
    said = f"Test {what}: {', '.join(f'{count} of length {n}' for n, count in counts.items())}"
    if (count := min(counts.values())) < 2:
        return f"{said}: the score of {count} can show nothing; add more text."
    values = [0.0, 1.0] * (count // 2) + [0.5] * (count % 2)
    found = mean_interval(values, lower=0, upper=1) if task.one_answer else mean_interval(values)
    assert found.low is not None
    assert found.high is not None
    half = (found.high - found.low) / 2
    if task.one_answer:
        return f"{said}: an accuracy of 0.5 in {count} is known to \u00b1{half:.2f} (95 %)."
    half /= found.deviation or 1
    return f"{said}: a mean of {count} is known to \u00b1{half:.2f} standard deviations of one (95 %)."


def with_model(base: Run, target: Target, tokens: float, most: float) -> Run:
    """The run with the largest model that the tokens and the budget allow, and at most so many steps."""
    chip = target.chip
    dtype = "float32" if target.devices.on_cpu else "bfloat16"
    budget = chip.peak.get(dtype, math.inf) * UTILISATION * BUDGET
    best = math.sqrt(budget / (6 * TOKENS_PER_PARAMETER))
    found: Run | None = None
    for d_model, layers, heads, rate in MODELS:
        run = dataclasses.replace(base, model=_model(base.task, d_model, layers, heads, dtype), learning_rates=(rate,))
        if found and (parameters_of(run) > min(tokens, best) or shortage(run, target.devices)):
            break
        found = run
    assert found is not None
    steps = min(budget / of_step(found).operations, most)
    steps = max(int(steps / 50), 2) * 50
    every = 50 * max(steps // 500, 1)
    return dataclasses.replace(
        found,
        optimizer=Optimizer(warmup_steps=min(steps // 10, 100)),
        training=dataclasses.replace(found.training, steps=steps // every * every, log_every=every),
    )


def _model(task: Any, d_model: int, layers: int, heads: int, dtype: Any) -> Transformer:
    sizes: dict[str, Any] = {"d_model": d_model, "num_layers": layers, "num_heads": heads, "dtype": dtype}
    if not task.one_answer:
        return Transformer(**sizes, dropout=0.1, tie_output=True)
    if len(task.sections) > 1 and not task.has_outline:
        return Transformer(**sizes, dropout=0.1, token_types=task.num_token_types, pooling="attention")
    return Transformer(**sizes, dropout=0.1, pooling="mean")
