"""Published comparisons, and whether an encoding is better than another one on them.

A *published table* is a folder: ``published.toml`` (the published numbers), ``directions.toml`` (which encoding is
expected to be above which, committed before any result), ``reduced.py`` (the ablation at a size that two cores train),
``full.py`` (the published setting), ``results.json`` (our scores), ``not_a_test.toml`` where our size cannot show what
was published, and ``README.md``, whose marked section is written from all of these. A *table* is a task of one of them
with the encoding left open. A *verdict* measures one encoding and its baselines on several tables, compares them seed
by seed and writes a *card*.
"""
