"""Stores for the tests of the commands on a state."""

from cli.stores import begun, subnet

__all__ = ["begun", "subnet"]
