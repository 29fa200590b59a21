"""Messages of refusals: errors of the system, of names and of the user's code, each in one line."""
