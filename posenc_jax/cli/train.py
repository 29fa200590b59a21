"""``posenc train CONFIG``: one run from its config."""

from pathlib import Path

from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.overrides import override_run
from posenc_jax.cli.own_files import refuse_unusable
from posenc_jax.cli.scores import score_table
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import Kept, asked_config, stoppable
from posenc_jax.cli.sized_to_corpus import OnCorpus, refuse_elsewhere, shown_and_kept
from posenc_jax.cli.together import Together, join, leaving
from posenc_jax.config import Run
from posenc_jax.files.user_paths import full


def _train(config: str = "", *, overrides: Overrides, on: OnCorpus = None, kept: Kept, together: Together) -> None:
    """Train and evaluate the run in CONFIG, a Python file with a variable `config`. With --on CORPUS in place of
    CONFIG, train a run that is sized to a text corpus and this machine, with the encoding rope unless --posenc names
    another. Run the same command again to resume.

    Several processes train one run together, each with its own devices: with --distributed they find each other through
    SLURM, or another launcher that JAX knows (srun posenc train ...); with --coordinator, --processes and --process at
    an address: run the same command N times, with I from 0 to N - 1.

    Args:
      config: the config file
      on: the corpus

    Examples:
      posenc train configs/copy_rope.py
          train the run of a config
      posenc train configs/copy_rope.py --posenc "randomized(max_position=64)|rope"
          use other encodings
      posenc train --on own/plays --posenc alibi
          train on your own texts, sized to them and this machine
      posenc train configs/copy_rope.py --help
          list every field that can be changed
    """
    together.check()
    if together.asked:
        refuse_elsewhere(on, "--distributed")
    run = override_run(asked_config("train", config, on, overrides.left, Run), overrides.left, "train", config)
    directory = full(kept.directory or Path("runs") / run.directory_name)
    if together.asked:
        join(together)
    kept.trust_runs()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs import cell
    from posenc_jax.runs.estimate import foretell
    from posenc_jax.runs.plan import Plan
    from posenc_jax.runs.trackers import Tracked
    from posenc_jax.training.processes import first

    refuse_unusable(run)
    with (
        shown_and_kept(run, on, directory),
        TerminalReporter() as terminal,
        Tracked(terminal, directory, kept.track) as reporter,
        stoppable() as stop,
    ):

        def planned(plan: Plan) -> None:
            if first() and on is None:
                seconds = plan.hours and 3600 * plan.hours
                foretell(reporter.note, seconds, "fewer seeds, training.steps or evaluation.lengths")

        changed = kept.accept_changed_code
        found = cell.run(run, directory, accept_changed_code=changed, reporter=reporter, stop=stop, planned=planned)
    if first():  # of several processes
        asked = [replica for result in found for replica in result["replicas"]]
        asked = [replica for replica in asked if (replica["seed"], replica["learning_rate"]) in run.replicas]
        show(score_table(run, asked))
        show(f"complete: {directory}")


_alone = command(_train, computes=True)


def main(arguments: list[str]) -> int:
    """Runs the command."""
    return leaving(lambda: _alone(arguments))
