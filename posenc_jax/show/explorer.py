"""One HTML page to look at an encoding, its kernel and its aliases, for any two positions; all settings in its address.

The page computes by itself, in double precision, and needs nothing else: a content security policy forbids every
request. Values from the library are embedded as data: ALiBi's slopes, T5's buckets and initial biases, the scale of a
learned table. The same settings give the same bytes.
"""

import dataclasses
import importlib.resources
from typing import Any

import numpy as np

from posenc_jax.drawing.document import POLICY, json_in_script, page_style
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.encodings import Learned, T5Bias, alibi_slopes, t5_buckets
from posenc_jax.encodings.frequency_designs import BEST_BASE, DIMENSIONS, MINIMAX, CosineDensity, LowSideLobes

ENCODINGS = ("sinusoidal", "rope", "alibi", "t5", "learned")
TURNING = ("sinusoidal", "rope")  # encodings with frequencies
FORMULAS = ("vaswani", "tensor2tensor", "resonance")
HEADS = 8
LIMITS: dict[str, tuple[float, float]] = {
    "d": (2, 512),
    "base": (1e2, 1e6),
    "length": (16, 2048),
    "head": (1, HEADS),
    "seed": (0, 99),
}
_WORDS = {"d": "d_model"}


@dataclasses.dataclass(frozen=True)
class Design:
    """Frequencies that stand in the page as numbers: what the choice is called, and ``[d/2]`` for each d it has."""

    label: str
    frequencies: dict[int, list[float]]


def _designs() -> dict[str, Design]:
    designs = {}
    for length in (128, 512):
        search, base = LowSideLobes(length), LowSideLobes(length, search="base")
        designs[f"low_side_lobes_{length}"] = Design(
            f"Low side lobes, searched for {length} offsets",
            {d: search.frequencies(10000.0, d).tolist() for d in DIMENSIONS if (length, d) in MINIMAX},
        )
        designs[f"best_base_{length}"] = Design(
            f"Low side lobes by base alone, {length} offsets",
            {d: base.frequencies(10000.0, d).tolist() for d in DIMENSIONS if (length, d) in BEST_BASE},
        )
    designs["cosine_density"] = Design(
        "Cosine density", {d: CosineDensity().frequencies(10000.0, d).tolist() for d in DIMENSIONS}
    )
    return {name: design for name, design in designs.items() if design.frequencies}


DESIGNS = _designs()


@dataclasses.dataclass(frozen=True)
class ExplorerState:
    """The state of the page; its fields are those of its address.

    Attributes:
      encoding: one of `ENCODINGS`.
      d: dimensions of the vectors, or of a head for RoPE.
      base, frequencies: those of sinusoidal and RoPE.
      length: positions are 0 .. length-1.
      a, b: the pair of positions.
      head: that of ALiBi and T5, from 1.
      seed: that of the learned table.

    Raises:
      ValueError: where a value lies outside `LIMITS` or is not known, d is odd, or a position is not below the length.
    """

    encoding: str = "sinusoidal"
    d: int = 8  # the article's, at which 5 looks like 68; nobody uses that width
    base: float = 10000.0
    frequencies: str = "vaswani"
    length: int = 512
    a: int = 5
    b: int = 68
    head: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in (("encoding", ENCODINGS), ("frequencies", (*FORMULAS, *DESIGNS))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} {getattr(self, name)!r} is not known: use {', '.join(known)}")
        for name, (low, high) in LIMITS.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{_WORDS.get(name, name)} = {getattr(self, name):g} must lie in {low:g} .. {high:g}")
        if self.d % 2:
            raise ValueError(f"d_model = {self.d} must be even: sines and cosines come in pairs")
        design = DESIGNS.get(self.frequencies)
        if self.encoding in TURNING and design and self.d not in design.frequencies:
            sizes = ", ".join(map(str, design.frequencies))
            raise ValueError(f"{self.frequencies} has frequencies for d_model {sizes}, not for {self.d}")
        for name in ("a", "b"):
            if not 0 <= getattr(self, name) < self.length:
                raise ValueError(
                    f"position {name} = {getattr(self, name)} must lie in 0 .. {self.length - 1}: raise the length of "
                    f"{self.length} or choose another position"
                )

    @property
    def used(self) -> tuple[str, ...]:
        """The fields that make a difference to the encoding."""
        own: tuple[str, ...] = ("d", "seed") if self.encoding == "learned" else ("head",)
        if self.encoding in TURNING:
            own = ("d", "frequencies") if self.frequencies in DESIGNS else ("d", "base", "frequencies")
        return (*own, "length", "a", "b")

    def fragment(self) -> str:
        """The part of the page's address after #: what the encoding uses."""
        values = (getattr(self, name) for name in self.used)
        texts = (str(value).removesuffix(".0") for value in values)
        return "&".join([f"encoding={self.encoding}", *(f"{name}={text}" for name, text in zip(self.used, texts))])


