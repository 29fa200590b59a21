"""Training: the step, replicas, the optimizer, sharding, checkpoints, metrics."""
