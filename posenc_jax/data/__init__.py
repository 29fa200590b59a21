"""Tasks, generated on the device or on real text, and the batches that models read. Knows nothing of models."""
