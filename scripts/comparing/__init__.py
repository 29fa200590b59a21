"""Comparisons of encodings with public code; scripts/public_code.py makes them."""
