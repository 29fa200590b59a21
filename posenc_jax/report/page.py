"""The report as one HTML file that needs nothing else: figures, tables, configs, environment and citations.

It works offline from disk. The same ablation gives the same bytes but for its section on speed, which tells what
``timing.jsonl`` of its groups and of itself does: no clock is read, no random ids are drawn.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from posenc_jax.drawing.bibtex import bibtex, prose
from posenc_jax.drawing.document import document, folded, html_figure, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.style import Style, styles
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.report import provenance, tables
from posenc_jax.report.entries import fields_words, heading, seeds_text
from posenc_jax.report.many_tasks import across_tasks, matrix
from posenc_jax.report.plots import of_sweep, plots_of
from posenc_jax.results.summary import Summary, TaskSummary
from posenc_jax.results.sweep import RATE, Sweep, sweeps_of


def page(summary: Summary) -> str:
    """The whole document. Needs plotly, for its JavaScript only."""
    style = styles(summary.labels)
    of_tasks = [plots_of(task, style) for task in summary.tasks]
    sweeps = [(sweep, of_sweep(sweep, summary.labels)) for sweep in sweeps_of(summary)]
    of_rates: list[str] = []
    of_fields: list[str] = []
    for sweep, own in sweeps:
        only_rates = [field.name for field in sweep.fields] == [RATE]
        (of_rates if only_rates else of_fields).append(_sweep_section(sweep, own))
    plots = [plot for own in (*(drawn for _, drawn in sweeps), *map(dict.values, of_tasks)) for plot in own]
    body = [
        _header(summary),
        *of_fields,
        *(_task_section(task, style, own) for task, own in zip(summary.tasks, of_tasks)),
        *of_rates,
        _together_section(summary, style),
        _comparison_section(summary),
        _speed_section(summary, style),
        _provenance_section(summary),
        _config_section(summary),
        _citation_section(summary),
        "<footer>Written by posenc_jax from ablation.json and results.jsonl in this directory.</footer>",
    ]
    written = list(filter(None, body))
    return document(summary.title, [written[0], _contents(written), *written[1:]], plots)


def _contents(parts: list[str]) -> str:
    found = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', "\n".join(parts))
    links = "".join(f'<li><a href="#{anchor}">{name}</a></li>' for anchor, name in found)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _header(summary: Summary) -> str:
    seeds, rates = summary.info["seeds"], summary.info["learning_rates"]
    facts = [
        _count(len(summary.labels), "encoding"),
        _count(len(summary.tasks), "task"),
        _count(len(seeds), "seed"),
        _count(len(rates), "learning rate"),
    ]
    parts = [f"<h1>{escaped(summary.title)}</h1>"]
    if summary.description:
        parts.append(f'<p class="lead">{escaped(summary.description)}</p>')
    parts.append(f'<p class="facts">{", ".join(facts)}. Ablation <code>{escaped(summary.name)}</code>.</p>')
    missing = [
        f"{task.task_label} / {cell.label}: {seeds_text(cell, ' seeds')}"
        for task in summary.tasks
        for cell in task.cells
        if cell.diverged or cell.unfinished or not cell.not_finite.keys() <= cell.scores.keys()
    ]
    if missing or summary.skipped:
        lines = [f"<li>{escaped(line)}</li>" for line in missing]
        lines += [f"<li>Not used: {escaped(line)}</li>" for line in summary.skipped]
        parts.append(
            '<div class="warning"><strong>Some results are missing or not used.</strong> '
            f"Means are over the remaining seeds.<ul>{''.join(lines)}</ul></div>"
        )
    if alarms := provenance.alarms(summary.provenance):
        lines = [f"<li>{escaped(line)}</li>" for line in alarms]
        parts.append(
            '<div class="warning"><strong>Results were computed under different conditions.</strong> '
            f'<a href="#provenance">Code that computed each cell.</a><ul>{"".join(lines)}</ul></div>'
        )
    return "\n".join(parts)


def _task_section(task: TaskSummary, style: dict[str, Style], plots: dict[str, Plot]) -> str:
    anchor = task.slug
    name = heading(task.kind.title)
    about = [name]
    if task.train_lengths:
        about.append("trained on lengths {} to {}".format(*task.train_lengths))
    if task.unseen_lengths:
        about.append(f"unseen lengths {task.length_words(task.unseen_lengths)}")
    if task.length_unit:
        about.append(f"lengths in {task.length_unit}")
    parts = [f'<h2 id="{anchor}">{escaped(task.task_label)}</h2>', f'<p class="facts">{escaped(", ".join(about))}.</p>']
    headings = {"curves": f"{name} at each length", "learning": "Loss while training"}
    drawn = {kind: html_figure(plot, headings.get(kind, "")) for kind, plot in plots.items()}
    above = [drawn.pop(kind) for kind in ("curves", "scores") if kind in drawn]
    parts += [*above, html_table(tables.main_table(task), anchor, style), *drawn.values()]
    for table, name, shown in (
        (tables.score_table(task), "Every score", bool(task.length_unit)),
        (tables.length_table(task), "Every length", False),
        (tables.position_table(task), "Every position", False),
        (tables.seed_table(task), "Every seed", False),
        (tables.rate_table(task), "Learning rates tried", False),
    ):
        if table.entries:
            written = html_table(table, f"{anchor}-{name.lower().replace(' ', '-')}", style)
            parts.append(folded(name, written, shown=shown))
    return "\n".join(parts)


def _sweep_section(sweep: Sweep, plots: list[Plot]) -> str:
    names = fields_words(field.name for field in sweep.fields)
    table = tables.sweep_table(sweep)
    written = html_table(table, plots[0].slug, styles(tuple(sweep.arms))) if table.entries else ""
    title = f"{', '.join(sweep.tables)}: scores against {names}"
    return "\n".join([f'<h2 id="of-{plots[0].slug}">{escaped(title)}</h2>', *map(html_figure, plots), written])


def _together_section(summary: Summary, style: dict[str, Style]) -> str:
    named = {"every-task": matrix(summary), "all-tasks": across_tasks(summary)}
    written = [html_table(table, name, style) for name, table in named.items() if table.entries]
    return "\n".join(['<h2 id="together">All tasks together</h2>', *written]) if written else ""


def _comparison_section(summary: Summary) -> str:
    if not summary.size_note:
        return ""
    return f'<h2 id="published">What differs from the published setting</h2><p>{escaped(summary.size_note)}</p>'


def _speed_section(summary: Summary, style: dict[str, Style]) -> str:
    table = provenance.speed_table(summary)
    parts = [f"<p>{escaped(said)}</p>"] if (said := provenance.when(summary)) else []
    if summary.commands:
        commands = "\n".join(summary.commands)
        parts.append(f"<pre><code>{escaped(commands)}</code></pre>")
    parts += [html_table(table, "speed", style)] if table.entries else []
    return f'<h2 id="speed">Command, time and speed</h2>{"".join(parts)}' if parts else ""


def _provenance_section(summary: Summary) -> str:
    lines, table = provenance.statement(summary.provenance), provenance.code_table(summary.provenance)
    if not lines:
        return ""
    text = "".join(f"<p>{escaped(line)}</p>" for line in lines)
    written = html_table(table, "code", {}) if table.entries else ""
    return f'<h2 id="provenance">Provenance</h2>{text}{written}'


def _config_section(summary: Summary) -> str:
    exact = {True: "yes", False: "no", None: NONE}
    entries = tuple(
        (task.task_label, cell.label, cell.posenc or "()", exact[cell.bit_exact], cell.config_hash, cell.directory)
        for task in summary.tasks
        for cell in task.cells
    )
    cells = TextTable("", ("task", "encoding", "in code", "bit-exact", "config", "directory"), "llllll", entries)
    environment = "".join(
        f"<dt>{escaped(str(key))}</dt><dd>{escaped(_plain(value))}</dd>"
        for key, value in summary.info["environment"].items()
    )
    parts = ['<h2 id="configs">Configs and environment</h2>']
    written = html_table(cells, "cells", styles(summary.labels))
    parts.append(folded("Cells", written))
    for name, value in (("Full config", summary.info["config"]), ("Tasks", summary.info["task"])):
        parts.append(folded(name, f"<pre><code>{escaped(settings(value), quote=False)}</code></pre>"))
    if environment:
        parts.append(f"<h3>Environment</h3><dl>{environment}</dl>")
    return "\n".join(parts)


def settings(config: dict[str, Any]) -> str:
    """A config as JSON; of several runs what all share once, then for each a line of what it has of its own."""
    runs = config.get("runs") or ()
    if len(runs) < 2 or not all(isinstance(run, dict) for run in runs):
        return json.dumps(config, indent=2, ensure_ascii=False)
    shared, own = _in_common(runs)
    whole = {name: value for name, value in config.items() if name != "runs"}
    lines = [json.dumps(run, ensure_ascii=False) for run in own]
    common = json.dumps(whole | {"every run": shared}, indent=2, ensure_ascii=False)
    return "\n".join([common, "", "and the runs, one per line:", *lines])


def _in_common(values: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The common part of several objects, at any depth, and the rest of each."""
    common: dict[str, Any] = {}
    own: list[dict[str, Any]] = [{} for _ in values]
    for name in dict.fromkeys(name for value in values for name in value):
        inner = [value[name] for value in values if name in value]
        if len(inner) == len(values) and all(one == inner[0] for one in inner):
            common[name] = inner[0]
        elif len(inner) == len(values) and all(isinstance(one, dict) for one in inner):
            shared, rest = _in_common(inner)
            common |= {name: shared} if shared else {}
            own = [left | ({name: one} if one else {}) for left, one in zip(own, rest, strict=True)]
        else:
            own = [left | ({name: value[name]} if name in value else {}) for left, value in zip(own, values)]
    return common, own


