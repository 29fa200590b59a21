"""The builder of TensorFlow Datasets over the rows of a corpus: array_record files, no TensorFlow needed."""

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import DataError, Rows, content_of

_VERSION = "1.0.0"


def write(rows: Rows, columns: tuple[str, ...], directory: Path) -> None:
    """Writes the rows as a data set of text columns, in their order, to ``directory/corpus/1.0.0``."""
    import tensorflow_datasets as tfds

    with tfds.core.registered.skip_registration():  # nobody looks it up by name

        class BuiltCorpus(tfds.core.GeneratorBasedBuilder):
            """Rows of a corpus of ours."""

            name = "corpus"  # of its folder, which `read` looks for, whatever the class is called
            VERSION = tfds.core.Version(_VERSION)

            def _info(self) -> Any:
                features = tfds.features.FeaturesDict({column: tfds.features.Text() for column in columns})
                # The order of the rows says which is which; whoever trains on them shuffles.
                return tfds.core.DatasetInfo(builder=self, features=features, disable_shuffling=True)

            def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
                return {split: self._generate_examples(part) for split, part in rows.items()}

            def _generate_examples(self, rows: list[dict[str, str]]) -> Any:
                yield from enumerate(rows)

    tfds.disable_progress_bar()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints sizes that it does not know
        BuiltCorpus(data_dir=directory, file_format="array_record").download_and_prepare()
    shutil.rmtree(directory / "downloads", ignore_errors=True)  # it makes them whether it downloads or not


def read(directory: Path, split: str) -> Any:
    """The random-access source of a split that ``write`` wrote: ``len``, and rows of UTF-8 bytes by number."""
    import tensorflow_datasets as tfds

    _check_features(directory / "corpus" / _VERSION / "features.json")
    return tfds.builder_from_directory(directory / "corpus" / _VERSION).as_data_source(split=split)


_FEATURES = {
    f"tensorflow_datasets.core.features.{name}" for name in ("features_dict.FeaturesDict", "text_feature.Text")
}


def _check_features(path: Path) -> None:
    named: set[str] = set()

    def add_named(found: dict[str, Any]) -> None:
        named.update([str(found["pythonClassName"])] if "pythonClassName" in found else [])

    try:
        json.loads(content_of(path, path.parent), object_hook=add_named)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged ({error}): prepare the corpus anew") from None
    if other := sorted(named - _FEATURES):
        raise DataError(f"{path} names {other[0]}, which no corpus of ours has: prepare it anew")
