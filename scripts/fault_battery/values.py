"""Values that there are not, or that do not fit together: arrays of calls in Python, fields of encodings, settings of
the process, options given twice, paths of nobody.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fault_battery.hostile import Counts, apart, file_of, fresh, refusal, train, trained, two_cells
from fault_battery.scene import IDENTICAL, REFUSED, SILENT, TRACEBACK, Scene, command, each


def _attend(spec: str, *, q: Any = (), k: Any = (), v: Any = (), heads: int = 2, length: int = 6) -> Any:
    """`attend` with arrays of shape [2, 2, 6, 8], but for (size by axis, dtype) that are given."""
    import numpy as np

    from posenc_jax.encodings import Geometry, attend, parse

    def array(change: Any) -> Any:
        shape, dtype = [2, 2, 6, 8], "float32"
        for what in change:
            if isinstance(what, str):
                dtype = what
            else:
                shape[what[0]] = what[1]
        return (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)

    slot = parse(spec)
    geometry = Geometry.of_length(length, num_heads=heads, causal=True)
    return attend(array(q), array(k), array(v), slot, ({},) * len(slot), geometry)


def _logits(token: int) -> Any:
    import jax
    import jax.numpy as jnp

    from posenc_jax.encodings import parse
    from posenc_jax.models import Slots, Transformer, build

    model = build(
        "decoder_only",
        Transformer(d_model=16, num_layers=1, num_heads=2),
        Slots(encoder=parse("rope"), decoder=parse("rope")),
        vocab_size=16,
        num_classes=16,
        max_len=8,
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )
    return model(jnp.asarray([[3, 4, token]], jnp.int32))


def _arrays() -> list[Callable[[], Any]]:
    found: list[Callable[[], Any]] = [functools.partial(_logits, token) for token in (16, 99, 2**30, -1, -16)]
    cases: list[tuple[str, dict[str, Any]]] = [("nope", {"length": length}) for length in (-1, 5, 7)]
    cases += [("rope", {"heads": heads}) for heads in (3, 0, -2)]
    cases += [("rope", {name: (kind,)}) for name in "qk" for kind in ("complex64", "bool")]
    cases += [("nope", {"v": (kind,)}) for kind in ("int32", "bool", "complex64")]
    cases += [(spec, {"q": ((2, 1),)}) for spec in ("nope", "alibi")]
    cases += [("alibi", {"k": ((axis, 1),), "v": ((axis, 1),)}) for axis in (0, 2)]
    sizes = ((0, 1), (1, 3), (1, 0), (2, 4))
    cases += [("rope", {name: ((axis, size),)}) for name in "qkv" for axis, size in sizes]
    cases += [("rope", {name: ((3, size),)}) for name in "qk" for size in (4, 0)]
    return [*found, *(functools.partial(_attend, spec, **changes) for spec, changes in cases)]


def arrays(scene: Scene, count: int) -> Counts:
    """Token ids that there are not, dtypes and sizes that do not fit together, in Python."""
    import numpy as np

    cases = _arrays()

    def trial(i: int) -> str:
        try:
            found = np.asarray(cases[i]())
        except (ValueError, TypeError) as error:
            return REFUSED if "posenc_jax" in _raised_in(error) else TRACEBACK
        except Exception:
            return TRACEBACK
        return REFUSED if np.isnan(found).any() else SILENT  # NaN says it too

    return each(min(count, len(cases)), trial)


def _raised_in(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace is not None else ""


def _infinite() -> list[str]:
    """Every float field of an encoding, as a spec that says it is infinite."""
    from posenc_jax.encodings import ENCODINGS
    from posenc_jax.encodings.value import field_types

    return [
        f"{name}({field}={value})"
        for name, kind in sorted(ENCODINGS.items())
        for field, of in field_types(kind).items()
        if float in (of, *getattr(of, "__args__", ()))
        for value in ("1e999", "-1e999")
    ]


def infinite(scene: Scene, count: int) -> Counts:
    """An infinite field of an encoding."""
    from posenc_jax.encodings import parse

    cases = _infinite()

    def trial(i: int) -> str:
        try:
            parse(cases[i])
        except ValueError:
            return REFUSED
        except Exception:
            return TRACEBACK
        return SILENT

    return each(min(count, len(cases)), trial)


SETTINGS = {
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_ENABLE_X64": "1",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_DISABLE_JIT": "1",
    "JAX_DEBUG_NANS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
}


def settings(scene: Scene, count: int) -> Counts:
    """A cell that is added to an ablation under another setting of the process: its numbers are those of the other
    cell, which is the same run, or the report names the setting, and pairs nothing if random draws differ.
    """
    one = fresh(scene, "one")
    apart(["ablate", file_of(scene, "cells(a={})"), "--directory", one])

    def trial(i: int) -> str:
        place, config = fresh(scene, "added", one), file_of(scene, "cells(a={}, b={})")
        ended = apart(["ablate", config, "--directory", place], env=os.environ | dict([[*SETTINGS.items()][i]]))
        if ended.code or "Traceback" in ended.said:
            return refusal(ended)
        first, second = (
            [json.loads(line)["loss"] for line in path.read_text().splitlines()]
            for path in sorted(place.glob("*/group-000/metrics.jsonl"))
        )
        if first == second:
            return IDENTICAL
        paired, told = "Differences are paired by seed" in ended.said, "another environment" in ended.said
        only_rounding = abs(first[0] - second[0]) < 1e-3
        return REFUSED if told and (only_rounding or not paired) else SILENT

    return each(min(count, len(SETTINGS)), trial)


def twice(scene: Scene, count: int) -> Counts:
    """A value that is given twice to an option of several."""
    run, spare = trained(scene), str(fresh(scene, "twice"))
    cases = (
        ["evaluate", run, "--steps", "4", "4"],
        ["evaluate", run, "--lengths", "2", "2"],
        train(scene, Path(spare), "--seeds", "0", "0"),
        train(scene, Path(spare), "--learning-rates", "0.1", "0.1"),
        train(scene, Path(spare), "--evaluation.lengths", "2", "2"),
        train(scene, Path(spare), "--training.steps", "4", "--training.steps", "6"),
        ["report", two_cells(scene), two_cells(scene), "-o", spare],
    )

    def trial(i: int) -> str:
        ended = command([str(word) for word in cases[i]])
        if ended.code or "Traceback" in ended.said:
            return refusal(ended)
        (written,) = re.findall(r"written: (.*\.json)", ended.said) or [""]
        rows = json.loads(Path(written).read_text())["rows"] if written else [{}, {}]
        return IDENTICAL if len(rows) == len({json.dumps(row, sort_keys=True) for row in rows}) else SILENT

    return each(min(count, len(cases)), trial)


def nowhere(scene: Scene, count: int) -> Counts:
    """The home of nobody, in every place of a path; a start that cannot serve: nothing is left behind."""
    nobody, spare = "~nobodyhere/x", fresh(scene, "nowhere")
    empty = fresh(scene, "empty", trained(scene))
    shutil.rmtree(empty / "group-000" / "checkpoints")
    cases: tuple[tuple[list[Any], dict[str, str]], ...] = (
        (train(scene, Path(nobody)), {}),
        (train(scene, spare, "--init-from", nobody), {}),
        (train(scene, spare, "--init-from", str(empty)), {}),
        (train(scene, spare, "--init-from", str(trained(scene)), "--model.d-model", "16"), {}),
        (["weights", "export", nobody, "w.safetensors"], {}),
        (["report", nobody], {}),
        (["evaluate", nobody], {}),
        (["data", "list"], {"POSENC_DATA": nobody}),
        (train(scene, spare, "--steps", "4"), {}),
    )

    def trial(i: int) -> str:
        words, variables = cases[i]
        shutil.rmtree(spare, ignore_errors=True)
        ended = apart(words, env=os.environ | variables, cwd=scene.folder)
        return SILENT if spare.exists() and ended.code else refusal(ended)

    return each(min(count, len(cases)), trial)


TRIALS: dict[str, tuple[Callable[[Scene, int], Counts], int, str]] = {
    "arrays": (arrays, 40, "ids, dtypes and sizes that do not fit, in Python"),
    "infinite": (infinite, 400, "an infinite field of an encoding"),
    "settings": (settings, 10, "a cell added under another setting of JAX"),
    "twice": (twice, 7, "a value given twice"),
    "nowhere": (nowhere, 9, "paths and starts that are not there"),
}
"""As `trials.TRIALS`."""
