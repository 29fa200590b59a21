"""Strictness for all tests: arrays of different ranks never mix unnoticed."""

import jax

jax.config.update("jax_numpy_rank_promotion", "raise")
