"""Claims about sinusoidal positions, which of them hold, and the numbers that show it."""

import math
from typing import NamedTuple

import numpy as np

from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import tensor2tensor_frequencies, vaswani_frequencies
from posenc_jax.lessons import quoted
from posenc_jax.lessons.doubled import doubled_frequencies, nearest
from posenc_jax.lessons.eagles import cosine_rows, independent_rows, offset_kernel
from posenc_jax.lessons.frequencies import sign_changes
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.longer import unseen
from posenc_jax.lessons.markdown import table
from posenc_jax.lessons.near import smallest_without_alias
from posenc_jax.lessons.properties import (
    ROUNDING,
    bounds,
    closest,
    logits_share,
    moving,
    norm_spread,
    rotation_error,
)


class Claim(NamedTuple):
    """A claim; "true", "false" or "only if ..."; the numbers; the page that has more."""

    text: str
    verdict: str
    shown_by: str
    more: str


def verdict(holds: bool) -> str:
    """The verdict on a claim without conditions."""
    return "true" if holds else "**false**"


def structure() -> list[Claim]:
    """Bounds, norms, uniqueness, linear shifts."""
    low, high = bounds(64, 10**4)
    offset, distance = closest(8, 10**6)
    exact = max(rotation_error(d, 63, 2000) for d in (8, 512)) < ROUNDING
    return [
        Claim(
            "Position 0 adds nothing",
            verdict(norm_spread(512, 1) > 1),
            f"0, 1, 0, 1, ...: norm {number(math.sqrt(512 / 2), 0)} at d = 512, like all others",
            "dolphins",
        ),
        Claim(
            "All values lie in [-1, 1]",
            verdict(low >= -1 and high <= 1),
            f"{number(low)} to {number(high)} over 10,000 positions at d = 64",
            "properties",
        ),
        Claim(
            "All vectors have norm sqrt(d/2)",
            verdict(norm_spread(64, 10**4) < ROUNDING),
            "exact to rounding over 10,000 positions at d = 64",
            "properties",
        ),
        Claim(
            "Every position has its own vector",
            verdict(distance > 0),
            f"but some are close: at d = 8, vectors {offset:,} positions apart, of norm 2, are {distance:.2g} apart",
            "properties",
        ),
        Claim(
            "PE(p + k) is a linear function of PE(p), the same for all p",
            verdict(exact),
            "a rotation of each pair of dimensions; exact to rounding for k = 63 at 2,000 positions",
            "properties",
        ),
    ]


def frequencies() -> list[Claim]:
    """Claims about frequencies: which are high, how long waves are, how many move."""
    changes = sign_changes(512, 512)
    reach = {d: 1 / vaswani_frequencies(d)[-1] for d in (8, 512)}
    doubled, paper = (1 / w[-1] for w in (doubled_frequencies(512), vaswani_frequencies(512)))
    return [
        Claim(
            "Dimensions with a small index have a low frequency",
            verdict(bool(changes[0] < changes[-1])),
            f"the reverse: pair 0 changes sign {changes[0]} times in 512 positions, pair 255 "
            f"{_times(int(changes[-1]))}",
            "frequencies",
        ),
        Claim(
            "Wavelengths go from 2 pi to 10000 x 2 pi",
            "only if d is large, and never quite",
            f"to {reach[512]:.0f} x 2 pi at d = 512, {reach[8]:.0f} x 2 pi at d = 8; tensor2tensor's frequencies reach "
            f"{1 / tensor2tensor_frequencies(512)[-1]:.0f} x 2 pi",
            "frequencies",
        ),
        Claim(
            "10000^(2i/d) with i = 0, 2, 4, ... is the same formula",
            verdict(bool(np.isclose(doubled, paper))),
            f"frequencies are squared, the longest wavelength is {doubled:.2g} x 2 pi; at d = 8 the position "
            f"nearest to 5 is {nearest(doubled_frequencies(8), 5)[0][0]}",
            "doubled",
        ),
        Claim(
            "All dimensions tell the positions of a sentence apart",
            "only if the text is long",
            f"at d = 512, {moving(512, 50, 0.1)} move by more than 0.1 over 50 positions, {moving(512, 512, 0.1)} over "
            f"512, {moving(512, 5000, 0.1)} over 5,000",
            "properties",
        ),
        Claim(
            "They count like binary digits, each with twice the period of the one before",
            "**false**",
            f"the factor is {1e4 ** (2 / 8):.0f} at d = 8, {1e4 ** (2 / 512):.3f} at d = 512, near 2 only at "
            f"d = {2 * math.log2(1e4):.1f}; and the first period is 2 pi, not 2",
            "properties",
        ),
    ]


