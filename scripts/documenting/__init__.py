"""Sources of the site: pages from the registry, the source and the parsers, and those that are written by hand."""
