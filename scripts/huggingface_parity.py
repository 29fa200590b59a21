"""How equal imported models are to those of transformers, and what planted bugs of ports change.

    TORCH_PYTHON=PYTHON python scripts/huggingface_parity.py [PART ...]

measures the parts import, export, bugs and smollm2 (default: all), keeps them in scripts/docs/parity.json and writes
the tables of their page; `scripts/regenerate` writes these too. PYTHON has torch and transformers, for export and
smollm2; for smollm2 SMOLLM2_GGUF names SmolLM2-135M-Instruct.Q4_1.gguf.

A difference is the largest one of logits, as a part of the largest logit.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import pydoc_data.topics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import planted_bugs
import pytest
from benchmarks.torch_training import python_with
from make_huggingface_reference import CASES, EARLY, KEPT, LENGTH, NEW, SHORT, tokens
from tiny_checkpoints import REFERENCE, call, checkpoint_of, facts_of, largest_difference, logits

from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.models import greedy
from posenc_jax.models.decoding_rows import prefill
from posenc_jax.models.randomness import Streams

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "docs" / "parity.json"
PAGE = ROOT / "scripts" / "docs" / "guides" / "weights-and-surgery.md"
KINDS = {name: FAMILIES[case["model_type"]].kind for name, case in CASES.items()}
BEFORE, AFTER = 5, 3
"""Tokens of padding."""
FLOAT64 = 1e-9
"""The difference that tests allow in float64; in float32 it is `rounding`."""

Json = dict[str, Any]


def rounding(name: str) -> float:
    """How far float32 logits of transformers are from those in float64, the farthest of 600 tokens."""
    return float(REFERENCE[f"{name}/float32"])


def short(model: Any, name: str) -> float:
    """The difference in 24 tokens."""
    return largest_difference(logits(model, tokens(SHORT))[0, EARLY], name, "short")


def long(model: Any, name: str) -> float:
    """The difference in 600 tokens: beyond windows, buckets and original lengths."""
    return largest_difference(logits(model, tokens())[0, list(KEPT)], name, "long")


def cached(model: Any, name: str) -> float:
    """The difference of the last eight of 600 tokens, decoded one by one: from the full pass, and of the last from
    transformers.
    """
    given, first = tokens(), LENGTH - 8
    whole = np.asarray(logits(model, given)[0])
    asked, memory = given, ()
    if KINDS[name] == "encoder_decoder":
        asked, memory = facts_of(model, LENGTH)["decoder_tokens"], (jax.jit(lambda m: m.encode(given))(model),)
    step = jax.jit(lambda m, ids, cache, *memory: m.extend(ids, cache, *memory, length=np.array([LENGTH])))
    _, cache = step(model, asked[:, :first], model.new_cache(1, LENGTH), *memory)
    found = []
    for position in range(first, LENGTH):
        one, cache = step(model, asked[:, position : position + 1], cache, *memory)
        found.append(np.asarray(one)[0, 0])
    from_whole = np.abs(np.array(found) - whole[first:]).max() / np.abs(whole).max()
    wanted = REFERENCE[f"{name}/long"]
    return max(float(from_whole), float(np.abs(found[-1] - wanted[-1]).max() / np.abs(wanted).max()))


def padded(model: Any, name: str) -> float:
    """The difference in 24 tokens with padding on both sides (of the source, where there are two); in a decoder also of
    the first step after a prompt with padding on its left.
    """
    count = BEFORE + SHORT + AFTER
    ids = np.pad(tokens(SHORT), ((0, 0), (BEFORE, AFTER)))
    real = (np.arange(count)[None] >= BEFORE) & (np.arange(count)[None] < BEFORE + SHORT)
    facts = {"segment_ids": real.astype(np.int32), "positions": np.arange(count)[None].clip(BEFORE) - BEFORE}
    two = KINDS[name] == "encoder_decoder"
    facts |= facts_of(model, SHORT if two else count)
    facts |= {"decoder_segment_ids": np.ones((1, SHORT), int)} if two else {}
    places = [p + (0 if two else BEFORE) for p in EARLY]
    found = largest_difference(call(model, ids, facts)[0, places], name, "short")
    if KINDS[name] != "decoder_only":
        return found
    step = jax.jit(functools.partial(_first_step, ids=ids[:, :-AFTER], real=real[:, :-AFTER].astype(np.int32)))
    wanted = REFERENCE[f"{name}/short"]
    return max(found, float(np.abs(np.asarray(step(model)) - wanted[-1]).max() / np.abs(wanted).max()))


def _first_step(model: Any, ids: np.ndarray, real: np.ndarray) -> Any:
    unset = dict.fromkeys(("memory", "token_types", "length", "example_ids"))
    rows, cache = prefill(model, ids, max_new_tokens=NEW, segment_ids=real, streams=Streams(), never=(), **unset)
    return rows.next_logits(cache, rows.last, jnp.int32(0))[0][0]


def same_tokens(model: Any, name: str) -> int:
    """How many of twelve greedy tokens after the prompt, or after four of an answer to it, are those of transformers
    before another one comes.
    """

    def written(model: Any) -> Any:
        if KINDS[name] == "decoder_only":
            return greedy(model, tokens(SHORT), max_new_tokens=NEW)
        return greedy(model, tokens()[:, ::-1][:, :4], memory=model.encode(tokens(SHORT)), max_new_tokens=NEW)

    return int(np.cumprod(np.asarray(jax.jit(written)(model))[0] == REFERENCE[f"{name}/greedy"]).sum())


MEASURES: dict[str, Callable[[Any, str], float]] = {"short": short, "long": long, "cached": cached, "padded": padded}
WORDS = {
    "short": f"{SHORT} tokens",
    "long": f"{LENGTH} tokens",
    "cached": "decoding",
    "padded": "padding",
}


def measures_of(name: str) -> list[str]:
    """Those of a model: encoders do not decode."""
    return [key for key in MEASURES if key != "cached" or KINDS[name] != "encoder_only"]


def imported(folder: Path) -> Json:
    """The differences of every family."""
    rows: Json = {}
    for name in CASES:
        checkpoint = load(checkpoint_of(name, folder / name))
        with jax.enable_x64(True):
            model = checkpoint.build(np.float64)
            row: Json = {f"{key} float64": MEASURES[key](model, name) for key in measures_of(name)}
            if KINDS[name] != "encoder_only":
                row["greedy"] = same_tokens(model, name)
        rows[name] = row | {"long float32": long(checkpoint.build(), name), "transformers float32": rounding(name)}
        print(name, rows[name], flush=True)
    return rows


def bugs(folder: Path) -> Json:
    """What each bug changes, in float64."""
    rows: Json = {}
    for name, bug in planted_bugs.BUGS.items():
        path = checkpoint_of(bug.case, folder / name.replace(" ", "-"))
        with pytest.MonkeyPatch.context() as patch, jax.enable_x64(True):
            bug.plant(path, patch)
            call.clear_cache()  # of equal models without the bug
            model = load(path).build(np.float64)
            found = {key: MEASURES[key](model, bug.case) for key in measures_of(bug.case)}
        rows[name] = {"case": bug.case, **found}
        print(name, rows[name], flush=True)
    call.clear_cache()
    return rows


_LOGITS = """
import json, sys
sys.path.insert(0, "scripts")
import numpy as np, torch, transformers
from make_huggingface_reference import tokens
from posenc_jax.huggingface.families import of_config
given = torch.from_numpy(tokens())
for folder in sys.argv[1:]:
    family = of_config(json.load(open(folder + "/config.json")))
    model = getattr(transformers, family.architecture).from_pretrained(folder, attn_implementation="eager").eval()
    answers = {"decoder_input_ids": given.flip(1)} if family.kind == "encoder_decoder" else {}
    with torch.no_grad():
        np.save(folder + "/logits.npy", model(given, **answers)[0].numpy())
    model.save_pretrained(folder + "/saved")
