"""Figures of the second reading, of what `share.py` kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.periodicity.along import LEVELS
from experiments.periodicity.claims import MAIN, over_seeds

Json = dict[str, Any]
_HEADS = ("rope, 8 heads of 8", *(f"rope, head {h}" for h in (8, 16, 32, 64)))
_WIDTHS = (8, 16, 32, 64)
_WAVES = ("rope", "p-RoPE", "xPos", "rope, resonance", "sinusoidal", "transformer_xl")
_NO_WAVES = ("learned", "shaw", "deberta", "t5", "fire")

SHOWN = (-0.5, 2.2)
"""Shares in the figure: all that sinusoids have; a learned table's, noise over nothing, go beyond."""
HIGHEST = {"sinusoidal, d 256": 5.0, "sinusoidal, d 512": 6.5}
"""Where shares rise further, the end of that panel's axis."""
FROM = {"sinusoidal, d 512": 0.2}
"""Where lines begin at another accuracy than 0.05: before, logits are too small for a share."""


def along_training(found: Json, path: Path) -> None:
    """Share over accuracy along training, a line a seed, a panel for each arm of `position_of`."""
    arms = [kept for kept in found["arms"].values() if kept["arm"]["task"] == "position_of"]
    arms.sort(key=lambda kept: kept["arm"]["name"] in HIGHEST)  # last, with axes of their own
    columns = 6
    lines = -(-len(arms) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(2.2 * columns, 2.4 * lines), sharex=True, squeeze=False)
    for axis in axes.flat[len(arms) :]:
        axis.set_axis_off()
    for axis, kept in zip(axes.flat, arms):
        for rows in kept["along"].values():
            accuracy, share = np.array(rows).T
            learning = accuracy > FROM.get(kept["arm"]["name"], 0.05)
            axis.plot(accuracy[learning], share[learning], color="#1f5fa8", alpha=0.5, linewidth=1)
        for level in (0, 1):
            axis.axhline(level, color="#888888", linewidth=0.8, linestyle=":")
        axis.set_title(kept["arm"]["name"], fontsize=9)
        axis.set_xlim(0, 1)
        axis.set_xticks((0, 0.5, 1))
        axis.set_ylim(SHOWN[0], HIGHEST.get(kept["arm"]["name"], SHOWN[1]))
        if kept["arm"]["name"] in HIGHEST:
            axis.yaxis.tick_right()
        elif axis not in axes[:, 0]:
            axis.tick_params(labelleft=False)
        if axis in axes.flat[len(arms) - columns : len(arms)]:
            axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel("share of the side lobes", fontsize=8)
    figure.supxlabel("accuracy along training", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def rope_heads(found: Json, path: Path) -> None:
    """The lift of RoPE at each accuracy, a line for each width of the head, with intervals."""
    figure, axis = plt.subplots(figsize=(6.4, 3.8))
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(_HEADS)))
    for shade, name in zip(shades, _HEADS, strict=True):
        one = [over_seeds(found, f"{name}, token_back", level, "lift") for level in LEVELS]
        levels, means, lows, highs = zip(
            *((level, i.mean, i.low, i.high) for level, i in zip(LEVELS, one) if i.low is not None), strict=True
        )
        error = np.abs(np.array([lows, highs]) - means)
        axis.errorbar(levels, means, error, color=shade, marker="o", markersize=4, capsize=3, label=name)
    axis.set_yscale("log")
    axis.set_xticks(LEVELS)
    axis.set_xlabel("accuracy along training")
    axis.set_ylabel("lift at the peak side lobe,\n% of the right answer's logit")
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def by_width(found: Json, path: Path) -> None:
    """The lift at accuracy 0.5 by width of the head, a line for each encoding with one head, with intervals: those of
    waves left, the others right.
    """
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
    for axis, names, title in ((axes[0], _WAVES, "of waves"), (axes[1], _NO_WAVES, "without waves")):
        shades = plt.get_cmap("turbo")(np.linspace(0.05, 0.95, len(names)))
        for place, (shade, name) in enumerate(zip(shades, names, strict=True)):
            arms = [(x, f"{name}, head {width}, token_back") for x, width in enumerate(_WIDTHS)]
            one = [(x, over_seeds(found, arm, MAIN, "lift")) for x, arm in arms if arm in found["arms"]]
            shown = [(x, i.mean, i.low, i.high) for x, i in one if i.mean is not None and None not in (i.low, i.high)]
            if not shown:
                continue
            xs, means, lows, highs = map(np.array, zip(*shown, strict=True))
            beside = 0.07 * (place - (len(names) - 1) / 2)
            error = np.abs(np.stack([lows, highs]) - means)
            axis.errorbar(xs + beside, means, error, color=shade, marker="o", markersize=3.5, capsize=2, label=name)
        axis.set_yscale("symlog", linthresh=0.1)
        axis.axhline(0, color="#888888", linewidth=0.8, linestyle=":")
        axis.set_xticks(range(len(_WIDTHS)), [str(width) for width in _WIDTHS])
        axis.set_xlabel("width of the one head")
        axis.set_title(title, fontsize=10)
        axis.legend(fontsize=7, frameon=False)
    axes[0].set_ylabel("lift at the peak side lobe,\n% of the right answer's logit")
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
