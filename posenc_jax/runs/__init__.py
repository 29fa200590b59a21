"""Runs on disk: from a config to its directory, and back. Imports run one way: see tests/test_layering.py."""
