"""Corpora of a grammar's sentences, made when they are first read; those of real text are added (`own`)."""

from posenc_jax.data.corpora import grammar
from posenc_jax.data.corpora.corpus import Corpus as Corpus

_ALL = (
    Corpus("grammar/en-de", "translation", ("en", "de", "doc"), grammar.translation),
    Corpus("grammar/reports", "summarization", ("document", "summary", "doc"), grammar.reports),
)
# The corpora of this package by name.
CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _ALL}
