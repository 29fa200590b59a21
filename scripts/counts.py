"""Counts that pages state, from the code: `scripts/regenerate` writes them, and a test compares them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from posenc_jax.analysis.contract import CLAUSES
from posenc_jax.data.tasks import TASKS
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.golden.rope import check as rope
from posenc_jax.golden.sequences import check
from posenc_jax.show.lessons import LESSONS, tally

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "posenc_jax" / "golden" / "encodings-v1.json"

TALLY = "Of {claims} claims, {confirmed} are confirmed, {refuted} refuted, {conditional} hold under a condition, "
TALLY += "{open} cannot be told here"
SENTENCES = {
    "README.md": (
        "implements {published} published encodings in JAX",
        "| {published}, from {sources} sources: {papers} papers, {others} repositories and posts |",
        "| {clauses} clauses, checked",
        "| {golden} rows, {sequences} sequences, positions of {configs} configs, in float64 |",
        "| tasks generated on the device; tasks on text | {tasks}; {text_tasks} |",
        "posenc lesson    # {lessons} steps, seconds each",
        TALLY,
    ),
    ".github/CHANGELOG.md": (
        "**Encodings.** {published} published methods",
        "a contract of {clauses} clauses",
        "in {lessons} steps: a claim",
        "**Tasks.** {tasks} generated on the device",
        "numbers of {models} released models",
    ),
    "posenc_jax/show/lessons/README.md": (TALLY,),
    "scripts/docs/guides/what-a-config-declares.md": ("has the configs of {models} released models",),
    "scripts/docs/index.md": ("{{doc}}`{published} published methods",),
    "scripts/docs/start/peers.md": (
        "| encodings behind one interface | {published} published |",
        "| {clauses} clauses | by model |",
        "| {golden} rows, {sequences} sequences, {models} models | no |",
        "Ours has {configs} configs of",
    ),
    "scripts/docs/guides/catalogue.md": (
        "has {rows} rows: {published} of published methods, with their main variants, and {designs} of designs",
        "from {sources} sources: {papers} papers, and {others} repositories and posts",
    ),
}
"""Page: the sentences with counts, each of which it has once."""


def counts() -> dict[str, int]:
    """Numbers of rows, of published ones, of designs of this project, of sources, and so on, by name."""
    methods = [(family, method) for family, rows in CATALOGUE.items() for method in rows]
    published = [method for family, method in methods if family != "designs"]
    sources = {method.link for method in published}
    verdicts = tally()
    papers = sum(link.startswith(("arXiv:", "https://papers.")) for link in sources)
    return {
        "rows": len(methods),
        "golden": len(json.loads(GOLDEN.read_text())["rows"]),
        "published": len(published),
        "designs": len(methods) - len(published),
        "sources": len(sources),
        "papers": papers,
        "others": len(sources) - papers,
        "clauses": len(CLAUSES),
        "tasks": len(TASKS),
        "text_tasks": len(TEXT_TASKS),
        "sequences": len(check.scenarios()),
        "models": len(rope.models()),
        "configs": len(rope.rows()),
        "lessons": len(LESSONS),
        "claims": verdicts.total(),
        "confirmed": verdicts["confirmed"],
        "refuted": verdicts["refuted"],
        "conditional": verdicts["holds under a condition"],
        "open": verdicts["cannot be told here"],
    }


def counted(text: str, sentences: tuple[str, ...]) -> str:
    """``text`` with the present counts; ValueError for a sentence that it does not have exactly once."""
    for sentence in sentences:
        pattern = re.sub(r"\\\{\w+\\\}", r"[0-9,]+", re.escape(sentence.replace("{{", "\0").replace("}}", "\1")))
        pattern = pattern.replace("\0", r"\{").replace("\1", r"\}")
        text, found = re.subn(pattern, sentence.format(**counts()), text)
        if found != 1:
            raise ValueError(f"{found} sentences of the page are {sentence!r}: write it once, with any numbers")
    return text


def pages() -> dict[Path, str]:
    """Each page with counts, and its text as it should be."""
    return {ROOT / name: counted((ROOT / name).read_text(), sentences) for name, sentences in SENTENCES.items()}
