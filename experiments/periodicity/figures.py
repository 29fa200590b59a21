"""Confusion by offset beside the kernel by offset, and alias excess by training budget, as PNGs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.grid import BASELINE
from experiments.periodicity.measures import by_distance
from experiments.periodicity.outcome import FAST, OFFSET, Arm, excess_of
from posenc_jax.drawing.paper import SETTINGS, written
from posenc_jax.drawing.style import COLORS, INK, MUTED

PANELS = ("sinusoidal", "tensor2tensor", "low_side_lobes", "learned", "nope")
"""The arms that are drawn, of those that a table has."""


def write(arms: list[Arm], folder: Path) -> list[Path]:
    """One PNG for each table that has some of `PANELS`, and one of the budgets; the paths."""
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        return _write(arms, folder)


def _write(arms: list[Arm], folder: Path) -> list[Path]:
    paths = []
    for name in dict.fromkeys(arm.run.table for arm in arms):
        members = [arm for arm in arms if arm.run.table == name]
        drawn = sorted((c for c in members if c.run.label in PANELS), key=lambda c: PANELS.index(c.run.label))
        if drawn:
            paths.append(_save(_by_offset(drawn, name), folder / f"{_file(name)}.png"))
        budgets = [arm for arm in members if arm.run.label == f"{arm.run.training.steps} steps"]
        if budgets:
            budgets += [arm for arm in members if arm.run.label == BASELINE]
            paths.append(_save(_by_steps(budgets, name), folder / f"{_file(name)}-budget.png"))
    return paths


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written(figure, ("png",))["png"])
    return path


def _file(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())


def _figure(height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(6.5, height), layout="constrained")


def _by_offset(arms: list[Arm], title: str) -> Any:
    """A panel for each arm: the mean over seeds with every seed behind it, and its kernel on an axis of its own."""
    figure = _figure(1.35 * len(arms) + 0.4)
    panels = figure.subplots(len(arms), 1, sharex=True, squeeze=False)[:, 0]
    for axes, arm in zip(panels, arms):
        curves = np.array([by_distance(s["given_by_offset"], s["asked_by_offset"]) for s in arm.seeds.values()])
        offsets = np.arange(1, arm.positions)
        for curve in curves:
            axes.plot(offsets, 100 * curve[1:], color=COLORS[0], alpha=0.3, linewidth=0.5)
        axes.plot(offsets, 100 * curves.mean(axis=0)[1:], color=COLORS[0], linewidth=1.2)
        axes.set_ylim(bottom=0)
        axes.axvline(OFFSET, color=MUTED, linewidth=0.6, linestyle=":")
        axes.set_ylabel("confusion, %", color=COLORS[0])
        axes.set_title(arm.run.label, fontsize=8, loc="left", color=INK)
        predicted = arm.predicted()
        if predicted is not None:
            beside = axes.twinx()
            beside.plot(offsets, predicted[1:], color=COLORS[1], linewidth=0.8, linestyle="--")
            beside.set_ylim(-1, 1)
            beside.set_ylabel("kernel", color=COLORS[1])
    panels[-1].set_xlabel(f"offset from the right position (dotted: {OFFSET})")
    figure.suptitle(title, fontsize=9)
    return figure


def _by_steps(arms: list[Arm], title: str) -> Any:
    """Alias excess and accuracy against training steps."""
    figure = _figure(2.6)
    axes = figure.add_subplot()
    arms = sorted(arms, key=lambda arm: arm.run.training.steps)
    steps = [arm.run.training.steps for arm in arms]
    for color, offset in ((COLORS[0], OFFSET), (COLORS[1], FAST)):
        found = [excess_of(arm, offset) for arm in arms]
        axes.plot(
            steps, [100 * f.mean for f in found], color=color, marker="o", markersize=3, label=f"excess at {offset}"
        )
        low, high = ([100 * (getattr(f, end) or 0) for f in found] for end in ("low", "high"))
        axes.fill_between(steps, low, high, color=color, alpha=0.15, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.6)
    axes.set_xscale("log", base=2)
    axes.set_xticks(steps, [str(count) for count in steps])
    axes.set_xlabel("training steps")
    axes.set_ylabel("alias excess, points")
    beside = axes.twinx()
    beside.plot(
        steps,
        [arm.interval(lambda s: s["accuracy"]).mean for arm in arms],
        color=MUTED,
        linestyle="--",
        label="accuracy",
    )
    beside.set_ylim(0, 1)
    beside.set_ylabel("accuracy (dashed)", color=MUTED)
    axes.legend(frameon=False, fontsize=7)
    figure.suptitle(title, fontsize=9)
    return figure
