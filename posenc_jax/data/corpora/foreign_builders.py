"""Examples of a TensorFlow Datasets builder, from the user's code or from the package."""

import functools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora import builders, reading
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.reading import Malformed, ReadRecord
from posenc_jax.data.corpora.source import UnlabelledError, quiet, text_of
from posenc_jax.refusals.own_exits import ExitError, exits_as_errors
from posenc_jax.refusals.system import first_line, of_the_system


def of_builder(builder: Any, fields: Fields, config: str = "", called: str = "") -> dict[str, Iterator[ReadRecord]]:
    """The examples of a TensorFlow Datasets builder, by split; it is prepared in a folder that is then removed.

    ``config`` names one of its configs, "" where there is no choice; ``called`` is how the user calls the builder.

    Errors: DataError for what is no builder, fails, or has not the fields or the config.
    """
    builder = _builder_class(builder, called)
    name = builder.name if builder.__qualname__ == "Builder" else builder.__qualname__  # TFDS calls most of its own so
    _check_config(name, list(builder.builder_configs), config)
    folder, twice = Path(tempfile.mkdtemp(prefix="posenc-builder-")), list[str]()
    try:
        with exits_as_errors():
            made = builder(data_dir=folder, config=config or None, file_format="array_record")
            _watch_keys(made, twice)
            return _rows(made, name, fields)
    except DataError:
        raise
    except Exception as error:  # whatever the user's builder does
        if (refused := of_the_system(error)) is not None:
            raise refused from error
        if twice:
            raise DataError(f"{name} yields the key {twice[0]} twice: give every example a key of its own") from error
        kind = "" if isinstance(error, ExitError) else f"{type(error).__name__}: "  # which it names itself
        raise DataError(f"{name} cannot be prepared ({kind}{first_line(error)}): mend it") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(made: Any, name: str, fields: Fields) -> dict[str, Iterator[ReadRecord]]:
    builders.prepare(made)
    texts = {column: text for column, feature in made.info.features.items() if (text := text_of(feature))}
    if missing := [field for field in fields.read if field not in texts]:
        raise DataError(f"{name} has no text or class {missing[0]!r}: it has {', '.join(texts) or 'none'}")
    found: dict[str, Iterator[ReadRecord]] = {}
    for split in made.info.splits:
        source = made.as_data_source(split=split)
        rows = [_generated(source[i], {column: texts[column] for column in fields.read}) for i in range(len(source))]
        found[str(split)] = iter([(f"{name}:{split}:{i}", row) for i, row in enumerate(rows, 1)])
    return found


def _watch_keys(builder: Any, twice: list[str]) -> None:
    """Has a builder note in ``twice`` which keys come again, of which TensorFlow Datasets says no more than that."""
    generators = builder._split_generators

    @functools.wraps(generators)
    def watched(*arguments: Any, **options: Any) -> Any:
        found = generators(*arguments, **options)
        if not isinstance(found, Mapping):
            return found
        return {
            split: _noting(examples, split, twice) if isinstance(examples, Iterable) else examples
            for split, examples in found.items()
        }

    builder._split_generators = watched


def _noting(examples: Iterable[Any], split: str, twice: list[str]) -> Iterator[Any]:
    seen = set()
    for key, example in examples:
        if str(key) in seen:
            twice.append(f"{key!r} of the split {split}")
        seen.add(str(key))
        yield key, example


def _builder_class(builder: Any, called: str) -> Any:
    """The class of a builder, which may be a name of TensorFlow Datasets' own that is imported when it is used."""
    import tensorflow_datasets as tfds

    try:
        with exits_as_errors(), quiet():
            found = getattr(builder, "__mro__", (builder,))[0]
    except Exception as error:  # whatever its module does
        what = f"{type(error).__name__}: {first_line(error)}"
        raise DataError(f"{called or 'the builder'} cannot be imported ({what}): install what it needs") from error
    if not (isinstance(found, type) and issubclass(found, tfds.core.DatasetBuilder)):
        name = getattr(found, "__qualname__", repr(found))
        raise DataError(f"{name} is no builder: it needs the base class tfds.core.GeneratorBasedBuilder")
    return found


def _check_config(name: str, configs: list[str], config: str) -> None:
    if config and config not in configs:
        choices = f"use one of {', '.join(configs)}" if configs else f"leave out /{config}"
        raise DataError(f"{name} has no config {config!r}: {choices}")
    if len(configs) > 1 and not config:
        raise DataError(f"{name} has the configs {', '.join(configs)}: name one of them, as in Class/{configs[0]}")


def _generated(values: Mapping[str, Any], texts: Mapping[str, Callable[[Any], str]]) -> dict[str, str] | Malformed:
    for name in texts:
        if isinstance(values[name], bytes) and isinstance(damage := reading.decoded(values[name]), Malformed):
            return Malformed(f"field {name!r} is {damage.why}")
    found = {}
    for name, text in texts.items():
        try:
            found[name] = text(values[name])
        except UnlabelledError:
            return Malformed(f"field {name!r} is unlabelled ({values[name]})")
    return reading.chosen(found, texts)
