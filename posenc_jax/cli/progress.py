"""Progress of commands."""

from posenc_jax.cli.screen import tell
from posenc_jax.runs.progress import ProgressReporter


class TerminalReporter(ProgressReporter):
    """Progress of a command, which ends in words where standard error takes nothing any more."""

    def say(self, text: str) -> None:
        """Prints a line where nothing is live."""
        tell(text)
