"""Notes for readers of a table, as sentences."""

from collections.abc import Iterable

from posenc_jax.results.summary import CellSummary


def cell_notes(cell: CellSummary, length_names: dict[str, str]) -> list[str]:
    """Notes on a cell: missing seeds and scores, a rate that lost by the rule, the config's note."""
    notes = []
    n, asked = len(cell.asked) - len(cell.diverged) - len(cell.unfinished), len(cell.asked)
    if n < asked:
        why = [f"seed {seed} diverged at step {step}" for seed, step in cell.diverged.items()]
        if cell.unfinished:
            word = "seed" if len(cell.unfinished) == 1 else "seeds"
            why.append(f"{word} {', '.join(map(str, cell.unfinished))} not finished")
        notes.append(f"{cell.label}: {n} of {asked} seeds ({'; '.join(why)}); means are over the others.")
        if n == 0:
            notes[-1] = f"{cell.label}: no result, 0 of {asked} seeds ({'; '.join(why)})."
    for seed, lengths in cell.not_finite.items():
        names = ", ".join(length_names.get(str(length), str(length)) for length in lengths)
        notes.append(
            f"{cell.label}: the score of seed {seed} is not finite at {names}; it is missing there and in the means "
            "over these lengths."
        )
    chosen = next((tried for tried in cell.tried if tried.chosen), None)
    if len(cell.tried) > 1 and n > 0 and (chosen is None or chosen.validation.mean is None):
        notes.append(f"{cell.label}: no validation scores to choose a learning rate by; shown: {cell.learning_rate:g}.")
    unchosen = [tried for tried in cell.tried if not tried.chosen]
    open_rates = [f"{t.learning_rate:g}" for t in unchosen if t.validation.n + len(t.diverged) < asked]
    if open_rates and chosen is not None and chosen.validation.mean is not None:
        notes.append(f"{cell.label}: learning rate {', '.join(open_rates)} not finished; the choice may change.")
    for tried in cell.tried:
        if chosen is None or tried.validation.mean is None or chosen.validation.mean is None:
            continue
        if tried.validation.mean > chosen.validation.mean:
            notes.append(
                f"{cell.label}: learning rate {tried.learning_rate:g} has a higher validation mean, but for only "
                f"{tried.validation.n} of {asked} seeds; shown: {chosen.learning_rate:g}, with {chosen.validation.n}."
            )
    if cell.note:
        notes.append(f"{cell.label}: {cell.note}")
    return notes


def setting_notes(settings: dict[tuple[str, ...], dict[str, set[int]]]) -> list[str]:
    """Settings by cell, if they differ; a cell with seeds in several settings names the seeds."""
    if len(settings) < 2:
        return []
    listed = []
    for setting, seeds in settings.items():
        parted = {label for other, labels in settings.items() if other != setting for label in labels}
        who = [
            f"{label} (seeds {', '.join(map(str, sorted(own)))})" if label in parted else label
            for label, own in seeds.items()
        ]
        listed.append("mode {}, group of {}, {}, {} threads: ".format(*setting) + ", ".join(who))
    return [f"The rows come from several settings, whose results differ by rounding: {'; '.join(listed)}."]


def published_notes(cells: Iterable[CellSummary]) -> list[str]:
    """Sources of the published column, each once."""
    notes = []
    sources: dict[str, list[str]] = {}
    published = [(cell.label, row) for cell in cells for row in cell.published]
    for label, row in published:
        sources.setdefault(" ".join(filter(None, (row.source, row.metric and f"({row.metric})"))), []).append(label)
    for source, cited in sources.items():
        whose = "" if len(sources) == 1 else f" for {', '.join(dict.fromkeys(cited))}"
        notes.append(f"Published{whose}: {source}.")
    if any(row.value is None for _, row in published):
        notes.append("Where the published column has words, only the direction is verified, not a number.")
    return notes
