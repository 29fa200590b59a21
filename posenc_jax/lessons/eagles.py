"""Embedding plus encoding for two words of "Eagles soar above the clouds during migration .": is their cosine lower?"""

import math

import numpy as np

from posenc_jax.analysis.kernels import kernel
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, vaswani_frequencies
from posenc_jax.lessons.doubled import doubled_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table, vector

SENTENCE = "Eagles soar above the clouds during migration ."
FIRST, SECOND = 1, 6  # "soar" and "migration"
DRAWS = 4000
SOAR, PRINTED = {0: 0.12, 1: -0.48, 2: 0.85, 511: -0.03}, (0.95, -0.87, 1.82, 0.45)  # of the article
COSINES = (-1.0, -0.5, 0.0, 0.5, 0.6, 0.65, 0.7, 0.74, 0.75, 0.8, 0.85, 0.9, 0.99, 1.0)


def encodings(d_model: int) -> np.ndarray:
    """``[2, d_model]``: the vectors of positions 1 and 6."""
    return np.asarray(sinusoidal(np.array([FIRST, SECOND]), d_model, dtype=np.float64))


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine of vectors along the last axis."""
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def standard_deviations(d_model: int) -> dict[str, float]:
    """Standard deviations of an embedding's entries, by name."""
    return {
        "0.02 (a usual initialisation)": 0.02,
        "1/sqrt(d): norm 1": d_model**-0.5,
        "1: norm sqrt(d), as in the paper": 1.0,
    }


def independent(d_model: int, sd: float, rng: np.random.Generator, draws: int = DRAWS) -> np.ndarray:
    """``[2, draws, d_model]``: pairs of independent Gaussian embeddings."""
    return sd * rng.normal(size=(2, draws, d_model))


def with_cosine(d_model: int, sd: float, c: float, rng: np.random.Generator, draws: int = DRAWS) -> np.ndarray:
    """``[2, draws, d_model]``: Gaussian embeddings and others of the same norms, at cosine c to them exactly."""
    a, other = sd * rng.normal(size=(2, draws, d_model))
    norm = np.linalg.norm(a, axis=-1, keepdims=True)
    other -= a * (a * other).sum(-1, keepdims=True) / norm**2
    return np.stack([a, c * a + math.sqrt(1 - c**2) * norm * other / np.linalg.norm(other, axis=-1, keepdims=True)])


def change(a: np.ndarray, b: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``cos(a + p, b + q) - cos(a, b)``."""
    return cosine(a + p, b + q) - cosine(a, b)


def margin(a: np.ndarray, b: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Negative exactly where the cosine falls: ``R^2 K + cross terms - c (|a+p| |b+q| - |a| |b|)``."""
    sizes, sums = (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1) for x, y in ((a, b), (a + p, b + q)))
    return p @ q + a @ q + b @ p - cosine(a, b) * (sums - sizes)


def threshold(k: float, first: float, second: float, r: float) -> float:
    """The cosine of embeddings of these norms above which it falls, cross terms aside."""
    return k * r**2 / (math.hypot(first, r) * math.hypot(second, r) - first * second)


def predicted_share(k: float, d_model: int, sd: float) -> float:
    """Share of independent Gaussian pairs whose cosine falls: ``Phi(-K sqrt(d / (1 + 4 sd^2)))``, for large d."""
    return 0.5 * math.erfc(k * math.sqrt(d_model / (1 + 4 * sd**2)) / math.sqrt(2))


def offset_kernel(d_model: int, offset: int = SECOND - FIRST) -> float:
    """The cosine of two encodings at this offset."""
    return float(kernel(vaswani_frequencies(d_model), np.array(offset)))


