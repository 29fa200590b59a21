"""The data of a run: loaded with the run's own tokenizer, put on devices, and fed call by call."""

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from posenc_jax.config import Run, difference
from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.corpora.corpus import DataError, UnfitError
from posenc_jax.data.text import words
from posenc_jax.data.text.base import SPLITS, BatchPlan, TextData, TextTask
from posenc_jax.data.text.loading import TOKENIZER_EXAMPLES, identity_of, load, open_split
from posenc_jax.data.text.on_demand import Feed
from posenc_jax.data.text.sizing import Batches, check_filled, sized
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.shapes import Json
from posenc_jax.runs.directory import home_of
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.identity import start_of
from posenc_jax.runs.weights import metadata_of, read_shapes
from posenc_jax.training.processes import put, rows_here, stacked

# Of all seeds together, where training text is read in turn.
_READING_THREADS = 4


def load_data(config: Run, directory: Path, note: Callable[[str], None]) -> TextData | None:
    """The corpus of the task, with the tokenizer of the run, which is stored in its directory at first.

    A run that starts from another on text reads its corpus with that one's tokenizer: else its embeddings would be
    those of other pieces.

    Raises:
      RefusedError: the directory was begun with other data, or the start has another tokenizer.
      DataError: the corpus is not there.
    """
    if not isinstance(config.task, TextTask):
        return None
    record, model = directory / "data.json", directory / "tokenizer.model"
    source = start_of(config, directory)
    if record.exists():
        tokenizer: Tokenizer | None = read_tokenizer(directory)
    elif (tokenizer := None if source is None else start_tokenizer(config, source)) is not None:
        note(f"init_from {source}: the text is read with its tokenizer")
    if tokenizer is not None:
        _refuse_other_files(config.task, tokenizer)
    data = load_filling(config, note, tokenizer)
    if source is not None and source.is_file():
        _refuse_other_pieces(config, source, data.tokenizer, note)
    if not record.exists():
        write_atomically(model, data.tokenizer.to_bytes())
        if config.task.input_columns:
            write_json(directory / words.FILE, words.trained_on(config.task))
        write_json(record, data.identity)
    elif lines := difference(read_json(record), json.loads(json.dumps(data.identity))):
        raise RefusedError(
            f"{directory} was begun with other data: choose another directory, or prepare that data again. "
            "Differences:\n  " + "\n  ".join(lines)
        )
    return data


def load_filling(config: Run, note: Callable[[str], None], tokenizer: Tokenizer | None = None) -> TextData:
    """The corpus of a task on text; RefusedError, with sizes that it fills, where it does not fill those of the run."""
    task = config.task
    assert isinstance(task, TextTask)
    try:
        data = load(task, note, tokenizer)
        check_filled(task, batches_of(config), data.sizes)
    except UnfitError as error:
        raise RefusedError(_with_sizes(config, tokenizer, str(error))) from None
    return data


def refuse_unfit(homes: Mapping[Run, Path]) -> None:
    """Refuses (DataError, RefusedError) texts that are not there or do not fill the batches of their runs, before
    anything is written: each text once, and none that a run here has begun with. A run with a start has that one's
    tokenizer, and is asked in its turn.
    """
    texts = {config: home for config, home in homes.items() if isinstance(config.task, TextTask)}
    asked = {(config.task, batches_of(config)) for config, home in texts.items() if (home / "data.json").exists()}
    for config in texts:
        if config.init_from is None and (pair := (config.task, batches_of(config))) not in asked:
            asked.add(pair)
            load_filling(config, lambda said: None)  # what it notes is noted when the run reads it


def batches_of(config: Run) -> Batches:
    """Batches of a run's training examples."""
    training = config.training
    sizes = training.batch_size, training.microbatches, training.steps_at_once
    return Batches(*sizes, config.seeds, config.execution.data)


