"""A checkpoint of others as the directory of a finished run, of which no step was trained here; and back: a run that
began so in the layout that transformers loads.
"""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from posenc_jax.config import Run, config_hash, difference, to_json
from posenc_jax.config.settings import Evaluation
from posenc_jax.data.errors import DataError
from posenc_jax.data.text import LanguageModel, MaskedLanguageModel, Translation
from posenc_jax.data.text.base import Data
from posenc_jax.files.atomic import new_folder, not_new, write_atomically
from posenc_jax.files.checksums import sha256_of_files
from posenc_jax.files.shapes import Json, problem
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.answers import languages, unread
from posenc_jax.huggingface.checkpoint import Checkpoint, declared_model, load
from posenc_jax.huggingface.config import of_text, setting, short
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.huggingface.family import Family
from posenc_jax.huggingface.safetensors import write
from posenc_jax.huggingface.saving import save
from posenc_jax.models import Slots, Transformer
from posenc_jax.models.config import COMPUTING, STACKS
from posenc_jax.runs.checkpoint import joined, leaf_digest
from posenc_jax.runs.directory import IMPORTED, Group, home_of, load_config
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, sealed_line, write_json
from posenc_jax.runs.groups import result_record, write_group
from posenc_jax.runs.identity import config_record, start_of
from posenc_jax.runs.state import replica_params, seed_of
from posenc_jax.runs.supply import read_tokenizer
from posenc_jax.training.leaf_names import flat

ORIGIN = "origin.json"
"""In an imported run: the files that it is from, with their digests, and their config."""
_BESIDE = 2**24
"""Bytes for the tokenizer and all else that is written beside the weights."""
_MEASURED = 512
"""The length that an imported run is measured at, if its positions reach so far and nobody asks for another."""


def import_checkpoint(
    source: str | os.PathLike[str], directory: str | os.PathLike[str], note: Callable[[str], None] = lambda text: None
) -> Run:
    """Makes of a checkpoint (see `posenc_jax.huggingface.checkpoint.load`) the directory of a run with one replica.

    The task of a decoder is language modelling with the checkpoint's tokenizer, in windows of its context; that of an
    encoder-decoder is translation, in the widest sense; that of an encoder masked language modelling. Tensors are read,
    converted to float32 and written one by one.

    Returns:
      The config of the run.

    Raises:
      DataError: the checkpoint cannot be read, or is no model with an output layer and a tokenizer.
      RefusedError: the directory exists or cannot be written, or there is no room for it. Nothing is left behind then.
    """
    directory = full(directory).absolute()
    if reason := not_new(directory):
        raise RefusedError(reason)
    checkpoint = load(source)
    if checkpoint.config.get("auto_map"):
        note(
            f"{checkpoint.path}: auto_map names code beside the weights; it is not run, and the model is computed as "
            f"transformers computes {checkpoint.family.title}"
        )
    if setting(of_text(checkpoint.config), "max_position_embeddings") is None and checkpoint.family.max_length is None:
        note(f"{checkpoint.path}: max_position_embeddings is missing, and {checkpoint.max_len:,} is taken")
    if said := unread({**checkpoint.config, **checkpoint.generation}):
        note(f"{checkpoint.path}: {', '.join(said)}: not read, answers are the most probable ones without")
    config = _config(checkpoint)
    sizes = {name: int(np.prod(leaf.shape)) for name, leaf in flat(checkpoint.shapes).items()}
    if reason := not_new(directory, 4 * sum(sizes.values()) + _BESIDE):
        raise RefusedError(reason)
    with new_folder(directory) as folder:
        group = Group(folder / "group-000", config.replicas, 1, config_hash(config))
        group.directory.mkdir()
        write_json(folder / "config.json", config_record(config))
        write_group(group, config)
        write_json(group.directory / "environment.json", {"began": {}, "resumed": [], "imported": environment()})
        digest = _write_weights(checkpoint, group.directory / IMPORTED, note)
        assert checkpoint.tokenizer is not None
        write_atomically(folder / "tokenizer.model", checkpoint.tokenizer.to_bytes())
        write_json(folder / "data.json", {"tokenizer": checkpoint.tokenizer.sha256})
        write_json(folder / ORIGIN, _origin(checkpoint))
        write_atomically(group.directory / "result.json", sealed_line(_result(config, group, sizes, digest)))
    return config