def independent_rows() -> list[tuple]:
    """``(d_model, K, embeddings, mean cosine before, after, share that fell, predicted share)``."""
    found = []
    for d_model in (8, 64, 512):
        k, (p, q) = offset_kernel(d_model), encodings(d_model)
        drawn: list[tuple[str, np.ndarray, float | None]] = [
            (name, independent(d_model, sd, np.random.default_rng(0)), predicted_share(k, d_model, sd))
            for name, sd in standard_deviations(d_model).items()
        ]
        drawn.append(("uniform in [0, 1)", np.random.default_rng(0).uniform(size=(2, DRAWS, d_model)), None))
        for name, (a, b), predicted in drawn:
            before, changed = cosine(a, b), change(a, b, p, q)
            fell = float((changed < 0).mean())
            found.append((d_model, k, name, before.mean(), (before + changed).mean(), fell, predicted))
    return found


def cosine_rows(d_model: int = 512, draws: int = 1000) -> list[tuple]:
    """``(cosine of the embeddings, share that fell for each standard deviation ...)``."""
    p, q = encodings(d_model)

    def fell(c: float, sd: float) -> float:
        a, b = with_cosine(d_model, sd, c, np.random.default_rng(1), draws)
        return float((change(a, b, p, q) < 0).mean())

    return [(c, *(fell(c, sd) for sd in standard_deviations(d_model).values())) for c in COSINES]


def example(d_model: int, seed: int) -> tuple[np.ndarray, ...]:
    """Embeddings of both words, drawn with unit variance, and the encodings of their positions."""
    return (*np.random.default_rng(seed).normal(size=(2, d_model)), *encodings(d_model))


def special_rows(d_model: int = 512, draws: int = 1000) -> list[tuple]:
    """``(pair of embeddings, mean cosine before, after, share that fell)`` for unit variance."""
    p, q = encodings(d_model)

    def of(name: str, a: np.ndarray, b: np.ndarray) -> tuple:
        before, changed = cosine(a, b), change(a, b, p, q)
        return name, before.mean(), (before + changed).mean(), float((changed < 0).mean())

    rng = np.random.default_rng(2)
    a, noise = independent(d_model, 1.0, rng, draws)
    return [
        of("the same word twice", a, a),
        of("near-identical: b = a + 0.1 noise", a, a + 0.1 * noise),
        of("orthogonal", *with_cosine(d_model, 1.0, 0.0, rng, draws)),
        of("anti-parallel: b = -a", a, -a),
    ]


def unequal_rows(d_model: int = 512, draws: int = 1000) -> list[tuple]:
    """``(sd of a, sd of b, predicted threshold, share that fell at 0.1 below it, at 0.1 above it)``."""
    (p, q), r, found = encodings(d_model), math.sqrt(d_model / 2), []
    for first, second in ((1.0, 1.0), (0.5, 2.0), (0.25, 4.0)):
        c = threshold(offset_kernel(d_model), first * math.sqrt(d_model), second * math.sqrt(d_model), r)
        shares = []
        for target in (c - 0.1, c + 0.1):
            a, b = with_cosine(d_model, 1.0, target, np.random.default_rng(3), draws)
            shares.append(float((change(first * a, second * b, p, q) < 0).mean()))
        found.append((first, second, c, *shares))
    return found


def worked(d_model: int, seed: int) -> str:
    """The vectors of the first dimensions and their cosines."""
    a, b, p, q = example(d_model, seed)
    parts = (("embedding", a, b), ("encoding", p, q), ("sum", a + p, b + q))
    blocks = []
    for place, word in ((0, f"soar, position {FIRST}"), (1, f"migration, position {SECOND}")):
        lines = [f"{name:10}{vector(pair[place][:8])}{' ...' if d_model > 8 else ''}" for name, *pair in parts]
        blocks.append("\n".join([word, *lines]))
    text = "\n\n".join(blocks)
    cosines = [number(cosine(*pair)) for _, *pair in parts]
    return f"""```
{text}

cosine of the embeddings {cosines[0]}, of the encodings {cosines[1]}, of the sums {cosines[2]}
```"""


