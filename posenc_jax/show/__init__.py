"""Pictures and tables of encodings: views, properties, aliases, the audit, and the explorer, a page of its own.

`measure` takes an encoding as initialised, `trained` those of a finished run; `views` says what can be drawn of them,
`page` and `paper` draw it, `files` writes it.
"""
