"""What the planes of RoPE do in the heads of a published model, and whether its heads take 68 for 5.

    posenc weights import SmolLM2-135M-Instruct.Q4_1.gguf -o runs/smollm2
    python -m experiments.context.planes runs/smollm2

A plane p gives ``c_p = Re(q_p conj(k_p) e^(i w_p d)) / sqrt(D)`` to the logit of a query and a key d places before it,
q_p and k_p its two dimensions as a complex number. Measured are its norms, ``mean |q_p| mean |k_p|``, as part of the
sum over all planes, and its part of the variance of the logits over the keys of a query, ``cov(c_p, logit) /
var(logit)``, which sums to 1; the first token, on which heads rest, is left out of both. The *weight on one place* of a
head is the largest mean weight that it gives to one distance of 1 to 7; the tenth of all heads with the most are the
positional heads.

The *kernel* of a head is its logit by distance for contents that do not belong together: the mean of ``q' R(d) k`` over
all pairs of a query and a key, ``Re(sum_p mean(q_p) conj(mean(k_p)) e^(i w_p d)) / sqrt(D)``. Its peak is the best
distance of 0 to 60. The bump at r places behind the peak is the kernel there minus the mean of three places before and
behind, half a turn of the fastest plane; it is ranked among r = 8 .. 124. A head *takes 68 for 5* if 63 behind its peak
there is a local maximum that is higher than the place behind the peak, as with the sinusoids of d_model 8 (0.948, and
0.884).

Expected before any of it was measured. Of the planes: `DIRECTIONS`. Of 63: with base 1e5 the fastest three of the 32
planes nearly return there (10 and 7 turns, and 0.12 short of 5), so that a head with equal parts in all planes has its
second largest bump there, and yet only 0.605 of its peak, where a neighbour has 0.971. So bumps at 63 in many of the
positional heads, above chance (63 is among the first 6 of 117 ranks in 5 of 100 heads), no more than by chance in the
others, and no head that takes 68 for 5; on real text, weights of positional heads that are no larger at 63 than around
it, since the softmax leaves nothing to so low a bump.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.stats

from experiments.context.texts import of_corpus
from experiments.records import short
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.drawing.plots import Axis, HeatMap, Lines, PlotLine
from posenc_jax.drawing.printed import render
from posenc_jax.drawing.style import styles
from posenc_jax.runs.inference import Loaded, load_run
from posenc_jax.statistics import mean_interval
from posenc_jax.training.step import model_of

RECORD = Path(__file__).with_name("planes.json")
PICTURES = Path(__file__).with_name("planes.png"), Path(__file__).with_name("kernels.png")
RECORD_OF_LAYERS = Path(__file__).with_name("surgery.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- planes: planes.json -->", "<!-- end of planes -->"
TEXTS, LENGTH, FROM = 6, 256, 128
"""Queries are those from `FROM` on, so that each has a key at every distance below it."""
PLACES, PEAKS, ALIAS, RANKED, HALF = range(1, 8), range(61), 63, range(8, 125), 3
FIRST = 6
"""The ranks that count as a bump: 5 of 100."""


class Direction(NamedTuple):
    """What is expected of a number of each text: it is above 0."""

    number: str
    claim: str
    source: str


DIRECTIONS = (
    Direction(
        "low_norms", "the slower half of the planes has the larger norms", "Barbero et al. 2024, arXiv:2410.06205"
    ),
    Direction("positional_fast", "positional heads use the fastest quarter more than others do", "Barbero et al. 2024"),
    Direction("other_slow", "other heads use the slowest quarter more than positional heads do", "Barbero et al. 2024"),
    Direction("costly_fast", "the more a layer uses the fastest quarter, the more its rotation is worth", "own"),
)


class Head(NamedTuple):
    """Queries from `FROM` on ``[Q, P]`` and all keys ``[K, P]``, complex, not rotated; their weights ``[Q, K]``."""

    queries: np.ndarray
    keys: np.ndarray
    weights: np.ndarray


def reader(loaded: Loaded) -> Any:
    """The function from tokens ``[S]`` to the heads of every layer, ``[[Head]]``."""
    config = loaded.config
    (rope,), depth = config.posenc, config.dims.head_dim

    @jax.jit
    def seen(params: Any, tokens: Any) -> Any:
        made = model_of(config, params)
        layers = made(tokens[None], capture=True)[1]["decoder"]
        inputs = (layers["embeddings"], *(own["output"] for own in layers["layers"]))
        found = []
        for block, x, own in zip(made.decoder.blocks, inputs, layers["layers"]):
            h = block.self_attention_norm(x)
            queries, keys = block.self_attention.query(h)[0], block.self_attention.key(h)[0]
            found.append((queries, keys, own["attention_weights"][0]))
        return found

    def planes(x: Any) -> np.ndarray:
        x = np.asarray(x).reshape(len(x), -1, depth).swapaxes(0, 1)
        half = rope.layout == "half"
        return x[..., : depth // 2] + 1j * x[..., depth // 2 :] if half else x[..., ::2] + 1j * x[..., 1::2]

    def heads(tokens: np.ndarray) -> Iterator[list[Head]]:
        for queries, keys, weights in seen(loaded.params, tokens):
            q, k, w = planes(queries)[:, FROM:], planes(keys), np.asarray(weights)[:, FROM:]
            yield [Head(q[head], k[head * len(k) // len(q)], w[head]) for head in range(len(q))]

    return heads


def contributions(head: Head, frequencies: np.ndarray) -> np.ndarray:
    """``c [Q, K, P]`` of every plane to the logits, of keys of the future too."""
    queries, keys = len(head.queries), len(head.keys)
    turned = [
        x * np.exp(1j * places[:, None] * frequencies).astype(x.dtype)
        for x, places in ((head.queries, np.arange(keys - queries, keys)), (head.keys, np.arange(keys)))
    ]
    return (turned[0][:, None] * turned[1][None].conj()).real / math.sqrt(2 * len(frequencies))


def variance_parts(given: np.ndarray) -> np.ndarray:
    """``[P]``: the part of each plane in the variance of the logits over the keys of a query but the first, those of
    the future left out, mean over queries; from ``c [Q, K, P]``.
    """
    queries, keys = given.shape[:2]
    there = (np.arange(keys) <= np.arange(keys - queries, keys)[:, None]) & (np.arange(keys) > 0)
    own = given - (given * there[..., None]).sum(1, keepdims=True) / there.sum(1)[:, None, None]
    own = np.where(there[..., None], own, 0)
    parts = np.einsum("qkp,qk->p", own, own.sum(-1) / there.sum(1, keepdims=True))
    found: np.ndarray = parts / parts.sum()
    return found


def by_distance(weights: np.ndarray) -> np.ndarray:
    """``[FROM]``: the mean weight of the key at each distance from 0 on."""
    queries, keys = weights.shape
    places = np.arange(keys - queries, keys)
    found: np.ndarray = weights[np.arange(queries)[:, None], places[:, None] - np.arange(keys - queries)].mean(0)
    return found


def kernel(queries: np.ndarray, keys: np.ndarray, frequencies: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """The mean logit by distance over all pairs, from the means of queries and keys ``[P]``."""
    turned = np.exp(1j * np.asarray(distances)[:, None] * frequencies)
    found: np.ndarray = (turned * (queries * keys.conj())).sum(1).real / math.sqrt(2 * len(frequencies))
    return found


def alias(values: np.ndarray) -> dict[str, Any]:
    """What a kernel at distances 0 .. 199 says of 63: its peak, the rank of the bump there, whether it takes 68 for 5,
    and how high that place is, 1 being the peak and 0 the mean of the ranked places.
    """
    peak = int(values[: len(PEAKS)].argmax())
    at = peak + np.array(RANKED)
    bumps = values[at] - (values[at - HALF] + values[at + HALF]) / 2
    rank = 1 + int((bumps > bumps[ALIAS - RANKED[0]]).sum())
    there = values[peak + ALIAS]
    local = there >= max(values[peak + ALIAS - 1], values[peak + ALIAS + 1])
    return {
        "peak": peak,
        "rank": rank,
        "taken": bool(local and there > values[peak + 1]),
        "height": levelled(values)[ALIAS],
    }


def levelled(values: np.ndarray) -> list[float]:
    """A kernel from its peak on to 80 places behind it: 1 at the peak, 0 at the mean of the ranked places."""
    peak = int(values[: len(PEAKS)].argmax())
    level = values[peak + np.array(RANKED)].mean()
    found: list[float] = ((values[peak : peak + 81] - level) / (values[peak] - level)).tolist()
    return found


def measured(loaded: Loaded, texts: list[np.ndarray]) -> dict[str, Any]:
    """The record: by text and head ``[T][L][H]``, by layer and plane, and of the kernels."""
    config = loaded.config
    frequencies = config.posenc[0].frequencies_for(config.dims)
    layers, heads, planes = config.model.num_layers, config.model.num_heads, len(frequencies)
    shape = len(texts), layers, heads
    norms, parts, by_place = np.zeros((*shape, planes)), np.zeros((*shape, planes)), np.zeros((*shape, FROM))
    means = np.zeros((2, *shape, planes), complex)
    read = reader(loaded)
    for t, tokens in enumerate(texts):
        for layer, of_layer in enumerate(read(tokens)):
            for h, head in enumerate(of_layer):
                sizes = np.abs(head.queries).mean(0) * np.abs(head.keys[1:]).mean(0)
                norms[t, layer, h] = sizes / sizes.sum()
                parts[t, layer, h] = variance_parts(contributions(head, frequencies))
                by_place[t, layer, h] = by_distance(head.weights)
                means[:, t, layer, h] = head.queries.mean(0), head.keys[1:].mean(0)
        print(f"text {t + 1} of {len(texts)}", flush=True)
    mean_q, mean_k = means.mean(1).reshape(2, layers * heads, planes)
    kernels = [kernel(q, k, frequencies, np.arange(200)) for q, k in zip(mean_q, mean_k)]
    aliases = [alias(values) for values in kernels]
    at, every = np.array([own["peak"] for own in aliases]), np.arange(layers * heads)
    around, quarter = by_place.reshape(len(texts), -1, FROM), planes // 4
    weight = by_place[..., list(PLACES)].max(-1)
    most = positional(weight)
    return short(
        {
            "note": config.note,
            "texts": len(texts),
            "length": LENGTH,
            "norms": norms.mean((0, 2)).tolist(),
            "parts": parts.mean((0, 2)).tolist(),
            "positional_parts": parts.mean(0).reshape(-1, planes)[most].tolist(),
            "place": (1 + by_place.mean(0)[..., list(PLACES)].argmax(-1)).tolist(),
            "weight": weight.tolist(),
            "low_norms": norms[..., planes // 2 :].sum(-1).mean((1, 2)).tolist(),
            "fast": parts[..., :quarter].sum(-1).tolist(),
            "slow": parts[..., -quarter:].sum(-1).tolist(),
            "aliases": {name: [own[name] for own in aliases] for name in aliases[0]},
            "kernels": {
                "equal parts": levelled(kernel(np.ones(planes), np.ones(planes), frequencies, np.arange(200))),
                **{f"layer {own // heads}, head {own % heads}": levelled(kernels[own]) for own in most[:3]},
            },
            "at_alias": around[:, every, at + ALIAS].tolist(),
            "around_alias": ((around[:, every, at + ALIAS - HALF] + around[:, every, at + ALIAS + HALF]) / 2).tolist(),
        }
    )


def positional(weight: Any) -> list[int]:
    """The numbers of the tenth of the heads with the most weight on one place, from ``[T][L][H]``, most first."""
    means = np.mean(weight, 0).ravel()
    return np.argsort(-means, kind="stable")[: len(means) // 10].tolist()


def judged(found: dict[str, Any], costs: np.ndarray) -> list[dict[str, Any]]:
    """Each of `DIRECTIONS` with its mean over texts, the interval and a word; ``costs [L]`` are those of layers whose
    rotation is turned off.
    """
    most = positional(found["weight"])
    fast, slow = (np.array(found[name]).reshape(found["texts"], -1) for name in ("fast", "slow"))
    of_layers = np.array(found["fast"]).mean(-1)
    others = np.setdiff1d(np.arange(fast.shape[1]), most)
    numbers = {
        "low_norms": 2 * np.array(found["low_norms"]) - 1,
        "positional_fast": fast[:, most].mean(1) - fast[:, others].mean(1),
        "other_slow": slow[:, others].mean(1) - slow[:, most].mean(1),
        "costly_fast": np.array([scipy.stats.spearmanr(own, costs).statistic for own in of_layers]),
    }
    rows = []
    for one in DIRECTIONS:
        interval = mean_interval(numbers[one.number].tolist())
        mean, low, high = interval.mean, interval.low, interval.high
        word = "no difference seen" if low <= 0 <= high else "as expected" if low > 0 else "the other way"
        rows.append({**one._asdict(), "mean": mean, "low": low, "high": high, "word": word})
    return rows


def of_groups(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Of positional heads, the others and all: what becomes of 63."""
    most, own = positional(found["weight"]), {name: np.array(values) for name, values in found["aliases"].items()}
    every = np.arange(len(own["rank"]))
    there, around = np.array(found["at_alias"]), np.array(found["around_alias"])
    rows = []
    for name, group in (("positional", most), ("other", np.setdiff1d(every, most)), ("all", every)):
        bumps = int((own["rank"][group] <= FIRST).sum())
        more = mean_interval((there - around)[:, group].mean(1).tolist())
        chance = scipy.stats.binom(len(group), FIRST / len(RANKED))
        rows.append(
            {
                "group": name,
                "heads": len(group),
                "bumps": bumps,
                "by_chance": float(chance.mean()),
                "seen_from": int(chance.isf(0.025)) + 1,
                "taken": int(own["taken"][group].sum()),
                "height": float(np.median(own["height"][group])),
                "weight": float(there[:, group].mean()),
                "difference": (more.mean, more.low, more.high),
            }
        )
    return rows


