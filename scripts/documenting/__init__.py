"""What the site is made of: pages from the registry, the source and the parsers, and the Markdown of pages written by hand."""
