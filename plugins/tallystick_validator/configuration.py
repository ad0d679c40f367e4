"""Configuration of the daemon: the file ``validator.toml``, read strictly.

Every key is known, every value of its kind, every path relative to the folder of the file; what is
wrong is told with file, line and path. `Configuration` is a value: the daemon compares two of them
to find what a SIGHUP changed, and what of it needs a restart.
"""
