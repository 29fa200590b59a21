"""Does a difference between encodings grow with the size of the model? In miniature: two tables, two encodings.

    posenc ablate experiments/sizes/small.py
    python -m experiments.sizes.trend runs/sizes-small

What it takes, and what has been run: the README.
"""

from experiments.sizes.grid import ablation

config = ablation("sizes-small", ("copy", "even_pairs"), ("alibi", "rope"), seeds=(0, 1, 2, 3), learning_rates=(1e-3,))