def _body() -> str:
    words, k, k_8 = SENTENCE.split(), offset_kernel(512), offset_kernel(8)
    by_embedding = [
        (d, number(k, 3), name, number(before, 3), number(after, 3), number(fell, 3), _share(share))
        for d, k, name, before, after, fell, share in independent_rows()
    ]
    by_cosine = [(number(c, 2), *(number(share, 3) for share in shares)) for c, *shares in cosine_rows()]
    special = [(name, *(number(value, 3) for value in values)) for name, *values in special_rows()]
    unequal = [(first, second, *(number(value, 3) for value in values)) for first, second, *values in unequal_rows()]
    offsets = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
    falling = [("d = 512", *(number(offset_kernel(512, o), 3) for o in offsets))]
    falling += [("d = 8", *(number(offset_kernel(8, o), 3) for o in offsets))]
    impossible = [
        (i, number(a, 2), number(p), number(s), number(printed, 2)) for i, a, p, s, printed in impossible_rows()
    ]
    wrong = kernel(doubled_frequencies(512), np.array(SECOND - FIRST))
    negative = int(np.flatnonzero(kernel(vaswani_frequencies(512), np.arange(5000)) < 0)[0])
    return f"""\
This lesson shows the embeddings, the encodings and the sums of two words, "soar" and "migration", and tests the claim
that adding positions makes two words less alike, that is, lowers their cosine.

{table(["position", *range(len(words))], [["token", *words]])}

## 1. With d_model = 8, all dimensions
Embeddings are drawn from a normal distribution with variance 1 (there is no trained model here).

{worked(8, 1)}

The cosine rises.

## 2. With d_model = 512, the first 8 dimensions

{worked(512, 1)}

It rises again. Two words drawn independently are nearly orthogonal, but the encodings of positions {FIRST} and
{SECOND} are not: they nearly agree in most dimensions, those that hardly move in {SECOND - FIRST} steps. What both sums
share makes them alike.

## 3. The numbers of the article
The article gives four entries of the embedding of "soar" and, after adding its encoding, four entries of the result.
The actual sum, beside the printed one:

{table(["dimension", "embedding", "encoding of 1", "sum", "printed"], impossible)}

The printed values cannot be right: position 1 adds sin(1) and cos(1) to the first pair of dimensions at every width,
and nearly 1 to the last cosine. (They are called simplified; they do not come from this sum.) And the article's
[loop with a doubled exponent](lesson:doubled) gives positions 1 and 6 a cosine of {number(wrong, 3)} instead of
{number(k, 3)}, so with its code, words would have to be more alike for their cosine to fall
than with its formula.

## 4. When does the cosine fall?
Let a and b be embeddings with cosine c, and p and q encodings of norm R = sqrt(d/2) with cosine K, which is the kernel
at their offset. Then

    (a + p).(b + q) = |a| |b| c + R^2 K + x,        x = a.q + p.b

so that cos(a + p, b + q) < c exactly if

    R^2 K + x < c (|a + p| |b + q| - |a| |b|)

Without the cross terms (they are sums of d products of both signs; x/d falls like 1/sqrt(d)), |a + p|^2 is |a|^2 +
R^2, and so:

- For equal norms n, the new cosine is (n^2 c + R^2 K) / (n^2 + R^2), a weighted mean of c and K. It falls if
  **K(offset) < c**, and only then. The size of the embeddings decides how far it moves, not which way.
- For other norms, it falls if c > K R^2 / (sqrt(|a|^2 + R^2) sqrt(|b|^2 + R^2) - |a| |b|), which is less than K for
  positive K.
- For c = 1 (the same word twice) it falls, and for c = -1 it rises, whatever the cross terms, as no cosine lies beyond
  1 and -1.

For independent Gaussian embeddings of standard deviation s, c and x are normal in the limit of large d, and the share
of pairs whose cosine falls is Phi(-K sqrt(d / (1 + 4 s^2))).

## 5. Independent embeddings
{DRAWS} pairs at positions {FIRST} and {SECOND}: the mean cosine before and after, the share of pairs whose cosine fell,
and the share that the formula predicts.

{table(["d", "K(5)", "standard deviation s", "before", "after", "fell", "formula"], by_embedding)}

It rises for nearly all pairs. Only when d is as small as in a worked example does it fall by chance for one pair in six
at s = 1. Embeddings that are all positive are already alike (cosine 3/4); they have a nonzero mean, the encodings have
one too (slow cosines near 1), so their cross terms add up.

## 6. Embeddings of a given cosine, d = 512
At each cosine, the share of 1000 pairs of equal norms whose cosine fell. The change of sign is at K(5) = {number(k)}:

{table(["cosine of the embeddings", "s = 0.02", "s = 1/sqrt(d)", "s = 1"], by_cosine)}

Special pairs, s = 1:

{table(["", "before", "after", "fell"], special)}

Pairs whose norms differ: the threshold from section 4, and the share that fell 0.1 below and 0.1 above it:

{table(["s of a", "s of b", "threshold", "fell 0.1 below", "fell 0.1 above"], unequal)}

## 7. How alike must two words be?
For their cosine to fall, two words of equal norm must (up to the cross terms) be more alike than the encodings at their
offset, K(offset):

{table(["offset", *offsets], falling)}

For unrelated words (c = 0), K must be negative, which at d = 512 first happens at offset {negative}.

## Verdict
Adding positions moves the cosine of two words towards the cosine of their positions. It falls for words that are more
alike than that: the same word twice, or near-identical embeddings. It rises for unrelated and for opposite words: with
equal norms and 5 positions apart, as in this sentence, whenever the words' cosine is below about {number(k, 2)}
(d = 512) or {number(k_8, 2)} (d = 8). As a general rule, the claim fails. How alike the words of a trained model are
depends on its embeddings; the condition is the same."""


