"""Settings of a process that decide the numbers of a training, found by trying each.

    python -m experiments.settings.settings

A tiny training on the CPU is repeated under every flag of `jax.config` (values that differ from the default, made from
the flag's type) and every environment variable of settings.toml. What it gives is compared bit by bit with what
it gives without: ``draws`` where random numbers themselves are others, ``rounding`` where only results are,
``nothing``, or ``cannot run``; ``not tried yet`` is a setting that is newer than the table. What changes a bit has to
stand in the record of the environment: ``record`` says what `posenc_jax.environments.compared` answers, ``names`` by
which of its settings. Written are settings.json beside this file and the table of scripts/docs/reliability.md.

Nothing is read from a cache of compiled programs, so that none hides a difference.
"""

from __future__ import annotations

import argparse
import base64
import enum
import functools
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc_jax.drawing.markdown import refilled
from posenc_jax.environments import compared

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = Path(__file__).with_suffix(".toml")
FOUND = Path(__file__).with_suffix(".json")
PAGE = ROOT / "scripts" / "docs" / "reliability.md"
REFUSED, UNTRIED = "cannot run", "not tried yet"
BEGIN, END = "<!-- written by experiments/settings -->", "<!-- end of settings -->"
SECONDS = 300  # of one training, which takes four
TOGETHER = 16

FAST = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)
"""Flags of XLA by which programs compile three times as fast."""

OPTIMISED = (
    *("jax_disable_most_optimizations", "jax_exec_time_optimization_effort", "jax_optimization_level"),
    *("jax_memory_fitting_effort", "jax_memory_fitting_level", "jax_compiler_enable_remat_pass"),
)
"""Flags that tell the compiler how much to do: they are tried without `FAST`."""

# Of flags that are texts, or whose values cannot be told from their type.
TEXTS = {
    "jax_platforms": ("cpu",),
    "jax_platform_name": ("cpu",),
    "jax_xla_backend": ("cpu",),
    "jax_default_device": ("cpu",),
    "jax_numpy_rank_promotion": ("warn", "raise"),
    "jax_compilation_cache_dir": ("{empty}",),
    "jax_dump_ir_to": ("{empty}",),
    "jax_dump_ir_modes": ("jaxpr",),
    "jax_persistent_cache_enable_xla_caches": ("all", "none"),
    "jax_pjrt_client_create_options": ("a:b",),
    "jax_debug_log_modules": ("jax._src.dispatch",),
    "jax_num_cpu_devices": (1, 3),
    "jax_compiler_detailed_logging_min_ops": (1,),
    "jax_exec_time_optimization_effort": (-1.0, 1.0),
    "jax_memory_fitting_effort": (-1.0, 1.0),
    "jax_random_seed_offset": (1,),
    "jax_embedded_constants_max_bytes": (0, 1_000_000),
}


class Tried(NamedTuple):
    """One setting: a ``flag`` of jax or a ``variable`` of the environment, and its value."""

    kind: str
    name: str
    value: Any

    @property
    def key(self) -> str:
        return f"{self.name}={self.value}"


def flags() -> list[Tried]:
    """Every flag of `jax.config` with every value that its type has beside the present one."""
    import jax

    now = jax.config.values
    return [Tried("flag", name, value) for name in sorted(now) for value in _values(name, now[name])]


def _values(name: str, now: Any) -> Iterator[Any]:
    import jax

    kind, _, more = jax.config.meta.get(name, (type(now), (), {}))
    if name in TEXTS:
        yield from TEXTS[name]
    elif "enum_values" in more:
        yield from (value for value in more["enum_values"] if value != now)
    elif "enum_class" in more or isinstance(now, enum.Enum):
        yield from (own.name.lower() for own in more.get("enum_class", type(now)) if own != now)
    elif kind is bool:
        yield not now
    elif kind in (int, float):
        yield (now or 0) + 1
    else:
        yield "0"


def variables() -> list[Tried]:
    """Every variable of settings.toml with every value that stands there."""
    data = tomllib.loads(VARIABLES.read_text(encoding="utf-8"))
    return [
        Tried("variable", name, value)
        for source in data["source"]
        for name, values in source["variables"].items()
        for value in values
    ]


