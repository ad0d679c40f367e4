"""A place for a store, of each kind."""

from state.databases import database, server, where

__all__ = ["database", "server", "where"]
