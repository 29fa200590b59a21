"""Tasks generated on the device, and the batches that models read. Knows nothing of models."""
