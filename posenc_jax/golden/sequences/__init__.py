"""Golden sequences: what a tiny model does with its positions, for ports of models to test against; see README.md."""
