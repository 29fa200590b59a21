"""Measures one part in a process of its own: python -m device_parts.serving PART --out DIR [--miniature].

Every case is kept as soon as it is measured. A case during which the process ended is tried last the next time. Exit
codes: 0 all is measured, 2 the file is of another version, 3 something is missing, 4 there is no device.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from device_parts import record
from device_parts.part import Case, LeftOutError, Part, Setting, is_out_of_memory

DONE, REFUSED, PARTLY, NO_DEVICE = 0, 2, 3, 4


def serve(part: Part, out: Path, setting: Setting, say: Callable[[str], None] = print) -> int:
    """Measures the cases of a part that its file lacks; the exit code."""
    from device_parts.device import smi

    path = out / f"{part.name}.json"
    try:
        kept = record.begun(path, record.new(part.name, setting.miniature))
    except ValueError as error:
        say(f"{part.name}: {error}")
        return REFUSED
    cases = part.cases(setting)
    for name in _in_turn(cases, kept["rows"]):
        if setting.stop() is not None:
            break
        kept["rows"][name] = {"begun": True}
        record.write(path, kept)
        begun = time.perf_counter()
        row = _row(cases[name])
        row |= {"seconds": round(time.perf_counter() - begun, 1), "nvidia_smi": smi()}
        kept["rows"][name] = row
        record.write(path, kept)
        why = next((f": {row[key]}" for key in ("left_out", "failed", "stopped") if key in row), "")
        say(f"{part.name}, {name}: {row['seconds']} s{why}")
    return DONE if all(record.is_measured(kept["rows"].get(name)) for name in cases) else PARTLY


def _in_turn(cases: Mapping[str, Case], rows: Mapping[str, Any]) -> list[str]:
    """Names of the cases that are still to be measured, those last that were begun and did not end."""
    wanted = [name for name in cases if not record.is_measured(rows.get(name))]
    return sorted(wanted, key=lambda name: "begun" in rows.get(name, {}))


def _row(case: Case) -> dict[str, Any]:
    try:
        return case.measure()
    except LeftOutError as error:
        return {"left_out": str(error)}
    except (Exception, SystemExit) as error:  # whatever XLA, a kernel or the device raises: the others go on
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
        if is_out_of_memory(error):
            return {"out_of_memory": lines[0][:200]}
        return {"failed": f"{type(error).__name__}: {lines[0][:200]}"}


def main(arguments: list[str]) -> int:
    """Measures the part that is named."""
    from device_parts.order import PARTS

    parser = argparse.ArgumentParser(prog="device_parts.serving")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--miniature", action="store_true")
    options = parser.parse_args(arguments)
    import jax

    from device_parts.device import cuda_of_plugin, missing, old_driver, smi, unknown
    from posenc_jax.cli.session import prepare_jax, stoppable

    prepare_jax()
    try:
        device = jax.devices()[0]
    except RuntimeError as error:
        line = old_driver(smi(), cuda_of_plugin()) or f"jax finds no device: {str(error).splitlines()[0][:200]}"
        print(f"{options.part}: {line}", flush=True)
        return NO_DEVICE
    if not options.miniature and (line := missing(device.platform) or unknown(device.device_kind)):
        print(f"{options.part}: {line}", flush=True)
        if missing(device.platform):
            return NO_DEVICE
    with stoppable() as stop:
        setting = Setting(options.miniature, options.out, stop)
        return serve(PARTS[options.part], options.out, setting, lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
