"""Does a difference between encodings grow with the size of the model? Three sizes of four tables and a language model.

    python -m experiments.corpora.make python-docs
    posenc ablate experiments/sizes/full.py
    python -m experiments.sizes.trend runs/sizes

What it takes, and what has been run: the README.
"""

from experiments.sizes.grid import full

config = full()
