"""Tokens per second of decoding, beside Marian of the library transformers at the same size, on the same cores."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from benchmarks.processes import Measured, Process, Start, cores, take_turns
from benchmarks.results import Table
from benchmarks.sizes import DECODING, DecodingSize


def decoding(rounds: int, python: str | None, size: DecodingSize = DECODING, start: Start = Process) -> Iterator[Table]:
    """Greedy decoding and a beam of 4, of random models that never end a sequence; Marian is run by ``python``."""
    rows: dict[str, tuple[float | None, ...]] = {}
    beams = (1, 4)
    columns: list[dict[str, float]] = []
    for beam in beams:
        arguments = {"size": size._asdict(), "beam": beam}
        members: dict[str, list[Measured]] = {
            "posenc_jax": [start("decoding.seconds", arguments, env={"JAX_NUM_CPU_DEVICES": str(len(cores()))})]
        }
        if python:
            members["transformers, Marian"] = [start("decoding.marian_seconds", arguments, python=python)]
        columns.append(take_turns(members, rounds))
    tokens = size.batch * size.new_tokens
    for name in columns[0]:
        rows[name] = tuple(tokens / column[name] for column in columns)
    theirs = rows.get("transformers, Marian")
    rows["ratio"] = tuple(a / b if b else None for a, b in zip(rows["posenc_jax"], theirs or (None, None), strict=True))
    yield Table(
        title="Decoding",
        about=f"Tokens per second of best outputs, encoder-decoder of {size.num_layers} + {size.num_layers} layers, "
        f"d_model {size.d_model}, {size.vocab} tokens, {size.batch} sources of {size.source} tokens, "
        f"{size.new_tokens} new tokens each, key-value cache, all cores; ours decodes an equal part of the sources on "
        "each, as `posenc translate` does",
        first="library",
        columns={"greedy": "{:.1f}", f"beam of {beams[1]}": "{:.1f}"},
        rows=rows,
    )


def seconds(size: dict[str, int], beam: int) -> Iterator[float]:
    """The seconds to the first outputs, compilation included; then those of each batch, over all devices."""
    import jax
    import numpy as np

    from posenc_jax.encodings import Sinusoidal
    from posenc_jax.models import Beam, Greedy, Slots, Transformer, build, decode
    from posenc_jax.training.replicas import over_rows

    begun = time.perf_counter()
    width, batch, new = size["d_model"], size["batch"], size["new_tokens"]
    model = build(
        "encoder_decoder",
        Transformer(d_model=width, num_layers=size["num_layers"], num_heads=size["num_heads"], tie_output=True),
        Slots(encoder=(Sinusoidal(),), decoder=(Sinusoidal(),)),
        vocab_size=size["vocab"],
        num_classes=size["vocab"],
        max_len=max(size["source"], new + 1),
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )
    how = Beam(size=beam) if beam > 1 else Greedy()

    def part(_: None, source: jax.Array) -> jax.Array:
        prompt = jax.numpy.ones((len(source), 1), jax.numpy.int32)
        # No token ends a sequence: all implementations decode equally many.
        return decode(model, prompt, how, max_new_tokens=new, memory=model.encode(source), eos=None).tokens

    over_devices = over_rows(part, math.gcd(batch, len(jax.devices())))
    outputs = jax.jit(lambda source: over_devices(None, source))
    rng = np.random.default_rng(0)
    first = begun
    while True:
        source = rng.integers(2, size["vocab"], (batch, size["source"])).astype(np.int32)
        begun = first or time.perf_counter()
        first = 0.0
        found = np.asarray(outputs(source))
        assert found.shape == (batch, beam, new)
        yield time.perf_counter() - begun


def marian_seconds(size: dict[str, int], beam: int) -> Iterator[float]:
    """The seconds of each batch by `MarianMTModel.generate`, without an end token."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    width, layers, heads, new = size["d_model"], size["num_layers"], size["num_heads"], size["new_tokens"]
    model = MarianMTModel(
        MarianConfig(
            vocab_size=size["vocab"],
            d_model=width,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=4 * width,
            decoder_ffn_dim=4 * width,
            max_position_embeddings=max(size["source"], new + 2),
            pad_token_id=0,
            decoder_start_token_id=0,
            eos_token_id=None,
            forced_eos_token_id=None,
        )
    ).eval()
    while True:
        source = torch.randint(2, size["vocab"], (size["batch"], size["source"]))
        begun = time.perf_counter()
        with torch.inference_mode():
            found = model.generate(
                input_ids=source,
                attention_mask=torch.ones_like(source),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=new,
                max_new_tokens=new,
            )
        taken = time.perf_counter() - begun
        assert found.shape == (size["batch"], new + 1)
        yield taken
