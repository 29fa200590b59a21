"""Baselines of as many parameters: the doubt that an encoding is better because its model is larger."""

import dataclasses
from collections.abc import Mapping

from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.memory import parameters_of
from posenc_jax.verdict.tables import Table


def with_wider(
    ours: Mapping[str, Slot], baselines: Mapping[str, Slot], tables: Mapping[str, Table]
) -> tuple[dict[str, Slot], dict[str, Table]]:
    """The baselines, each followed by ``wider BASELINE``, and the tables that know its width.

    A wider baseline has on every table feed-forward layers of the smallest width with which its model has at least as
    many parameters as that of any of ``ours``; it differs from the baseline in nothing else, and not at all where none
    has more.

    Raises:
      RefusedError: nowhere has any of ``ours`` more parameters than a baseline.
    """
    arms, found = dict[str, Slot](), dict(tables)
    for baseline, slot in baselines.items():
        arms |= {baseline: slot, f"wider {baseline}": slot}
        widths = {name: _width(table, slot, ours) for name, table in tables.items()}
        if all(widths[name] == table.run.model.hidden_width for name, table in tables.items()):
            names = ", ".join(ours)
            raise RefusedError(
                f"{names}: no more parameters than {baseline} on {', '.join(tables)}, so there is nothing to match: "
                "leave --matched out"
            )
        for name, width in widths.items():
            widened = (*found[name].widened, (f"wider {baseline}", width))
            found[name] = dataclasses.replace(found[name], widened=widened)
    return arms, found


def _width(table: Table, baseline: Slot, ours: Mapping[str, Slot]) -> int:
    """The hidden width with which the baseline has as many parameters as the largest of ``ours``."""
    most = max(parameters_of(table.cell(slot, label, (0,))) for label, slot in ours.items())
    own = table.cell(baseline, "", (0,))
    width, step = own.model.hidden_width, own.execution.model
    model = dataclasses.replace(own.model, mlp_dim=width + step)
    a_step = parameters_of(dataclasses.replace(own, model=model)) - parameters_of(own)
    return width + step * max(0, -(-(most - parameters_of(own)) // a_step))
