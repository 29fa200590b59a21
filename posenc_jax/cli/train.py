"""``posenc train CONFIG``: one run from its config."""

from pathlib import Path
from typing import Any

from posenc_jax.cli.overrides import named_anew, override_run
from posenc_jax.cli.own_files import refuse_unusable
from posenc_jax.cli.scores import score_table
from posenc_jax.cli.screen import show
from posenc_jax.cli.session import load_config, of_config, prepare_jax, stoppable, trust
from posenc_jax.cli.sized_to_corpus import ON, refuse_elsewhere, shown_and_kept
from posenc_jax.cli.together import HELP, join, leaving, read_together
from posenc_jax.config import Run

DESCRIPTION = (
    "Train and evaluate the run in CONFIG, a Python file with a variable `config`. With --on CORPUS in place of "
    "CONFIG, train a run that is sized to a text corpus and this machine. Run the same command again to resume."
)


def main(arguments: list[str]) -> int:
    """Runs the command.

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
    return leaving(lambda: of_config(arguments, "train", "[--directory DIR]", (DESCRIPTION, HELP), _train))


def _train(config_file: str, arguments: list[str]) -> int:
    prepare_jax()  # before the config: one that computes would fix the devices
    together, overrides = read_together(arguments)
    if together is not None:
        refuse_elsewhere(config_file, "--distributed")
    config = load_config(config_file, Run, "train")
    chosen = override_run(config, overrides, f"posenc train {config_file}", DESCRIPTION)
    config = named_anew(config, chosen.run, overrides)
    directory = chosen.directory or Path("runs") / config.directory_name
    if together is not None:
        join(together)
    for source in chosen.trust:
        trust(source)
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.cell import run
    from posenc_jax.runs.estimate import foretell
    from posenc_jax.runs.plan import Plan
    from posenc_jax.runs.trackers import Tracked
    from posenc_jax.training.processes import first

    refuse_unusable(config)
    with (
        shown_and_kept(config, config_file, directory),
        TerminalReporter() as terminal,
        Tracked(terminal, directory, chosen.track) as reporter,
        stoppable() as stop,
    ):

        def planned(plan: Plan) -> None:
            if first() and not config_file.startswith(ON):
                seconds = plan.hours and 3600 * plan.hours
                foretell(reporter.note, seconds, "fewer seeds, training.steps or evaluation.lengths")

        more: dict[str, Any] = {"accept_changed_code": chosen.accept_changed_code, "reporter": reporter, "stop": stop}
        results = run(config, directory, **more, planned=planned)
    if not first():  # of several processes
        return 0
    asked = [replica for result in results for replica in result["replicas"]]
    asked = [replica for replica in asked if (replica["seed"], replica["learning_rate"]) in config.replicas]
    show(score_table(config, asked))
    show(f"complete: {directory}")
    return 0
