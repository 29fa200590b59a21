"""Where in a document a summary comes from: in real descriptions, and in models whose documents are as lead-heavy.

    python -m experiments.corpora.make descriptions-summaries
    python -m experiments.summarization.sources     # writes sources.json, its part of the README and sources.png

First no model: in which fifth of a description stand the words that its synopsis has too. Then small models that are
trained to summarise: a document is five sentences, of which one is the point, in the place that the first part gives
and in half of the documents behind a mark; its three words are the summary. From which sentence does the model take the
first word, and which does it attend to then? What was expected: sources-directions.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from experiments.records import NAMED, short
from experiments.summarization.small import base
from posenc_jax import Optimizer, Transformer, parse
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.scoring import correct_tokens, smoothed_loss
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, prompted, translated
from posenc_jax.data.text.loading import open_split
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.drawing.paper import axes_of_lines, figure_of, written
from posenc_jax.drawing.style import COLORS
from posenc_jax.models import Slots, build
from posenc_jax.runs.environment import environment
from posenc_jax.statistics import mean_interval
from posenc_jax.training.optimizer import schedule

HERE = Path(__file__).parent
README, RECORD, FIGURE = HERE / "README.md", HERE / "sources.json", HERE / "sources.png"
BEGIN, END = "<!-- Sources: written by sources.py -->", "<!-- end of sources -->"
FIFTHS, WORDS, VOCABULARY = 5, 3, 32
PLAIN, MARK, FIRST = NUM_SPECIAL, NUM_SPECIAL + 1, NUM_SPECIAL + 2  # what a sentence begins with, and the first word
LENGTH = FIFTHS * (1 + WORDS)
SEEDS = (4, 5, 6, 7)
STEPS, BATCH, RATE, TESTED = 1200, 32, 2e-3, 512
MODEL = Transformer(d_model=64, num_layers=2, num_heads=4)
WARMED = Optimizer(schedule="cosine", warmup_steps=50)
LEAD, EQUAL = "as descriptions", "equally often"
CELLS = {
    "encoder-decoder, sinusoidal": ("encoder_decoder", "sinusoidal", LEAD),
    "encoder-decoder, none": ("encoder_decoder", "nope", LEAD),
    "decoder, sinusoidal": ("decoder_only", "sinusoidal", LEAD),
    "decoder, none": ("decoder_only", "nope", LEAD),
    "encoder-decoder, sinusoidal, points anywhere": ("encoder_decoder", "sinusoidal", EQUAL),
}
"""Model, positions of every stack, and where the point of a training document stands."""

SAID = {
    "every word": "all words",
    "copied": "words that the synopsis has too",
    "encoder-decoder, none": "encoder-decoder, no positions",
    "decoder, none": "decoder, no positions",
    "encoder-decoder, sinusoidal, points anywhere": "encoder-decoder, sinusoidal, trained on points in any fifth",
}
LOOKS = {
    "encoder-decoder, none": {"marker": "s", "linestyle": "--"},
    "decoder, none": {"marker": "s", "linestyle": "--"},
    "encoder-decoder, sinusoidal, points anywhere": {"marker": "x", "linestyle": ":"},
}
"""Words and marks of the picture."""
KINDS = {"every word": False, "copied": True}

Json = dict[str, Any]


def descriptions() -> Json:
    """Shares of the words of descriptions by fifth, and in the first of several paragraphs: of all words, and of those
    that the synopsis has too.

    Words are those in at most a twentieth of the descriptions. A word of a synopsis counts once, in equal parts at all
    places where the description has it.
    """
    found = re.compile(r"[a-z0-9][a-z0-9+-]*").findall
    rows = list(open_split(base.task, "train"))
    texts = [[found(part) for part in row["document"].lower().split("\n")] for row in rows]
    count = Counter(word for text in texts for word in {word for part in text for word in part})
    rare = {word for word, descriptions in count.items() if descriptions <= len(rows) / 20}
    asked, several = 0, 0
    fifths, leads = {True: np.zeros(FIFTHS), False: np.zeros(FIFTHS)}, {True: np.zeros(2), False: np.zeros(2)}
    for row, parts in zip(rows, texts):
        synopsis = {*found(row["summary"].lower())} & rare
        asked += len(synopsis)
        several += len(parts) > 1
        text, lead = [word for part in parts for word in part], len(parts[0])
        times = Counter(text)
        for place, word in enumerate(text):
            if word in rare:
                for copied in (False, True) if word in synopsis else (False,):
                    weight = 1 / times[word] if copied else 1
                    fifths[copied][place * FIFTHS // len(text)] += weight
                    leads[copied][int(place >= lead)] += weight * (len(parts) > 1)
    return {
        "descriptions": len(rows),
        "with several paragraphs": several,
        "words of synopses": asked,
        "share found in the description": fifths[True].sum() / asked,
        "by fifth": {name: (fifths[own] / fifths[own].sum()).tolist() for name, own in KINDS.items()},
        "in the first paragraph": {name: leads[own][0] / leads[own].sum() for name, own in KINDS.items()},
    }


def documents(key: jax.Array, kind: str, shares: Any, count: int, marked: float = 0.5) -> tuple[Any, jax.Array, Any]:
    """Documents with their summaries, the sentence ``[B]`` that is the point, and the words ``[B, 5, 3]``."""

    def one(key: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
        word_key, place_key, mark_key = jax.random.split(key, 3)
        words = FIRST + jax.random.permutation(word_key, VOCABULARY)[: FIFTHS * WORDS].reshape(FIFTHS, WORDS)
        place = jax.random.choice(place_key, FIFTHS, p=jnp.asarray(shares))
        mark = (jnp.arange(FIFTHS) == place) & jax.random.bernoulli(mark_key, marked)
        text = jnp.concatenate([jnp.where(mark, MARK, PLAIN)[:, None], words], axis=1).reshape(LENGTH)
        make = translated if kind == "encoder_decoder" else prompted
        return make(text, LENGTH, words[place], WORDS), place, words

    return jax.vmap(one)(jax.random.split(key, count))


def read(model: Any, example: Any) -> tuple[jax.Array, Any]:
    """Logits ``[B, WORDS + 1, V]`` of the summary and its end, and for each layer the attention ``[B, 5]`` to the
    sentences from where the first word is written, of 1 in all, in the mean over heads.
    """
    both = [] if example.decoder_inputs is None else [example.decoder_inputs]
    logits, captured = model(example.inputs, *both, capture=True)
    start = 0 if both else LENGTH + 1
    name = "cross_attention_weights" if both else "attention_weights"
    layers = jnp.stack([layer[name] for layer in captured["decoder"]["layers"]])  # [L, B, H, Q, K]
    weights = layers[..., start, 1 : LENGTH + 1].mean(axis=2)
    sentences = weights.reshape(*weights.shape[:2], FIFTHS, 1 + WORDS).sum(axis=-1)
    return logits[:, start : start + WORDS + 1], sentences / sentences.sum(axis=-1, keepdims=True)


def trained(kind: str, posenc: str, shares: Any) -> Any:
    """What trains a model from a seed and measures it."""
    slot = parse(posenc)
    slots = Slots(encoder=slot, decoder=slot) if kind == "encoder_decoder" else Slots(decoder=slot)
    sizes = dict(vocab_size=FIRST + VOCABULARY, num_classes=FIRST + VOCABULARY, max_len=LENGTH + WORDS + 2)
    factor = schedule(WARMED, STEPS)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lambda count: RATE * factor(count)))

    @jax.jit
    def measured(key: jax.Array) -> Any:
        model_key, posenc_key, train_key, *test_keys = jax.random.split(key, 5)
        graph, params = nnx.split(build(kind, MODEL, slots, **sizes, key=model_key, posenc_key=posenc_key))  # type: ignore[arg-type]

        def loss(params: Any, example: Any) -> jax.Array:
            both = [] if example.decoder_inputs is None else [example.decoder_inputs]
            logits = nnx.merge(graph, params)(example.inputs, *both)
            return smoothed_loss(logits, example, 0.0) / jnp.sum(example.weights)

        def step(carry: Any, number: jax.Array) -> tuple[Any, jax.Array]:
            params, state = carry
            example, _, _ = documents(jax.random.fold_in(train_key, number), kind, shares, BATCH)
            value, gradient = jax.value_and_grad(loss)(params, example)
            updates, state = optimizer.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), value

        (params, _), losses = jax.lax.scan(step, (params, optimizer.init(params)), jnp.arange(STEPS))
        model, found = nnx.merge(graph, params), {"loss": jnp.mean(losses[-50:])}
        for name, mark, test_key in zip(("plain", "marked"), (0.0, 1.0), test_keys):
            example, place, words = documents(test_key, kind, np.full(FIFTHS, 1 / FIFTHS), TESTED, mark)
            logits, attention = read(model, example)
            mass = jnp.take_along_axis(jax.nn.softmax(logits[:, :1]), words.reshape(TESTED, 1, -1), axis=-1)
            summary = words[jnp.arange(TESTED), place]
            right = jnp.all(correct_tokens(logits[:, :WORDS], summary), axis=-1)
            found[name] = (place, mass.reshape(words.shape).sum(axis=-1), attention, right)
        return found

    return measured


def of_seed(found: Any) -> Json:
    """The numbers of one training: without a mark by fifth, with one by the place of the point."""
    _, copied, attention, _ = found["plain"]
    place, marked, seen, right = found["marked"]
    at, point = [place == fifth for fifth in range(FIFTHS)], np.arange(len(place))
    numbers = {
        "loss": found["loss"],
        "copied": copied.mean(axis=0),
        "attention": attention.mean(axis=1),
        "marked, copied": [marked[point, place][own].mean() for own in at],
        "marked, attention": [[layer[point, place][own].mean() for own in at] for layer in seen],
        "marked, right": [right[own].mean() for own in at],
    }
    return {name: np.asarray(value, np.float64).tolist() for name, value in numbers.items()}


def measured(cells: Json, seeds: tuple[int, ...]) -> Json:
    """Everything, of ``cells`` as `CELLS`."""
    corpus = descriptions()
    places = {LEAD: corpus["by fifth"]["copied"], EQUAL: np.full(FIFTHS, 1 / FIFTHS)}
    models: Json = {}
    for label, (kind, posenc, where) in cells.items():
        train = trained(kind, posenc, places[where])
        models[label] = {}
        for seed in seeds:
            models[label][str(seed)] = of_seed(jax.tree.map(np.asarray, train(jax.random.key(seed))))
        print(label, [f"{own['loss']:.3f}" for own in models[label].values()], file=sys.stderr)
    kept = {name: value for name, value in environment().items() if name in NAMED}
    return {"corpus": corpus, "models": models, "environment": kept}


def shown(models: Json, label: str, name: str, *, layer: int | None = None) -> list[str]:
    """Means over the seeds by fifth, each with its 95 % interval; ``layer``: of attention."""
    seeds = [own[name] if layer is None else own[name][layer] for own in models[label].values()]
    found = [mean_interval(values, lower=0.0, upper=1.0) for values in zip(*seeds)]
    return [f"{one.mean:.2f}" + ("" if one.low is None else f" [{one.low:.2f}, {one.high:.2f}]") for one in found]


def page(found: Json) -> str:
    """The tables of the page."""
    corpus, models = found["corpus"], found["models"]
    ordinals = ["first fifth", "second", "third", "fourth", "last fifth"]
    words = [[name, *(f"{share:.3f}" for share in own)] for name, own in corpus["by fifth"].items()]
    parts = [
        f"{corpus['descriptions']:,} descriptions; {corpus['share found in the description']:.0%} of the words of "
        "their synopses stand in them, and there in",
        grid(["words of a description", *ordinals], "lrrrrr", words),
    ]
    for said, name, layer in (
        (
            "Models, documents without a mark: the sentence from which the first word of the summary is taken",
            "copied",
            None,
        ),
        ("The same: attention of the last layer where that word is written", "attention", -1),
        ("Documents with a mark, by the place of the point: its part of the attention", "marked, attention", -1),
        ("The same: share of summaries that are right to the last word", "marked, right", None),
    ):
        rows = [[label, *shown(models, label, name, layer=layer)] for label in models]
        parts += [f"{said}:", grid(["model, positions", *ordinals], "lrrrrr", rows)]
    return "\n\n".join(parts)


def figure(found: Json) -> bytes:
    """Shares by fifth: words of descriptions, words of models' summaries, attention."""
    corpus, models = found["corpus"], found["models"]
    of_models = {
        name: {
            label: np.mean([own[key][-1] if key == "attention" else own[key] for own in seeds.values()], axis=0)
            for label, seeds in models.items()
        }
        for name, key in (
            ("models: origin of the first word", "copied"),
            ("models: attention, last layer", "attention"),
        )
    }
    with figure_of(7.2, 2.7) as drawn:
        panels = drawn.subplots(1, 3, sharey=True)
        for axes, (title, lines) in zip(panels, {"descriptions": corpus["by fifth"], **of_models}.items()):
            for color, (label, shares) in zip(
                ("#5f6b7a", "#333333") if title == "descriptions" else COLORS, lines.items()
            ):
                look = LOOKS.get(label, {"marker": "o"}) | {"markersize": 3.5, "linewidth": 1.2, "color": color}
                axes.plot(range(1, FIFTHS + 1), shares, **look, label=SAID.get(label, label))
            axes.set_title(title, fontsize=8, loc="left")
            axes.set_xlabel("fifth of the document", fontsize=8)
            axes.set_xticks(range(1, FIFTHS + 1))
            axes_of_lines(axes)
            axes.set_ylim(0, 0.6)
        panels[0].set_ylabel("share", fontsize=8)
        panels[0].legend(frameon=False, fontsize=7)
        handles, names = panels[1].get_legend_handles_labels()
        drawn.set_size_inches(7.2, 3.2)
        drawn.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, handlelength=3, fontsize=7)
        return written(drawn, ("png",))["png"]


def main() -> int:
    """Measures, keeps, and writes the page's part and the figure."""
    prepare_jax()
    found = short(measured(CELLS, SEEDS))
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(found), END))
    FIGURE.write_bytes(figure(found))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
