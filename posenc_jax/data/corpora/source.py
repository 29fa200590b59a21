"""Rows of text by number, whether the corpus is one of ours or of the hub of TensorFlow Datasets."""

import contextlib
import dataclasses
import difflib
import functools
import importlib.util
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posenc_jax.data.corpora import CORPORA, builders
from posenc_jax.data.corpora.corpus import DataError, Row
from posenc_jax.data.corpora.store import OWN, home_of, is_own, manifest, own_names, refuse_path

# Data sets of the hub whose generating code runs TensorFlow; to read them once they are prepared needs none.
NEEDS_TENSORFLOW = ("lm1b", "cnn_dailymail", "xsum", "wiki40b")
# Where data sets come from, by the start of their names; others are looked for at the hub's own host.
HOSTS = {"scan": "https://github.com", "wmt": "https://www.statmt.org", "lm1b": "http://www.statmt.org"}
HUB = "https://storage.googleapis.com"
SECONDS = 5.0
CHUNK = 1024
# Every so many rows of training, one serves a split that a data set of the hub has not.
HELD_OUT = 50


@dataclasses.dataclass(frozen=True)
class Source:
    """Random access to the rows of one split: ``len(source)``, ``source[i]``, and iteration, which reads in chunks.

    A row is ``{column: text}``; names of labels stand for their numbers. Columns that are neither text nor labels are
    left out.
    """

    name: str
    split: str
    # Column: what makes text of its values.
    texts: dict[str, Callable[[Any], str]] = dataclasses.field(repr=False)
    data: Any = dataclasses.field(repr=False)
    # Of a data set of the hub.
    version: str = ""
    # Splits that the data set has not, made of rows of its training split.
    held_out: tuple[str, ...] = ()
    # Those of the rows of ``data``; None: all.
    numbers: np.ndarray | None = dataclasses.field(default=None, repr=False)
    # What becomes of a row and its number; None: the row.
    change: Callable[[Row, int], Row] | None = dataclasses.field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.texts)

    def __len__(self) -> int:
        return len(self.data if self.numbers is None else self.numbers)

    def __getitem__(self, index: int) -> Row:
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of {self.name}, split {self.split}: it has rows 0 to {len(self) - 1}")
        return self._row(index, self.data[index if self.numbers is None else int(self.numbers[index])])

    def __getitems__(self, indices: Sequence[int]) -> list[Row]:
        """Several rows at once, which takes half the time."""
        numbers = indices if self.numbers is None else self.numbers[np.asarray(indices)].tolist()
        return list(map(self._row, indices, self.data.__getitems__(numbers)))

    def _row(self, index: int, values: dict[str, Any]) -> Row:
        row = {column: text(values[column]) for column, text in self.texts.items()}
        return row if self.change is None else self.change(row, int(index))

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, len(self), CHUNK):
            yield from self.__getitems__(range(start, min(start + CHUNK, len(self))))


def load_source(name: str, split: str, directory: Path | None = None) -> Source:
    """The rows of a split of a local corpus ("grammar/en-de", "own/mine"), or of a data set of the hub ("scan").

    A data set of the hub is downloaded and prepared when it is not there; ``directory`` is then that of TensorFlow
    Datasets. Errors: DataError for what is not prepared, damaged, unknown, or cannot be fetched.
    """
    if name in CORPORA or is_own(name):
        found = manifest(name, directory)
        _check_split(name, split, found["splits"])
        home = home_of(name, directory)
        return Source(name, split, dict.fromkeys(found["columns"], _text), builders.read(home, split))
    with quiet():
        return _of_builder(name, split, _prepared_builder(name, directory))


def load_split(name: str, split: str, directory: Path | None = None) -> Source:
    """`load_source` for training, which needs the splits train, validation and test.

    If a data set of the hub lacks one of the latter, every `HELD_OUT`-th row of training is held out for it.

    Errors: DataError.
    """
    if name in CORPORA or is_own(name):
        return load_source(name, split, directory)
    with quiet():
        builder = _prepared_builder(name, directory)
        there = builder.info.splits
        missing = tuple(wanted for wanted in ("validation", "test") if there and wanted not in there)
        if not missing:
            return _of_builder(name, split, builder)
        if split != "train" and split not in missing:
            return dataclasses.replace(_of_builder(name, split, builder), held_out=missing)
        source = _of_builder(name, "train", builder)
    numbers = np.arange(len(source))
    held = numbers % HELD_OUT
    chosen = held == missing.index(split) if split in missing else held >= len(missing)
    return dataclasses.replace(source, split=split, numbers=numbers[chosen], held_out=missing)


