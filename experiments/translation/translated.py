"""Translations of held-out sentences, and their scores: from a finished run to a page.

    python -m experiments.translation.translated runs/translator

writes translator.json beside this file, from the run, and its part of the README, from the JSON. No sentence is chosen
by hand: those of the first seed, within the trained lengths, are sorted by chrF, and those at 5, 15, ..., 95 % of the
way from the worst to the best are shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from posenc_jax.data.metrics import chrf
from posenc_jax.drawing.markdown import escaped, grid, refilled
from posenc_jax.files.checksums import unseal
from posenc_jax.results.timing import read_timing
from posenc_jax.runs.directory import finished, group_directories, load_config

HERE = Path(__file__).parent
README, RECORD = HERE / "README.md", HERE / "translator.json"
BEGIN, END = "<!-- The translator: written by translated.py -->", "<!-- end of the translator -->"
SHOWN = 10

Json = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Writes both files."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.translation.translated", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("run", type=Path, help="the directory of a finished run of configs/translator.py")
    found = measured(parser.parse_args(arguments).run.absolute())
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(found), END))


def measured(run: Path) -> Json:
    """Scores of every seed by length, ten sentences, and what computed them."""
    (group,) = group_directories(run)
    config, result = load_config(run), finished(group)
    began = unseal((group / "environment.json").read_bytes())["began"]
    within = [n for n in config.evaluation.lengths if config.task.range_of(n) == "within"]
    lines = [json.loads(line) for line in (group / "decoded.jsonl").read_text().splitlines()]
    seed = result["replicas"][0]["seed"]
    timing = read_timing(run)
    assert timing is not None
    phases = timing.measured
    return {
        "config": result["config_hash"],
        "environment": {name: began[name] for name in ("commit", "jax", "flax", "python", "cpu", "device_count")},
        "num_parameters": result["num_parameters"],
        "steps": config.training.steps,
        "minutes": {
            "train": round(phases["train"].seconds / 60, 1),
            "measure": round(sum(phases[name].seconds for name in ("evaluate", "decode")) / 60, 1),
        },
        "timed_steps": phases["train"].steps,
        "lengths": {str(n): config.task.length_name(n) for n in config.evaluation.lengths},
        "scores": {
            str(replica["seed"]): {
                str(row["length"]): {name: round(row[name], 6) for name in ("chrf", "bleu")}
                for row in replica["evaluation"]
            }
            for replica in result["replicas"]
        },
        "sentences": shown([line for line in lines if line["seed"] == seed and line["length"] in within]),
    }


def shown(lines: list[Json]) -> list[Json]:
    """The lines at 5, 15, ..., 95 % of the way from the worst chrF to the best; the best first."""
    scored = [
        {name: line[name] for name in ("en", "de", "output", "doc")}
        | {"chrf": round(chrf([line["output"]], [line["de"]]).value, 6)}
        for line in lines
    ]
    scored.sort(key=lambda line: (line["chrf"], line["en"]))
    return [scored[int((i + 0.5) / SHOWN * len(scored))] for i in range(SHOWN)][::-1]


def page(found: Json) -> str:
    """The part of the README."""
    environment, minutes = found["environment"], found["minutes"]
    scores = [
        [f"seed {seed}", *(f"{row[length]['chrf']:.1f} / {row[length]['bleu']:.1f}" for length in found["lengths"])]
        for seed, row in found["scores"].items()
    ]
    head = ["chrF / BLEU", *(f"{name} tokens" for name in found["lengths"].values())]
    sentences = [
        [f"{row['chrf']:.1f}", escaped(row["en"]), escaped(row["output"]), escaped(row["de"])]
        for row in found["sentences"]
    ]
    return "\n".join(
        [
            grid(head, "l" + "r" * len(found["lengths"]), scores),
            "",
            f"{found['num_parameters']:,} parameters, {found['steps']:,} steps. Both seeds together took "
            f"{minutes['train']:.0f} minutes for {found['timed_steps']:,} steps, {minutes['measure']:.1f} to measure, "
            f"on {environment['device_count']} cores ({environment['cpu']}, jax {environment['jax']}, commit "
            f"{environment['commit'][:12]}).",
            "",
            grid(["chrF", "English", "translated", "reference"], "rlll", sentences),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