"""


def exported(folder: Path) -> Json:
    """The differences of what transformers computes in float32 of models that are written, in 600 tokens; what it then
    saves is in the folder ``again/saved`` of each.
    """
    torch_python()  # before all that is made for it
    for name in CASES:
        checkpoint = load(checkpoint_of(name, folder / name / "hf"))
        checkpoint.save(folder / name / "again", checkpoint.params())
    run_torch(_LOGITS, *(str(folder / name / "again") for name in CASES))
    rows: Json = {}
    for name in CASES:
        wanted = np.load(folder / name / "again" / "logits.npy")
        found = np.asarray(logits(load(folder / name / "hf").build(), tokens()))
        apart = np.abs(found - wanted).max() / np.abs(REFERENCE[f"{name}/long"]).max()
        rows[name] = {"long float32": float(apart)}
    return rows


def torch_python() -> str:
    """A Python with torch; SystemExit where there is none."""
    python = python_with()
    if python is None:
        raise SystemExit("no Python with torch: TORCH_PYTHON names one")
    return python


def run_torch(program: str, *arguments: str) -> str:
    """What a program prints that has torch."""
    command = [torch_python(), "-c", program, *arguments]
    return subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout


_LOSSES = """
import os, sys
os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np, torch, transformers
gguf, folder = sys.argv[1:]
ids = torch.from_numpy(np.load(folder + "/ids.npy"))
kinds = transformers.LlamaForCausalLM
model = kinds.from_pretrained(os.path.dirname(gguf), gguf_file=os.path.basename(gguf), dtype=torch.float32).eval()
with torch.no_grad():
    states = model.model(ids[None])[0][0]
    parts = [model.lm_head(part).log_softmax(-1) for part in states[:-1].split(256)]
