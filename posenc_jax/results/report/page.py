"""The report as one HTML file that needs nothing else: figures, tables, configs, environment and citations.

It works offline from disk. The same ablation gives the same bytes but for its section on speed, which tells what
``timing.jsonl`` of its groups and of itself does: no clock is read, no random ids are drawn.
"""

import json
import re

from posenc_jax.drawing.bibtex import bibtex, prose
from posenc_jax.drawing.document import document, folded, html_figure, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.style import Style, styles
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.results.report import provenance, tables
from posenc_jax.results.report.entries import fields_words, heading, seeds_text
from posenc_jax.results.report.many_tasks import across_tasks, matrix
from posenc_jax.results.report.plots import of_sweep, plots_of
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
    return document(summary.info["title"], [written[0], _contents(written), *written[1:]], plots)


def _contents(parts: list[str]) -> str:
    found = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', "\n".join(parts))
    links = "".join(f'<li><a href="#{anchor}">{name}</a></li>' for anchor, name in found)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _header(summary: Summary) -> str:
    info = summary.info
    parts = [f"<h1>{escaped(info['title'])}</h1>"]
    if about := info["description"]:
        parts.append(f'<p class="lead">{escaped(about)}</p>')
    counts = {"encodings": summary.labels, "tasks": summary.tasks, "seeds": info["seeds"]}
    facts = ", ".join(f"{name}: {len(own)}" for name, own in counts.items())
    parts.append(f'<p class="facts">Ablation <code>{escaped(info["name"])}</code>; {facts}.</p>')
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
    main = tables.main_table(task)
    title = f"{task.asks} ({task.task_label})" if task.asks else task.task_label
    parts = [f'<h2 id="{anchor}">{escaped(title)}</h2>', f'<p class="facts">{escaped(main.title)}.</p>']
    headings = {"curves": f"{name} at each length", "learning": "Loss while training"}
    drawn = {kind: html_figure(plot, headings.get(kind, "")) for kind, plot in plots.items()}
    above = [drawn.pop(kind) for kind in ("curves", "scores") if kind in drawn]
    parts += [*above, html_table(main, anchor, style), *drawn.values()]
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
    note = escaped(summary.info["size_note"])
    return f'<h2 id="published">What differs from the published setting</h2><p>{note}</p>' if note else ""


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
    entries = tuple(
        (own["task_label"], own["label"], own["posenc"] or "()", exact, own["config_hash"], own["directory"])
        for own in summary.info["cells"]
        for exact in ("-" if own["posenc"] is None else "yes" if own["bit_exact"] else "no",)
    )
    cells = TextTable("", ("task", "encoding", "in code", "bit-exact", "config", "directory"), "llllll", entries)
    parts = ['<h2 id="configs">Configs and environment</h2>']
    written = html_table(cells, "cells", styles(summary.labels))
    parts.append(folded("Cells", written))
    info = summary.info
    own = {"Full config": info["config"], "Tasks": info["task"], "Environment": info["environment"]}
    for name, value in own.items():
        parts.append(
            folded(
                name, f"<pre><code>{escaped(json.dumps(value, indent=2, ensure_ascii=False), quote=False)}</code></pre>"
            )
        )
    return "\n".join(parts)


def cited(summary: Summary) -> dict[str, list[str]]:
    """Citations of the cells' encodings and tasks, each with the labels of its cells."""
    used: dict[str, list[str]] = {}
    for task in summary.tasks:
        for cell in task.cells:
            for citation in cell.info["citations"]:
                if cell.label not in used.setdefault(citation, []):
                    used[citation].append(cell.label)
    return used


def _citation_section(summary: Summary) -> str:
    """Each work once, as it is cited and as BibTeX."""
    used = cited(summary)
    sources = dict.fromkeys(
        p["source"] for task in summary.tasks for cell in task.cells for p in cell.published if p["source"]
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


def _linked(text: str) -> str:
    return re.sub(r"https?://[^\s<>&;]+[^\s<>&;.,)]", r'<a href="\g<0>">\g<0></a>', escaped(text))
