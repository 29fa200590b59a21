"""``posenc classify RUN FILE``: the classes of a document by a finished run."""

from posenc_jax.cli.options import command
from posenc_jax.cli.texts import classify

main = command(classify, name="classify", computes=True)
