"""Do the side lobes of a kernel appear in what a model does? One number, from all offsets beyond the main lobe.

The difference between one offset and its two neighbours sees narrow lobes only: at d_model 512 the highest side lobe
rises above its neighbours by 0.0009 of the kernel, whatever the model does with it. Here the whole shape is used.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from posenc_jax.analysis.kernels import lobes
from posenc_jax.encodings.interface.base import Array


@dataclasses.dataclass(frozen=True)
class SideLobes:
    """The result of `side_lobes` for one curve.

    Attributes:
      slope: units of the curve for one unit of the kernel, beyond the main lobe.
      main_slope: the same within the main lobe; NaN where it has fewer than three offsets besides 0.
      share: ``slope / main_slope``: 1 where side lobes count as much as the main lobe, 0 where they count nothing.
      lift: ``slope`` times what R (see `side_lobes`) is at the peak side lobe: what the lobes add there, in units of
        the curve.
      peak: that offset, the one beyond the main lobe where the kernel is largest.
      error: the standard error of ``slope`` if the residuals of offsets were independent. Those of one model are not:
        intervals are those over seeds.
    """

    slope: float
    main_slope: float
    share: float
    lift: float
    peak: int
    error: float


def side_lobes(curve: Array, kernel: Array, asked: Array) -> SideLobes:
    """The share of a kernel's side lobes in a curve by distance.

    Let the main lobe end before offset m, the first into which the kernel K rises (see `lobes`). For offsets k from m
    on, the curve y is a smooth decline and a multiple of the kernel::

        y(k) = a + b k + c k^2 + d log(1 + k) + slope K(k) + residual

    fitted by least squares, each offset weighted by its number of questions. By the theorem of Frisch, Waugh and Lovell
    ``slope = <y, R> / <K, R>`` in that weighting, where R is what is left of K after its own fit by 1, k, k^2 and
    log(1 + k): only the rise and fall of the lobes counts, never that near positions are confused more than far ones.
    Within the main lobe, ``y(k) = a' + main_slope K(k)`` for k in 1 .. m-1.

    Take for y the mean logit of what stands k away from the right place (`logit_by_offset` of the tasks of
    `posenc_jax.data.tasks.position_probes`). Probabilities at large offsets are too small to show anything; logits are
    not.

    Args:
      curve: ``[n]`` at distances 0 .. n-1; NaN where nothing was asked. The first is not read.
      kernel: ``[n]``, finite; of a control, that of the encoding it is compared with.
      asked: ``[n]``, questions behind each value.

    Raises:
      ValueError: rows of different lengths; a kernel without a side lobe; fewer than six offsets beyond the main lobe
        at which something was asked.
    """
    curve, kernel, asked = (np.asarray(x, np.float64) for x in (curve, kernel, asked))
    if not curve.shape == kernel.shape == asked.shape or curve.ndim != 1:
        raise ValueError(f"curve {curve.shape}, kernel {kernel.shape} and asked {asked.shape} must be rows of one size")
    start = lobes(kernel).main_lobe
    if start is None:
        raise ValueError("the kernel falls at every offset: it has no side lobe to look for; take more offsets")
    offsets = np.arange(len(curve))
    there = (asked > 0) & np.isfinite(curve)
    beyond = there & (offsets >= start)
    if beyond.sum() < 6:
        raise ValueError(f"{beyond.sum()} offsets from {start} on were asked about: 6 are needed; take more positions")
    k = offsets[beyond]
    weight = asked[beyond] / asked[beyond].sum()
    smooth = np.stack([np.ones(len(k)), k / len(curve), (k / len(curve)) ** 2, np.log1p(k)], axis=1)
    rise = kernel[beyond] - _fit(smooth, kernel[beyond], weight)
    of_rise = float(weight @ rise**2)
    slope = float(weight @ (curve[beyond] * rise)) / of_rise
    left = curve[beyond] - slope * rise
    left -= _fit(smooth, left, weight)
    freedom = max(len(k) - smooth.shape[1] - 1, 1)
    error = float(np.sqrt(weight @ left**2 / freedom / of_rise))
    peak = int(kernel[beyond].argmax())
    main = _main_slope(curve, kernel, asked, there & (offsets >= 1) & (offsets < start))
    return SideLobes(
        slope=slope,
        main_slope=main,
        share=slope / main if main else float("nan"),
        lift=slope * float(rise[peak]),
        peak=int(k[peak]),
        error=error,
    )


def _fit(basis: np.ndarray, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The values as a weighted least-squares sum of the columns."""
    root = np.sqrt(weight)
    return basis @ np.linalg.lstsq(basis * root[:, None], values * root, rcond=None)[0]


def _main_slope(curve: np.ndarray, kernel: np.ndarray, asked: np.ndarray, within: np.ndarray) -> float:
    if within.sum() < 3:
        return float("nan")
    weight = asked[within] / asked[within].sum()
    centred = kernel[within] - weight @ kernel[within]
    return float(weight @ (curve[within] * centred)) / float(weight @ centred**2)
