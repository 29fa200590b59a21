"""A checkpoint from its files to our model: what it is at once, its tensors one by one.

>>> checkpoint = load("SmolLM2-135M-Instruct.Q4_1.gguf")            # doctest: +SKIP
>>> model = checkpoint.build()                                      # doctest: +SKIP
>>> tokens = checkpoint.tokenizer.encode("Gravity is")              # doctest: +SKIP
>>> greedy(model, np.array([tokens]), max_new_tokens=20)            # doctest: +SKIP
"""

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.absolute.learned import Learned
from posenc_jax.encodings.interface.base import Params
from posenc_jax.encodings.interface.slots import elements
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.shapes import Json, loads, problem
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.answers import answer_ids, read_generation
from posenc_jax.huggingface.config import of_text, read_config, short
from posenc_jax.huggingface.declared import Declared, from_hf
from posenc_jax.huggingface.families import FAMILIES, of_config
from posenc_jax.huggingface.family import Family, Settings
from posenc_jax.huggingface.gguf import config_of, read_gguf, tensors_of
from posenc_jax.huggingface.layers import FULL, LOCAL
from posenc_jax.huggingface.names import NameRule, Shape
from posenc_jax.huggingface.safetensors import StoredTensor, check_dtype, read_header
from posenc_jax.huggingface.saving import save
from posenc_jax.huggingface.tokenizer import of_directory, of_gguf
from posenc_jax.models import Model, Slots, Transformer
from posenc_jax.models.config import STACKS
from posenc_jax.models.torch_weights import listed
from posenc_jax.refusals import did_you_mean
from posenc_jax.training.leaf_names import filled, flat
from posenc_jax.training.replicas import partition
from posenc_jax.training.step import model_with, shapes_of

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_LONGEST_INDEX = 2**26


@dataclasses.dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint whose files were found to fit together; no tensor of it is in memory.

    Attributes:
      path: the file or the directory.
      config: as its ``config.json`` has it, or would have it.
      generation: likewise its ``generation_config.json``; empty without one.
      family: its family.
      model, slots, vocab_size, max_len: the arguments of `posenc_jax.models.build`.
      tokenizer: its tokenizer, ids as the model has them; None where the files have none.
      answers: for an encoder-decoder, its tokens to answer by, as both configs say; None for other kinds.
      rows: the table of this model, by the names of the files.
      tensors: what the files have.
    """

    path: Path
    config: Json
    generation: Json
    family: Family
    model: Transformer
    slots: Slots
    vocab_size: int
    max_len: int
    tokenizer: Tokenizer | None
    answers: AnswerIds | None
    rows: Mapping[str, NameRule]
    tensors: Mapping[str, StoredTensor]
    shapes: Params

    @property
    def kind(self) -> Any:
        """The kind of model."""
        return self.family.kind

    def leaves(self, dtype: Any = np.float32) -> Iterator[tuple[str, np.ndarray]]:
        """Every parameter by its name in a tree that was made flat, tensor by tensor."""
        ours = flat(self.shapes)
        for name, row in self.rows.items():
            shapes = [ours[part].shape for part in row.ours]
            parts = row.change.split(self.tensors[name].read(), shapes, self.model.num_heads)
            for part, array in zip(row.ours, parts):
                yield part, np.ascontiguousarray(array, dtype)

    def params(self, dtype: Any = np.float32) -> Params:
        """All parameters, as a run has them."""
        return filled(self.shapes, dict(self.leaves(dtype)))

    def build(self, dtype: Any = np.float32, mesh: Mesh | None = None) -> Model:
        """The model, which computes in ``dtype``: float32, or float64 with JAX's 64 bits on.

        Every tensor is put onto its devices as it is read: those of the axis ``model`` of a ``mesh`` have a part each
        of the matrices that `partition` splits, and all else is whole on all devices. Without a mesh all is on one.
        """

        def place(name: str) -> NamedSharding | None:
            return None if mesh is None else NamedSharding(mesh, partition(f"/{name.replace('.', '/')}"))

        params = filled(self.shapes, {name: jax.device_put(x, place(name)) for name, x in self.leaves(dtype)})
        sizes = _sizes(self.family, self.vocab_size, self.max_len)
        return model_with(params, self.kind, self.model, self.slots, **sizes)

    def save(self, directory: str | os.PathLike[str], params: Params | Model) -> None:
        """Writes a checkpoint with other parameters of the same shapes, as `params` gives them or in a model that
        `build` gave, to a new directory in float32: transformers loads it, and so does `load`.

        >>> checkpoint.save("mine", model)                          # doctest: +SKIP

        Raises:
          DataError: the directory exists, cannot be written or has no room, or the parameters are those of another
            model.
        """
        ours, given = flat(self.shapes), flat(params)
        for name in {**ours, **given}:
            wanted, found = (f"of shape {list(one[name].shape)}" if name in one else "none" for one in (ours, given))
            if wanted != found:
                raise DataError(
                    f"params: {name} is {found}, and {wanted} in {self.path}: give those of a model that is built of it"
                )
        save(directory, self.family, self.config, self.generation, self.model, given, self.tokenizer)


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint in a directory of Hugging Face's layout, or in a GGUF file.

    Nothing of it is run, and no pickle is opened.

    Raises:
      DataError: there is none, it is of another family, its tensors are not those of its config, or a file is damaged.
    """
    path = full(path)
    if path.is_dir():
        config = read_config(path)
        family = _family_of(config, path / "config.json")
        tensors = _tensors_in(path)
        for name, stored in tensors.items():
            if not family.ignores(name):
                check_dtype(path, name, stored.dtype)
        tokenizer: Callable[[Json, int], Tokenizer | None] = functools.partial(of_directory, path)
    elif path.is_file():
        if path.suffix in _PICKLES:
            raise DataError(_PICKLED.format(path))
        if path.suffix in (".safetensors", ".json"):
            raise DataError(
                f"{path} alone is no checkpoint: name its folder, {path.parent}, which has config.json and the "
                "safetensors"
            )
        found = read_gguf(path)
        config = config_of(found)
        tensors = tensors_of(found, config)
        family, tokenizer = FAMILIES["llama"], functools.partial(of_gguf, found)
    else:
        raise DataError(f"there is no {path}: name a directory with config.json and safetensors, or a GGUF file")
    return _matched(path, config, family, tensors, tokenizer)


