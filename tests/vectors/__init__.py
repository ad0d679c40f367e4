"""Portable test vectors, and the records that their rows stand for."""
