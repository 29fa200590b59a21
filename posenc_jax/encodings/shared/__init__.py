"""Building blocks of several encodings; no module here is an encoding or imports one."""
