"""``posenc demo``: the comparison of configs/demo.py, in any folder."""

from pathlib import Path

from posenc_jax.cli import ablate
from posenc_jax.cli.screen import show, tell

CONFIG, DIRECTORY = "configs/demo.py", "runs/demo"
USAGE = f"""usage: posenc demo [--seeds N ...] [--directory DIR] [overrides]

Compares four encodings, 4 seeds each: some two minutes on 2 CPU cores. It is `posenc ablate {CONFIG}` into
{DIRECTORY} of this folder, with the config that the package brings along, or this folder's own {CONFIG}. Stop it
whenever you like: the same command goes on where it stopped, or shows the finished tables.

  --seeds N ...    these seeds (0 1 2 3); of more, only the new ones are run
  --directory DIR  elsewhere

All other overrides are those of `posenc ablate`."""


def main(arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        show(USAGE)
        return 0
    elsewhere = any(word.partition("=")[0] == "--directory" for word in arguments)
    code = ablate.main([CONFIG, *([] if elsewhere else ["--directory", DIRECTORY]), *arguments])
    report = Path(DIRECTORY, "report.html")
    if code == 0 and not elsewhere and report.is_file():
        tell(f"Next: open {report} in a browser, or ask `posenc` what else it does.")
    return code