def _with_sizes(config: Run, tokenizer: Tokenizer | None, refused: str) -> str:
    """All that a corpus does not give to a run that was ``refused`` it, and what it does give."""
    task = config.task
    assert isinstance(task, TextTask)
    texts = {name: list(itertools.islice(open_split(task, name), TOKENIZER_EXAMPLES)) for name in SPLITS}
    try:
        found = sized(task, batches_of(config), texts, tokenizer)
    except DataError as error:
        return str(error)
    return str(found) if found.changed else refused


def refuse_other_tokenizers(config: Run, directory: Path) -> None:
    """Refuses a tokenizer.json that is another one than the run in a directory was begun with, as `load_data` does."""
    if isinstance(config.task, TextTask) and all((directory / n).is_file() for n in ("data.json", "tokenizer.model")):
        _refuse_other_files(config.task, read_tokenizer(directory))


def _of_corpus(identity: Json) -> Json:
    """The part of an identity of data that says which corpus it is, at which state."""
    kept = {k: identity[k] for k in ("name", "sha256", "version", "held_out") if k in identity}
    own: Json = json.loads(json.dumps(kept))
    return own


def refuse_rebuilt_corpus(directory: Path, now: Json) -> None:
    """Refuses to measure a run on its corpus at another state than it was trained on, whose test texts it may have
    seen. ``now``: the identity of the corpus as it is.
    """
    kept = directory / "data.json"
    if not kept.exists():
        return
    own, before = _of_corpus(now), _of_corpus(read_json(kept))
    if before and (lines := difference(before, own)):  # an imported run has none
        raise RefusedError(
            f"{directory} was trained on {own['name']} at another state of it: prepare that state again, or say by "
            f"--data {own['name']} that it is to be measured on this one. Differences:\n  " + "\n  ".join(lines)
        )


def refuse_other_corpora(cells: Mapping[Run, Path], to_run: Collection[Run] = ()) -> None:
    """Refuses cells of one table that read one corpus at two states of it, whose seeds would be paired all the same.

    Args:
      cells: with their directories.
      to_run: those that will read the corpus as it is now, if they have not begun.
    """
    now: dict[str, Json] = {}
    seen: dict[tuple[str, str], tuple[str, Json]] = {}
    for cell, home in sorted(cells.items(), key=lambda own: not (own[1] / "data.json").exists()):
        if not isinstance(cell.task, TextTask):
            continue
        name, kept = cell.task.data.name, home / "data.json"
        if kept.exists():
            where, record = str(home), read_json(kept)
        elif cell in to_run:
            if name not in now:
                now[name] = identity_of(name)
            where, record = f"{cell.table} {cell.label}, which is still to run,", now[name]
        else:
            continue
        own = _of_corpus(record)
        first, before = seen.setdefault((cell.table, name), (where, own))
        if lines := difference(before, own):
            raise RefusedError(
                f"{where} reads {name} at another state than {first}, and cells of a table are compared on the same "
                "data: prepare that state again, or run all of them anew in another directory. Differences:\n  "
                + "\n  ".join(lines)
            )


def _refuse_other_files(task: TextTask, tokenizer: Tokenizer) -> None:
    for data, side in zip((task.data, task.target_data), tokenizer.sides or (tokenizer, tokenizer), strict=True):
        if data is None or data.tokenizer_file is None or not data.tokenizer_file.is_file():
            continue
        found = hashlib.sha256(data.tokenizer_file.read_bytes()).hexdigest()
        if found != side.sha256:
            raise RefusedError(
                f"data.tokenizer = {data.tokenizer!r} is not the tokenizer that this run has (SHA-256 {found[:12]}..., "
                f"not {side.sha256[:12]}...): restore the file, or choose another directory"
            )


def start_tokenizer(config: Run, source: Path) -> Tokenizer | None:
    """The tokenizer of the run ``source`` that a run starts from, None where there is none; RefusedError where it has
    other pieces than the run asks for.
    """
    task = config.task
    if not isinstance(task, TextTask) or not (home_of(source) / "data.json").is_file():
        return None
    tokenizer = read_tokenizer(source)
    found = " and ".join(str(side.vocab_size) for side in tokenizer.sides or (tokenizer,))
    wanted = " and ".join(str(data.num_tokens) for data in (task.data, task.target_data) if data is not None)
    if found != wanted:
        raise RefusedError(
            f"init_from = {config.init_from!r} has a tokenizer of {found} pieces, and this run asks for {wanted}: use "
            "the same data.tokenizer and data.vocab_size"
        )
    return tokenizer


