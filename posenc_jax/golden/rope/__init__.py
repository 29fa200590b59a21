"""Numbers of the rotary positions that configs of released models declare, for other engines to test against."""