def _config(checkpoint: Checkpoint) -> Run:
    if not checkpoint.family.has_head:
        raise DataError(
            f"{checkpoint.path} is {checkpoint.family.architecture}, an encoder without the head of a masked language "
            "model, by which a run is measured: name the checkpoint with it, or load this one in Python, by "
            "posenc_jax.huggingface.checkpoint.load, which gives its last states"
        )
    if checkpoint.tokenizer is None:
        raise DataError(
            f"{checkpoint.path} has no tokenizer.json, without which no text can be read: add it, as transformers "
            "writes it by AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
        )
    try:
        return Run(
            **_FIELDS[checkpoint.kind](checkpoint),
            model=checkpoint.model,
            posenc=getattr(checkpoint.slots, "encoder" if checkpoint.kind == "encoder_only" else "decoder"),
            seeds=(0,),
            note=f"imported from {checkpoint.path.name} ({checkpoint.family.name}), not trained here",
        )
    except ValueError as error:
        raise DataError(f"{checkpoint.path} gives no run: {error}") from None


def _data(checkpoint: Checkpoint, name: str) -> Data:
    return Data(name=name, tokenizer="checkpoint", vocab_size=checkpoint.vocab_size)


def _modelling(checkpoint: Checkpoint) -> dict[str, Any]:
    """Fields of a run of a decoder: windows of its context."""
    length = checkpoint.max_len
    task = LanguageModel(data=_data(checkpoint, "own/python-docs"), max_length=length, row=length)
    return {"task": task, "evaluation": Evaluation(lengths=(min(_MEASURED, length),))}


def _translating(checkpoint: Checkpoint) -> dict[str, Any]:
    """Fields of a run of an encoder-decoder: pairs whose sides its positions reach."""
    answers, most = checkpoint.answers, checkpoint.max_len
    assert answers is not None
    beginning = {**checkpoint.config, **checkpoint.generation}.get("forced_bos_token_id")
    if beginning is not None:
        raise DataError(
            f"{checkpoint.path}: forced_bos_token_id = {short(beginning)}, a first token of every answer, is not "
            "written here: set it to null, or decode in Python from a prompt that has it"
        )
    unbounded = checkpoint.family.max_length is not None  # positions are distances, in buckets
    ratio = 2.0 if unbounded else 1.5
    length = most if unbounded else int((most - 8) / ratio)
    task = Translation(data=_data(checkpoint, "own/help-en-de"), ids=answers)
    return {
        "task": task.lengthened(max_length=length, target_ratio=ratio, **languages(checkpoint.path)),
        "posenc_encoder": checkpoint.slots.encoder,
        "posenc_cross": checkpoint.slots.cross,
        "evaluation": Evaluation(lengths=tuple(n for n in (32, 64, 128, 256) if n < length), decoded_examples=64),
    }


def _unmasking(checkpoint: Checkpoint) -> dict[str, Any]:
    """Fields of a run of an encoder: windows of its context, of which tokens are hidden."""
    length, mask = checkpoint.max_len, getattr(checkpoint.tokenizer, "mask", None)
    if mask is None:
        raise DataError(
            f"{checkpoint.path}: its tokenizer.json has neither [MASK] nor <mask>, which hides the tokens that an "
            "encoder predicts: take that of the same checkpoint"
        )
    data = _data(checkpoint, "own/python-docs")
    task = MaskedLanguageModel(data=data, max_length=length, row=length, mask=mask)
    return {"task": task, "evaluation": Evaluation(lengths=(min(_MEASURED, length),))}


_FIELDS: dict[str, Callable[[Checkpoint], dict[str, Any]]] = {
    "decoder_only": _modelling,
    "encoder_decoder": _translating,
    "encoder_only": _unmasking,
}


