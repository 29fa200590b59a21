"""An example engine in NumPy that runs the golden sequences call by call, with a cache, as engines do.

    python reference.py > outputs.json      then: python check.py outputs.json

It shares no code with what made the golden values: its formulas are those of the papers, named at each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
Record = dict[str, Any]


class Side(NamedTuple):
    """Tokens as attention sees them: positions ``[B, S]`` or ``[B, S, 3]``, slots ``[S]``, segments ``[B, S]``."""

    positions: Array
    slots: Array
    segments: Array


def parameters(shapes: dict[str, list[int]]) -> dict[str, Array]:
    """Number n (C order) of array j, both counted from 0, is ((37 n + 11 j) mod 101 - 50) / 50."""
    return {
        name: (((37 * np.arange(np.prod(shape)) + 11 * j) % 101 - 50) / 50).reshape(shape)
        for j, (name, shape) in enumerate(shapes.items())
    }


class Engine:
    """Runs one scenario: `run` gives its arrays by name."""

    def __init__(self, model: Record, inputs: Record):
        self.model, self.inputs = model, inputs
        self.weights = parameters(model["parameters"])
        self.tokens, self.segments = np.array(inputs["tokens"]), np.array(inputs["segments"])
        self.prompt = self.prompt_positions()
        self.cache: dict[str, tuple[Array, Array]] = {}
        self.seen = np.zeros((len(self.tokens), 0, *self.prompt.shape[2:]), int)
        self.found: dict[str, list[Array]] = {}

    def run(self) -> Record:
        """All calls, one after the other."""
        memory = self.encoded() if "source" in self.inputs else None
        for first, last in self.inputs["calls"]:
            self.call(first, last, memory)
        width = self.tokens.shape[1]
        arrays = {}
        for name, parts in self.found.items():
            if name.startswith("layer") and name.endswith(
                (".mask", ".bias", ".logits")
            ):  # calls see more and more keys
                hidden = 0 if name.endswith(".mask") else np.nan
                parts = [
                    np.pad(a, [*[(0, 0)] * (a.ndim - 1), (0, width - a.shape[-1])], constant_values=hidden)
                    for a in parts
                ]
            heads = parts[0].ndim == 4
            arrays[name] = np.concatenate(parts, axis=2 if heads else 1) if len(parts) > 1 else parts[0]
        return arrays

    def call(self, first: int, last: int, memory: tuple[Array, Side] | None) -> None:
        """A forward pass of the slots ``first .. last - 1``."""
        positions = self.positions(first, last)
        segments = self.segments[:, :last]
        self.seen = np.concatenate([self.seen, positions], axis=1)
        queries = Side(positions, np.arange(first, last), segments[:, first:])
        keys = Side(self.seen, np.arange(last), segments)
        x = self.embedded(self.tokens[:, first:last], positions)
        for number, layer in enumerate(self.model["layers"]):
            x = x + self.attention(f"layer{number}", layer, x, x, queries, keys, causal=True)
            if memory is not None:
                x = x + self.attention(f"cross{number}", layer["cross"], x, memory[0], queries, memory[1], causal=False)
        logits = x @ self.weights["embedding"].T
        self.keep("positions", positions, queries.segments)
        self.keep("logits", logits, queries.segments)
        self.keep("tokens", logits.argmax(-1), queries.segments)

    def encoded(self) -> tuple[Array, Side]:
        """The encoder's output, and where its tokens are."""
        tokens, segments = (np.array(self.inputs[name]) for name in ("source", "source_segments"))
        slots = np.arange(tokens.shape[1])
        side = Side(np.broadcast_to(slots, tokens.shape), slots, segments)
        x = self.weights["embedding"][tokens]
        for number, layer in enumerate(self.model["encoder_layers"]):
            x = x + self.attention(f"encoder{number}", layer, x, x, side, side, causal=False)
        return x, side

    # Positions.

    def prompt_positions(self) -> Array:
        """Positions of the prompt: counted in each segment, from the first position; padding counts nothing.

        With images (Wang et al. 2024, section 2.1) time, row and column: a text token has one number three times, the
        next after all before it; an image begins there, and counts along its axes.
        """
        rows = []
        for row, segments in enumerate(self.segments[:, : self.inputs["prompt"]]):
            images = {slot: extent for slot, *extent in self.inputs["images"][row]} if "images" in self.inputs else {}
            following: dict[int, int] = {}
            positions: list[Any] = []
            while len(positions) < len(segments):
                slot, segment = len(positions), int(segments[len(positions)])
                start = following.get(segment, self.inputs.get("first_position", 0))
                extent = images.get(slot, (1, 1, 1))
                cells = [(start + t, start + i, start + j) for t, i, j in np.ndindex(*extent)]
                positions += cells if segment else [(0, 0, 0)]
                following[segment] = start + max(extent)
            rows.append(positions)
        found = np.array(rows)
        return found if "images" in self.inputs else found[..., 0]

    def delta(self) -> Array:
        """``[B]``: the position of a decoded token minus its slot, the same for all of them."""
        return self.prompt.reshape(len(self.prompt), -1).max(axis=1) + 1 - self.prompt.shape[1]

    def positions(self, first: int, last: int) -> Array:
        """Positions of a call: of the prompt, or decoded after it."""
        if last <= self.prompt.shape[1]:
            return self.prompt[:, first:last]
        steps = np.arange(first, last) + self.delta()[:, None]
        return np.repeat(steps[..., None], 3, axis=-1) if self.prompt.ndim == 3 else steps

    def embedded(self, tokens: Array, positions: Array) -> Array:
        """Embeddings, plus a learned table (Gehring et al. 2017) or sinusoids (Vaswani et al. 2017, section 3.5)."""
        x = self.weights["embedding"][tokens]
        if self.model["absolute"] == "learned":
            return x + self.weights["positions"][positions]
        if self.model["absolute"] == "sinusoidal":
            angles = positions[..., None] / 10000 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
            return x + np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(x.shape)
        return x

    # Attention.

    def attention(
        self, name: str, layer: Record, x: Array, source: Array, queries: Side, keys: Side, causal: bool
    ) -> Array:
        """Grouped-query attention; keys are rotated once, and kept so."""
        model, cross = self.model, name.startswith("cross")
        q = self.heads(x @ self.weights[f"{name}.query"], model["heads"])
        rope = layer.get("rope")
        if rope:
            self.found[f"{name}.frequencies"] = [self.frequencies(rope)]
            self.found[f"{name}.factor"] = [np.array(self.factor(rope))]
        self.keep(f"{name}.q", q, queries.segments)
        if not (cross and name in self.cache):
            k, v = (self.heads(source @ self.weights[f"{name}.{part}"], model["kv_heads"]) for part in ("key", "value"))
            new = keys._replace(positions=keys.positions[:, -k.shape[2] :], segments=keys.segments[:, -k.shape[2] :])
            self.keep(f"{name}.k", k, new.segments)
            if rope:
                k = self.rotated(k, new.positions, rope)
                self.keep(f"{name}.k_encoded", k, new.segments)
            old = self.cache.get(name, (k[:, :, :0], v[:, :, :0]))
            self.cache[name] = (np.concatenate([old[0], k], axis=2), np.concatenate([old[1], v], axis=2))
        if rope:
            q = self.rotated(q, queries.positions, rope)
            self.keep(f"{name}.q_encoded", q, queries.segments)
        k, v = map(self.for_all_heads, self.cache[name])
        mask = self.mask(layer, queries, keys, causal)
        self.keep(f"{name}.mask", mask[:, 0], queries.segments)
        logits = np.einsum("bhqd,bhkd->bhqk", q, k) * layer.get("scale", q.shape[-1] ** -0.5)
        bias = self.bias(name, layer, queries, keys)
        if bias is not None:
            logits = logits + bias
            self.keep(f"{name}.bias", np.where(mask, bias, np.nan))
        self.keep(f"{name}.logits", np.where(mask, logits, np.nan))
        weights = np.where(mask, np.exp(logits), 0)
        weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)  # padding sees nothing
        out = np.einsum("bhqk,bhkd->bqhd", weights, v)
        return out.reshape(*out.shape[:2], -1) @ self.weights[f"{name}.output"]

    def heads(self, x: Array, number: int) -> Array:
        """``[B, H, S, D]``."""
        return x.reshape(*x.shape[:2], number, -1).swapaxes(1, 2)

    def for_all_heads(self, x: Array) -> Array:
        """Keys or values for each query head: head h reads key head h // (H / Hkv)."""
        return np.repeat(x, self.model["heads"] // self.model["kv_heads"], axis=1)

    def mask(self, layer: Record, queries: Side, keys: Side, causal: bool) -> Array:
        """``[B, 1, Q, K]``: within a segment, no padding, no future, at most window - 1 slots back."""
        seen = (keys.segments[:, None, :] == queries.segments[:, :, None]) & (keys.segments > 0)[:, None, :]
        if causal:
            back = queries.slots[:, None] - keys.slots
            seen = seen & (back >= 0) & (back < (layer.get("window") or np.inf))
        return seen[:, None]

    def frequencies(self, rope: Record) -> Array:
        """Radians per position of each plane (Su et al. 2021), spread over the rotated dimensions; proportional: the
        slower planes stand still; YaRN (Peng et al. 2023, with the ramp of the authors' code).
        """
        r, base = rope["dims"], rope["base"]
        plain = np.array([base ** (-2 * k / r) for k in range(r // 2)])
        if "turning" in rope:
            plain[int(rope["turning"] * r) // 2 :] = 0
        if "yarn" in rope:
            yarn = rope["yarn"]
            low, high = (
                r * np.log(yarn["original_length"] / (2 * np.pi * turns)) / (2 * np.log(base))
                for turns in (yarn["beta_fast"], yarn["beta_slow"])
            )
            low, high = max(np.floor(low), 0), min(np.ceil(high), r - 1)
            ramp = np.clip((np.arange(r // 2) - low) / (high - low), 0, 1)
            plain = plain / yarn["factor"] * ramp + plain * (1 - ramp)
        return plain

    def factor(self, rope: Record) -> float:
        """The factor of cosine and sine (YaRN's attention factor)."""
        return 0.1 * np.log(rope["yarn"]["factor"]) + 1 if "yarn" in rope else 1.0

    def rotated(self, x: Array, positions: Array, rope: Record) -> Array:
        """``x [B, H, S, D]``, its first dimensions turned in planes (2k, 2k+1), or in (k, k + r/2): "half"."""
        if "sections" in rope:  # M-RoPE: planes are dealt out to time, row and column, in blocks
            axes = np.repeat(np.arange(3), rope["sections"])
            positions = positions[..., axes]
        else:
            positions = positions[..., None]
        angles = (positions * self.frequencies(rope))[:, None]
        cos, sin = self.factor(rope) * np.cos(angles), self.factor(rope) * np.sin(angles)
        r, out = rope["dims"], x.copy()
        half = rope["lanes"] == "half"
        first, second = (slice(0, r // 2), slice(r // 2, r)) if half else (slice(0, r, 2), slice(1, r, 2))
        a, b = x[..., first], x[..., second]
        out[..., first], out[..., second] = a * cos - b * sin, a * sin + b * cos
        return out

    def bias(self, name: str, layer: Record, queries: Side, keys: Side) -> Array | None:
        """``[B, H, Q, K]``, added to the scaled logits."""
        relative = keys.positions[:, None, :] - queries.positions[:, :, None]
        if "t5" in layer:
            table = self.weights["decoder.t5" if name.startswith("layer") else "encoder.t5"]
            return table[:, self.buckets(relative, **layer["t5"])].swapaxes(0, 1)
        if layer.get("alibi"):
            return -self.slopes(self.model["heads"])[None, :, None, None] * np.abs(relative)[:, None]
        return None

    def buckets(self, relative: Array, buckets: int, max_distance: int, bidirectional: bool) -> Array:
        """T5 (Raffel et al. 2020, section 2.1): small distances one by one, larger ones by their logarithm."""
        side = buckets // 2 if bidirectional else buckets
        distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
        exact = side // 2
        far = np.log(np.maximum(distance, 1) / exact) / np.log(max_distance / exact) * (side - exact)
        bucket = np.where(distance < exact, distance, np.minimum(exact + np.floor(far), side - 1)).astype(int)
        return bucket + side * ((relative > 0) & bidirectional)

    def slopes(self, heads: int) -> Array:
        """ALiBi (Press et al. 2021, section 3); between powers of two as in the authors' code."""
        power = 2 ** int(np.log2(heads))
        between = [2.0 ** (-4 * h / power) for h in range(1, 2 * power, 2)]
        return np.array([2.0 ** (-8 * h / power) for h in range(1, power + 1)] + between[: heads - power])

    def keep(self, name: str, array: Array, segments: Array | None = None) -> None:
        """Adds a call's part of an array; padding becomes NaN."""
        if segments is not None:
            real = segments[:, None] > 0 if array.ndim == 4 else segments > 0
            array = np.where(real[..., None] if array.ndim > 2 else real, array, np.nan)
        self.found.setdefault(name, []).append(array)


def listed(array: Array) -> Any:
    """Nested lists, None for NaN."""
    values = array.astype(object)
    values[np.isnan(array)] = None
    return values.tolist()


def main() -> None:
    """Prints the arrays of all scenarios."""
    scenarios = json.loads(Path(__file__).with_name("sequences-v1.json").read_text(encoding="utf-8"))["scenarios"]
    outputs = {own["name"]: Engine(own["model"], own["inputs"]).run() for own in scenarios}
    print(json.dumps({name: {key: listed(a) for key, a in own.items()} for name, own in outputs.items()}))


if __name__ == "__main__":
    main()
