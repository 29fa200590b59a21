"""Compiles programs for accelerators that are not here, and fails where one does not compile, or where attention that
is said to be fused is not.

Every case has a process of its own and is kept as soon as it is compiled: the same command goes on where it stopped,
and compiles again only what has changed (the program or a version). The page is scripts/compiling/README.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "compiling" / "compiled.json"
CURVES = RECORD.with_name("curves.json")
PAGE = RECORD.with_name("README.md")
DEFAULT = ("v5e:2x2", "h100")
PACKAGES = {"cuda": ("jax_cuda12_plugin", "cuda12"), "tpu": ("libtpu", "tpu")}


def main(arguments: list[str]) -> int:
    """Compiles what is asked for and returns the exit code."""
    from compiling.cases import CASES
    from compiling.curves import points, section
    from compiling.table import page

    parser = argparse.ArgumentParser(prog="scripts/compile_check", description=__doc__)
    parser.add_argument(
        "--target", action="append", help="such as h100, v5e:2x2, v6e:4x4; again for more (default: both first)"
    )
    parser.add_argument("--only", action="append", choices=[*CASES, []], metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--curves", action="store_true", help="memory of attention by length instead of the cases")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        target_name, what = options.one
        return compile_point(target_name, what) if options.curves else compile_one(target_name, what)
    from posenc_jax.runs.errors import RefusedError
    from posenc_jax.runs.targets import target

    try:
        targets = [target(name) for name in options.target or DEFAULT]
    except RefusedError as error:
        parser.error(str(error))
    failed = 0
    for found in targets:
        make_ready(found.chip.platform)
        if options.curves:
            failed += sum(not keep(found.name, point, "--curves") for point in points())
            continue
        for case in options.only or CASES:
            execution = CASES[case][0].execution
            if execution.data * execution.model > found.count:
                print(f"{found.name} {case}: left out, it takes {execution.data * execution.model} devices", flush=True)
            else:
                failed += not keep(found.name, case)
    PAGE.write_text(f"{page(kept(RECORD))}\n{section(kept(CURVES))}")
    return 1 if failed else 0


def make_ready(platform: str) -> None:
    """Installs XLA's compiler for a platform into this environment, unless it is there."""
    module, extra = PACKAGES[platform]
    if importlib.util.find_spec(module) is None:
        version = importlib.metadata.version("jax")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", f"jax[{extra}]=={version}"], check=True)


