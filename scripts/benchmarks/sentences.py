"""What scripts/bench measured, in ten sentences; every number is one of the file that --save wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = list[Any]


def sentences(parts: Mapping[str, Any]) -> list[str]:
    """The ten sentences, of the parts of `benchmarks.results.read`."""
    sizes = {table["title"].partition(", ")[2]: table["rows"] for table in parts["throughput"]["tables"]}
    study = _rows(parts, "study")["even pairs, sinusoidal"]
    decoding, first = _rows(parts, "decoding"), _rows(parts, "compile")["d64"]
    return [
        *(_of_training(size, sizes[size]) for size in ("d64", "d128", "d256", "d128, encoder-decoder")),
        _beside_two_processes(sizes),
        f"A study of Ruoss et al. 2023 takes {study[2]:.0f} processor seconds, and their code is taken to need "
        f"{study[3]:.1f} times as much.",
        *_of_long_rows(parts["long"]["tables"]),
        f"Decoding makes {decoding['ratio'][0]:.1f} times as many tokens a second as Marian in transformers, and "
        f"{decoding['ratio'][1]:.1f} times as many with a beam of 4.",
        f"The first training step at d64 comes after {first[0]:.1f} s when nothing is compiled, and after "
        f"{first[1]:.1f} s with programs at hand.",
    ]


def _rows(parts: Mapping[str, Any], part: str) -> dict[str, Row]:
    found: dict[str, Row] = parts[part]["tables"][0]["rows"]
    return found


def _of_training(size: str, rows: dict[str, Row]) -> str:
    ours, torch = rows["posenc_jax devices"], rows["torch eager, all cores"]
    return (
        f"At {size.replace(', ', ' with an ')} a training step takes {ours[0]:.1f} ms, and {torch[0]:.1f} ms in eager "
        f"torch: ours is {ours[1]:.2f} times as fast."
    )


def _beside_two_processes(sizes: dict[str, dict[str, Row]]) -> str:
    over = {
        size: rows["torch eager, 2 processes of one core"][0] / rows["posenc_jax devices"][0]
        for size, rows in sizes.items()
    }
    lost = [f"at {size}, where torch takes {100 * (1 - ratio):.0f} % less" for size, ratio in over.items() if ratio < 1]
    rest = f", except {' and '.join(lost)}" if lost else ""
    return f"Two torch processes of one core each are slower than ours{rest}."


def _of_long_rows(tables: list[dict[str, Any]]) -> list[str]:
    times, memory = tables[0]["rows"], tables[1]["rows"]
    lengths = list(dict.fromkeys(int(name.split(", ")[1].split()[0]) for name in times))
    over = []
    for work in ("forward", "value and gradient"):
        ratios = [blocks / torch for _, blocks, torch in (times[f"{work}, {tokens} tokens"] for tokens in lengths)]
        over.append(f"{min(ratios):.2f} to {max(ratios):.2f}")
    blocks, dense = (memory[f"value and gradient, {lengths[-1]} tokens"][column] for column in (1, 0))
    return [
        f"On one core attention over {lengths[0]:,} to {lengths[-1]:,} tokens takes {over[0]} times as long as "
        f"torch's, and {over[1]} times as long with gradients.",
        f"With gradients its temporary arrays take {blocks:.0f} MiB at {lengths[-1]:,} tokens, where all logits as an "
        f"array take {dense:,.0f}.",
    ]
