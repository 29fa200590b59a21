"""Shared parts of all pages, figures and tables: colours, axes and layouts, tables of text, HTML documents.

It knows no encodings and no results; `posenc_jax.results.report` and `posenc_jax.show` draw theirs with it.
"""