_PICKLED = (
    "{} is a pickle, which may run any code when it is read, and is never opened: name a checkpoint in safetensors, or "
    "convert it where you trust it"
)


def _matched(
    path: Path,
    config: Json,
    family: Family,
    tensors: dict[str, StoredTensor],
    tokenizer: Callable[[Json, int], Tokenizer | None],
) -> Checkpoint:
    where = path / "config.json" if path.is_dir() else path
    tied = family.head not in tensors
    model, slots, vocab_size, max_len = declared_model(family, config, where, tied)
    if (there := _num_layers(family, tensors)) < model.num_layers:  # found before all of them are traced
        layers = f"{there} layers" if there else f"no layer, but {listed(list(tensors))}"
        raise DataError(
            f"{path} has tensors of {layers}, and its config says {model.num_layers}: it is not, or not all, the "
            f"{family.name} model of its config"
        )
    try:
        shapes = shapes_of(family.kind, model, slots, **_sizes(family, vocab_size, max_len))
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{where} gives no model: {error}") from None
    ours = {name: tuple(leaf.shape) for name, leaf in flat(shapes).items()}
    rows = family.rows(model, ours)
    named = _named(path, family, rows, tensors)
    _check_names(path, family, rows, named, ours)
    for name, row in rows.items():
        wanted = row.change.shape([ours[part] for part in row.ours])
        if named[name].shape != wanted:
            raise DataError(
                f"{path}: {name} has shape {list(named[name].shape)}, and its config says {list(wanted)}: it is "
                "another checkpoint's, fetch both again"
            )
    generation = read_generation(path) if path.is_dir() else {}
    text_config = of_text(config)
    said = {**text_config, **{name: value for name, value in generation.items() if value is not None}}
    answers = answer_ids(family, said, vocab_size, where) if family.kind == "encoder_decoder" else None
    own = {} if answers is None else {"eos_token_id": answers.eos}
    pieces = tokenizer({**text_config, **own}, vocab_size)
    return Checkpoint(
        path, config, generation, family, model, slots, vocab_size, max_len, pieces, answers, rows, named, shapes
    )


def _sizes(family: Family, vocab_size: int, max_len: int) -> dict[str, Any]:
    return {"vocab_size": vocab_size, "num_classes": vocab_size if family.has_head else None, "max_len": max_len}


def _num_layers(family: Family, tensors: Mapping[str, StoredTensor]) -> int:
    before = next(row.theirs.partition("{}")[0] for row in family.names if "{}" in row.theirs)
    pattern = f"({re.escape(family.left_out)})?{re.escape(before.removeprefix(family.left_out))}([0-9]+)[.]"
    return len({found[2] for name in map(family.spelled, tensors) if (found := re.match(pattern, name))})


def declared_model(family: Family, config: Json, where: Path, tied: bool) -> tuple[Transformer, Slots, int, int]:
    """The model of a config, its encodings, the size of its vocabulary and its longest text; `DataError` without.

    Args:
      tied: whether the output layer is the table, where the files of a family say that (`Family.head`).
    """
    settings = Settings(of_text(config), str(where))
    fields = family.settings(settings) | ({"tie_output": tied} if family.head else {})
    vocab_size = settings.whole("vocab_size")
    found = _declared(config, where)
    length = found.max_length or family.max_length
    max_len = length or settings.whole("max_position_embeddings")
    for element in elements(found.slot):
        if isinstance(element, Learned) and element.max_len is not None:
            max_len = element.max_len - element.offset
    slots = Slots(**(family.slots(found.slot) if family.slots else {STACKS[family.kind][0]: found.slot}))
    try:
        return Transformer(**fields, windows=found.windows), slots, vocab_size, max_len
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{where} gives no model: {error}") from None