def reachable(url: str, seconds: float = SECONDS) -> bool:
    """True if a host answers anything within so many seconds; through the proxies of the environment."""
    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError):
            try:
                urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=seconds).close()
            except urllib.error.HTTPError as error:  # an answer too
                error.close()
            answered.set()

    # In a thread: the timeout of a socket does not bound the time that looking up a name takes.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answered.is_set()


def _prepared_builder(name: str, directory: Path | None) -> Any:
    builder = _hub_builder(name, directory)
    if not builder.is_prepared():
        _prepare_from_hub(name, builder)
    return builder


def _of_builder(name: str, split: str, builder: Any) -> Source:
    if builder.info.splits:
        _check_split(name, split, builder.info.splits)
    try:
        data = builder.as_data_source(split=split)
    except (NotImplementedError, ValueError) as error:
        raise DataError(
            f"{name} in {builder.data_dir} cannot be read by row number ({_first_line(error)}): move that folder "
            "away, to have it prepared anew as array_record"
        ) from error
    texts = {column: text for column, feature in builder.info.features.items() if (text := text_of(feature))}
    return Source(name, split, texts, data, str(builder.info.version))


def _hub_builder(name: str, directory: Path | None) -> Any:
    refuse_path(name)
    import tensorflow_datasets as tfds

    # Builders of these packages are not found by name before their package is imported.
    import tensorflow_datasets.summarization
    import tensorflow_datasets.text
    import tensorflow_datasets.translate

    known = tfds.core.registered.list_imported_builders()
    plain, _, config = name.partition("/")
    plain = plain.partition(":")[0]
    try:
        # Without the format it would be TFRecord, which needs TensorFlow.
        return tfds.builder(name, data_dir=directory, file_format="array_record")
    except (ValueError, AssertionError) as error:
        local = f"the local corpora are {', '.join([*CORPORA, *own_names(directory)])}"
        if plain not in known:
            near = difflib.get_close_matches(name, dict.fromkeys([*CORPORA, *own_names(directory), *known]), n=3)
            if f"{OWN}{name}" in own_names(directory):
                near = [f"{OWN}{name}"]
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ":"
            raise DataError(
                f"there is no corpus {name!r}, neither here nor on the hub of TensorFlow Datasets{hint} {local}"
            ) from None
        configs = list(tfds.builder_cls(plain).builder_configs)
        if config and config.partition(":")[0] not in configs:
            choices = f"use one of {', '.join(configs)}" if configs else f"it is named {plain!r} alone"
            raise DataError(f"{plain} of TensorFlow Datasets has no {config!r}: {choices}") from None
        raise DataError(f"TensorFlow Datasets cannot make {name!r} ({_first_line(error)}); {local}") from error


def _prepare_from_hub(name: str, builder: Any) -> None:
    instead = "without a network use grammar/en-de, grammar/reports, or texts of your own: posenc data add"
    if builder.name == "scan":
        instead = "without a network use the task Scan, which generates the same examples"
    if builder.name in NEEDS_TENSORFLOW and importlib.util.find_spec("tensorflow") is None:
        raise DataError(
            f"{name} is not prepared in {builder.data_dir}, and its code needs tensorflow for that (to read it needs "
            "none): prepare it once in an environment that has it, with "
            f"tfds.builder({name!r}, data_dir=..., file_format='array_record').download_and_prepare()"
        )
    host = next((host for start, host in HOSTS.items() if builder.name.startswith(start)), HUB)
    if not reachable(host):
        raise DataError(f"{name} is not prepared in {builder.data_dir}, and {host} does not answer; {instead}")
    try:
        builder.download_and_prepare()
    except Exception as error:  # whatever the hub's code, its hosts and the disk can do
        what = f"{type(error).__name__}: {_first_line(error)}"
        raise DataError(f"{name} could not be prepared ({what}); {instead}") from error


def _check_split(name: str, split: str, splits: Any) -> None:
    if split not in splits:
        raise DataError(f"{name} has no split {split!r}: use one of {', '.join(splits)}")


def text_of(feature: Any) -> Callable[[Any], str] | None:
    """A function from the values of a feature to text, or None if they have no text."""
    if type(feature).__name__ == "Text":
        return _text
    if type(feature).__name__ == "ClassLabel":
        return functools.partial(_label, feature)
    return None


def _text(value: bytes | str) -> str:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"a text is not UTF-8 at byte {error.start}: {value[:40]!r}...; prepare the data anew"
        ) from None


def _label(feature: Any, value: Any) -> str:
    if int(value) < 0:  # of which TFDS would make the last class
        raise DataError(f"an example is unlabelled ({value}): choose a split whose examples have classes")
    return str(feature.int2str(int(value)))


def _first_line(error: Exception) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line.rpartition('}": ')[2][:200]  # what stands before repeats what was asked for


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of TensorFlow Datasets, as about folders that are not there yet."""
    from absl import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)
