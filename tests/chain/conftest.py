"""A store of a small subnet, as the tests of commands have it."""

from cli.stores import begun, subnet

__all__ = ["begun", "subnet"]
