"""What scripts/bench measured, in ten sentences; every number is one of the file that --save wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = list[Any]
Tables = list[dict[str, Any]]
Said = Callable[[Tables], tuple[float, str]]
"""A number that is larger for a faster processor, and the sentence."""


def sentences(parts: Mapping[str, Any]) -> list[str]:
    """The ten sentences, of the parts of `benchmarks.results.read`: each for the processor where it says least, which
    it names where there is more than one.
    """

    def slowest(part: str, said: Said) -> str:
        (_, text), processor = min((said(kept["tables"]), name) for name, kept in parts[part].items())
        return f"{text} ({processor})." if len(parts[part]) > 1 else f"{text}."

    return [
        *(slowest("throughput", _of_training(size)) for size in ("d64", "d128", "d256", "d128, encoder-decoder")),
        slowest("throughput", _beside_two_processes),
        slowest("study", _of_the_study),
        slowest("long", _of_long_rows),
        slowest("long", _of_memory),
        slowest("decoding", _of_decoding),
        slowest("compile", _of_the_first_step),
    ]


def _sizes(tables: Tables) -> dict[str, dict[str, Row]]:
    return {table["title"].partition(", ")[2]: table["rows"] for table in tables}


def _of_training(size: str) -> Said:
    def said(tables: Tables) -> tuple[float, str]:
        rows = _sizes(tables)[size]
        ours, torch = rows["posenc_jax devices"], rows["torch eager, all cores"]
        return ours[1], (
            f"At {size.replace(', ', ' with an ')} a training step takes {ours[0]:.1f} ms, and {torch[0]:.1f} ms in "
            f"eager torch: ours is {ours[1]:.2f} times as fast"
        )

    return said


def _beside_two_processes(tables: Tables) -> tuple[float, str]:
    over = {
        size: rows["torch eager, 2 processes of one core"][0] / rows["posenc_jax devices"][0]
        for size, rows in _sizes(tables).items()
    }
    lost = [f"at {size}, where torch takes {100 * (1 - ratio):.0f} % less" for size, ratio in over.items() if ratio < 1]
    rest = f", except {' and '.join(lost)}" if lost else ""
    return min(over.values()), f"Two torch processes of one core each are slower than ours{rest}"


def _of_the_study(tables: Tables) -> tuple[float, str]:
    _, _, whole, over = tables[0]["rows"]["even pairs, sinusoidal"]
    return over, (
        f"A study of Ruoss et al. 2023 takes {whole:.0f} processor seconds, and their code is taken to need {over:.1f} "
        "times as much"
    )


def _lengths(tables: Tables) -> list[int]:
    return list(dict.fromkeys(int(name.split(", ")[1].split()[0]) for name in tables[0]["rows"]))


def _of_long_rows(tables: Tables) -> tuple[float, str]:
    times, lengths = tables[0]["rows"], _lengths(tables)
    forward, training = (
        [blocks / torch for _, blocks, torch in (times[f"{work}, {tokens} tokens"] for tokens in lengths)]
        for work in ("forward", "value and gradient")
    )
    return -max(forward + training), (
        f"On one core attention over {lengths[0]:,} to {lengths[-1]:,} tokens takes {min(forward):.2f} to "
        f"{max(forward):.2f} times as long as torch's, and {min(training):.2f} to {max(training):.2f} times as long "
        "with gradients"
    )


def _of_memory(tables: Tables) -> tuple[float, str]:
    longest = _lengths(tables)[-1]
    dense, blocks = tables[1]["rows"][f"value and gradient, {longest} tokens"]
    return -blocks, (
        f"With gradients its temporary arrays take {blocks:.0f} MiB at {longest:,} tokens, where all logits as an "
        f"array take {dense:,.0f}"
    )


def _of_decoding(tables: Tables) -> tuple[float, str]:
    greedy, beam = tables[0]["rows"]["ratio"]
    return beam, (
        f"Decoding makes {greedy:.1f} times as many tokens a second as Marian in transformers, and {beam:.1f} times as "
        "many with a beam of 4"
    )


def _of_the_first_step(tables: Tables) -> tuple[float, str]:
    cold, warm = tables[0]["rows"]["d64"]
    return -cold, (
        f"The first training step at d64 comes after {cold:.1f} s when nothing is compiled, and after {warm:.1f} s "
        "with programs at hand"
    )
