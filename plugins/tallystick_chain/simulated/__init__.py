"""A chain in memory that refuses as a real one does, and one that processes share by a file."""
