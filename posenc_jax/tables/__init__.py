"""Published tables run again: their numbers, what was expected before the run, ours beside theirs.

A table is a folder: ``published.toml`` (their numbers), ``directions.toml`` (which encoding is to be above which,
committed before any result), ``reduced.py`` (the ablation at a size that two cores train), ``full.py`` (their setting),
``results.json`` (ours) and ``README.md``, whose marked section is written from all of these.
"""