def train() -> dict[str, Any]:
    """The smallest training that draws from every stream and computes tables on the host, as one program: what is
    drawn, what comes out, and the record of the environment.
    """
    import jax

    from posenc_jax import Run, Training, Transformer, parse
    from posenc_jax.data.tasks import Copying
    from posenc_jax.runs.environment import environment
    from posenc_jax.training.step import init_encodings, init_model, init_state, train_step
    from posenc_jax.training.streams import STREAMS, stream

    run = Run(
        task=Copying(kind="cmc", min_length=6, max_length=8, num_symbols=8),
        posenc=parse("randomized(max_position=64)|sinusoidal|rope"),
        model=Transformer(d_model=64, num_layers=1, num_heads=2, dropout=0.1),
        training=Training(steps=1, batch_size=32, steps_per_call=1, log_every=1, checkpoint_every=1),
    )
    shared = dict(kind=run.task.model_kind, model=run.model, vocab_size=run.task.vocab_size)

    @jax.jit
    def program(seed: Any) -> Any:
        keys = [stream(seed, name) for name in STREAMS]
        drawn = {
            "bits": [jax.random.bits(key, (4,)) for key in keys],
            "choices": jax.random.randint(keys[0], (4,), 0, 1000),
            "noise": jax.random.gumbel(keys[0], (4,)),
            "batch": run.task.train_batch(None, None, keys[2], 4).inputs,
            "of own code": jax.random.bits(jax.random.key(1), (4,)),
        }
        params = init_model(seed, num_classes=run.task.num_classes, **shared)
        params = {**params, "posenc": init_encodings(seed, slots=run.slots, max_len=run.max_len, **shared)}
        return drawn | {"parameters": params}, train_step(run, None, {**init_state(run, params, 0, 1e-3), "seed": seed})

    drawn, results = jax.device_get(program(np.int32(0)))
    leaves = {"drawn": jax.tree.leaves(drawn), "results": jax.tree.leaves(results)}
    return {**{name: list(map(_array, own)) for name, own in leaves.items()}, "environment": environment()}


def _array(leaf: Any) -> list[Any]:
    """``[dtype, shape, bytes in base64]``."""
    array = np.ascontiguousarray(leaf)
    return [str(array.dtype), list(array.shape), base64.b64encode(array.tobytes()).decode()]


def effect(before: dict[str, Any], after: dict[str, Any]) -> str:
    """``draws``, ``rounding`` or ``nothing``: what of a training is another one."""
    pairs = [(_values_of(a), _values_of(b)) for a, b in zip(before["drawn"], after["drawn"], strict=True)]
    if any(a.shape != b.shape or not np.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs):
        return "draws"
    same = all(before[name] == after[name] for name in ("drawn", "results"))
    return "nothing" if same else "rounding"


def _values_of(array: list[Any]) -> np.ndarray:
    kind, shape, data = array
    return np.frombuffer(base64.b64decode(data), kind).reshape(shape).astype(np.float64)


def with_flags(group: tuple[Tried, ...], xla_flags: str = FAST) -> dict[str, Any] | str:
    """The result of a training under some flags, or its error; in a process that begins as a copy of this one, in which
    no device may have been touched.
    """
    import jax

    import posenc_jax.data.tasks
    import posenc_jax.runs.environment
    import posenc_jax.training.step  # noqa: F401, imported once for all

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        if not (child := os.fork()):
            try:
                signal.alarm(SECONDS)
                with Path(folder, "noise").open("w") as noise:
                    os.dup2(noise.fileno(), 1)
                    os.dup2(noise.fileno(), 2)
                os.environ["XLA_FLAGS"] = xla_flags
                for one in group:
                    value = one.value.format(empty=folder) if isinstance(one.value, str) else one.value
                    jax.config.update(one.name, value)
                out.write_text(json.dumps(train()))
            except BaseException as error:  # the process is at its end
                out.write_text(json.dumps(_line(error)))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        return json.loads(out.read_text()) if out.exists() else f"ends with {os.waitstatus_to_exitcode(status)}"


def with_variables(group: tuple[Tried, ...]) -> dict[str, Any] | str:
    """The result of a training under some environment variables, or its error; in a process of its own."""
    given = clean()
    for one in group:
        given[one.name] = f"{FAST} {one.value}" if one.name == "XLA_FLAGS" else one.value
    done = subprocess.run(
        [sys.executable, __file__, "--train"], env=given, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        return f"ends with {done.returncode}: {_short((done.stderr.strip().splitlines() or [''])[-1])}"
    return json.loads(done.stdout)


def tried(
    asked: list[Tried], run: Callable[[tuple[Tried, ...]], dict[str, Any] | str], known: dict[str, Any]
) -> dict[str, Any]:
    """Effects of each setting and its names in the record, by its key.

    Those of which it is ``known`` that they do nothing are tried many at once: where nothing comes of all of them,
    nothing comes of any. Else both halves are tried.
    """
    before = run(())
    assert isinstance(before, dict), before
    alone = [one for one in asked if known.get(one.key, {}).get("effect") != "nothing"]
    groups = [*_together([one for one in asked if one not in alone]), *((one,) for one in alone)]
    found: dict[str, Any] = {}
    while groups:
        group = groups.pop(0)
        after = run(group)
        said = REFUSED if isinstance(after, str) else effect(before, after)
        if said != "nothing" and len(group) > 1:
            groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
            continue
        entry = {"effect": said}
        if isinstance(after, str):
            entry["error"] = after
        elif said != "nothing":
            told = compared(before["environment"], after["environment"])
            entry |= {"record": told.word, "names": [line.partition(":")[0] for line in (*told.draws, *told.rounding)]}
        for one in group:
            found[one.key] = entry
            print(f"{one.key}: {entry}", file=sys.stderr, flush=True)
    return {one.key: found[one.key] for one in asked}


def _together(asked: list[Tried]) -> list[tuple[Tried, ...]]:
    """Groups of up to `TOGETHER`, in each of which a name stands once."""
    groups: list[list[Tried]] = []
    for one in asked:
        free = (own for own in groups if len(own) < TOGETHER and all(other.name != one.name for other in own))
        group = next(free, None)
        if group is None:
            groups.append(group := [])
        group.append(one)
    return [tuple(group) for group in groups]


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_short(str(error))}"


