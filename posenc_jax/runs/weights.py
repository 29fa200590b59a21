"""Parameters in safetensors files: a file alone is enough to rebuild the model, here or in another framework.

A tensor is called by its path in the tree of parameters (``decoder.blocks.0.self_attention.query.kernel``,
``posenc.encoder.0.table``), or as in `posenc_jax.models.torch_weights` when the layout is "torch". The file's metadata
has one entry, "posenc_jax", a JSON object: "layout", "kind", "model", "slots", "vocab_size", "num_classes" and
"max_len" say which model it is; files of runs also tell "seed", "learning_rate", "run", the whole config,
"code", the digests of the user's own classes in it, and for text "tokenizer", its SHA-256. "tensors" is the SHA-256 of
the tensors and "checksum" that of all of it.

A file holds numbers and names only: an encoding of the user's own is found in the classes that the caller hands in.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, UnknownTypeError, from_json, to_json, type_name
from posenc_jax.data.errors import DataError
from posenc_jax.encodings import elements
from posenc_jax.encodings.interface.base import Params
from posenc_jax.extras import needed
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import DamagedError, seal, unseal
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.safetensors import StoredTensor, read_header
from posenc_jax.model_kind import ModelKind
from posenc_jax.models import Model
from posenc_jax.models.config import STACKS, Slots, Transformer
from posenc_jax.models.torch_weights import from_torch, listed, to_torch
from posenc_jax.runs import own_code
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.state import best_replica, load_group_state
from posenc_jax.training.leaf_names import filled, flat
from posenc_jax.training.step import model_with, shapes_of

Metadata = dict[str, Any]
_ENTRY = "posenc_jax"
_TENSORS = "tensors"


def silent(text: str) -> None:
    """A ``note`` callback that discards its text."""


@dataclasses.dataclass(frozen=True)
class Described:
    """The model that a file is of; the arguments of `posenc_jax.models.build`."""

    kind: ModelKind
    model: Transformer
    slots: Slots
    vocab_size: int
    num_classes: int
    max_len: int


def describe(path: Path, metadata: Metadata, own: Sequence[type] = ()) -> Described:
    """The model in a file's metadata; RefusedError when they are not whole or need a class that is not in ``own``."""
    classes = {type_name(cls): cls for cls in own}
    try:
        return Described(
            metadata["kind"],
            from_json(metadata["model"], classes),
            from_json(metadata["slots"], classes),
            *(int(metadata[size]) for size in ("vocab_size", "num_classes", "max_len")),
        )
    except UnknownTypeError as error:
        raise RefusedError(
            f"{path}: {error}; from Python hand the class in (own=), or start from the directory of the run"
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"{path} does not give a model ({type(error).__name__}: {error}): read it with the version that wrote it"
        ) from None


def model_metadata(
    kind: ModelKind, model: Transformer, slots: Slots, *, vocab_size: int, num_classes: int, max_len: int
) -> Metadata:
    """Metadata of a file about its model; the arguments of `posenc_jax.models.build`."""
    return {
        "layout": "posenc_jax",
        "kind": kind,
        "model": to_json(model),
        "slots": to_json(slots),
        "vocab_size": vocab_size,
        "num_classes": num_classes,
        "max_len": max_len,
    }


def run_metadata(run: Run, *, seed: int, learning_rate: float) -> Metadata:
    """Metadata of a file about a replica of a run."""
    task = run.task
    sizes = {"vocab_size": task.vocab_size, "num_classes": task.num_classes, "max_len": run.max_len}
    return {
        **model_metadata(task.model_kind, run.model, run.slots, **sizes),
        "seed": seed,
        "learning_rate": learning_rate,
        "run": to_json(run),
        "code": own_code.digests(run),
    }