def _declared(config: Json, where: Path) -> Declared:
    """The encodings and windows of all layers; `DataError` where they are not all that the config says of positions."""
    try:
        found = from_hf(config)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if other := [layer.kind for layer in found.layers if layer.kind not in (LOCAL, FULL)]:
        raise DataError(f"{where}: layers of {other[0]} are not computed here: name another checkpoint")
    if found.unread:
        raise DataError(f"{where}: {found.unread[0]}, and may say where tokens are: take it out, or name another")
    return found


def _named(
    path: Path, family: Family, rows: Mapping[str, NameRule], tensors: dict[str, StoredTensor]
) -> dict[str, StoredTensor]:
    """The tensors under the names of the table: some files leave out what stands in front of all, or add to it."""
    found: dict[str, StoredTensor] = {}
    for name, stored in tensors.items():
        if family.ignores(name):
            continue
        name = family.spelled(name)
        longer, shorter = family.left_out + name, name.removeprefix(family.left_out)
        own = name if name in rows else longer if longer in rows else shorter if shorter in rows else name
        if own in found:
            raise DataError(f"{path} has {own} twice, with {family.left_out!r} before it and without: remove one")
        found[own] = stored
    return found


def _check_names(
    path: Path, family: Family, rows: Mapping[str, NameRule], named: dict[str, StoredTensor], ours: Mapping[str, Shape]
) -> None:
    for repeat, original in family.tied.items():
        if repeat in named and repeat not in rows:
            repeated = named.pop(repeat)
            if named.setdefault(original, repeated) is repeated:
                continue
            if repeated.shape != named[original].shape or not np.array_equal(repeated.read(), named[original].read()):
                own = any(rule.theirs == repeat for rule in family.names)
                way = "set tie_word_embeddings to false in its config" if own else "name another checkpoint"
                raise DataError(f"{path}: {repeat} is not equal to {original}, which it must repeat: {way}")
    missing = [name for name in rows if name not in named]
    extra = [name for name in named if name not in rows]
    if missing or extra:
        parts = [f"lacks {listed(missing)}"] if missing else []
        parts += [f"has {listed(extra)}, which no model of this config has"] if extra else []
        raise DataError(f"{path} {' and '.join(parts)}: it is not, or not all, the {family.name} model of its config")
    covered = {part for row in rows.values() for part in row.ours}
    if homeless := [name for name in ours if name not in covered]:
        raise DataError(f"{path}: no tensor of a {family.name} checkpoint is our {listed(homeless)}")


def _family_of(config: Json, path: Path) -> Family:
    kind = config.get("model_type")
    if quantised := config.get("quantization_config"):
        method = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
        raise DataError(
            f"{path}: quantization_config is there ({short(method)}), and quantised weights are read from GGUF alone: "
            "name the checkpoint in full precision, or a GGUF file of it"
        )
    if not isinstance(kind, str) or kind not in FAMILIES:
        hint = did_you_mean(str(kind), FAMILIES, "name a checkpoint of one of them")
        code = ", whose code (auto_map) is never run," if config.get("auto_map") else ""
        raise DataError(f"{path}: model_type = {short(kind)}{code} is not read, and {', '.join(FAMILIES)} are: {hint}")
    return of_config(config)


def _tensors_in(directory: Path) -> dict[str, StoredTensor]:
    single, index = directory / "model.safetensors", directory / "model.safetensors.index.json"
    if single.is_file():
        return read_header(single)[0]
    if not index.is_file():
        pickles = sorted(path for path in directory.iterdir() if path.suffix in _PICKLES)
        if pickles:
            raise DataError(_PICKLED.format(pickles[0]))
        raise DataError(f"{directory} has no model.safetensors and no index of shards: fetch it again")
    try:
        content = loads(read_regular(index, _LONGEST_INDEX))
        if wrong := problem(content, {"weight_map": {str: str}}):
            raise ValueError(wrong)
    except (OSError, ValueError) as error:
        raise DataError(f"{index} is no index of shards ({error}): fetch it again") from None
    places: dict[str, str] = content["weight_map"]
    if odd := [name for name in places.values() if name != Path(name).name or not name.endswith(".safetensors")]:
        raise DataError(f"{index} names {odd[0]!r}, which is no file beside it: fetch it again")
    files = sorted(set(places.values()))
    if missing := [name for name in files if not (directory / name).is_file()]:
        raise DataError(f"{directory} lacks {listed(missing)} of {len(files)} shards: fetch them too")
    tensors: dict[str, StoredTensor] = {}
    for file in files:
        tensors |= read_header(directory / file)[0]
    return tensors