def _share(share: float | None) -> str:
    return "" if share is None else number(share, 3)


def impossible_rows() -> list[tuple]:
    """``(dimension, soar's embedding in the article, encoding of position 1, their sum, the sum that it prints)``."""
    encoding = encodings(512)[0]
    return [(i, word, encoding[i], word + encoding[i], printed) for (i, word), printed in zip(SOAR.items(), PRINTED)]


def _answer() -> str:
    k = offset_kernel(512)
    a, b = with_cosine(512, 1.0, 0.9, np.random.default_rng(4), draws=1)
    p, q = encodings(512)
    before, after = (float(x[0]) for x in (cosine(a, b), cosine(a + p, b + q)))
    return f"""\
It falls, from {number(before, 2)} to about {number(after, 2)}, since 0.9 is above K(5) = {number(k, 2)}. With
norms of sqrt(512) for the words and sqrt(256) for the encodings, the new cosine is near
(2 x 0.9 + {number(k, 2)}) / 3 = {number((2 * 0.9 + k) / 3, 2)}: a weighted mean of both.
`posenc vectors sinusoidal --d-model 512 --text "{SENTENCE}"
--words soar migration` does this for words that you name, with embeddings other than those drawn here."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


soar, migration = np.random.default_rng(1).normal(size=(2, 512))  # embeddings as large as the paper's
one, six = sinusoidal(np.array([1, 6]), 512, dtype=np.float64)
print(f"{cosine(soar, migration):.3f} before, {cosine(soar + one, migration + six):.3f} after")
"""
LESSON = Lesson(
    name="eagles",
    title=f'"{SENTENCE}"',
    where="Herath's article: soar and migration, before and after adding positions",
    claim="Adding positions lowers the cosine of two words that are not neighbours.",
    verdict="holds under a condition",
    because="For words of equal norm, it falls if they are more alike than their positions, which at 1 and 6 have "
    "cosine 0.741; for unrelated words it rises.",
    code=CODE,
    body=_body,
    question="Two words with cosine 0.9 stand at positions 1 and 6, at d_model 512. Does their cosine rise or fall, "
    "and to what?",
    answer=_answer,
    seconds=4,
)
