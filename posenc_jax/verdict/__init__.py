"""Is this encoding better than that one? Published tasks, paired seeds, and a card that says what was seen.

A *table* is one published comparison at a size that two cores train: a run in which only the encoding is open. A
*verdict* measures one encoding and its baselines on several tables, compares them seed by seed and writes a *card*.
"""
