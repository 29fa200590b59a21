"""What the site is made of: pages from the registry, the source and the parsers, and those that are written by hand."""
