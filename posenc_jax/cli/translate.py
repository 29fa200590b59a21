"""``posenc translate RUN "A sentence."``: translations by a finished run."""

from posenc_jax.cli.options import command
from posenc_jax.cli.texts import translate

main = command(translate, name="translate", computes=True)
