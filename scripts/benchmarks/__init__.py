"""The parts of scripts/bench: each is a generator of tables, its sizes are arguments."""
