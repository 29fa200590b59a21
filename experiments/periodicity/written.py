"""The sentence that a translator writes when its source moves: the same one, or another?

    posenc ablate experiments/periodicity/moved_translation.py
    python -m experiments.periodicity.written runs/periodicity-translation

Every cell and seed of a finished ablation reads the same test sentences from position 5 on and from 5 + k on, and
writes its translation greedily; the target begins at its own first place always. Expected: moved-directions.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.periodicity.moved import HOME, SHOWN, check_starts, texts
from experiments.periodicity.probe import cells, guarded, markdown
from posenc_jax.cli.session import prepare_jax
from posenc_jax.config import Run, config_hash
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.tokenizer import BOS, EOS
from posenc_jax.files.atomic import write_atomically
from posenc_jax.models import Greedy, Streams, decode
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.state import replica_params, surviving_seeds
from posenc_jax.statistics import mean_interval
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("written.json")


def translations(config: Run, params: Any, example: Example, starts: list[int]) -> np.ndarray:
    """Tokens ``[S, B, T]`` written greedily from the sources at each start, pads after the end."""
    check_starts(config, np.asarray(starts), example.inputs.shape[1])
    assert example.decoder_inputs is not None
    room = example.decoder_inputs.shape[1]

    @jax.jit
    def written(params: Any, start: Any) -> Any:
        model, streams = model_of(config, params), Streams(positions=jax.random.key(0))
        memory = model.encode(
            example.inputs,
            positions=(start + jnp.arange(example.inputs.shape[1], dtype=jnp.int32))[None],
            segment_ids=example.segment_ids,
            length=example.length,
            streams=streams,
        )
        prompt = jnp.full((len(example.inputs), 1), BOS, jnp.int32)
        found = decode(model, prompt, Greedy(), max_new_tokens=room, memory=memory, eos=EOS, streams=streams)
        return found.tokens[:, 0]

    return np.stack([np.asarray(written(params, start)) for start in starts])


def others(config: Run, params: Any, example: Example) -> np.ndarray:
    """``[S, B]``: whether another sentence is written, for each of `SHOWN`."""
    home, *moved = translations(config, params, example, [HOME, *(HOME + offset for offset in SHOWN)])
    return np.stack([(tokens != home).any(1) for tokens in moved])


def measured(directory: Path, tokens: int, count: int) -> dict[str, Any]:
    """All seeds of a finished cell: which sentences change, as ``"0110..."`` by seed and offset."""
    config = load_config(directory)
    if config.task.model_kind != "encoder_decoder":
        raise RefusedError(f"{directory} is no translator (task {config.task.name!r}): its source cannot move alone")
    example = texts(config, directory, tokens, count)
    seeds = sorted(surviving_seeds(directory))
    found = [others(config, replica_params(directory, seed, lambda text: None), example) for seed in seeds]
    return {
        "environment": environment(),
        "config": config_hash(config),
        "seeds": seeds,
        "moved by": list(SHOWN),
        "others": [["".join("01"[int(x)] for x in row) for row in seed] for seed in found],
    }


def table(record: dict[str, Any]) -> str:
    """A row for each encoding and offset: mean over seeds with the 95 % interval over sentences, then every seed."""
    rows = []
    for label, cell in record.items():
        flags = np.array([[[int(x) for x in row] for row in seed] for seed in cell["others"]], float)
        if not flags.any():
            rows.append([label, f"{', '.join(map(str, cell['moved by']))}: each", "0", ""])
            continue
        for place, offset in enumerate(cell["moved by"]):
            one = flags[:, place]
            found = mean_interval(one.mean(0).tolist())
            around = "all equal" if found.low is None else f"{found.low:.3f}, {found.high:.3f}"
            by_seed = ", ".join(f"{x:.3f}" for x in one.mean(1))
            rows.append([label, str(offset), f"{found.mean:.3f} [{around}]", by_seed])
    return markdown(["encoding", "moved by", "other sentence [95 %]", "by seed"], rows)


def main(arguments: list[str] | None = None) -> None:
    """Measures, writes written.json and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.written", description=__doc__)
    parser.add_argument("directory", type=Path, help="a finished ablation of translators")
    parser.add_argument("--tokens", type=int, default=32, help="length of the sources (default 32)")
    parser.add_argument("--texts", type=int, default=256, help="how many (default 256)")
    parser.add_argument("--json", type=Path, default=RECORD, help="write which sentences changed there")
    given = parser.parse_args(arguments)
    prepare_jax()
    record = {label: measured(path, given.tokens, given.texts) for label, path in cells(given.directory)}
    lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(cell)}" for label, cell in record.items())
    write_atomically(given.json, f"{{\n{lines}\n}}\n")
    print(table(record))


if __name__ == "__main__":
    guarded(main)
