"""A run that began as a checkpoint of others, in the layout that transformers loads."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from posenc_jax.config import Run, difference, to_json
from posenc_jax.data.errors import DataError
from posenc_jax.files.atomic import not_new
from posenc_jax.files.shapes import Json, problem
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.checkpoint import declared_model
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.huggingface.family import Family
from posenc_jax.huggingface.saving import save
from posenc_jax.models import Slots, Transformer
from posenc_jax.models.config import COMPUTING, STACKS
from posenc_jax.runs.directory import home_of, load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.identity import start_of
from posenc_jax.runs.importing import ORIGIN
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.runs.supply import read_tokenizer
from posenc_jax.training.leaf_names import flat

_FIELDS = {"posenc": "decoder", "posenc_encoder": "encoder", "posenc_cross": "cross"}


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
    origin = _origin(source, config)
    try:
        family, theirs = FAMILIES[origin["family"]], origin["config"]
        model, slots, _, _ = declared_model(family, theirs, source / ORIGIN, config.model.tie_output)
    except (KeyError, DataError) as error:
        raise RefusedError(f"{source} is from a checkpoint that this version does not read ({error})") from None
    _refuse_other(source, config, model, slots)
    alive = surviving_seeds(source)
    chosen = next((s for s in config.seeds if s in alive), None) if seed is None else seed
    if chosen is None:
        raise RefusedError(f"every replica of {source} diverged: export another run")
    params = flat(replica_params(source, chosen, note))
    try:
        save(directory, family, theirs, origin.get("generation") or {}, model, params, read_tokenizer(source))
    except DataError as error:
        raise RefusedError(str(error)) from None
    return family


def _origin(source: Path, config: Run) -> Json:
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
    return _origin(start, load_config(start))


def _refuse_other(source: Path, config: Run, model: Transformer, slots: Slots) -> None:
    own = dataclasses.replace(config.model, **{name: getattr(model, name) for name in COMPUTING})
    lines = difference(to_json(model), to_json(own), "model")
    stacks = STACKS[config.task.model_kind]
    fields = {"posenc": stacks[0]} if len(stacks) == 1 else _FIELDS
    for field, stack in fields.items():
        lines += difference(to_json(getattr(slots, stack)), to_json(getattr(config.slots, stack)), field)
    if lines:
        raise RefusedError(
            f"{source} is another model than its checkpoint's config says, and transformers would compute that one: "
            f"{'; '.join(lines)}"
        )
