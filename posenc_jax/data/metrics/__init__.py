"""Scores of whole sets of texts and labels, computed on the host after decoding.

Scores that are sums over tokens, and so add up over batches and devices, are in `posenc_jax.data.scoring`.
"""

from posenc_jax.data.metrics.classification import accuracy, macro_f1
from posenc_jax.data.metrics.language_modelling import perplexity
from posenc_jax.data.metrics.summarization import rouge
from posenc_jax.data.metrics.translation import Score, bleu, chrf

__all__ = ["Score", "accuracy", "bleu", "chrf", "macro_f1", "perplexity", "rouge"]