def cited(summary: Summary) -> dict[str, list[str]]:
    """Citations of the cells' encodings and tasks, each with the labels of its cells."""
    used: dict[str, list[str]] = {}
    for task in summary.tasks:
        for cell in task.cells:
            for citation in cell.citations:
                if cell.label not in used.setdefault(citation, []):
                    used[citation].append(cell.label)
    return used


def _citation_section(summary: Summary) -> str:
    """Each work once, as it is cited and as BibTeX."""
    used = cited(summary)
    sources = dict.fromkeys(
        p.source for task in summary.tasks for cell in task.cells for p in cell.published if p.source
    )
    if not used and not sources:
        return ""
    count = len(summary.labels)
    works = [(prose(text), ", ".join(who) if len(who) < max(count, 4) else "all") for text, who in used.items()]
    works += [(source, "published values") for source in sources]
    lines = [f"<li>{_linked(text)} <span class='facts'>({escaped(why)})</span></li>" for text, why in works]
    entries = bibtex(used)
    block = folded("BibTeX", f"<pre>{escaped(entries)}</pre>") if entries else ""
    return f'<h2 id="citations">Citations</h2><ul>{"".join(lines)}</ul>{block}'


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _linked(text: str) -> str:
    return re.sub(r"https?://[^\s<>&;]+[^\s<>&;.,)]", r'<a href="\g<0>">\g<0></a>', escaped(text))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
