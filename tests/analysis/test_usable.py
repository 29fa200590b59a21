"""What hooks and `init` return is real numbers, or is refused by name."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trained_runs import copy_of_the_run

from posenc_jax.analysis.usable import misshapen
from posenc_jax.cli import main
from posenc_jax.encodings import PositionalEncoding

OTHER = {
    "complex64": lambda x: jnp.asarray(x, jnp.float32) * 1j,
    "bool": lambda x: jnp.asarray(x) > 0,
    "int32": lambda x: jnp.asarray(x).astype(jnp.int32),
    "object": lambda x: np.full(x.shape, 0.5, object),
    "<U1": lambda x: np.full(x.shape, "a"),
    "key<fry>": lambda x: jax.random.split(jax.random.key(0), x.shape),
    "int64": lambda x: np.ones(x.shape, np.int64),
}
ALLOWED = (lambda x: jnp.asarray(x).astype(jnp.bfloat16), lambda x: np.ones(x.shape))


def by_pairs(q, k):
    return jnp.einsum("bhqd,bhkd->bhqk", q, k)


HOOKS = {
    "embed": lambda cast: lambda self, params, x, sequence: cast(x),
    "encode_queries": lambda cast: lambda self, params, q, positions, length: cast(q),
    "encode_keys": lambda cast: lambda self, params, k, positions, length: cast(k),
    "encode_values": lambda cast: lambda self, params, v, positions, length: cast(v),
    "encode_outputs": lambda cast: lambda self, params, out, positions, length: cast(out),
    "bias": lambda cast: lambda self, params, geometry: cast(1.0 * geometry.relative[:, None]),
    "score": lambda cast: lambda self, params, q, k, geometry, terms: cast(by_pairs(q, k)),
    "content_bias": lambda cast: lambda self, params, q, k, geometry, terms: cast(by_pairs(q, k)),
    "adjust_logits": lambda cast: lambda self, params, logits, bias, geometry: cast(logits),
    "normalize": lambda cast: lambda self, params, logits, geometry: cast(logits),
    "value_term": lambda cast: lambda self, params, weights, geometry: cast(weights),
    "map_positions": lambda cast: lambda self, sequence, *, key, train: cast(sequence.positions),
    "token_terms": lambda cast: lambda self, params, x, sequence: {"a": cast(x), "b": x},
    "init": lambda cast: lambda self, key, dims: {"a": cast(np.ones((2, 2), np.float32))},
}


def mine(hook, cast):
    facts = {"name": "mine", hook: HOOKS[hook](cast)}
    if hook in ("init", "token_terms"):
        facts["bias"] = HOOKS["bias"](lambda x: x)
    return dataclasses.dataclass(frozen=True)(type("Mine", (PositionalEncoding,), facts))()


@pytest.mark.parametrize("hook", HOOKS)
def test_numbers_that_are_not_real_are_refused_with_hook_and_dtype(hook):
    said = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype, cast in OTHER.items():
            said[dtype] = misshapen((mine(hook, cast),)) or ""
        assert [misshapen((mine(hook, cast),)) for cast in ALLOWED] == [None, None]
    named = {dtype for dtype in OTHER if said[dtype].startswith(f"Mine.{hook}") and f" {dtype}" in said[dtype]}
    whole = {"int32", "int64"} if hook in ("map_positions", "token_terms") else set()
    assert named == OTHER.keys() - whole, said
    assert all(said[dtype] == "" for dtype in whole)


def test_every_hook_is_looked_at():
    assert HOOKS.keys() - {"init"} == set(PositionalEncoding.HOOKS)


SOURCE = """
import dataclasses
from posenc_jax import Evaluation, Run, tasks
from posenc_jax.encodings import PositionalEncoding

@dataclasses.dataclass(frozen=True)
class Odd(PositionalEncoding):
    name = "odd"

    def bias(self, params, geometry):
        return {}

config = Run(task=tasks.EvenPairs(max_length=8), posenc=(Odd(),), evaluation=Evaluation(lengths=(8,)))
"""
COMMANDS = {
    "train": ["train", "odd_{}.py", "--directory", "made"],
    "evaluate": ["evaluate", "run", "--posenc", "odd_{}.py:Odd"],
    "audit": ["audit", "odd_{}.py:Odd", "--json", "made"],
    "show": ["show", "odd_{}.py:Odd", "--output", "made"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_them_in_one_line(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    run = copy_of_the_run(tmp_path / "run") if command == "evaluate" else None
    relative = "geometry.relative[:, None]"
    for kind, (returned, dtype) in {
        "complex": (f"{relative} * 1j", "complex"),
    }.items():
        name = f"{command}_{kind}"
        Path(f"odd_{name}.py").write_text(SOURCE.format(returned))
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}
        assert main([word.format(name) for word in COMMANDS[command]]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"posenc: Odd.bias returns {dtype}"), line
        assert "hooks return real floating-point numbers" in line
        after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}
        assert after == before
    assert run is None or not (run / "evaluations").exists()
