"""What the configs of released models declare of rotary positions, as numbers, for other engines to test against."""
