"""Frequencies with low side lobes, for `Sinusoidal` and `RoPE`: designs of this project, not published methods.

How alike two positions k apart are is the kernel ``K(k) = mean over j of cos(k w_j)``. With Vaswani's frequencies it
rises again at some far offsets, which look near: for d_model 8, positions 5 and 68 are nearer than 5 and 6. The designs
here have the same K(1), or a lower one, and lower side lobes (`experiments/frequency_designs` says what is
compared with what, and finds the stored numbers; nothing is searched here).

What they give up: their longest wavelength is a few times the main lobe, or that of a small base, so that all far
offsets are about equally unlike, where Vaswani's kernel still falls with the offset on the whole.
"""

import dataclasses
import math
from typing import Literal

import numpy as np

from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.rotary.rope_scaling import RoPEScaling
from posenc_jax.encodings.shared.phase import vaswani_frequencies

UNIT = 1e-5  # radians per position, of the stored numbers
LENGTHS = (128, 512)
DIMENSIONS = (8, 16, 32, 64, 128, 256, 512)

_OWN = ("this project", "posenc_jax/encodings/frequency_designs.py")


class FrequencyDesign(RoPEScaling):
    """Base class of scalings whose frequencies `Sinusoidal` takes as well."""


@dataclasses.dataclass(frozen=True)
class LowSideLobes(FrequencyDesign):
    """Frequencies whose peak side-lobe level over ``length`` offsets is the lowest that a search found.

    The level is the largest K(k) for M <= k < length, M being the offset at which the main lobe of Vaswani's
    frequencies (base 10000, as many dimensions) ends.

    Attributes:
      length: 128 or 512. Beyond it nothing is promised.
      search: "frequencies" are all chosen freely, with K(1) as with Vaswani's, to 1e-4 and no higher. "base" is one
        number, the whole base b of ``b^(-2k/d)``; K(1) is then lower: a smaller base has more high frequencies.

    For 8, 16, 32, 64, 128, 256 or 512 dimensions; ValueError in `frequencies` for others, and for a base beside it.

    >>> LowSideLobes(length=128).frequencies(10000.0, 8).round(5).tolist()
    [0.28831, 0.34027, 0.48294, 0.72546]
    """

    length: int = 512
    search: Literal["frequencies", "base"] = "frequencies"

    name = "low_side_lobes"
    paper = "this project"
    citation = "A design of this project, not a published method: peak side-lobe level minimised by search."
    methods = (
        Method(
            "designs",
            "Low side lobes, by base",
            "sinusoidal(frequencies=low_side_lobes(search='base'))",
            *_OWN,
            "a design of this project, not a published method: the base found by search for each d_model and length",
        ),
        Method(
            "designs",
            "Low side lobes, by frequencies",
            "sinusoidal(frequencies=low_side_lobes)",
            *_OWN,
            "a design of this project, not a published method: all frequencies found by search for each d_model and "
            "length",
        ),
        Method(
            "designs",
            "RoPE with low side lobes, by frequencies",
            "rope(scaling=low_side_lobes)",
            *_OWN,
            "a design of this project, not a published method: the same numbers for the dimensions of a head",
        ),
    )

    def check_fields(self) -> None:
        if self.length not in LENGTHS:
            raise ValueError(
                f"LowSideLobes.length = {self.length} is not one of {', '.join(map(str, LENGTHS))}, for which numbers "
                f"are stored: find others by minimax(d_model, {self.length}) of experiments/frequency_designs and give "
                "them as a tuple, sinusoidal(frequencies=(...))"
            )

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]``; ValueError for another ``base`` than 10000 and for dimensions that are not stored."""
        if base != 10000.0:
            raise ValueError(f"base = {base} does nothing beside {self}, whose frequencies are given: leave base out")
        if dim not in DIMENSIONS:
            raise ValueError(
                f"{self} has frequencies for {', '.join(map(str, DIMENSIONS))} dimensions, not for {dim}: find them by "
                f"minimax({dim}, {self.length}) of experiments/frequency_designs and give them as a tuple, "
                "sinusoidal(frequencies=(...))"
            )
        if self.search == "base":
            return vaswani_frequencies(dim, BEST_BASE[self.length, dim])
        return np.array([int(unit) for unit in MINIMAX[self.length, dim].split()]) * UNIT


@dataclasses.dataclass(frozen=True)
class CosineDensity(FrequencyDesign):
    """The quantiles of a cosine-shaped density: irrational ratios, and smoothly fewer of the higher frequencies::

        w_j = W x_j,   x_j = (2 / pi) arcsin(j / F),   j = 1 .. F

    For many frequencies K(k) is nearly the transform of the density ``cos(pi w / 2W)`` on [0, W]::

        cos(k W) / (1 - (2 k W / pi)^2)

    whose side lobes lie between -0.071 and 0.025 and fall with the square of the offset; a sum of few frequencies has
    others too. W is such that K(1) is that of Vaswani's frequencies with the same base, or up to 2e-4 lower (from 8
    dimensions and a base of 100 on), from two terms of the cosine::

        m_2 W^2 / 2 - m_4 W^4 / 24 = 1 - K(1),   m_n the mean of x_j^n

    A formula for any number of frequencies; nothing is searched, and for 4 or 8 frequencies a searched base is better.
    Tried beside it, at equal K(1): quantiles of uniform, Hann, Gaussian and power densities at evenly spaced points and
    at multiples of the golden ratio and of sqrt(2) modulo 1, square roots and logarithms of primes. Up to 32
    frequencies no one of them is best throughout; from 64 on this density is, or is within 0.01 of the best.

    >>> CosineDensity().frequencies(10000.0, 4).round(3).tolist()
    [0.314, 0.942]
    """

    name = "cosine_density"
    paper = "this project"
    citation = "A design of this project, not a published method: quantiles of a cosine-shaped spectral density."
    methods = (
        Method(
            "designs",
            "Cosine density",
            "sinusoidal(frequencies=cosine_density)",
            *_OWN,
            "a design of this project, not a published method: frequencies of irrational ratios, by a formula",
        ),
        Method(
            "designs",
            "RoPE with a cosine density",
            "rope(scaling=cosine_density)",
            *_OWN,
            "a design of this project, not a published method: the same formula for the dimensions of a head",
        ),
    )

    def frequencies(self, base: float, dim: int, length: int | None = None) -> np.ndarray:
        """``[dim/2]``, ascending; ValueError for a base below 1."""
        if base < 1:
            raise ValueError(f"base = {base} must be at least 1 beside cosine_density: 10000.0 is the usual one")
        count = dim // 2
        x = np.arcsin(np.arange(1, count + 1) / count) * (2 / math.pi)
        second, fourth = np.mean(x**2), np.mean(x**4)
        unlike = 1 - np.mean(np.cos(vaswani_frequencies(dim, base)))
        return x * np.sqrt((second - np.sqrt(second**2 - fourth * unlike * 2 / 3)) * 6 / fourth)


# By length and dimensions.
BEST_BASE: dict[tuple[int, int], int] = {
    (128, 8): 59,
    (128, 16): 28,
    (128, 32): 20,
    (128, 64): 14,
    (128, 128): 19,
    (128, 256): 40,
    (128, 512): 71,
    (512, 8): 425,
    (512, 16): 84,
    (512, 32): 26,
    (512, 64): 8,
    (512, 128): 9,
    (512, 256): 39,
    (512, 512): 63,
}
# In multiples of UNIT, ascending.
MINIMAX: dict[tuple[int, int], str] = {
    (128, 8): "28831 34027 48294 72546",
    (128, 16): "18481 25144 28630 33449 37107 41077 45230 49179",
    (128, 32): ("17102 17894 18687 20783 23247 24787 26651 27444 28236 29841 31905 32918 35605 37827 40512 41411"),
    (128, 64): (
        "13249 13601 13953 14305 15123 17251 18162 18514 18866 19641 21801 22287 22639 22991 23343 23695 24047 26254 "
        "26811 27163 27515 27867 28713 30848 31818 32170 32522 32874 35766 37096 37448 41693"
    ),
    (128, 128): (
        "861 1410 1960 2509 3059 3610 4162 4715 5037 5202 5830 6937 7497 8059 8622 9188 9695 9860 10633 11476 12055 "
        "12638 13224 13814 14408 14625 14985 16082 16830 17449 18073 18639 18804 19360 20011 21296 21964 22320 22703 "
        "23401 24110 24967 26190 26430 27077 27857 28656 29475 30891 31230 32076 33000 33960 35495 36251 37110 38647 "
        "40155 40913 43001 44688 46681 49268 54860"
    ),
    (128, 256): (
        "1205 1473 1742 2010 2278 2547 2815 3084 3353 3622 3891 4160 4429 4513 4593 4673 4753 4832 4912 4992 5072 "
        "5152 5265 5538 7264 7344 7424 7504 7584 7664 7743 7823 8014 8292 8571 8850 9130 9410 9691 9973 10256 10539 "
        "10824 11109 11809 11888 11970 12259 12548 12839 13131 13424 13718 14013 14310 14607 14906 15206 15508 15811 "
        "16115 16421 17943 18188 18268 18348 18428 18508 18607 18926 19247 19571 19896 21384 22428 22760 22869 22949 "
        "23029 23109 23189 23268 23348 23789 25867 26228 26591 26959 27330 27705 27902 27982 28062 28142 28222 30047 "
        "30457 30871 31291 31718 32151 32591 32734 32813 32893 32973 34916 35410 35916 36434 36708 36787 36867 36947 "
        "38166 39876 40476 40556 40636 40784 41745 44307 44593 44673 45538 48722 49319 53530"
    ),
    (128, 512): (
        "1070 1202 1335 1467 1600 1732 1865 1997 2130 2263 2395 2528 2661 2793 2926 3059 3192 3325 3458 3507 3546 "
        "3585 3624 3664 3703 3742 3781 3821 3860 3899 3938 3978 4017 4056 4095 4135 4174 4213 4252 4386 4521 4655 "
        "4789 4924 5059 5193 5328 5463 5598 5733 5868 6003 6139 6274 6410 6546 6682 7835 8569 8608 8648 8687 8726 "
        "8765 8805 8844 8883 8922 8962 9001 9040 9079 9119 9158 9197 9290 9429 9568 9708 11673 11861 12000 12140 "
        "12281 12421 12562 12702 12843 12985 13126 13268 13410 13552 13694 13837 13980 14123 14266 14410 14554 14698 "
        "14842 14987 15132 15277 15422 15462 15501 15540 15579 15619 15658 15697 15736 16505 16893 17042 17191 17341 "
        "17491 17641 17792 17943 18094 18229 18269 18308 18347 18386 18426 18465 18504 18543 18583 18622 18661 18700 "
        "18740 18779 18818 18857 19014 19173 19333 19494 19655 21030 21069 21108 21148 21187 21226 21265 21305 21344 "
        "21383 21464 21632 21801 21971 22141 22312 22483 22655 22828 23002 23177 23352 23528 23705 23882 24061 24240 "
        "24421 24602 24784 24967 26223 27210 27346 27386 27425 27464 27503 27543 27582 27621 27660 27700 27739 27778 "
        "27838 29412 30116 30320 30525 30732 30940 31150 31361 31575 31789 32006 32225 32445 32667 32891 33118 33346 "
        "33414 33453 33492 33532 33571 33610 33649 34701 35511 35765 36023 36179 36218 36257 36296 36336 36375 36414 "
        "36453 36637 36936 37241 37551 37868 39144 39442 39481 39520 39561 39926 40301 40688 41088 41501 41931 42378 "
        "42846 45211 45301 45340 45379 45644 48229 49035 49991 51235 53694"
    ),
    (512, 8): "25639 37798 46352 73175",
    (512, 16): "1085 6446 12061 21439 28715 32421 46644 77095",
    (512, 32): ("12098 15682 16474 18057 21445 25507 27792 29057 30067 31087 32459 35191 36089 38450 39412 40574"),
    (512, 64): (
        "3234 7227 9594 10467 12837 13939 15001 15467 19028 19789 20378 20964 21341 21693 22803 23716 25050 26027 "
        "26978 27846 29136 30053 31106 32060 32810 33669 34628 36156 37295 38053 38556 39332"
    ),
    (512, 128): (
        "891 1057 1482 2429 2651 3398 3563 4547 4712 5288 5830 6742 7194 7686 8397 9130 9519 10103 10959 11124 11860 "
        "12114 12904 13474 14249 14671 15394 15857 16551 17141 17842 18361 19023 19607 20275 20804 21517 22192 22887 "
        "23495 24220 24935 25720 26592 27383 28127 28960 29706 30604 31528 32367 33293 34308 35466 36506 37863 38849 "
        "40197 41220 42476 44663 46492 48677 54864"
    ),
    (512, 256): (
        "622 891 1153 1233 1313 1529 2205 2285 2365 2445 2818 3335 3419 3538 3708 4284 4699 4779 4859 5034 5432 5844 "
        "5923 6124 6467 7022 7102 7220 7521 8160 8254 8334 8602 9170 9433 9513 9717 10146 10542 10718 10864 11174 "
        "11691 11956 12036 12276 12912 13094 13174 13472 14047 14210 14449 14695 15214 15486 15754 15914 16562 16716 "
        "16884 17242 17836 17945 18103 18626 19115 19223 19412 20072 20341 20431 20937 21391 21636 21794 22446 22688 "
        "22936 23407 23785 24051 24380 24940 25133 25453 25930 26209 26656 26923 27444 27720 28080 28586 28957 29255 "
        "29816 30117 30484 31114 31274 31757 32390 32469 33163 33567 33972 34696 34776 35652 35818 36618 36997 37718 "
        "38188 38824 39379 40086 40785 41552 42349 43250 44176 45434 46527 47731 49839 53841"
    ),
    (512, 512): (
        "211 343 476 609 741 874 1007 1139 1272 1311 1381 1514 1752 1936 2007 2046 2178 2311 2444 2577 2710 2843 2976 "
        "3183 3377 3416 3509 3643 3776 3909 4043 4177 4310 4524 4710 4749 4846 4980 5114 5248 5383 5517 5720 5942 "
        "5985 6055 6190 6325 6460 6595 6731 7022 7158 7219 7273 7409 7545 7681 7821 8110 8246 8383 8466 8505 8637 "
        "8774 8912 9205 9343 9481 9619 9683 9739 9877 10036 10311 10450 10589 10728 10868 10926 10991 11131 11379 "
        "11568 11709 11850 11991 12117 12156 12260 12501 12700 12842 12985 13128 13271 13392 13432 13581 13846 13991 "
        "14136 14281 14426 14571 14674 14713 15010 15157 15304 15451 15599 15746 15895 15945 16078 16342 16491 16641 "
        "16791 16942 17081 17120 17240 17538 17701 17854 18007 18161 18219 18313 18468 18745 18936 19092 19249 19299 "
        "19408 19566 19724 20037 20199 20354 20393 20525 20687 20849 21073 21332 21467 21506 21669 21835 22001 22168 "
        "22491 22588 22673 22842 23012 23183 23355 23624 23763 23874 24049 24224 24400 24577 24758 25070 25113 25293 "
        "25475 25657 25840 26074 26327 26395 26582 26770 26959 27164 27497 27611 27727 27921 28117 28370 28669 28832 "
        "28914 29117 29321 29679 29889 30068 30151 30363 30717 30948 31164 31315 31447 31804 32050 32277 32505 32594 "
        "32969 33204 33442 33682 33834 34150 34420 34671 34925 35109 35436 35709 35977 36249 36451 36797 37090 37379 "
        "37626 37925 38277 38588 38813 39148 39559 39795 40101 40599 40817 41183 41636 41970 42384 42875 43261 43729 "
        "44265 44740 45344 45885 46559 47275 48121 49159 50352 53249"
    ),
}