def save_weights(
    path: str | os.PathLike[str],
    params: Params,
    metadata: Metadata,
    *,
    own: Sequence[type] = (),
    note: Callable[[str], None] = silent,
) -> None:
    """Writes parameters (one replica's) to a file by rename; equal parameters and metadata give equal bytes.

    Non-finite values are kept, and ``note`` hears of them.

    Args:
      metadata: of `run_metadata` or `model_metadata`, and whatever else JSON can hold. With ``layout`` "torch" the file
        has torch's names.
      own: the classes of the user's own encodings in the model, if it has any.

    Raises:
      ValueError: the parameters are not those of the model in ``metadata``, dtypes among them, or do not fit
        torch.
    """
    with needed("text", "a safetensors file"):
        from safetensors.numpy import save

    path = Path(path)
    tensors = {name: np.asarray(leaf) for name, leaf in flat(params).items()}
    described = describe(path, metadata, own)
    if problem := _problem(tensors, flat(shapes_of(**vars(described)))):
        raise ValueError(f"params {problem}: pass float32 parameters and the metadata of the same model")
    _note_non_finite(tensors, path, note)
    if metadata["layout"] == "torch":
        tensors = to_torch(params, described.model)
    entry = seal({**json.loads(json.dumps(metadata)), _TENSORS: _sha256(tensors)})
    write_atomically(path, save(tensors, {_ENTRY: json.dumps(entry, sort_keys=True)}))


def load_weights(
    path: str | os.PathLike[str], *, own: Sequence[type] = (), note: Callable[[str], None] = silent
) -> tuple[Params, Metadata]:
    """The parameters of a file that `save_weights` wrote, bit for bit, in the tree that runs have, and its metadata.

    Args:
      own: the classes of the user's own encodings in the model, if it has any.

    Raises:
      RefusedError: the file is damaged, was written by something else, lacks tensors of its model, or needs other
        classes.
    """
    path = full(path)
    tensors, entries = read_tensors(path)
    metadata = _refuse_damaged(path, tensors, metadata_of(path, entries))
    described = describe(path, metadata, own)
    expected = shapes_of(**vars(described))
    if metadata["layout"] == "torch":
        try:
            tensors = flat(from_torch(tensors, described.model, described.kind))
        except ValueError as error:
            raise RefusedError(f"{path}: {error}") from None
    if problem := _problem(tensors, flat(expected)):
        raise RefusedError(f"{path} {problem}: this is not the model that its metadata describe; export it again")
    _note_non_finite(tensors, path, note)
    return filled(expected, tensors), metadata


def load_model(
    path: str | os.PathLike[str], *, own: Sequence[type] = (), note: Callable[[str], None] = silent
) -> Model:
    """The model of a file that `save_weights` wrote, with its parameters; arguments and errors as of `load_weights`."""
    params, metadata = load_weights(path, own=own, note=note)
    params, found = jax.tree.map(jax.numpy.asarray, params), vars(describe(Path(path), metadata, own))
    return model_with(params, **found)


