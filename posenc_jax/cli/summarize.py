"""``posenc summarize RUN FILE``: the summary of a document by a finished run."""

from posenc_jax.cli.options import command
from posenc_jax.cli.texts import summarize

main = command(summarize, name="summarize", computes=True)
