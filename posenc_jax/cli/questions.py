"""The questions that ``posenc verdict --on`` names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from posenc_jax.cli.errors import UsageError, refusing
from posenc_jax.cli.own_files import read_task
from posenc_jax.cli.session import load_config
from posenc_jax.cli.sized_to_corpus import on_corpus
from posenc_jax.config import Ablation, Run

if TYPE_CHECKING:
    from posenc_jax.verdict.tables import Table


def asked_on(text: str) -> dict[str, Table]:
    """The questions of a task (``FILE.py:Task(...)`` or a name), of a config file or a shipped config's name, or of a
    corpus; UsageError for what is none of these.
    """
    from posenc_jax.data.errors import DataError
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.verdict.own_questions import own_tables, run_of

    if ".py:" in text or text.partition("(")[0].strip() in TASKS:
        task = read_task(text, "--on")
        with refusing():
            return own_tables(run_of(task), text)
    if "/" in text and not text.endswith(".py"):
        try:
            return own_tables(on_corpus(text), "a corpus")
        except DataError:
            if text.startswith("own/") or not Path(text).parent.is_dir():
                raise
            above = Path(text).parent
            said = f"--on {text}: there is no directory of that name in {above}, and no such corpus"
            raise UsageError(said) from None
    if not text.endswith(".py"):
        text = f"configs/{text}.py"
    return own_tables(load_config(text, (Run, Ablation), "verdict"), text)