def _refuse_other_pieces(config: Run, source: Path, tokenizer: Tokenizer, note: Callable[[str], None]) -> None:
    trained_with = metadata_of(source, read_shapes(source)[1]).get("tokenizer")
    if trained_with is None:
        note(f"init_from {source} does not say which tokenizer it was trained with: its embeddings may be of others")
    elif trained_with != tokenizer.sha256:
        raise RefusedError(
            f"init_from = {config.init_from!r} was trained with another tokenizer ({trained_with[:12]}..., here "
            f"{tokenizer.sha256[:12]}...): start from the directory of its run, whose tokenizer is then used"
        )


def foreign_words(directory: Path, texts: Mapping[str, str]) -> list[str]:
    """Sentences about what the texts, given by their names, have that training did not; none if none is kept of it."""
    path = home_of(directory) / words.FILE
    if not path.is_file():
        return []
    return words.foreign(texts, read_json(path, "restore it, or move it away, and nothing is said of foreign words"))


def read_tokenizer(directory: Path) -> Tokenizer:
    """The tokenizer stored with a run, also for one of its groups; RefusedError when it is not the one that the run
    was made with.
    """
    home = home_of(directory)
    path, record = home / "tokenizer.model", home / "data.json"
    for file in (path, record):
        if not file.is_file():
            raise RefusedError(f"there is no {file}: copy it again from where the run was made")
    wanted = read_json(record).get("tokenizer")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != wanted:
        raise RefusedError(
            f"{path} is not the tokenizer of this run: its SHA-256 is {found[:12]}..., data.json has "
            f"{str(wanted)[:12]}...; copy it again from where the run was made"
        )
    return tokenizer_from_bytes(content)


class Supply:
    """The inputs of programs besides their replicas: nothing for generated tasks."""

    def __init__(self, config: Run, data: TextData | None) -> None:
        self.config = config
        self.data = data
        self._arrays: tuple[Mesh, Any] | None = None
        self._plans: dict[int, BatchPlan] = {}
        self._feeds: dict[int, Feed] = {}

    def arrays(self, mesh: Mesh) -> Any:
        """The arrays of the data, on every device of the mesh."""
        if self.data is None:
            return None
        if self._arrays is None or self._arrays[0] != mesh:
            whole = NamedSharding(mesh, PartitionSpec())
            self._arrays = (mesh, put(self.data.arrays, jax.tree.map(lambda _: whole, self.data.arrays)))
        return self._arrays[1]

    def feed(self, seeds: Sequence[int], step: int, mesh: Mesh) -> Any:
        """The part of the batches that the host decides, for the call that begins at ``step``: a pytree with a leading
        axis of one entry for each of ``seeds``, on its way to the devices of the mesh.
        """
        if self.data is None:
            return None
        task, count = self.config.task, self.config.training.steps_at_once
        assert isinstance(task, TextTask)
        sharding = NamedSharding(mesh, PartitionSpec("replica"))
        own = {seeds[i] for i in rows_here(sharding, len(seeds))}  # of several processes each reads for its replicas
        for seed in own - set(self._plans):
            training = self.config.training
            self._plans[seed] = task.plan(self.data.sizes, seed, training.batch_size, training.microbatches)
        if self.data.on_demand is None:
            parts: dict[int, Any] = {seed: task.feed(self._plans[seed], step, count) for seed in own}
        else:
            threads = max(1, _READING_THREADS // len(own))
            for seed in own - set(self._feeds):
                self._feeds[seed] = Feed(self.data.on_demand, self._plans[seed], task.row, count, num_threads=threads)
            parts = {seed: self._feeds[seed](step) for seed in own}
        return stacked([parts.get(seed) for seed in seeds], sharding)

    def close(self) -> None:
        """Ends the threads that read ahead."""
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()