def _write_weights(checkpoint: Checkpoint, path: Path, note: Callable[[str], None]) -> str:
    shapes = {name: tuple(leaf.shape) for name, leaf in flat(checkpoint.shapes).items()}
    digests = dict.fromkeys(shapes, "")

    def noticed() -> Iterator[tuple[str, np.ndarray]]:
        for name, array in checkpoint.leaves():
            digests[name] = leaf_digest(array)
            if not np.isfinite(array).all():
                note(f"{checkpoint.path}: {name} holds values that are not finite; they are kept")
            yield name, array

    with path.open("xb") as file:
        write(file, shapes, noticed(), {})
    return joined(digests)


def _origin(checkpoint: Checkpoint) -> Json:
    path = checkpoint.path
    files = [*sorted(path.glob("*.safetensors")), path / "config.json"] if path.is_dir() else [path]
    return {
        "from": str(path),
        "family": checkpoint.family.name,
        "files": {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of_files(file)} for file in files},
        "config": checkpoint.config,
        "generation": checkpoint.generation,
    }


def _result(config: Run, group: Group, sizes: dict[str, int], digest: str) -> Json:
    ((seed, rate),) = group.replicas
    replica = {"seed": seed, "learning_rate": rate, "diverged_at": None, "validation": {"accuracy": None}}
    replicas: list[Json] = [{**replica, "evaluation": [], "parameters_sha256": digest}]
    nothing = {"metrics_sha256": hashlib.sha256(b"").hexdigest(), "bit_exact": False}
    return {**result_record(config, group, sizes, "devices", replicas), **nothing}


_SLOTS = {"posenc": "decoder", "posenc_encoder": "encoder", "posenc_cross": "cross"}


def export_checkpoint(
    run: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    seed: int | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Family:
    """Writes config.json, model.safetensors in float32, the files of the tokenizer and what there was of
    generation_config.json to a new directory; gives the family.

    Args:
      run: an imported one, or one that was trained on from such.
      seed: default the first that did not diverge.

    Raises:
      RefusedError: the run did not begin as a checkpoint, or its model or encodings are others now; the directory
        exists, cannot be written, or has no room.
    """
    source, directory = full(run).absolute(), full(directory).absolute()
    if reason := not_new(directory):
        raise RefusedError(reason)
    config = load_config(source)
    origin = _origin_of(source, config)
    try:
        family, theirs = FAMILIES[origin["family"]], origin["config"]
        model, slots, _, _ = declared_model(family, theirs, source / ORIGIN, config.model.tie_output)
    except (KeyError, DataError) as error:
        raise RefusedError(f"{source} is from a checkpoint that this version does not read ({error})") from None
    _refuse_other_model(source, config, model, slots)
    params = flat(replica_params(source, seed_of(config, source, seed), note))
    try:
        save(directory, family, theirs, origin.get("generation") or {}, model, params, read_tokenizer(source))
    except DataError as error:
        raise RefusedError(str(error)) from None
    return family


def _origin_of(source: Path, config: Run) -> Json:
    """The record of the checkpoint that a run, or one that it starts from, was imported from."""
    path = home_of(source) / ORIGIN
    if path.is_file():
        found = read_json(path)
        if wrong := problem(found, {"family": str, "config": {}, "generation?": {}}):
            raise RefusedError(f"{path} is no record of a checkpoint ({wrong}): restore it, or import it again")
        return found
    start = start_of(config, source)
    if start is None or not start.is_dir():
        raise RefusedError(
            f"{source} did not begin as a checkpoint of others, so no family of transformers has its form: "
            "`posenc weights export` writes its parameters"
        )
    return _origin_of(start, load_config(start))


def _refuse_other_model(source: Path, config: Run, model: Transformer, slots: Slots) -> None:
    own = dataclasses.replace(config.model, **{name: getattr(model, name) for name in COMPUTING})
    lines = difference(to_json(model), to_json(own), "model")
    stacks = STACKS[config.task.model_kind]
    fields = {"posenc": stacks[0]} if len(stacks) == 1 else _SLOTS
    for field, stack in fields.items():
        lines += difference(to_json(getattr(slots, stack)), to_json(getattr(config.slots, stack)), field)
    if lines:
        raise RefusedError(
            f"{source} is another model than its checkpoint's config says, and transformers would compute that one: "
            f"{'; '.join(lines)}"
        )
