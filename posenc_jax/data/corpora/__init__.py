"""Corpora of real text."""