def likeness() -> list[Claim]:
    """Claims about the kernel."""
    small, large = (kernel(vaswani_frequencies(d), np.arange(-511, 512)) for d in (8, 512))
    rises = {d: lobes(values[511:]).main_lobe for d, values in ((8, small), (512, large))}
    least = smallest_without_alias(512)
    return [
        Claim(
            "Products of two encodings fall steadily with the offset",
            verdict(not any(rises.values())),
            f"the first rise is at offset {rises[8]} (d = 8), {rises[512]} (d = 512)",
            "near",
        ),
        Claim(
            "The nearest vectors belong to the nearest positions",
            f"only if d is at least {least} (below 512 positions)",
            f"d = 8: {number(small[511 + 63])} for 5 and 68, {number(small[511 + 1])} for 5 and 6",
            "near",
        ),
        Claim(
            "The product of two encodings shows which comes first",
            verdict(not np.allclose(small, small[::-1], rtol=0, atol=ROUNDING)),
            "K(-k) = K(k): before and after are the same; projections can tell them apart",
            "near",
        ),
        Claim(
            "Attention with these encodings depends on relative positions",
            "only if the projections turn and scale each pair of dimensions",
            f"then the offset explains {number(100 * logits_share(64, 128, 5, True), 0)} % of the variance of logits, "
            f"{number(100 * logits_share(64, 128, 5, False), 0)} % for random projections (d = 64)",
            "properties",
        ),
    ]


def use() -> list[Claim]:
    """Claims about adding positions."""
    k = offset_kernel(512)
    fell = {d: share for d, _, name, _, _, share, _ in independent_rows() if name.startswith("1:")}
    shares = {c: unit for c, *_, unit in cosine_rows()}
    dims, positions = unseen(512, 512)
    return [
        Claim(
            "Adding positions lowers the cosine of two words",
            "only if the words' cosine is above that of their positions, K(offset) (equal norms)",
            f"K(5) = {number(k, 3)} at d = 512: {_percent(shares[0.5])} of pairs with cosine 0.5 fall, "
            f"{_percent(shares[0.9])} with 0.9; independent words: {_percent(fell[512])} (d = 8: {_percent(fell[8])})",
            "eagles",
        ),
        Claim(
            "Encodings are small beside the embeddings",
            verdict(math.sqrt(256) < 0.1 * math.sqrt(512)),
            f"norm {math.sqrt(256):.0f} at d = 512; embeddings have {0.02 * math.sqrt(512):.2f} (entries of standard "
            f"deviation 0.02), 1 (of 1/sqrt(d)), {math.sqrt(512):.1f} (multiplied by sqrt(d) as in the paper)",
            "properties",
        ),
        Claim(
            "Defined at any position, they let a model read longer sequences",
            "**false**",
            f"trained below position 512, {dims} of 512 dimensions take unseen values (at {positions} of the next "
            f"512 positions); a small model's exact match beyond its lengths is "
            f"{quoted.mean('longer', 'sinusoidal', 2)}",
            "longer",
        ),
    ]


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def claims() -> list[Claim]:
    """All of them."""
    return structure() + frequencies() + likeness() + use()


def _body() -> str:
    found = claims()
    rows = [(c.text, c.verdict, c.shown_by, f"[{c.more}](lesson:{c.more})") for c in found]
    counts = [sum(c.verdict.startswith(word) for c in found) for word in ("true", "**false", "only if")]
    return f"""\
The claims are about the encoding as published (base 10000, sines and cosines interleaved, positions from 0) unless a
row says otherwise. Of {len(found)} claims, {counts[0]} are true, {counts[1]} false, and {counts[2]} true under a
condition that is left out.

{table(["claim", "", "shown by", "more"], rows)}

"Exact to rounding" means that the difference in float64 is less than {ROUNDING:g}."""


def _answer() -> str:
    return """\
The claims about vectors and waves do not apply to it. Of the others, more hold for its bias than for sinusoids: it
falls steadily with the distance, so the nearest positions are the most alike at any length, and it depends on relative
positions whatever the projections. It too is the same for both directions, unless a mask hides one of them.
`posenc show alibi` draws it."""


LESSON = Lesson(
    name="claims",
    title="Seventeen claims in one table",
    where="All four texts, and others like them",
    claim="What is commonly said about sinusoidal positions holds as stated.",
    verdict="refuted",
    because="4 of 17 claims hold, 5 only under a condition that is left out, and 8 do not.",
    code="""
import numpy as np
from posenc_jax.encodings import sinusoidal

for d in (8, 64):
    p = sinusoidal(np.arange(100), d, dtype=np.float64)
    print(f"d_model {d}: cosine of 5 and 68 {2 * p[5] @ p[68] / d:.3f}, of 5 and 6 {2 * p[5] @ p[6] / d:.3f}")
""",
    body=_body,
    question="Which of these claims would hold for ALiBi, which adds a bias by distance instead of vectors?",
    answer=_answer,
    seconds=4,
)