losses = -torch.cat(parts)[torch.arange(len(ids) - 1), ids[1:]]
np.save(folder + "/losses.npy", losses.numpy())
"""
TEXT_TOKENS, BIN = 4096, 512


def smollm2(folder: Path) -> Json:
    """Perplexity by position of SmolLM2 on the topics of Python's help, in one pass: here and in transformers."""
    gguf = os.environ.get("SMOLLM2_GGUF")
    if gguf is None:
        raise SystemExit("SMOLLM2_GGUF names no SmolLM2-135M-Instruct.Q4_1.gguf")
    text = "\n\n".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
    checkpoint = load(gguf)
    assert checkpoint.tokenizer is not None
    ids = np.array(checkpoint.tokenizer.encode(text[: 8 * TEXT_TOKENS])[:TEXT_TOKENS])
    np.save(folder / "ids.npy", ids)
    run_torch(_LOSSES, gguf, str(folder))
    theirs, ours = np.load(folder / "losses.npy"), losses_of(checkpoint.build(), ids)
    rows = []
    for first in range(0, len(ids) - 1, BIN):
        here, there = (float(np.exp(losses[first : first + BIN].mean())) for losses in (ours, theirs))
        rows.append({"first": first, "ours": here, "transformers": there})
    digest = hashlib.sha256(ids.astype("<i4").tobytes()).hexdigest()
    return {
        "text": f"pydoc_data.topics of Python {platform.python_version()}, its first {len(ids):,} tokens",
        "tokens_sha256": digest,
        "loss of a token, largest difference": float(np.abs(ours - theirs).max()),
        "positions": rows,
    }


def losses_of(model: Any, ids: np.ndarray) -> np.ndarray:
    """``[S - 1]``: the loss of each token after the first, in nats."""

    def losses(model: Any) -> Any:
        found = jax.nn.log_softmax(model(ids[None])[0, :-1])
        return -jnp.take_along_axis(found, ids[1:, None], 1)[:, 0]

    return np.asarray(jax.jit(losses)(model))


PARTS: dict[str, Callable[[Path], Json]] = {
    "import": imported,
    "export": exported,
    "bugs": bugs,
    "smollm2": smollm2,
}
BEGIN, END = "<!-- parity: written by scripts/huggingface_parity.py -->", "<!-- end of parity -->"
BEGIN_BUGS, END_BUGS = "<!-- planted bugs: written by scripts/huggingface_parity.py -->", "<!-- end of planted bugs -->"