def page(found: dict[str, Any], costs: np.ndarray) -> str:
    """Directions, quarters of the planes, the most positional heads, and what becomes of 63."""
    claims = [
        [one["claim"], one["source"], f"{one['mean']:+.3f} [{one['low']:.3f}, {one['high']:.3f}]", one["word"]]
        for one in judged(found, costs)
    ]
    lines = [grid(["expected", "by", "number [95 %]", "here"], "llrl", claims), ""]
    parts = {name: np.mean(found[name], 0).reshape(4, -1) for name in ("norms", "parts", "positional_parts")}
    quarters = [
        [f"{own} to {own + len(parts['norms'][0]) - 1}", *(f"{values[part].sum():.3f}" for values in parts.values())]
        for part, own in enumerate(range(0, parts["norms"].size, len(parts["norms"][0])))
    ]
    titles = ["planes", "of the norms", "of the variance of logits", "the same, positional heads"]
    lines += [grid(titles, "lrrr", quarters), ""]
    heads, aliases = len(found["place"][0]), found["aliases"]
    weight, fast = (np.mean(found[name], 0).ravel() for name in ("weight", "fast"))
    rows = [
        [
            f"{number // heads}, {number % heads}",
            f"{weight[number]:.2f} at {found['place'][number // heads][number % heads]}",
            f"{fast[number]:.2f}",
            f"{aliases['peak'][number]}",
            f"{aliases['rank'][number]}",
            f"{aliases['height'][number]:.2f}",
        ]
        for number in positional(found["weight"])[:12]
    ]
    titles = ["layer, head", "weight on one place", "variance of the fastest quarter", "peak of the kernel"]
    lines += [grid([*titles, "rank of 63 of 117", "height of 63"], "lrrrrr", rows), ""]
    rows = [
        [
            one["group"],
            f"{one['heads']}",
            f"{one['bumps']} ({one['by_chance']:.1f}; from {one['seen_from']} on)",
            f"{one['taken']}",
            f"{one['height']:.2f}",
            f"{one['weight']:.5f}",
            "{:+.5f} [{:.5f}, {:.5f}]".format(*one["difference"]),
        ]
        for one in of_groups(found)
    ]
    titles = ["heads", "number", f"63 among the first {FIRST} (by chance; seen)", "take 68 for 5"]
    titles += ["median height of 63", "weight at 63", "minus around it [95 %]"]
    lines += [grid(titles, "lrrrrrr", rows), ""]
    return "\n".join(lines)


