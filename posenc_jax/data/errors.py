"""Errors of data, which everything that reads or writes it raises."""


class DataError(Exception):
    """Data is missing, damaged or not what it should be; the message has the value, the rule and the way out."""


class UnfitError(DataError):
    """A corpus does not give what a task asks of it, and would give it to another vocabulary, length or list."""