def versions(part: str) -> dict[str, str]:
    """Those of the packages that a part's numbers are of."""
    found = {"python": platform.python_version()}
    found |= {name: importlib.metadata.version(name) for name in ("jax", "flax", "numpy")}
    if part in ("export", "smollm2"):
        asked = "import torch, transformers; print(torch.__version__, transformers.__version__)"
        found |= dict(zip(("torch", "transformers"), run_torch(asked).split(), strict=True))
    return found


def on_page(page: str, record: Json) -> str:
    """The page with the tables of a record."""
    page = refilled(page, BEGIN, parity_tables(record), END)
    return refilled(page, BEGIN_BUGS, bugs_table(record["bugs"]["rows"]), END_BUGS)


def pages() -> dict[Path, str]:
    """The page with the tables, as it should be."""
    return {PAGE: on_page(PAGE.read_text(), json.loads(RECORD.read_text()))}


def parity_tables(record: Json) -> str:
    """Import and export by family, and SmolLM2 by position."""
    columns = [
        "model",
        *(f"{WORDS[key]}, float64" for key in ("short", "long")),
        "decoding",
        "padding",
        "greedy tokens",
    ]
    columns += [f"{WORDS['long']}, float32", "transformers, float32", "written, float32"]
    written, entries = record["export"]["rows"], []
    for name, row in record["import"]["rows"].items():
        keys = [*(f"{key} float64" for key in MEASURES), "greedy", "long float32", "transformers float32"]
        cells = [_cell(key, row.get(key)) for key in keys]
        entries.append([f"`{name}`", *cells, _cell("", written[name]["long float32"])])
    table = grid(columns, "l" + "r" * (len(columns) - 1), entries)
    found = record["smollm2"]["rows"]
    by_position = []
    for row in found["positions"]:
        last, apart = min(row["first"] + BIN, TEXT_TOKENS - 1), abs(row["ours"] / row["transformers"] - 1)
        by_position.append(
            [f"{row['first'] + 1:,} to {last:,}", f"{row['ours']:.4f}", f"{row['transformers']:.4f}", f"{apart:.0e}"]
        )
    second = grid(["positions", "perplexity here", "in transformers", "difference"], "lrrr", by_position)
    of = record["export"]["versions"]
    said = (
        f"Measured on {record['import']['date']}, JAX {of['jax']}, transformers {of['transformers']}, torch "
        f"{of['torch'].partition('+')[0]}."
    )
    about = (
        f"SmolLM2-135M-Instruct from its GGUF file, on {found['text']}, in one pass (losses of single tokens differ by "
        f"at most {found['loss of a token, largest difference']:.0e} nats):"
    )
    return f"{table}\n\n{said}\n\n{about}\n\n{second}"


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value} of {NEW}" if key == "greedy" else f"{value:.0e}"


def bugs_table(rows: Json) -> str:
    """A line for each bug, and the checks that see it."""
    entries = []
    for name, row in rows.items():
        seen = [key for key in MEASURES if row.get(key, 0) > FLOAT64]
        words = "all" if len(seen) == len(measures_of(row["case"])) else ", ".join(WORDS[key] for key in seen)
        cells = ["" if key not in row else f"{row[key]:.0e}" for key in MEASURES]
        entries.append([name, f"`{row['case']}`", *cells, words])
    columns = ["bug", "in", *WORDS.values(), "seen by"]
    return grid(columns, "llrrrrl", entries)


def main(arguments: list[str] | None = None) -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for part in chosen:
        with tempfile.TemporaryDirectory() as folder:
            rows = PARTS[part](Path(folder))
        record[part] = {"date": datetime.date.today().isoformat(), "versions": versions(part), "rows": rows}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    if set(record) == set(PARTS):
        PAGE.write_text(on_page(PAGE.read_text(), record))
    print(f"written: {RECORD.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
