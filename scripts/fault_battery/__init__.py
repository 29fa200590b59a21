"""The battery of scripts/faults: a small ablation, what is done to it, and what comes of it."""
