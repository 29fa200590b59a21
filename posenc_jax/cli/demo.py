"""``posenc demo``: the comparison of configs/demo.py, in any folder."""

from pathlib import Path
from typing import Annotated

from posenc_jax.cli import ablate
from posenc_jax.cli.options import Overrides, command
from posenc_jax.cli.screen import tell

CONFIG, DIRECTORY = "configs/demo.py", Path("runs/demo")


def _demo(*, overrides: Overrides, directory: Annotated[Path, "DIR"] = DIRECTORY) -> int:
    """Compare four encodings with 4 seeds each, in about two minutes on 2 CPU cores. This runs
    `posenc ablate configs/demo.py` with results in runs/demo, using configs/demo.py of this folder or, if there is
    none, the one shipped with the package. Stop it whenever you like: the same command resumes it, or shows the
    finished tables.

    All overrides are those of `posenc ablate`, such as --seeds 0 1; finished seeds are not run again.

    Args:
      directory: where results are kept (default: runs/demo)

    Examples:
      posenc demo
          compare four encodings, with results in runs/demo
      posenc demo --seeds 0 1 2 3 4 5
          add two seeds; only these are run
    """
    if overrides.help:
        return 0
    code = ablate.main([CONFIG, "--directory", str(directory), *overrides.left])
    if code == 0 and (report := directory / "report.html").is_file():
        tell(f"Next: open {report} in a browser, or run `posenc` to see what else it does.")
    return code


main = command(_demo)
