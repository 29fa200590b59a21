"""The pages of encodings, as Markdown."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from documenting.api import described, restructured, summaries
from documenting.formula import lines
from documenting.rows import Row
from posenc_jax.show.lead import first_paragraph

FAMILIES = {
    "none": ("No encoding", "Only the mask tells positions apart."),
    "absolute": ("Absolute", "A vector for each position, added to the input embedding."),
    "rotary": ("Rotary", "Queries and keys are turned by their positions, so that products depend on differences."),
    "additive": ("Additive biases", "A number for each distance, added to the logits."),
    "relative": ("Relative, with contents", "What is added to the logits depends on contents and on the distance."),
    "data-dependent": ("Data-dependent", "Gates and paths that contents decide."),
    "positions": ("Mappings of positions", "Other positions, for whatever encoding follows."),
    "layers": ("Patterns of layers", "Which layers of released models have which positions."),
    "designs": ("Designs of this project", "Frequencies chosen for low side lobes; not published methods."),
}


def page(row: Row, pictures: Sequence[tuple[str, str, str]]) -> str:
    """One page; ``pictures`` are file, title and caption.

    Raises:
      ValueError: there is no picture.
    """
    if not pictures:
        raise ValueError(f"encodings/{row.page}: no picture")
    first, *others = (_figure(row, *picture) for picture in pictures)
    parts = [
        f"# {row.method.name}",
        _lead(row),
        first,
        f"## Where to use it\n\n{_use(row)}",
        f"## Formula\n\n{_formula(row)}",
        f"## Facts\n\n{_facts(row)}",
        *others,
        "## Definition\n\n" + _definition(row),
        *([f"## Paper and code\n\n{row.facts['differs']}"] if "differs" in row.facts else []),
        "## Known traps\n\n" + "\n".join(f"- {trap}" for trap in row.facts["traps"]),
        "## Audit\n\n" + _audit(row),
        "## Golden values\n\n" + _golden(row),
        "## Evidence\n\n" + _evidence(row),
        f"## Citation\n\n```bibtex\n{row.bibtex}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def index(rows: Sequence[Row], first_picture: Mapping[str, str]) -> str:
    """The page of all encodings: by family, with a small picture each."""
    parts = [
        "# Encodings",
        f"{sum(row.method.family != 'designs' for row in rows)} published methods and "
        f"{sum(row.method.family == 'designs' for row in rows)} designs of this project, each with its formula, a "
        "picture of what it does, its traps, what was measured of it, golden values and BibTeX.",
    ]
    for family, (title, about) in FAMILIES.items():
        own = [row for row in rows if row.method.family == family]
        shown = [(f"{row.page}.html", first_picture[row.page], row.method.name, row.method.paper) for row in own]
        parts += [f"## {title}", about, cards(shown)]
        parts += ["```{toctree}\n:hidden:\n\n" + "\n".join(row.page for row in own) + "\n```"]
    return "\n\n".join(parts) + "\n"


def cards(shown: Sequence[tuple[str, str, str, str]]) -> str:
    """Pictures that are links: the link, the picture, the title and what stands below it, of each."""
    made = (
        f'<a class="card" href="{link}"><img loading="lazy" alt="" src="{picture}">'
        f"<b>{html.escape(title)}</b><span>{html.escape(about)}</span></a>"
        for link, picture, title, about in shown
    )
    return '<div class="cards">\n' + "\n".join(made) + "\n</div>"


def _lead(row: Row) -> str:
    words = " ".join(first_paragraph(row.classes[word].__doc__ or "") for word in row.main)
    lead = restructured(words) if words else "Attention without any encoding: only the mask tells positions apart."
    return lead + (f"\n\n{_sentence(row.method.note)}" if row.method.note else "")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip(".") + "."


def _use(row: Row) -> str:
    """How widely it is used, what it cannot do, and how it is written."""
    from posenc_jax.attention import fused_paths
    from posenc_jax.encodings import elements, parse

    slot = parse(row.method.spec)
    limits = ["only under a causal mask"] * any(encoding.causal_only for encoding in elements(slot))
    limits += ["no positions beyond those of training"] * (not row.audit["extrapolates"])
    limits += ["no fused kernel"] * (not fused_paths(slot))
    limited = f" Limits: {'; '.join(limits)}." if limits else ""
    return f"{row.facts['use']}{limited}\n\n```text\n{row.method.spec}\n```"


def _formula(row: Row) -> str:
    """The formula, and a table of its symbols."""
    meanings = "\n".join(f"| {{math}}`{symbol}` | {meaning} |" for symbol, meaning in row.symbols.items())
    return f"```{{math}}\n{lines(row.facts['math'])}\n```\n\n| symbol | meaning |\n|--|--|\n{meanings}"


def _facts(row: Row) -> str:
    from posenc_jax.analysis.described import hook_words, ways
    from posenc_jax.encodings import elements, parse

    slot = parse(row.method.spec)
    encodings = elements(slot)
    address = row.method.link.replace("arXiv:", "https://arxiv.org/abs/")
    paper = f"[{row.method.paper}]({address})" if address.startswith("http") else row.method.paper
    learned, frozen = (row.audit["parameters"][name] for name in ("learned", "frozen"))
    cells = {
        "Paper": paper,
        "Family": FAMILIES[row.method.family][0].lower(),
        "Acts on": ", ".join(hook_words(encodings)) or "nothing",
        "Parameters": f"{learned:,} learned" + (f", {frozen:,} frozen" if frozen else "") + f" ({_model(row)})",
        "Memory": _memory(slot, ways(slot)),
        "Beyond the trained length": "goes on" if row.audit["extrapolates"] else "ends with its table",
        "Depends on differences only": "yes" if row.audit["shift_invariant"] else "no",
        "Contract": row.audit["verdict"],
    }
    lines = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in cells.items()]
    return "\n".join(["| | |", "|--|--|", *lines])


def _model(row: Row) -> str:
    small = row.audit["head_dim"] == 8
    return "in a layer of width 32 and 4 heads" if small else "in a model of width 128, 4 heads and 4 layers"


def _memory(slot: Any, ways: str) -> str:
    """The class of memory, and the paths of attention that keep it."""
    from posenc_jax.attention import fused_paths

    fused = fused_paths(slot)
    words = "linear in the length, fused" if fused else "linear in the length, in blocks of queries; not fused"
    return f"{words} (paths: {ways})"


def _figure(row: Row, file: str, title: str, caption: str) -> str:
    alt = f"{row.method.name}: {title}"
    return f"```{{figure}} {file}\n:alt: {alt.replace(chr(96), '')}\n\n{title}. {caption}\n```"


def _definition(row: Row) -> str:
    """The classes of the row with their options, and links to those beside them in its string."""
    parts = []
    for word in row.main:
        cls = row.classes[word]
        parts.append(f"{{py:class}}`{cls.__name__} <{cls.__module__}.{cls.__qualname__}>`, in strings `{word}`:")
        parts.append(described(cls))
    if others := [cls for word, cls in row.classes.items() if word not in row.main]:
        parts.append("Beside it in the string:")
        parts.append(summaries(f"{cls.__module__}.{cls.__qualname__}" for cls in others))
    return "\n\n".join(parts) or "An empty slot, `nope` in strings and `()` in Python: attention as it is."


def _audit(row: Row) -> str:
    from posenc_jax.show.audit_table import columns

    cells = {name: (about, show(row.audit)) for name, (about, show) in columns().items()}
    skipped = ("encoding", "spec", "time")
    lines = [
        f"| {name} | {value} | {_sentence(about)} |"
        for name, (about, value) in cells.items()
        if name not in skipped and value != "-"
    ]
    if not lines:
        return "Nothing to measure."
    table = "\n".join(["| measured | value | what it is |", "|--|--|--|", *lines])
    return (
        f"{table}\n\nMade by `posenc audit {_quoted(row.method.name)}`, without the measures that say nothing of this "
        "encoding."
    )


def _golden(row: Row) -> str:
    outputs = row.golden["outputs"]
    lines = ["| output | shape | its last row begins with |", "|--|--|--|"]
    for name, values in outputs.items():
        shown = ", ".join(f"{value:.9g}" for value in _last(values)[:4])
        lines.append(f"| `{name}` | {_shape(values)} | {shown} |")
    table = "\n".join(lines)
    return (
        f"{table}\n\nIn float64, of the inputs and parameters that `posenc_jax/golden/encodings-v1.json` states: it "
        "has them and all values, for checking another implementation."
    )


def _shape(values: Any) -> str:
    shape = []
    while isinstance(values, list):
        shape.append(len(values))
        values = values[0]
    return " x ".join(map(str, shape))


def _last(values: Any) -> list[Any]:
    """The last row: no causal mask hides anything there."""
    while isinstance(values[0], list):
        values = values[-1]
    return values


def _evidence(row: Row) -> str:
    from posenc_jax.verdict.card_files import card_of

    lines = [
        f"- [{name}](/experiments/verdicts.md): {sentence}"
        for name, card in row.verdicts.items()
        for sentence in card_of(card).sentences
    ]
    command = f"```sh\nposenc verdict {_quoted(row.method.spec)} --against rope --quick\n```"
    if lines:
        return "\n".join(lines)
    time = "about twenty minutes on 2 cores, or up to three times that where its learning rates need a wider grid"
    return f"No verdict is kept of it yet. One command makes one, in {time}:\n\n{command}"


def _quoted(text: str) -> str:
    return text if text.isidentifier() else f'"{text}"'
