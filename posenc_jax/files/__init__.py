"""Files of ours and of the user's: their names and paths, writing without halves, checksums, the shape of JSON."""