ARTICLE = ExplorerState()
PRESETS = {
    "the article’s d 8: 5 and 68": ARTICLE,
    "RoPE, a head of 64": ExplorerState("rope", d=64),
    "d_model 512": ExplorerState(d=512),
    "tensor2tensor: no alias at 63": ExplorerState(frequencies="tensor2tensor"),
    "Resonance: exact aliases": ExplorerState(d=4, base=100.0, frequencies="resonance", b=131),
    "base 100": ExplorerState(base=100.0),
    "a design with low side lobes": ExplorerState(frequencies="low_side_lobes_512"),
}


def page(start: ExplorerState | None = None) -> str:
    """The whole document; without a fragment in its address it opens with ``start``, else `ARTICLE`."""
    presets = "\n".join(
        f'<a href="#{escaped(settings.fragment())}">{escaped(name)}</a>' for name, settings in PRESETS.items()
    )
    designs = "".join(f'<option value="{name}">{escaped(design.label)}</option>\n' for name, design in DESIGNS.items())
    numbers, figures, controls = (_file(f"explorer{part}.js") for part in ("_numbers", "_figures", ""))
    opening = '"use strict";\n(() => {\nconst data = JSON.parse(document.getElementById("data").textContent);\n'
    parts = {
        "policy": POLICY,
        "style": page_style() + _file("explorer.css"),
        "presets": presets,
        "designs": designs,
        "t5_far": str(1 - _t5_runs()[0][1]),
        "data": json_in_script(_data(start or ARTICLE)),
        "script": f"{opening}{numbers}{figures}{controls}}})();\n",
    }
    document = _file("explorer.html")
    for name, text in parts.items():
        document = document.replace("{{" + name + "}}", text)
    return document


def _data(start: ExplorerState) -> dict[str, Any]:
    starts, buckets = _t5_runs()
    return {
        "start": dataclasses.asdict(start),
        "limits": LIMITS,
        "used": {name: ExplorerState(name).used for name in ENCODINGS},
        "alibi_slopes": alibi_slopes(HEADS).tolist(),
        "t5": {"starts": starts, "buckets": buckets, "table": _t5_table()},
        "learned_scale": Learned().init_scale,
        "designs": {name: design.frequencies for name, design in DESIGNS.items()},
    }


def _t5_runs() -> tuple[list[int], list[int]]:
    """The relative positions (key minus query) at which a new bucket begins, and those buckets, without a mask."""
    far = int(LIMITS["length"][1])
    relative = np.arange(-far, far + 1)
    t5 = T5Bias()
    buckets = t5_buckets(relative, t5.num_buckets, t5.max_distance, bidirectional=True)
    new = np.flatnonzero(np.diff(buckets, prepend=-1))
    return relative[new].tolist(), buckets[new].tolist()


def _t5_table() -> list[list[float]]:
    """``[H, num_buckets]`` values from the distribution that `T5Bias` draws its initial ones from."""
    t5 = T5Bias()
    limit = t5.initial_limit(HEADS)
    return np.random.default_rng(0).uniform(-limit, limit, (HEADS, t5.num_buckets)).round(6).tolist()


def _file(name: str) -> str:
    return importlib.resources.files("posenc_jax.show").joinpath(name).read_text(encoding="utf-8")
