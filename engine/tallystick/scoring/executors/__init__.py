"""Engines: where the pieces of a run are worked on: here, in several processes, on machines."""
