"""A trained language model beyond the length that it was made for: changes of positions, and what they do."""
