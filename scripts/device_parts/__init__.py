"""The parts of scripts/on_device: `part` measures the cases of one and keeps them, `device` says what is missing."""