def export_weights(
    run_directory: str | os.PathLike[str],
    path: str | os.PathLike[str],
    seed: int | None = None,
    *,
    torch: bool = False,
    note: Callable[[str], None] = silent,
) -> Metadata:
    """Writes the final parameters of one seed of a finished run to a new file and gives the metadata in it.

    Args:
      run_directory: of a run, of a cell of an ablation, or of one group.
      seed: default the run's first; of several learning rates the best by validation is taken.
      torch: with torch's names, for models whose encodings add to the input embeddings, without parameters.

    Raises:
      RefusedError: the run is not finished, the file exists, or the model does not fit torch.
      OSError: the file cannot be written.
    """
    source, path = full(run_directory).absolute(), full(path)
    if path.exists():
        raise RefusedError(f"{path} exists: choose another file, or remove it")
    config = load_config(source)
    if torch:
        _check_for_torch(config)
    directory, index = best_replica(source, config.seeds[0] if seed is None else seed)
    group, state = load_group_state(config, directory, note)
    seed, rate = group.replicas[index]
    metadata = run_metadata(config, seed=seed, learning_rate=rate) | {"layout": "torch" if torch else "posenc_jax"}
    if (record := directory.parent / "data.json").is_file():
        metadata["tokenizer"] = read_json(record).get("tokenizer")
    params = jax.tree.map(lambda leaf: leaf[index], state["params"])
    try:
        save_weights(path, params, metadata, own=tuple(own_code.own_classes(config).values()), note=note)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    return metadata


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All tensors of any safetensors file by name, and its metadata; RefusedError when it is none."""
    tensors, metadata = _read(path)
    return {name: stored.read() for name, stored in tensors.items()}, metadata


def read_shapes(path: str | os.PathLike[str]) -> tuple[dict[str, tuple[list[int], str]], dict[str, str]]:
    """Shape and dtype ("F32") of every tensor of any safetensors file, and its metadata, without reading values."""
    tensors, metadata = _read(path)
    return {name: (list(stored.shape), stored.dtype) for name, stored in tensors.items()}, metadata


def refuse_damaged(path: Path) -> None:
    """RefusedError for a file of `save_weights` that is not what was written; those of others are not looked at."""
    entries = read_shapes(path)[1]
    if _ENTRY in entries:
        _refuse_damaged(path, read_tensors(path)[0], metadata_of(path, entries))


def _refuse_damaged(path: Path, tensors: Mapping[str, np.ndarray], metadata: Metadata) -> Metadata:
    """The metadata without the digest of the tensors, which must be theirs."""
    rest = {name: value for name, value in metadata.items() if name != _TENSORS}
    if metadata.get(_TENSORS) != _sha256(tensors):
        raise RefusedError(f"{path} is damaged (its tensors are not those that were written): export it again")
    return rest


def _sha256(tensors: Mapping[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        total.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode() + np.ascontiguousarray(tensor).tobytes())
    return total.hexdigest()


def metadata_of(path: Path, entries: Mapping[str, str]) -> Metadata:
    """Our metadata among those of a safetensors file; RefusedError when it has none, or damaged ones."""
    try:
        metadata = unseal(entries[_ENTRY])
        if metadata["layout"] not in ("posenc_jax", "torch"):
            raise KeyError(metadata["layout"])
    except DamagedError as error:
        raise RefusedError(f"{path} is damaged (what it says of its model: {error}): export it again") from None
    except KeyError:
        raise RefusedError(
            f"{path} does not say which model its tensors belong to, as files of `posenc weights export` do: for those "
            "of a torch model use posenc_jax.runs.weights.read_tensors and posenc_jax.models.torch_weights.from_torch"
        ) from None
    return metadata


def _problem(tensors: Mapping[str, np.ndarray], expected: Mapping[str, Any]) -> str:
    """The fault of the names, shapes or dtypes of tensors, in words; "" without one."""
    missing, extra = ([n for n in a if n not in b] for a, b in ((expected, tensors), (tensors, expected)))
    problems = [f"lacks {listed(missing)}"] if missing else []
    problems += [f"has {listed(extra)} too many"] if extra else []
    for name, leaf in expected.items():
        tensor = tensors.get(name)
        if tensor is not None and tensor.shape != leaf.shape:
            problems.append(f"has {name} of shape {list(tensor.shape)} instead of {list(leaf.shape)}")
        elif tensor is not None and tensor.dtype != leaf.dtype:
            problems.append(f"has {name} in {tensor.dtype} instead of {leaf.dtype}")
    return " and ".join(problems[:4])


def _note_non_finite(tensors: Mapping[str, np.ndarray], path: Path, note: Callable[[str], None]) -> None:
    names = [name for name, tensor in tensors.items() if not np.isfinite(tensor).all()]
    if names:
        note(f"{path}: {', '.join(names)} hold values that are not finite; they are kept")


def _check_for_torch(config: Run) -> None:
    for stack in STACKS[config.task.model_kind]:
        for element in elements(getattr(config.slots, stack)):
            if element.acts_on != {"embed"}:
                raise RefusedError(
                    f"{element!r} acts on {', '.join(sorted(element.acts_on))}, and torch.nn.Transformer has positions "
                    "in its input embeddings only: export without torch's names"
                )


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    path = full(path)
    if not path.is_file():
        raise RefusedError(f"there is no file {path}: name a safetensors file")
    try:
        return read_header(path)
    except DataError as error:
        raise RefusedError(str(error)) from None