def _short(said: str) -> str:
    """The beginning of what an error says, in which files of this checkout have no folder."""
    return " ".join(said.replace(f"{ROOT}/", "").split())[:90]


def clean() -> dict[str, str]:
    """The variables of this process without those that are tried, and without a cache of programs."""
    tried = {one.name for one in variables()}
    kept = {name: value for name, value in os.environ.items() if name not in tried and not name.startswith("JAX_")}
    return kept | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "XLA_FLAGS": FAST}


def found_anew(asked: list[Tried], known: dict[str, Any]) -> dict[str, Any]:
    """`tried`, each by what it is."""
    optimised = [one for one in asked if one.name in OPTIMISED]
    plain = [one for one in asked if one.kind == "flag" and one.name not in OPTIMISED]
    own = [one for one in asked if one.kind == "variable"]
    return {
        **(tried(plain, with_flags, known) if plain else {}),
        **(tried(optimised, functools.partial(with_flags, xla_flags=""), known) if optimised else {}),
        **(tried(own, with_variables, known) if own else {}),
    }


def untold(found: dict[str, Any]) -> list[str]:
    """The settings that change more than the record says."""
    enough = {"draws": ("draws differ",), "rounding": ("draws differ", "rounding may differ")}
    return [key for key, own in found.items() if own["effect"] in enough and own["record"] not in enough[own["effect"]]]


def table(found: dict[str, Any]) -> str:
    """The table on the page: settings that decide, by the name in the record; what cannot run; how many do nothing."""
    lines = ["| setting | decides | in the record as |", "|---|---|---|"]
    for said in ("draws", "rounding"):
        of_name: dict[tuple[str, str], list[str]] = {}
        for key, own in found.items():
            if own["effect"] == said:
                name, _, value = key.partition("=")
                of_name.setdefault((name, ", ".join(f"`{own}`" for own in own["names"])), []).append(f"`{value}`")
        lines += [f"| `{name}` = {', '.join(values)} | {said} | {names} |" for (name, names), values in of_name.items()]
    of = {said: [key for key, own in found.items() if own["effect"] == said] for said in (REFUSED, UNTRIED, "nothing")}
    last = f"{len(of['nothing'])} others of {len(found)} change nothing."
    last += "".join(
        f" {said.capitalize()}: {', '.join(f'`{key}`' for key in of[said])}."
        for said in of
        if of[said] and said != "nothing"
    )
    return "\n".join([*lines, "", last])


def main() -> int:
    """Tries all, or some of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--train", action="store_true", help="one training with what is set; what it gives as JSON")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these anew, the others as they are")
    given = parser.parse_args()
    if given.train:
        print(json.dumps(train()))
        return 0
    if dict(os.environ) != clean():  # flags of jax are read from the environment when it is imported
        return subprocess.run([sys.executable, *sys.argv], env=clean(), check=False).returncode
    every = [*flags(), *variables()]
    known = json.loads(FOUND.read_text())["settings"] if FOUND.exists() else {}
    asked = [one for one in every if not given.only or one.name in given.only]
    settings = (known if given.only else {}) | found_anew(asked, {} if given.only else known)
    write({one.key: settings[one.key] for one in every})
    return 1 if untold(settings) else 0


def write(settings: dict[str, Any]) -> None:
    """The record and the table of the page."""
    versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy")}
    FOUND.write_text(as_text({**versions, "settings": settings}))
    PAGE.write_text(refilled(PAGE.read_text(), BEGIN, table(settings), END))


def as_text(found: dict[str, Any]) -> str:
    """JSON, a setting a line."""
    head = {name: value for name, value in found.items() if name != "settings"}
    rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(own)}" for key, own in found["settings"].items())
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "settings": {{\n{rows}\n }}\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
