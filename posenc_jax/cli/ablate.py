"""``posenc ablate CONFIG``: a comparison from its config."""

import shlex
from pathlib import Path
from typing import Annotated, Any

from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.overrides import override_all, swept
from posenc_jax.cli.own_files import refuse_unusable
from posenc_jax.cli.report import final_report
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import Kept, asked_config, stoppable
from posenc_jax.cli.sized_to_corpus import OnCorpus, ablation_on_corpus, refuse_elsewhere, shown_and_kept
from posenc_jax.cli.spread import Spread, runner
from posenc_jax.config import Ablation, Run
from posenc_jax.files.names import file_name
from posenc_jax.files.user_paths import full


def _ablate(
    config: str = "",
    *,
    overrides: Overrides,
    on: OnCorpus = None,
    kept: Kept,
    spread: Spread,
    sweep: Annotated[tuple[str, ...], "FIELD=A,B"] = (),
    group: Annotated[str | None, "CELL/group-000"] = None,
) -> int:
    """Run every cell of the ablation in CONFIG, a Python file with a variable `config`, then write results.jsonl and
    report.html. With --on CORPUS in place of CONFIG, compare --posenc ENCODING ... (default: nope, sinusoidal, learned
    and rope) in a run that is sized to a text corpus and this machine. Run the same command again to resume. Overrides
    apply to every cell.

    Args:
      config: the config file
      on: the corpus
      sweep: fields and their values, a cell for each combination, as `posenc_jax.sweep` makes them; CONFIG may be of
        one run then
      group: run only this group, made by --executor, which calls this in its processes

    Examples:
      posenc ablate configs/demo.py
          run all cells and seeds, then write the report
      posenc ablate configs/demo.py --seeds 0 1 --directory runs/two
          run two seeds, into another directory
      posenc ablate --on own/plays --posenc nope alibi t5
          compare encodings on your own texts
      posenc ablate configs/copy_rope.py --sweep rope.base=1e2,1e3,1e4
          three cells, one for each base
    """
    spread.check()
    if spread.executor == "slurm":
        refuse_elsewhere(on, "--executor slurm")
    left = overrides.left
    ablation = asked_config("ablate", config, on, overrides.left, (Ablation, Run) if sweep else Ablation)
    if on is not None:
        ablation, left = ablation_on_corpus(ablation, left)
    elif isinstance(ablation, Run):
        ablation = Ablation(Path(config).stem, (ablation,))
    ablation = swept(override_all(ablation, left, "ablate", config), sweep)
    directory = full(kept.directory or Path("runs") / file_name(ablation.name)).absolute()
    kept.trust_runs()
    from posenc_jax.cli.progress import AblationReporter
    from posenc_jax.runs.errors import FailedCellsError
    from posenc_jax.runs.spread import run_task
    from posenc_jax.runs.trackers import Tracked

    refuse_unusable(ablation)
    failed = None
    with (
        AblationReporter() as terminal,
        Tracked(terminal, directory, kept.track, group) as reporter,
        stoppable() as stop,
    ):
        more: dict[str, Any] = {"accept_changed_code": kept.accept_changed_code, "reporter": reporter, "stop": stop}
        if group is not None:
            run_task(ablation, directory, group, **more)
            return 0
        run = runner(spread, ["ablate", *overrides.given], directory, reporter, stop)
        try:
            with shown_and_kept(ablation, on, directory):
                run(ablation, directory, **more)
        except FailedCellsError as error:
            failed = error
    written = final_report(directory, [shlex.join(("posenc", "ablate", *overrides.given))])
    if failed:
        raise failed
    if not written:
        return 1
    show(f"complete: {directory}")
    return 0


main = command(_ablate, computes=True)
