"""``posenc demo``: the comparison of configs/demo.py, in any folder."""

from pathlib import Path

from posenc_jax.cli import ablate
from posenc_jax.cli.screen import show, tell

CONFIG, DIRECTORY = "configs/demo.py", "runs/demo"
USAGE = f"""usage: posenc demo [--seeds N ...] [--directory DIR] [overrides]

Compare four encodings with 4 seeds each, in about two minutes on 2 CPU cores. This runs `posenc ablate {CONFIG}` with
results in {DIRECTORY}, using {CONFIG} of this folder or, if there is none, the one shipped with the package. Stop it
whenever you like: the same command resumes it, or shows the finished tables.

  --seeds N ...    seeds to run (default: 0 1 2 3); finished seeds are not run again
  --directory DIR  where results are kept (default: {DIRECTORY})

All other overrides are those of `posenc ablate`."""


def main(arguments: list[str]) -> int:
    """Runs the command.

    Examples:
      posenc demo
          compare four encodings, with results in runs/demo
      posenc demo --seeds 0 1 2 3 4 5
          add two seeds; only these are run
    """
    if arguments[:1] in (["-h"], ["--help"]):
        show(USAGE)
        return 0
    elsewhere = any(word.partition("=")[0] == "--directory" for word in arguments)
    code = ablate.main([CONFIG, *([] if elsewhere else ["--directory", DIRECTORY]), *arguments])
    report = Path(DIRECTORY, "report.html")
    if code == 0 and not elsewhere and report.is_file():
        tell(f"Next: open {report} in a browser, or run `posenc` to see what else it does.")
    return code
