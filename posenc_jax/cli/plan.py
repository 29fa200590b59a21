"""``posenc plan CONFIG``: what a run or an ablation will take, before anything is rented."""

from typing import Annotated

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.screen import columns, show
from posenc_jax.cli.session import asked_config
from posenc_jax.cli.sized_to_corpus import OnCorpus
from posenc_jax.config import Ablation, Run
from posenc_jax.drawing.text_table import text


def _plan(
    config: str = "",
    *,
    overrides: Overrides,
    on: OnCorpus = None,
    target: Annotated[str | None, "T"] = None,
    utilisation: Annotated[float, "U"] = 0.3,
) -> int:
    """Estimate replicas, operations, memory and hours of the run or the ablation in CONFIG. With --on CORPUS in place
    of CONFIG, plan the run that is sized to a text corpus and this machine. Nothing is trained or written. It takes
    seconds on any machine. The exit code is 1 if something does not fit.

    Overrides are those of `posenc train` and `posenc ablate`, such as --training.batch-size 8.

    Args:
      config: the config file
      on: the corpus
      target: chip and number of devices: h100, h100:4, v5e:2x2 ... (default: the devices of this machine)
      utilisation: fraction of peak speed assumed for hours, above 0 and up to 1 (default: 0.3)

    Examples:
      posenc plan configs/demo.py
          plan for this machine
      posenc plan configs/accelerator.py --target h100:4
          plan for four H100
    """
    if not 0 < utilisation <= 1:
        raise UsageError(f"--utilisation {utilisation} must be a part of the peak, above 0 and up to 1, such as 0.3")
    from posenc_jax.cli.overrides import override_all, override_run
    from posenc_jax.runs import targets
    from posenc_jax.runs.plan import plan_of
    from posenc_jax.show.plan_table import table

    asked = asked_config("plan", config, on, overrides.left, (Run, Ablation))
    change = override_run if isinstance(asked, Run) else override_all
    asked = change(asked, overrides.left, "plan", config)
    machine = targets.target_here() if target is None else targets.target(target)
    plans = [plan_of(run, machine, utilisation) for run in ([asked] if isinstance(asked, Run) else asked.runs)]
    show(text(table(plans, cells=isinstance(asked, Ablation)), columns()))
    lacking = [plan.shortage for plan in plans if plan.shortage is not None]
    for line in lacking:
        show(f"does not fit: {line}")
    return 1 if lacking else 0


main = command(_plan, computes=True)