def picture(found: dict[str, Any]) -> HeatMap:
    """Layers and planes, by norms and by the variance of logits, and the twelve most positional heads."""
    heads, shown = len(found["place"][0]), positional(found["weight"])[:12]
    norms, parts, own = (np.array(found[name]) for name in ("norms", "parts", "positional_parts"))
    layers, planes = norms.shape
    every = tuple(str(layer) if layer % 5 == 0 else "" for layer in range(layers))
    return HeatMap(
        slug="planes",
        title="Planes of RoPE in the heads of SmolLM2-135M",
        x=Axis("plane, from fast to slow", names=tuple(str(p) if p % 8 == 0 else "" for p in range(planes))),
        y=Axis("layer, or layer and head"),
        z_title="part",
        panels=(
            ("norms", norms),
            ("variance of logits", parts),
            ("of it, positional heads", own[:12]),
        ),
        rows=(every, every, tuple(f"{number // heads}, {number % heads}" for number in shown)),
        low=0.0,
        high=float(np.quantile(np.concatenate([norms, parts, own[:12]]), 0.99)),
        columns=3,
    )


def kernels_picture(found: dict[str, Any]) -> Lines:
    """The kernel of equal parts, and those of the three most positional heads, by places behind their peaks."""
    own = styles(("kernel",))["kernel"]
    places = np.arange(81)
    return Lines(
        slug="kernels",
        title="Kernels of heads behind their peaks",
        x=Axis("places behind the peak", 0, 80, ticks=(0, 19, 44, 63), names=("0", "19", "44", "63")),
        y=Axis("", -1, 1),
        lines=tuple(
            PlotLine(name="kernel", x=places, y=np.array(values), style=own, panel=name)
            for name, values in found["kernels"].items()
        ),
    )


def costs_of_layers() -> np.ndarray:
    """What each layer's rotation is worth, from the record of `surgery`."""
    own = {name: np.mean(values) for name, values in json.loads(RECORD_OF_LAYERS.read_text())["losses"].items()}
    whole = own["all layers rotate"]
    return np.array([cost - whole for name, cost in own.items() if name.startswith("layer ")])


def main(run: str) -> None:
    """Measures, keeps the record, and fills the page."""
    loaded = load_run(run)
    found = measured(loaded, of_corpus(loaded.tokenizer, LENGTH, TEXTS))
    RECORD.write_text(json.dumps(found) + "\n")
    found = json.loads(RECORD.read_text())
    for path, plot in zip(PICTURES, (picture(found), kernels_picture(found))):
        path.write_bytes(render(plot, ("png",))["png"])
    README.write_text(refilled(README.read_text(), BEGIN, page(found, costs_of_layers()), END))


if __name__ == "__main__":
    main(sys.argv[1])
