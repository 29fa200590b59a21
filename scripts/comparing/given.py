"""Numbers that both sides of a comparison are given; NumPy alone, since the other side has torch and no JAX."""

from typing import Any

import numpy as np

SHORT_FACTORS, LONG_FACTORS = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
"""Of LongRoPE, for 16 dimensions."""

SCALINGS: dict[str, dict[str, Any]] = {
    "RoPE": {"rope_type": "default"},
    "Position Interpolation": {"rope_type": "linear", "factor": 8.0},
    "Dynamic NTK scaling": {"rope_type": "dynamic", "factor": 2.0},
    "YaRN": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512},
    "LongRoPE": {
        "rope_type": "longrope",
        "short_factor": SHORT_FACTORS,
        "long_factor": LONG_FACTORS,
        "factor": 8.0,
        "original_max_position_embeddings": 512,
    },
    "Llama 3.1 scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 512,
        "rope_theta": 5e5,
    },
    "Proportional RoPE (Gemma 4)": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
    "YaRN without rounding (gpt-oss)": {
        "rope_type": "yarn",
        "factor": 32.0,
        "original_max_position_embeddings": 128,
        "truncate": False,
        "rope_theta": 150000.0,
    },
}
"""``rope_parameters`` of transformers."""

ADDITION, SCRATCHPAD = "653+049=2070", "12+03+45=000>210>510>060"
"""Of one sum, and of two with the partial sums; sums are written least significant digit first."""
POSITIONS = np.arange(0, 120, 7)
"""Of texts."""
CELLS = np.stack([array.ravel() for array in np.indices((2, 3, 3))])
"""``[3, 18]``: time, row and column of a film."""
FILM = [0, 0, 0, *[1] * 18, 0, 0, *[1] * 6, 0]
"""Types of tokens: text, a film of 3 frames of 2 x 3, text, an image of 2 x 3, text."""
SOUND = [0] * 4 + [1] * 24 + [2] * 50 + [1] * 12 + [2] * 20 + [0] * 5
"""The same of a film of 6 frames of 2 x 3, half a second apart, with the sound of 2.8 seconds, as Qwen2.5-Omni has it;
two marks before and behind it.
"""
BOXES = np.array([[1, 2, 5, 3], [0, 0, 15, 15], [4, 1, 4, 6]])
"""Of three words: left, top, right and bottom."""
TABLES = (3, 4, 5)
"""Rows of the tables of three attributes."""
ATTRIBUTES = np.stack([np.arange(12) * (a + 1) % rows for a, rows in enumerate(TABLES)], axis=1)
"""``[12, 3]``, of twelve tokens."""


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=shape)