def keep(target: str, case: str, *options: str) -> bool:
    """Compiles the programs of a case in a process of its own, prints and keeps what it says; whether all is well."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", target, case, *options], capture_output=True, text=True, check=False
    )
    well = done.returncode == 0
    if not well:
        said = [line for line in done.stderr.splitlines() if re.match(r"[\w.]+Error: ", line)] or ["it said nothing"]
        print(f"{target} {case}: FAILED: {said[-1][:300]}", flush=True)
    said_of = set()
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            said_of.add(row.get("program"))
            seconds = f"{row['seconds']} s, " if "seconds" in row else ""
            print(f"{target} {case} {row.get('program', '')}: {seconds}{row['problem'] or 'well'}", flush=True)
            well &= not row["problem"] or bool(options)  # a point may be beyond what a chip holds
    if done.returncode and not options:
        _not_compiled(target, case, said_of, f"the compiler ended with {done.returncode}")
    return well


def _not_compiled(target: str, case: str, said_of: set[str], problem: str) -> None:
    """Rows of before, of programs of which a process that ended said nothing, no longer say that they compile."""
    for row in kept(RECORD):
        if (row["target"], row["case"]) == (target, case) and row["program"] not in said_of:
            key = {name: row[name] for name in ("target", "case", "program")}
            keep_row(key, {**key, "problem": problem, "versions": row["versions"]})


def compile_one(target_name: str, case: str) -> int:
    """Each program of a case, a line of JSON each, kept as soon as it is compiled."""
    from compiling.cases import CASES
    from compiling.fused import chosen_paths, problem_of
    from compiling.programs import compiled, lowered_for

    from posenc_jax.runs.targets import target
    from posenc_jax.training.layout import layout_of, memory_in_group

    found, (run, programs) = target(target_name), CASES[case]
    layout, split = layout_of(run, len(run.replicas), found.devices), (run.execution.data, run.execution.model)
    for name in programs:
        key = {"target": target_name, "case": case, "program": name}
        try:
            with chosen_paths() as paths:
                program = lowered_for(run, found, name)
            now = state_of(program, found)
            before = next((row for row in kept(RECORD) if (key | now).items() <= row.items()), None)
            said = before or dataclasses.asdict(compiled(program))
        except Exception as error:  # whatever XLA or Pallas raises: the page is to say it
            lines = str(error).strip().splitlines() or [""]
            row = {**key, "problem": f"{type(error).__name__}: {lines[0][:200]}"}
            row["versions"] = versions(found.chip.platform)
        else:
            estimate = memory_in_group(run, layout.size, found.devices)
            formula = estimate.state + estimate.step if name == "train" else None
            operations = work_of(run, name, target) * layout.size
            laid = {"mode": layout.mode, "rows": layout.rows, "on_each": layout.on_each, "split": split}
            row = {
                **key,
                **said,
                "formula": formula,
                "operations": operations,
                **laid,
                "paths": sorted(set(paths)),
                **now,
            }
            row["problem"] = problem_of(row)
        keep_row(key, row)
        print(json.dumps(row), flush=True)
    return 0


def keep_row(key: dict[str, Any], row: dict[str, Any]) -> None:
    """Replaces the row with that key."""
    rows = kept(RECORD)
    place = next((number for number, other in enumerate(rows) if key.items() <= other.items()), len(rows))
    rows[place : place + 1] = [row]
    RECORD.write_text(json.dumps(rows, indent=1) + "\n")


def compile_point(target_name: str, point: str) -> int:
    """One point of the curves, a line of JSON, kept as soon as it is compiled."""
    from compiling.curves import lowered_point, measured

    from posenc_jax.runs.targets import target

    found = target(target_name)
    key, program = {"target": target_name, "point": point}, lowered_point(found, point)
    now = state_of(program, found)
    row = next((row for row in kept(CURVES) if (key | now).items() <= row.items()), None)
    if row is None:
        row = {**key, **measured(program), **now}
        rows = [other for other in kept(CURVES) if not key.items() <= other.items()] + [row]
        CURVES.write_text(json.dumps(rows, indent=1) + "\n")
    print(json.dumps(row), flush=True)
    return 0


def state_of(program: Any, target: Any) -> dict[str, Any]:
    """Source and versions that a row was compiled from; if they change, it is compiled again."""
    digest = hashlib.sha256(program.as_text().encode()).hexdigest()[:16]
    return {"lowered": digest, "versions": versions(target.chip.platform)}


def work_of(run: Any, program: str, target: Any) -> int:
    """Operations of its matrix products, of one replica."""
    from posenc_jax.training.operations import of_length, of_step

    if program == "train":
        return of_step(run).operations
    return (
        of_length(run, run.evaluation.lengths[-1], 1, target.devices.backend).operations if program == "evaluate" else 0
    )


def kept(record: Path) -> list[dict[str, Any]]:
    """Rows that were compiled before."""
    return json.loads(record.read_text()) if record.is_file() else []


def versions(platform: str) -> dict[str, str]:
    """Versions of the compiler's packages."""
    names = {"cuda": ("jax", "jaxlib", "jax-cuda12-plugin", "nvidia-cudnn-cu12"), "tpu": ("jax", "jaxlib", "libtpu")}
    return {name: importlib.metadata.version(name) for name in names[platform]}


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
    sys.exit(main(sys.argv[1:]))
